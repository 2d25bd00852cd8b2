//! JSON objects as rows: what Neutron, Glance and request bodies are made of.

use serde_json::Value;

use crate::model::JsonMap;

/// Short ways to read and write a JSON object.
pub(super) trait Doc {
    /// The text under a key; empty where there is none.
    fn text(&self, key: &str) -> &str;
    /// Whether the value under a key is true.
    fn is(&self, key: &str) -> bool;
    /// The whole number under a key, also when it is written as text.
    fn int(&self, key: &str) -> Option<i64>;
    /// The list under a key; empty where there is none.
    fn list(&self, key: &str) -> &[Value];
    /// The object under a key.
    fn object(&self, key: &str) -> Option<&JsonMap>;
    /// Puts a value.
    fn set(&mut self, key: &str, value: impl Into<Value>);
}

impl Doc for JsonMap {
    fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn is(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    fn int(&self, key: &str) -> Option<i64> {
        whole(self.get(key)?)
    }

    fn list(&self, key: &str) -> &[Value] {
        self.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn object(&self, key: &str) -> Option<&JsonMap> {
        self.get(key).and_then(Value::as_object)
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.insert(key.to_owned(), value.into());
    }
}

/// A whole number, also when it is written as text.
pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A yes or no, as OpenStack's services take it.
pub(super) fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        Value::String(text) => flag_text(text),
        _ => None,
    }
}

/// The same for text, as in a query.
pub(super) fn flag_text(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Some(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Some(false),
        _ => None,
    }
}

/// The text of a value: itself, or its JSON.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether a text looks like a UUID.
pub(super) fn uuid_like(text: &str) -> bool {
    uuid::Uuid::try_parse(text).is_ok()
}
