//! Software configurations and deployments as drivers see them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::sizes::{CONFIG, CONFIG_INPUTS, CONFIG_OPTIONS, CONFIG_OUTPUTS};
use crate::model::{ConfigId, JsonMap, Refusal};

/// A configuration; nothing in it is sealed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SoftwareConfig {
    pub name: Option<String>,
    pub group: Option<String>,
    pub content: ConfigContent,
}

/// What a configuration holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConfigContent {
    /// A text, or what a structured tool takes.
    #[serde(default)]
    pub config: Value,
    #[serde(default)]
    pub inputs: Vec<JsonMap>,
    #[serde(default)]
    pub outputs: Vec<JsonMap>,
    #[serde(default)]
    pub options: Value,
}

impl ConfigContent {
    /// Refuses what is too large to be kept.
    pub fn check_size(&self) -> Result<(), Refusal> {
        CONFIG.check_json(&self.config)?;
        CONFIG_INPUTS.check_json(&self.inputs)?;
        CONFIG_OUTPUTS.check_json(&self.outputs)?;
        CONFIG_OPTIONS.check_json(&self.options)
    }
}

/// A deployment; nothing in it is sealed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    pub config_id: ConfigId,
    pub server_id: String,
    pub action: Option<String>,
    pub status: Option<String>,
    pub status_reason: Option<String>,
    pub output_values: JsonMap,
}

/// A configuration to be brought to a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Deploy {
    pub config_id: ConfigId,
    pub server_id: String,
    /// The project of the stack's users, one of whom may ask for the server's configurations.
    pub stack_user_project_id: Option<String>,
    pub action: String,
    /// None: those of before stay.
    pub input_values: Option<Value>,
    pub status: &'static str,
    pub status_reason: &'static str,
}

/// What is wrong with the inputs or outputs of a configuration, in Heat's words where it has some.
pub fn read_io(given: &Value, is_input: bool) -> Result<Vec<JsonMap>, Refusal> {
    let wrong = |text: &'static str| Refusal::new("TypeError", text);
    let list = match given {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(wrong("Software Config I/O Schema must be in a list"));
        }
    };
    let entries = list.iter().map(|entry| match entry {
        Value::Object(map) => entry_of(map, is_input),
        _ => Err(wrong("Software Config I/O Schema must be a dict")),
    });
    entries.collect()
}

const TYPES: &[&str] = &["String", "Number", "CommaDelimitedList", "Json", "Boolean"];

/// An input or output with its defaults.
fn entry_of(given: &JsonMap, is_input: bool) -> Result<JsonMap, Refusal> {
    let wrong = |text: String| Refusal::new("ValueError", text);
    let flag = if is_input { "replace_on_change" } else { "error_output" };
    let known: &[&str] = if is_input {
        &["name", "description", "type", "default", "value", "replace_on_change"]
    } else {
        &["name", "description", "type", "error_output"]
    };
    if let Some(unknown) = given.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(wrong(format!("Unknown Property {unknown}")));
    }
    let Some(Value::String(_)) = given.get("name") else {
        return Err(wrong("Property name not assigned".to_owned()));
    };
    let kind = given.get("type").and_then(Value::as_str).unwrap_or("String");
    if !TYPES.contains(&kind) {
        return Err(wrong(format!("\"{kind}\" is not an allowed value")));
    }
    let is_set = match given.get(flag) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(set)) => *set,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => true,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => false,
        Some(_) => return Err(wrong(format!("{flag} is not a valid boolean"))),
    };
    let mut entry = JsonMap::new();
    for (key, value) in given {
        // A value may be null; what else is null is not there.
        if key != flag && (key == "value" || !value.is_null()) {
            entry.insert(key.clone(), value.clone());
        }
    }
    entry.insert("type".to_owned(), kind.into());
    if is_set || !is_input {
        entry.insert(flag.to_owned(), is_set.into());
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_and_outputs_get_their_defaults() {
        let given = json!([{ "name": "a" }, { "name": "b", "type": "Json", "value": null }]);
        let read = read_io(&given, true).unwrap();
        let expected = json!([
            { "name": "a", "type": "String" },
            { "name": "b", "type": "Json", "value": null }
        ]);
        assert_eq!(json!(read), expected);
        let read = read_io(&json!([{ "name": "a" }]), false).unwrap();
        assert_eq!(json!(read), json!([{ "name": "a", "type": "String", "error_output": false }]));
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        let class = |given| read_io(&given, true).unwrap_err().class;
        assert_eq!(class(json!({})), "TypeError");
        assert_eq!(class(json!(["a"])), "TypeError");
        assert_eq!(class(json!([{ "type": "String" }])), "ValueError");
        assert_eq!(class(json!([{ "name": "a", "type": "Strung" }])), "ValueError");
    }
}
