//! The environment of a request: what its body says and the files that it names, as one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::merge;
use crate::model::{JsonMap, Refusal};
use crate::template::document;
use crate::template::parameters::schema;
use crate::template::value::{Datum, DatumMap, to_json_map};
use crate::template::version::Version;

/// What a request says of its environment.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentSent<'a> {
    /// The template that the parameters belong to, as sent or as stored.
    pub template: &'a Value,
    /// The body's `environment`: an object, text, or null.
    pub environment: &'a Value,
    /// The body's `environment_files`: names among the files, in order.
    pub environment_files: &'a [String],
    pub files: &'a BTreeMap<String, String>,
    /// The body's `parameters`.
    pub parameters: &'a JsonMap,
}

/// The environment and the parameters beside it, as [`super::super::StackSource`] wants them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvironmentMerged {
    pub environment: JsonMap,
    pub parameters: JsonMap,
}

impl EnvironmentSent<'_> {
    /// Reads the environment. Where files are named they take its place, and what they say of a
    /// parameter goes above what the request says.
    pub fn merge(&self) -> Result<EnvironmentMerged, Refusal> {
        // A PATCH without a template keeps the one there is, which was read when it came.
        let schemas = match self.template.is_null() && self.environment_files.is_empty() {
            true => Default::default(),
            false => {
                let root = document::template(self.template)?;
                let own = schema::read_all(&root, Version::of(&root)?)?;
                merge::all_schemas(self.files, own)?
            }
        };
        if self.environment_files.is_empty() {
            let node = super::read(self.environment)?;
            let environment = match node.to_json() {
                Value::Object(environment) => environment,
                _ => JsonMap::new(),
            };
            return Ok(EnvironmentMerged { environment, parameters: self.parameters.clone() });
        }
        let mut sections = DatumMap::default();
        let parameters = Datum::from(&Value::Object(self.parameters.clone()));
        sections.insert("parameters".into(), parameters);
        merge::merge_files(&mut sections, self.environment_files, self.files, &schemas)?;
        Ok(EnvironmentMerged { environment: to_json_map(&sections), parameters: JsonMap::new() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(files: &[&str], parameters: Value) -> Result<Value, Refusal> {
        let names: Vec<String> = (0..files.len()).map(|number| format!("{number}.yaml")).collect();
        let files =
            names.iter().cloned().zip(files.iter().map(|text| (*text).to_owned())).collect();
        let sent = EnvironmentSent {
            template: &json!({
                "heat_template_version": "2018-08-31",
                "parameters": {
                    "text": {"type": "string"},
                    "list": {"type": "comma_delimited_list"},
                    "map": {"type": "json"},
                    "number": {"type": "number"},
                },
            }),
            environment: &Value::Null,
            environment_files: &names,
            files: &files,
            parameters: parameters.as_object().unwrap(),
        };
        sent.merge().map(|merged| Value::Object(merged.environment)["parameters"].clone())
    }

    #[test]
    fn a_file_goes_above_parameters_and_later_files_above_earlier_ones() {
        let files = ["parameters: {text: a}", "parameters: {text: b}"];
        assert_eq!(merged(&files, json!({"text": "z"})).unwrap(), json!({"text": "b"}));
    }

    #[test]
    fn values_merge_where_a_file_asks_for_it() {
        let files = [
            "parameters: {text: a, list: [x], map: {k: 1}}",
            "parameters: {text: b, list: [y], map: {l: 2}}\n\
             parameter_merge_strategies: {default: merge}",
        ];
        // The first file settled the strategy, which a later default does not change.
        assert_eq!(merged(&files, json!({})).unwrap()["text"], "b");
        let first = format!("{}\nparameter_merge_strategies: {{default: merge}}", files[0]);
        let merged = merged(&[&first, files[1]], json!({})).unwrap();
        assert_eq!(merged, json!({"text": "ab", "list": ["x", "y"], "map": {"k": 1, "l": 2}}));
    }

    #[test]
    fn a_file_without_strategies_keeps_those_of_the_files_before() {
        let files = [
            "parameters: {text: a}\nparameter_merge_strategies: {default: merge}",
            "parameters: {text: b}",
        ];
        assert_eq!(merged(&files, json!({})).unwrap()["text"], "ab");
    }

    #[test]
    fn a_word_that_is_no_strategy_overwrites() {
        let files = ["parameters: {text: a}", "parameters: {text: b}"];
        let worded =
            files.map(|text| format!("{text}\nparameter_merge_strategies: {{default: other}}"));
        let worded: Vec<&str> = worded.iter().map(String::as_str).collect();
        assert_eq!(merged(&worded, json!({})).unwrap()["text"], "b");
        assert_eq!(merged(&[files[0], worded[1]], json!({})).unwrap()["text"], "b");
        let refusal = merged(&[worded[0], files[1]], json!({})).unwrap_err();
        assert_eq!(refusal.class, "ConflictingMergeStrategyForParam");
    }

    #[test]
    fn a_parameter_keeps_its_strategy() {
        let files = [
            "parameters: {text: a}",
            "parameters: {text: b}\nparameter_merge_strategies: {text: merge}",
        ];
        let refusal = merged(&files, json!({})).unwrap_err();
        assert_eq!(refusal.class, "ConflictingMergeStrategyForParam");
    }
}
