//! How Python prints and compares values: Heat's messages show them so.

use serde_json::Value;

pub(crate) use crate::model::python::type_name;
use crate::template::{Datum, python};

/// `str(value)`.
pub(crate) fn text(value: &Value) -> String {
    python::text_of(&Datum::from(value))
}

/// `repr(value)`.
pub(crate) fn repr(value: &Value) -> String {
    python::repr(&Datum::from(value))
}

/// `json.dumps(value)`.
pub(crate) fn json(value: &Value) -> String {
    python::json_text(&Datum::from(value), false)
}

/// A path as Heat writes it: `resources.a.properties.list[0].key`.
pub(crate) fn path<'a>(steps: impl Iterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for step in steps {
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{step}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(step);
        }
    }
    path
}

/// Python's `==`, for which numbers and truth values are one family.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left == right,
        _ => match (left, right) {
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r))
            }
            (Value::Object(left), Value::Object(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
            }
            _ => left == right,
        },
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
