//! Heat's conversions of given values into the types of properties, and its words where a value
//! does not fit.

use serde_json::{Number, Value};

use super::python;
use super::schema::Kind;
use crate::model::JsonMap;
use crate::template::python as numbers;

/// A value that has no parts with a schema, in its type. What stands for a template's parameter
/// takes lists and maps as text.
pub(super) fn value(kind: Kind, value: &Value, from_parameter: bool) -> Result<Value, String> {
    match kind {
        Kind::String => string(value),
        Kind::Integer => integer(value),
        Kind::Number => number(value),
        Kind::Boolean => boolean(value),
        Kind::Map => match value {
            Value::String(_) if from_parameter => Ok(value.clone()),
            Value::Array(_) if from_parameter => Ok(python::json(value).into()),
            other => Err(format!("\"{}\" is not a map", python::text(other))),
        },
        Kind::List => match value {
            Value::Null => Ok(Value::Array(Vec::new())),
            Value::String(text) if from_parameter && text.is_empty() => {
                Ok(Value::Array(Vec::new()))
            }
            Value::String(text) if from_parameter => Ok(text.split(',').map(Value::from).collect()),
            other => Err(format!("\"{}\" is not a list", python::repr(other))),
        },
        Kind::Any => Ok(value.clone()),
    }
}

/// A value of which nothing but its type is known.
pub(super) fn whole(kind: Kind, given: &Value) -> Result<Value, String> {
    match (kind, given) {
        (Kind::Map, Value::Null) => Ok(Value::Object(JsonMap::new())),
        (Kind::Map, Value::Object(_)) | (Kind::List, Value::Array(_)) => Ok(given.clone()),
        (kind, given) => value(kind, given, false),
    }
}

fn string(value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok("".into()),
        Value::String(_) => Ok(value.clone()),
        Value::Bool(_) => Ok(python::text(value).into()),
        Value::Number(number) if !number.is_f64() => Ok(python::text(value).into()),
        other => Err(format!("Value must be a string; got {}", python::repr(other))),
    }
}

fn integer(value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok(0.into()),
        Value::Bool(truth) => Ok(i64::from(*truth).into()),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => Ok((float.trunc() as i64).into()),
            _ => Ok(value.clone()),
        },
        Value::String(text) => numbers::int_of(text)
            .and_then(|integer| i64::try_from(integer).ok())
            .map(Value::from)
            .ok_or_else(|| format!("Value '{text}' is not an integer")),
        Value::Array(_) | Value::Object(_) => Err(no_number(value)),
    }
}

fn number(value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok(0.into()),
        Value::Number(_) | Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => {
            let integer = numbers::int_of(text).and_then(|integer| i64::try_from(integer).ok());
            let float = || Number::from_f64(numbers::float_of(text)?).map(Value::Number);
            integer.map(Value::from).or_else(float).ok_or_else(|| {
                format!("could not convert string to float: {}", python::repr(value))
            })
        }
        Value::Array(_) | Value::Object(_) => Err(no_number(value)),
    }
}

fn no_number(value: &Value) -> String {
    format!(
        "int() argument must be a string, a bytes-like object or a real number, not '{}'",
        python::type_name(value)
    )
}

fn boolean(value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok(false.into()),
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            other => Err(format!("\"{other}\" is not a valid boolean")),
        },
        other => Err(format!("\"{}\" is not a valid boolean", python::text(other))),
    }
}
