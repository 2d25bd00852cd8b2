//! Templates of test resources, which need no cloud: what is measured is Hearth.

use serde_json::{Map, Value, json};

/// Resources that know nothing of each other.
pub(super) fn independent(count: usize, value: &str) -> Value {
    template((0..count).map(|index| (name(index), resource(json!(value)))).collect())
}

/// The same, each with a value of its own.
pub(super) fn of_values(values: &[usize]) -> Value {
    let each = values.iter().enumerate();
    template(each.map(|(index, value)| (name(index), resource(json!(value.to_string())))).collect())
}

/// Resources of which each uses the output of the one before.
pub(super) fn chain(count: usize, value: &str) -> Value {
    let link = |index: usize| match index.checked_sub(1) {
        None => resource(json!(value)),
        Some(before) => resource(json!({ "get_attr": [name(before), "output"] })),
    };
    template((0..count).map(|index| (name(index), link(index))).collect())
}

/// What the resource of a number is called.
pub(super) fn name(index: usize) -> String {
    format!("r{index}")
}

fn resource(value: Value) -> Value {
    json!({ "type": "OS::Heat::TestResource", "properties": { "value": value } })
}

fn template(resources: Map<String, Value>) -> Value {
    json!({ "heat_template_version": "2021-04-16", "resources": resources })
}
