//! Properties and what they refer to.

use serde_json::Value;

/// What `get_resource` and `get_attr` come to.
pub(super) trait Lookup {
    fn reference(&self, name: &str) -> Value;
    fn attribute(&self, name: &str, attribute: &str) -> Value;
    fn parameter(&self, name: &str) -> Value;
}

/// The resources that a value refers to.
pub(super) fn refers_to(value: &Value) -> Vec<String> {
    match value {
        Value::Object(call) => match (call.get("get_resource"), call.get("get_attr")) {
            (Some(name), _) => name.as_str().map(str::to_owned).into_iter().collect(),
            (None, Some(path)) => path[0].as_str().map(str::to_owned).into_iter().collect(),
            (None, None) => call.values().flat_map(refers_to).collect(),
        },
        Value::Array(items) => items.iter().flat_map(refers_to).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// A property with its references looked up.
pub(super) fn evaluated(value: &Value, lookup: &dyn Lookup) -> Value {
    match value {
        Value::Object(call) => {
            if let Some(name) = call.get("get_resource").and_then(Value::as_str) {
                return lookup.reference(name);
            }
            if let Some(name) = call.get("get_param").and_then(Value::as_str) {
                return lookup.parameter(name);
            }
            match call.get("get_attr").and_then(Value::as_array).map(Vec::as_slice) {
                Some([Value::String(name), Value::String(attribute)]) => {
                    lookup.attribute(name, attribute)
                }
                _ => {
                    let entry = |(key, value)| (String::clone(key), evaluated(value, lookup));
                    Value::Object(call.iter().map(entry).collect())
                }
            }
        }
        Value::Array(items) => items.iter().map(|item| evaluated(item, lookup)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
