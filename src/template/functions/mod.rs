//! The functions of the language, one file each, and what they have in common: a call knows its
//! arguments, can be checked before any value is there, and resolves within a scope.

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

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::budget::Budget;
use super::conditions::Conditions;
use super::error::{Outcome, TemplateError};
use super::node::{Form, Node};
use super::parameters::Parameters;
use super::resources::ResourceTypes;
use super::value::Datum;
use super::version::Version;
use super::walk;
use super::{AttributeRead, Facade, ResourceValues, TypeLookup};
use crate::model::{ResourceName, taint};

pub(crate) use get_attr::select;

/// A call of a function: its name as written and its arguments, calls within them parsed.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// Heat's name of the class, which some errors show.
    pub(crate) class: &'static str,
    pub(crate) args: Node,
}

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

/// What every function does.
pub(crate) trait Function: fmt::Debug + Send + Sync {
    /// The call.
    fn call(&self) -> &Call;

    /// What it gives. `None` is nothing at all: the entry around it vanishes.
    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>>;

    /// Checks what can be checked before values are there.
    fn check(&self, scope: &Scope<'_>) -> Outcome<()> {
        walk::check(self.args(), &mut Vec::new(), scope)
    }

    /// The resource that this very call reads, not those that its arguments read.
    fn reads(&self, _scope: &Scope<'_>) -> Outcome<Option<Read>> {
        Ok(None)
    }

    /// The name as written.
    fn name(&self) -> &str {
        &self.call().name
    }

    /// The parsed arguments.
    fn args(&self) -> &Node {
        &self.call().args
    }
}

/// That a call reads a resource.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) resource: String,
    /// The attribute; none reads the reference alone.
    pub(crate) attribute: Option<String>,
}

impl Read {
    /// The resource and the attribute, where one is read.
    pub(crate) fn of_attribute(self) -> Option<AttributeRead> {
        Some((ResourceName(self.resource), self.attribute?))
    }
}

/// What a call may look at.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) version: &'static Version,
    pub(crate) parameters: &'a Parameters,
    pub(crate) conditions: &'a Conditions,
    pub(crate) files: &'a BTreeMap<String, String>,
    /// What `Fn::FindInMap` looks in, as written.
    pub(crate) mappings: &'a Node,
    /// The resources whose condition holds, with their types; as long as that is not known, all.
    pub(crate) resources: &'a ResourceTypes,
    /// The resource that the stack stands for, if it is a nested one's.
    pub(crate) facade: Option<&'a Facade>,
    pub(crate) values: &'a dyn ResourceValues,
    pub(crate) types: &'a dyn TypeLookup,
    /// What functions may still make.
    pub(crate) budget: &'a Budget,
    /// Set when something secret is read, where somebody asks.
    pub(crate) is_tainted: Option<&'a Cell<bool>>,
}

impl<'a> Scope<'a> {
    /// Notes that something secret was read.
    pub(crate) fn note_taint(&self) {
        if let Some(is_tainted) = self.is_tainted {
            is_tainted.set(true);
        }
    }

    /// A parameter's value.
    fn parameter(&self, name: &str) -> Outcome<&'a Datum> {
        if self.parameters.get(name).is_some_and(|parameter| parameter.is_secret) {
            self.note_taint();
        }
        self.parameters.value(name)
    }

    /// What came from elsewhere, its marks taken off and noted.
    fn read(&self, value: &Value) -> Datum {
        if taint::is_tainted(value) {
            self.note_taint();
            return Datum::from(&taint::plain(value.clone()));
        }
        Datum::from(value)
    }

    /// The arguments of a call, resolved.
    fn args(&self, function: &dyn Function) -> Outcome<Datum> {
        walk::resolve(function.args(), self)
    }

    /// Whether an argument of a condition function holds: a boolean, or a condition's name.
    fn holds(&self, condition: &Datum) -> Outcome<bool> {
        self.conditions.is_enabled(condition, self)
    }
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
        _ => super::parse::type_name(node),
    }
}

/// What Python says of a value that cannot be the key of a map.
fn unhashable(value: &Datum) -> Option<TemplateError> {
    matches!(value, Datum::List(_) | Datum::Map(_)).then(|| {
        let kind = super::python::type_name(value);
        TemplateError::kind(format!("unhashable type: '{kind}'"))
    })
}

/// Python's list index, which counts from the end where it is negative.
pub(crate) fn index(length: usize, at: i128) -> Option<usize> {
    let length = length as i128;
    let from_start = if at < 0 { at + length } else { at };
    (0..length).contains(&from_start).then_some(from_start as usize)
}

/// Whether a value is among others, which Python's `in` also asks of text and maps.
fn is_in(value: &Datum, collection: &Datum) -> Outcome<bool> {
    match (collection, value) {
        (Datum::List(items), value) => Ok(items.contains(value)),
        (Datum::Map(map), Datum::Text(key)) => Ok(map.contains_key(key.as_str())),
        (Datum::Text(text), Datum::Text(part)) => Ok(text.contains(part.as_str())),
        (Datum::Text(_), other) => {
            let kind = super::python::type_name(other);
            let message = format!("'in <string>' requires string as left operand, not {kind}");
            Err(TemplateError::kind(message))
        }
        _ => Ok(false),
    }
}
