//! `Fn::Select`: an item of a list by its index, or of a map by its key; what is not there is the
//! empty text.

use std::sync::Arc;

use super::{Call, Function, Scope, unpack};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::subscript::index;
use crate::template::value::Datum;
use crate::template::{json, python, walk};

#[derive(Debug)]
struct Select(Call);

/// Parses `[index, collection]`.
pub(super) fn parse(mut call: Call) -> Outcome<Arc<dyn Function>> {
    let parts = unpack(&call.args, 2).map_err(|error| match error.class.as_ref() {
        "ValueError" => TemplateError::value(format!(
            "Arguments to \"{}\" must be of the form [index, collection]",
            call.name
        )),
        _ => error,
    })?;
    call.args = Node::at(&call.args, Form::List(parts));
    Ok(Arc::new(Select(call)))
}

/// Python's `int()` of what may be an index.
fn position(wanted: &Datum) -> Outcome<Option<i128>> {
    match wanted {
        Datum::Int(number) => Ok(Some(*number)),
        Datum::Bool(truth) => Ok(Some(i128::from(*truth))),
        Datum::Float(number) if number.is_infinite() => {
            let message = "cannot convert float infinity to integer";
            Err(TemplateError::new("OverflowError", message))
        }
        Datum::Float(number) if number.is_nan() => Ok(None),
        Datum::Float(number) => Ok(Some(number.trunc() as i128)),
        Datum::Text(text) => Ok(python::int_of(text)),
        Datum::Null | Datum::List(_) | Datum::Map(_) => Ok(None),
    }
}

impl Function for Select {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let absent = || Datum::Text("".into());
        let Some([wanted, collection]) = self.args().as_list() else {
            return Ok(Some(Datum::Null));
        };
        let wanted = walk::resolve(wanted, scope)?;
        let collection = match walk::resolve(collection, scope)? {
            Datum::Text(text) if text.is_empty() => return Ok(Some(absent())),
            Datum::Text(text) => json::parse(&text)
                .map_err(|error| TemplateError::value(format!("\"{name}\": {error}")))?
                .to_datum(),
            other => other,
        };
        match collection {
            Datum::Map(map) => {
                let Datum::Text(key) = wanted else {
                    let message = format!("Index to \"{name}\" must be a string");
                    return Err(TemplateError::kind(message));
                };
                Ok(Some(map.get(key.as_str()).cloned().unwrap_or_else(absent)))
            }
            Datum::List(items) => {
                let Some(at) = position(&wanted)? else {
                    let message = format!("Index to \"{name}\" must be an integer");
                    return Err(TemplateError::kind(message));
                };
                let item = index(items.len(), at).and_then(|at| items.get(at).cloned());
                Ok(Some(item.unwrap_or_else(absent)))
            }
            other => {
                position(&wanted)?;
                if matches!(other, Datum::Null) {
                    return Ok(Some(absent()));
                }
                Err(TemplateError::kind(format!("Arguments to {name} not fully resolved")))
            }
        }
    }
}
