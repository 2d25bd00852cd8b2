//! The outputs of a stack, for people.

use serde_json::Value;

use super::columns::{clean, width};

/// A line for each, below a title; nothing where there are none.
pub(super) fn text(outputs: &Value) -> String {
    let Some(outputs) = outputs.as_array().filter(|it| !it.is_empty()) else {
        return String::new();
    };
    let key = |output: &Value| output["output_key"].as_str().unwrap_or_default().to_owned();
    let widest = outputs.iter().map(|output| width(&key(output))).max().unwrap_or(0);
    let mut text = String::from("\noutputs\n");
    for output in outputs {
        let value = match &output["output_value"] {
            Value::String(value) => clean(value),
            value => value.to_string(),
        };
        text.push_str(&format!("  {:<widest$}  {value}\n", key(output)));
    }
    text
}
