//! The few schemas that all others are made of.

use serde_json::{Map, Value, json};

use crate::model::sizes::Limit;

pub(super) fn any() -> Value {
    json!({})
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

/// A text that is no longer than it may be.
pub(super) fn text_within(limit: Limit) -> Value {
    json!({ "type": "string", "maxLength": limit.max })
}

pub(super) fn truth() -> Value {
    json!({ "type": "boolean" })
}

/// A whole number from 0 on.
pub(super) fn number() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// An object of any members.
pub(super) fn map() -> Value {
    json!({ "type": "object" })
}

pub(super) fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

pub(super) fn one_of(schemas: &[Value]) -> Value {
    json!({ "anyOf": schemas })
}

pub(super) fn or_null(schema: Value) -> Value {
    let mut schema = schema;
    schema["nullable"] = true.into();
    schema
}

/// Nothing but null.
pub(super) fn null() -> Value {
    json!({ "type": "object", "nullable": true, "enum": [null] })
}

/// A schema of the description's own.
pub(super) fn named(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An object with members that are always there.
pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let mut schema = json!({ "type": "object", "required": required });
    schema["properties"] = properties(members);
    schema
}

/// An object with members that may be there; no other counts.
pub(super) fn optional<const N: usize>(members: [(&str, Value); N]) -> Value {
    json!({ "type": "object", "properties": properties(members) })
}

/// The same object with members that may be there as well.
pub(super) fn and_maybe<const N: usize>(schema: Value, members: [(&str, Value); N]) -> Value {
    let mut schema = schema;
    for (name, member) in members {
        schema["properties"][name] = member;
    }
    schema
}

/// The same object with more members that are always there.
pub(super) fn and<const N: usize>(schema: Value, members: [(&str, Value); N]) -> Value {
    let mut schema = schema;
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(members.iter().map(|(name, _)| Value::from(*name)));
    }
    and_maybe(schema, members)
}

fn properties<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    Value::Object(members.collect::<Map<String, Value>>())
}
