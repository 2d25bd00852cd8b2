//! The entries of the property `networks`.

use serde_json::Value;

use crate::model::JsonMap;

/// The entries of the property.
pub(super) fn entries(properties: &JsonMap) -> &[Value] {
    properties.get("networks").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A key's text, when it has one.
pub(super) fn get<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry[key].as_str().filter(|text| !text.is_empty())
}
