//! What the values of attributes look like.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::doc::{flag, shown, uuid_like, whole};

/// The form of an attribute's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum Shape {
    Text,
    Flag,
    Whole,
    Id,
    List,
    Object,
    Any,
}

/// The value in its form, or what is wrong with it.
pub(in crate::sandbox) fn shaped(shape: Shape, value: Value) -> Result<Value, String> {
    match shape {
        Shape::Text => match value {
            Value::String(text) if text.len() > 255 => {
                Err(format!("'{text}' exceeds maximum length of 255."))
            }
            Value::String(text) => Ok(Value::String(text)),
            // A name that is null is an empty one.
            Value::Null => Ok(Value::String(String::new())),
            other => Err(format!("'{}' is not a valid string.", shown(&other))),
        },
        Shape::Flag => flag(&value)
            .map(Value::Bool)
            .ok_or_else(|| format!("'{}' cannot be converted to boolean", shown(&value))),
        Shape::Whole => whole(&value)
            .map(Value::from)
            .ok_or_else(|| format!("'{}' is not an integer.", shown(&value))),
        Shape::Id => match value.as_str().is_some_and(uuid_like) {
            true => Ok(value),
            false => Err(format!("'{}' is not a valid UUID.", shown(&value))),
        },
        Shape::List => match value {
            Value::Array(_) => Ok(value),
            Value::Null => Ok(json!([])),
            other => Err(format!("'{}' is not a list.", shown(&other))),
        },
        Shape::Object => match value {
            Value::Object(_) => Ok(value),
            Value::Null => Ok(json!({})),
            other => Err(format!("'{}' is not a dictionary.", shown(&other))),
        },
        Shape::Any => Ok(value),
    }
}
