//! What a resource's definition is compared by beside the values that it comes to. As in Heat a
//! resource is updated where its definition is written otherwise, though nothing changes by it: with
//! another `depends_on`, with a default written out, with a number in place of its text.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ResourceDeclared, ResourceResolved};

/// Bytes of the digest that are kept.
const KEPT_BYTES: usize = 8;

impl ResourceDeclared {
    /// A digest of how the definition is written. It has no values in it, and so no secrets.
    pub fn written(&self, resolved: &ResourceResolved) -> String {
        let properties = resolved.properties.iter().map(|(name, value)| (name, shape(value)));
        let mut properties: Vec<(&String, Value)> = properties.collect();
        properties.sort_unstable_by_key(|(name, _)| *name);
        let whole = json!([self.declared_type, self.outline.as_str(), properties]).to_string();
        Sha256::digest(whole).iter().take(KEPT_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The kinds of a value and of all in it, by sorted names.
fn shape(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(_) => "truth".into(),
        Value::Number(_) => "number".into(),
        Value::String(_) => "text".into(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| *name);
            entries.into_iter().map(|(name, value)| (name.clone(), shape(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_how_a_definition_is_written_and_not_what_it_says() {
        let digest = |outline: &str, properties: Value| {
            let outline = outline.into();
            let declared = ResourceDeclared { outline, ..ResourceDeclared::default() };
            let properties = properties.as_object().cloned().unwrap_or_default();
            declared.written(&ResourceResolved { properties, ..ResourceResolved::default() })
        };
        let plain = digest("p", json!({ "a": 1, "b": { "c": "x", "d": [true] } }));
        let values = json!({ "b": { "d": [false], "c": "y" }, "a": 0.5 });
        assert_eq!(digest("p", values.clone()), plain);
        assert_ne!(digest("p[\"a\"]", values), plain);
        for other in [json!({ "a": 1 }), json!({ "a": "1", "b": { "c": "x", "d": [true] } })] {
            assert_ne!(digest("p", other), plain);
        }
    }
}
