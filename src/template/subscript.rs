//! Python's subscripts: `value[key]`, with its errors.

use super::error::{Outcome, TemplateError};
use super::python;
use super::value::Datum;

/// `value[key]`.
pub(crate) fn item(value: &Datum, key: &Datum) -> Outcome<Datum> {
    let kind = python::type_name(key);
    let at = |length: usize| {
        let position = match key {
            Datum::Int(number) => *number,
            Datum::Bool(truth) => i128::from(*truth),
            Datum::Null | Datum::Float(_) | Datum::Text(_) | Datum::List(_) | Datum::Map(_) => {
                return Err(TemplateError::kind(match value {
                    Datum::Text(_) => format!("string indices must be integers, not '{kind}'"),
                    _ => format!("list indices must be integers or slices, not {kind}"),
                }));
            }
        };
        index(length, position).ok_or_else(|| {
            let what = if matches!(value, Datum::Text(_)) { "string" } else { "list" };
            TemplateError::new("IndexError", format!("{what} index out of range"))
        })
    };
    match value {
        Datum::Map(_) if matches!(key, Datum::List(_) | Datum::Map(_)) => {
            Err(TemplateError::kind(format!("unhashable type: '{kind}'")))
        }
        Datum::Map(map) => key
            .as_text()
            .and_then(|key| map.get(key).cloned())
            .ok_or_else(|| TemplateError::new("KeyError", python::repr(key))),
        Datum::List(items) => Ok(items[at(items.len())?].clone()),
        Datum::Text(text) => {
            let characters: Vec<char> = text.chars().collect();
            Ok(Datum::Text(characters[at(characters.len())?].to_string().into()))
        }
        Datum::Null | Datum::Bool(_) | Datum::Int(_) | Datum::Float(_) => {
            let kind = python::type_name(value);
            Err(TemplateError::kind(format!("'{kind}' object is not subscriptable")))
        }
    }
}

/// Python's list index, which counts from the end where it is negative.
pub(crate) fn index(length: usize, at: i128) -> Option<usize> {
    let length = length as i128;
    let from_start = if at < 0 { at + length } else { at };
    (0..length).contains(&from_start).then_some(from_start as usize)
}
