//! From nodes as read to nodes with calls in them: a map of exactly one key that names a function
//! is a call; everything else is data.

use std::sync::Arc;

use super::error::{Outcome, TemplateError};
use super::functions::table::{self, Position};
use super::functions::{Kind, if_, invalid};
use super::node::{Call, Form, Function, Node, Scope};
use super::walk::push_index;

/// Parses a node. The path (`resources.a.properties.b`) is for errors; it comes back as it was.
pub(crate) fn parse(
    node: &Node,
    position: Position,
    scope: &Scope<'_>,
    path: &mut String,
) -> Outcome<Node> {
    let form = match &node.form {
        Form::Map(map) => {
            if let Some((name, args)) = map.first().filter(|_| map.len() == 1)
                && let Some(found) = table::lookup(scope.version, position, name)
            {
                let length = path.len();
                path.push('.');
                path.push_str(name);
                let call = call(name, args, found, position, scope, path);
                let call = call.map_err(|error| in_path(error, path).placed(args.key_place));
                path.truncate(length);
                return Ok(Node::at(node, Form::Call(call?)));
            }
            let mut parsed =
                super::node::NodeMap::with_capacity_and_hasher(map.len(), Default::default());
            for (key, value) in map.iter() {
                let length = path.len();
                path.push('.');
                path.push_str(key);
                parsed.insert(key.clone(), parse(value, position, scope, path)?);
                path.truncate(length);
            }
            Form::Map(Box::new(parsed))
        }
        Form::List(items) => {
            let mut parsed = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let length = path.len();
                if item.may_hold_calls() {
                    push_index(path, index);
                }
                parsed.push(parse(item, position, scope, path)?);
                path.truncate(length);
            }
            Form::List(parsed)
        }
        other => other.clone(),
    };
    Ok(Node::at(node, form))
}

fn call(
    name: &str,
    args: &Node,
    (kind, class): table::Found,
    position: Position,
    scope: &Scope<'_>,
    path: &mut String,
) -> Outcome<Arc<dyn Function>> {
    match kind {
        Kind::Plain(make) => {
            let args = parse(args, position, scope, path)?;
            make(Call { name: name.to_owned(), class, args })
        }
        Kind::Scoped(make) => {
            let args = parse(args, position, scope, path)?;
            make(Call { name: name.to_owned(), class, args }, scope)
        }
        Kind::If { nullable } => if_::parse(name, class, args, nullable, scope, path, parse),
        Kind::Removed => {
            let args = parse(args, position, scope, path)?;
            invalid::removed(Call { name: name.to_owned(), class, args })
        }
    }
}

/// What Heat's parser makes of an error of Python's: it adds the path of the call.
fn in_path(error: TemplateError, path: &str) -> TemplateError {
    if !error.is_pythons() {
        return error;
    }
    let place = error.place;
    let mut wrapped = TemplateError::validation(error.text()).in_path([path]);
    wrapped.place = place;
    wrapped
}

/// Whether what a node will be is of a kind: as written, or a call that may give it.
pub(crate) fn is_map_or_call(node: &Node) -> bool {
    matches!(node.form, Form::Map(_) | Form::Call(_))
}
