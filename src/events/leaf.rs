//! How sealed parts stand in JSON, told from values of the user's that look like one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::model::JsonMap;
use crate::model::taint;

/// The key of a sealed part.
pub(super) const SEALED: &str = "sealed";
/// The key beside it: where it was sealed.
pub(super) const AT: &str = "at";
/// The key within it that a value of the user's has which looks sealed.
pub(super) const ESCAPED: &str = "\u{0}own";
/// What the text of version 2 begins with.
pub(super) const VERSION: &str = "v2:";
/// What version 1 has at least: a nonce and a tag.
const SEALED_MIN_BYTES: usize = 12 + 16;

/// An object that is more than data.
pub(super) enum Leaf<'a> {
    /// The place is of version 2.
    Sealed { text: &'a str, at: Option<&'a str> },
    /// A value of the user's that looks sealed.
    Escaped,
}

impl<'a> Leaf<'a> {
    pub(super) fn of(map: &'a JsonMap) -> Option<Self> {
        let at = map.get(AT).and_then(Value::as_str);
        match (map.get(SEALED)?, map.len(), at) {
            (Value::String(text), 2, Some(_)) if text.starts_with(VERSION) => {
                Some(Leaf::Sealed { text, at })
            }
            // Before version 2 nothing was escaped: what cannot be a seal is a value of the user's.
            (Value::String(text), 1, None) => STANDARD
                .decode(text)
                .is_ok_and(|sealed| sealed.len() >= SEALED_MIN_BYTES)
                .then_some(Leaf::Sealed { text, at: None }),
            (Value::Object(own), 1, None) if own.len() == 1 && own.contains_key(ESCAPED) => {
                Some(Leaf::Escaped)
            }
            _ => None,
        }
    }
}

/// Whether a value of the user's would be taken for something else when it is read back.
pub(super) fn looks_sealed(map: &JsonMap) -> bool {
    map.contains_key(SEALED) && map.keys().all(|key| key == SEALED || key == AT)
}

/// The value with another one in place of every secret part.
pub(super) fn replaced(value: &Value, by: &Value) -> Value {
    let all =
        |map: &JsonMap| map.iter().map(|(key, value)| (key.clone(), replaced(value, by))).collect();
    match value {
        _ if taint::marked(value).is_some() => by.clone(),
        Value::Object(map) => match Leaf::of(map) {
            Some(Leaf::Sealed { .. }) => by.clone(),
            Some(Leaf::Escaped) => match &map[SEALED][ESCAPED] {
                Value::Object(own) => all(own),
                other => other.clone(),
            },
            None => all(map),
        },
        Value::Array(items) => items.iter().map(|item| replaced(item, by)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The value with its seals emptied: whoever reads it takes the same parts for secret, and there is
/// nothing in them.
pub(super) fn unsealed(value: &Value) -> Value {
    let all = |map: &JsonMap| -> Value {
        map.iter().map(|(key, value)| (key.clone(), unsealed(value))).collect()
    };
    let empty = || json!({ SEALED: VERSION, AT: "" });
    match value {
        _ if taint::marked(value).is_some() => empty(),
        Value::Object(map) => match Leaf::of(map) {
            Some(Leaf::Sealed { .. }) => empty(),
            Some(Leaf::Escaped) => match &map[SEALED][ESCAPED] {
                Value::Object(own) => json!({ SEALED: { ESCAPED: all(own) } }),
                _ => value.clone(),
            },
            None => all(map),
        },
        Value::Array(items) => items.iter().map(unsealed).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
