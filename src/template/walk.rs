//! Walks over parsed nodes: resolving them, checking their calls, finding what they read.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write;

use serde_json::Value;

use super::error::{Outcome, TemplateError};
use super::node::{Form, Function, Node, Place, Read, Scope};
use super::value::{Datum, DatumMap};
use super::work::{self, Level};
use crate::model::{JsonMap, taint};

/// The arguments of a call, resolved.
pub(crate) fn args(call: &dyn Function, scope: &Scope<'_>) -> Outcome<Datum> {
    resolve(call.args(), scope)
}

/// The value of a node; what vanishes is null here.
pub(crate) fn resolve(node: &Node, scope: &Scope<'_>) -> Outcome<Datum> {
    Ok(resolve_nullable(node, scope)?.unwrap_or(Datum::Null))
}

/// The value of a node, or nothing where `if` says that the entry vanishes.
pub(crate) fn resolve_nullable(node: &Node, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
    if !node.may_hold_calls() {
        return resolve_at(node, scope, None);
    }
    let level = work::deeper().map_err(|error| error.placed(node.place))?;
    let value = resolve_at(node, scope, Some(&level))?;
    let depth = || value.as_ref().map_or(0, |value| value.size().depth);
    if level.ends_deep() && depth() > work::VALUE_DEPTH_MAX {
        return Err(work::too_deep(work::VALUE_DEPTH_MAX).placed(node.place));
    }
    Ok(value)
}

/// The same, at a level of its own if it is a collection or a call.
fn resolve_at(node: &Node, scope: &Scope<'_>, level: Option<&Level>) -> Outcome<Option<Datum>> {
    if node.tainted {
        scope.note_taint();
    }
    Ok(Some(match &node.form {
        Form::Omitted => return Ok(None),
        Form::Call(call) => {
            let placed = |error: TemplateError| error.placed(place_of(call.as_ref(), node));
            work::step(1).map_err(placed)?;
            let value = call.resolve(scope).map_err(placed)?;
            let size = value.as_ref().map(Datum::size).unwrap_or_default();
            scope.budget.spend(size.bytes).map_err(placed)?;
            if let Some(level) = level {
                level.meet(size.depth);
            }
            return Ok(value);
        }
        Form::List(items) => {
            work::step(items.len())?;
            let mut resolved = Vec::with_capacity(items.len());
            for item in items {
                resolved.extend(resolve_nullable(item, scope)?);
            }
            Datum::List(resolved)
        }
        Form::Map(map) => {
            work::step(map.len())?;
            let mut resolved = DatumMap::with_capacity_and_hasher(map.len(), Default::default());
            for (key, item) in map.iter() {
                if let Some(value) = resolve_nullable(item, scope)? {
                    resolved.insert(key.clone().into(), value);
                }
            }
            Datum::Map(resolved)
        }
        Form::Null => Datum::Null,
        Form::Bool(truth) => Datum::Bool(*truth),
        Form::Int(number) => Datum::Int(*number),
        Form::Float(number) => Datum::Float(*number),
        Form::Text(text) => Datum::Text(text.clone()),
    }))
}

/// The value of a node as JSON, with marks on what must not be seen: the whole of what an outermost
/// call gives that read something secret, whatever it made of it.
pub(crate) fn resolve_marked(node: &Node, scope: &Scope<'_>) -> Outcome<Option<Value>> {
    Ok(Some(match &node.form {
        Form::List(items) => {
            let mut resolved = Vec::with_capacity(items.len());
            for item in items {
                resolved.extend(resolve_marked(item, scope)?);
            }
            Value::Array(resolved)
        }
        Form::Map(map) => {
            let mut resolved = JsonMap::with_capacity(map.len());
            for (key, item) in map.iter() {
                if let Some(value) = resolve_marked(item, scope)? {
                    resolved.insert(key.to_string(), value);
                }
            }
            Value::Object(resolved)
        }
        _ => {
            let is_tainted = Cell::new(false);
            let scope = Scope { is_tainted: Some(&is_tainted), ..*scope };
            let Some(value) = resolve_nullable(node, &scope)? else { return Ok(None) };
            if is_tainted.get() { taint::taint(value.to_json()) } else { value.to_json() }
        }
    }))
}

/// Where a call is pointed at: its arguments, if they have a place.
fn place_of(call: &dyn Function, node: &Node) -> Place {
    match call.args().place {
        Place { line: 0, .. } => node.place,
        place => place,
    }
}

/// Checks every call below a node; an error has the path to the outermost call that failed.
pub(crate) fn check<'n>(
    node: &'n Node,
    path: &mut Vec<Cow<'n, str>>,
    scope: &Scope<'_>,
) -> Outcome<()> {
    match &node.form {
        Form::Call(call) => check_call(call.as_ref(), scope).map_err(|error| {
            let place = error.place.unwrap_or(place_of(call.as_ref(), node));
            let path = path.iter().map(|step| step.to_string()).chain([call.name().to_owned()]);
            TemplateError::validation(error.text()).in_path(path).placed(place)
        }),
        Form::Map(map) => {
            for (key, item) in map.iter() {
                path.push(Cow::Borrowed(key));
                check(item, path, scope)?;
                path.pop();
            }
            Ok(())
        }
        Form::List(items) => {
            let parent = path.pop();
            for (index, item) in items.iter().enumerate().filter(|(_, item)| item.may_hold_calls())
            {
                let parent = parent.as_deref().unwrap_or_default();
                path.push(Cow::Owned(format!("{parent}[{index}]")));
                check(item, path, scope)?;
                path.pop();
            }
            path.extend(parent);
            Ok(())
        }
        Form::Null
        | Form::Bool(_)
        | Form::Int(_)
        | Form::Float(_)
        | Form::Text(_)
        | Form::Omitted => Ok(()),
    }
}

/// Checks a call, its arguments first.
fn check_call(call: &dyn Function, scope: &Scope<'_>) -> Outcome<()> {
    if let Some(refusal) = call.refusal() {
        return Err(refusal);
    }
    check(call.args(), &mut Vec::new(), scope)?;
    call.check(scope)
}

/// Adds `[index]` to a path.
pub(crate) fn push_index(path: &mut String, index: usize) {
    // Writing to a String cannot fail.
    let _ = write!(path, "[{index}]");
}

/// Finds the resources that the calls below a node read. A name that is no resource is an error
/// with its path.
pub(crate) fn reads(
    node: &Node,
    path: &mut String,
    scope: &Scope<'_>,
    found: &mut dyn FnMut(Read),
) -> Outcome<()> {
    match &node.form {
        Form::Call(call) => {
            let place = place_of(call.as_ref(), node);
            let length = path.len();
            path.push('.');
            path.push_str(call.name());
            reads(call.args(), path, scope, found)?;
            path.truncate(length);
            if let Some(read) = call.reads(scope).map_err(|error| error.placed(place))? {
                if !scope.resources.contains_key(&read.resource) {
                    return Err(TemplateError::reference(&read.resource, path).placed(place));
                }
                found(read);
            }
            Ok(())
        }
        Form::Map(map) => {
            for (key, item) in map.iter() {
                let length = path.len();
                path.push('.');
                path.push_str(key);
                reads(item, path, scope, found)?;
                path.truncate(length);
            }
            Ok(())
        }
        Form::List(items) => {
            for (index, item) in items.iter().enumerate().filter(|(_, item)| item.may_hold_calls())
            {
                let length = path.len();
                push_index(path, index);
                reads(item, path, scope, found)?;
                path.truncate(length);
            }
            Ok(())
        }
        Form::Null
        | Form::Bool(_)
        | Form::Int(_)
        | Form::Float(_)
        | Form::Text(_)
        | Form::Omitted => Ok(()),
    }
}
