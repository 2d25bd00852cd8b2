//! The value of an expression as a value of the template language, in its shape when Heat's API
//! shows it: sets are lists, sorted so that they are the same each time, and keys are text.

use super::failure;
use super::limits;
use super::machine::Machine;
use super::print;
use super::value::Value;
use super::value::stream::{Cursor, limited};
use crate::template::error::{Outcome, TemplateError};
use crate::template::key::Key;
use crate::template::python;
use crate::template::value::{Datum, DatumMap};

/// Takes a value out.
pub(super) fn datum(machine: &mut Machine, value: Value) -> Outcome<Datum> {
    machine.step(1)?;
    machine.enter()?;
    let datum = inner_datum(machine, value);
    machine.leave();
    datum
}

fn inner_datum(machine: &mut Machine, value: Value) -> Outcome<Datum> {
    Ok(match value {
        Value::Null => Datum::Null,
        Value::Bool(truth) => Datum::Bool(truth),
        Value::Int(number) => Datum::Int(number),
        Value::Float(number) => Datum::Float(number),
        Value::Text(text) => Datum::Text(text.to_string().into()),
        Value::Map(map) => {
            if map.entries.len() > limits::iterators() {
                return Err(failure::collection(limits::iterators()));
            }
            let mut out = DatumMap::default();
            for (key, item) in &map.entries {
                let item = datum(machine, item.clone())?;
                out.insert(key_of(machine, key)?, item);
            }
            Datum::Map(out)
        }
        Value::Set(_) => set(machine, value)?,
        Value::View(ref view) if view.part != super::value::Part::Values => set(machine, value)?,
        Value::List(_) | Value::View(_) | Value::Stream(_) | Value::Ordering(_) => {
            Datum::List(items(machine, value)?)
        }
        Value::Regex(_)
        | Value::Moment(_)
        | Value::Span(_)
        | Value::Context(_)
        | Value::Rule(_) => Datum::Text(print::text(&value).into()),
    })
}

fn items(machine: &mut Machine, collection: Value) -> Outcome<Vec<Datum>> {
    let collection = limited(machine, collection, limits::iterators())?;
    let mut cursor = Cursor::over(machine, &collection)?;
    let mut out = Vec::new();
    while let Some(item) = cursor.next(machine)? {
        out.push(datum(machine, item)?);
    }
    Ok(out)
}

fn set(machine: &mut Machine, value: Value) -> Outcome<Datum> {
    let mut members = items(machine, value)?;
    // Members become lists and maps, which a set of Python's cannot have.
    let unhashable = members.iter().find(|item| matches!(item, Datum::List(_) | Datum::Map(_)));
    if let Some(member) = unhashable {
        let message = format!("unhashable type: '{}'", python::type_name(member));
        return Err(TemplateError::kind(message));
    }
    members.sort_by_cached_key(|member| python::json_text(member, false));
    Ok(Datum::List(members))
}

/// A key with the text that JSON has for it. A collection becomes a list or a map on its way out,
/// which no map of Python's can have for a key.
fn key_of(machine: &mut Machine, key: &Value) -> Outcome<Key> {
    match key {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {
            let key = datum(machine, key.clone())?;
            let text = match &key {
                Datum::Text(text) => text.clone(),
                other => python::json_text(other, false).into(),
            };
            Ok(Key::of(&key, text))
        }
        Value::Set(_) => Err(TemplateError::kind("unhashable type: 'set'")),
        Value::List(_) | Value::Map(_) | Value::View(_) | Value::Stream(_) | Value::Ordering(_) => {
            let key = datum(machine, key.clone())?;
            let message = format!("unhashable type: '{}'", python::type_name(&key));
            Err(TemplateError::kind(message))
        }
        Value::Regex(_)
        | Value::Moment(_)
        | Value::Span(_)
        | Value::Context(_)
        | Value::Rule(_) => Ok(Key::object(print::text(key))),
    }
}
