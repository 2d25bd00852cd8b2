//! The functions of the language, one file each, and what they have in common.

mod base64;
mod conditions;
mod contains;
mod digest;
mod equals;
mod filter;
mod find_in_map;
mod get_attr;
mod get_azs;
mod get_file;
mod get_param;
mod get_resource;
pub(crate) mod if_;
pub(crate) mod invalid;
mod list_concat;
mod list_join;
mod make_url;
mod map_merge;
mod map_replace;
mod member_list_to_map;
mod reference;
mod repeat;
mod resource_facade;
mod select;
mod split;
mod str_replace;
mod str_split;
pub(crate) mod table;
mod yaql;

use std::sync::Arc;

use super::error::{Outcome, TemplateError};
use super::node::{Call, Form, Function, Node, Read, Scope};
use super::python;
use super::value::Datum;

pub(crate) use get_attr::select;

/// How many items are compared with another one in a step.
const ITEMS_PER_STEP: usize = 8;

/// Makes a call of its arguments, or says what is wrong with them.
pub(crate) type Parse = fn(Call) -> Outcome<Arc<dyn Function>>;

/// The same by what the template has, such as its resources.
pub(crate) type ParseScoped = fn(Call, &Scope<'_>) -> Outcome<Arc<dyn Function>>;

/// How a function takes its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Parsed before it sees them.
    Plain(Parse),
    /// The same, where what it becomes depends on the scope.
    Scoped(ParseScoped),
    /// `if`: it chooses what is parsed. Whether the third argument may be missing.
    If { nullable: bool },
    /// Gone from this version.
    Removed,
}

/// Whether a node may turn out to be text: it is, or it is a call.
fn is_text_or_call(node: &Node) -> bool {
    matches!(node.form, Form::Text(_) | Form::Call(_))
}

/// An error for arguments of the wrong shape, with an example of the right one.
fn misuse(name: &str, example: &str) -> String {
    format!("Incorrect arguments to \"{name}\" should be: {example}")
}

/// The characters of a text from the start, at most that many (Python's `[:limit]`).
fn cut(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

/// Python's `a, b = arguments`: the items of a list, the characters of a text, the keys of a map.
/// A wrong count is a `ValueError`, what has no items a `TypeError`.
fn unpack(args: &Node, count: usize) -> Outcome<Vec<Node>> {
    let items: Vec<Node> = match &args.form {
        Form::List(items) => items.clone(),
        Form::Text(text) => text
            .chars()
            .take(count + 1)
            .map(|c| Node::at(args, Form::Text(c.to_string().into())))
            .collect(),
        Form::Map(map) => map.keys().map(|key| Node::at(args, Form::Text(key.clone()))).collect(),
        _ => {
            let kind = type_name(args);
            let message = format!("cannot unpack non-iterable {kind} object");
            return Err(TemplateError::kind(message));
        }
    };
    match items.len() {
        found if found < count => Err(TemplateError::value(format!(
            "not enough values to unpack (expected {count}, got {found})"
        ))),
        found if found > count => {
            let message = format!("too many values to unpack (expected {count})");
            Err(TemplateError::value(message))
        }
        _ => Ok(items),
    }
}

/// `type(node).__name__` of arguments as they are parsed; of a call, Heat's name of its class.
fn type_name(node: &Node) -> &'static str {
    match &node.form {
        Form::Call(call) => call.call().class,
        _ => node.type_name(),
    }
}

/// What Python says of a value that cannot be the key of a map.
fn unhashable(value: &Datum) -> Option<TemplateError> {
    matches!(value, Datum::List(_) | Datum::Map(_)).then(|| {
        let kind = python::type_name(value);
        TemplateError::kind(format!("unhashable type: '{kind}'"))
    })
}

/// Whether a value is among others, which Python's `in` also asks of text and maps.
fn is_in(value: &Datum, collection: &Datum) -> Outcome<bool> {
    match (collection, value) {
        (Datum::List(items), value) => Ok(items.contains(value)),
        (Datum::Map(map), Datum::Text(key)) => Ok(map.contains_key(key.as_str())),
        (Datum::Text(text), Datum::Text(part)) => Ok(text.contains(part.as_str())),
        (Datum::Text(_), other) => {
            let kind = python::type_name(other);
            let message = format!("'in <string>' requires string as left operand, not {kind}");
            Err(TemplateError::kind(message))
        }
        _ => Ok(false),
    }
}
