//! Every function of every version by single calls: a snippet beside what the real Heat makes of
//! it, a value or an error and the stage that it comes from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hearth::model::{Refusal, ResourceName};
use hearth::resource_types::Registry;
use hearth::template::{
    PseudoParameters, ResourceValues, StackDefinition, StackSource, template_functions,
    template_versions,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A call with what comes of it.
#[derive(Debug, Deserialize)]
struct Probe {
    /// `heat_template_version.2018-08-31`
    version: String,
    /// `condition`; else the snippet stands where a value may.
    #[serde(default)]
    context: String,
    snippet: Value,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    stage: Stage,
    #[serde(default)]
    error: String,
    /// Where the error is, from the snippet on.
    #[serde(default)]
    path: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    Parse,
    Validate,
    #[default]
    Resolve,
}

/// Two resources, of which one is there.
struct Resources;

impl ResourceValues for Resources {
    fn reference(&self, name: &ResourceName) -> Option<Value> {
        (name.as_str() == "server").then(|| "srv-ref".into())
    }

    fn attribute(&self, name: &ResourceName, attribute: &str) -> Result<Option<Value>, Refusal> {
        let value = match attribute {
            "*" => json!({ "output": "attr-value" }),
            _ => "attr-value".into(),
        };
        Ok((name.as_str() == "server").then_some(value))
    }
}

#[test]
fn every_function_does_what_heats_does() {
    let text = std::fs::read_to_string(data("probes.jsonl")).unwrap();
    let registry = Registry::built_in().unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in text.lines() {
        count += 1;
        let probe: Probe = serde_json::from_str(line).unwrap();
        if let Err(difference) = probe.check(&registry) {
            wrong.push(format!("{line}\n    {difference}"));
        }
    }
    assert_eq!(count, 237);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_version_has_its_own_functions() {
    let text = std::fs::read_to_string(data("versions.json")).unwrap();
    let versions: BTreeMap<String, Functions> = serde_json::from_str(&text).unwrap();
    let listed: Vec<String> =
        template_versions().into_iter().map(|listed| listed.version).collect();
    assert_eq!(listed, versions.keys().cloned().collect::<Vec<_>>());
    for (version, functions) in versions {
        let names = |with_conditions| -> Vec<&str> {
            let listed = template_functions(&version, with_conditions).unwrap();
            listed.into_iter().map(|listed| listed.name).collect()
        };
        assert_eq!(names(false), functions.functions, "{version}");
        let mut all = [functions.functions, functions.condition_functions].concat();
        all.sort();
        all.dedup();
        assert_eq!(names(true), all, "{version}");
    }
}

/// What a version has.
#[derive(Debug, Deserialize)]
struct Functions {
    functions: Vec<String>,
    condition_functions: Vec<String>,
}

impl Probe {
    /// The template around the snippet; the conditions `yes` and `no` are in it where the version
    /// has conditions.
    fn template(&self) -> Value {
        let (key, version) = self.version.split_once('.').unwrap();
        let is_hot = key == "heat_template_version";
        let name = if is_hot { "hot.yaml" } else { "cfn.yaml" };
        let text = std::fs::read_to_string(data(name)).unwrap();
        let mut template: Map<String, Value> = serde_yaml::from_str(&text).unwrap();
        let names = match is_hot {
            true => ["conditions", "outputs", "value", "condition"],
            false => ["Conditions", "Outputs", "Value", "Condition"],
        };
        let [conditions, outputs, value, condition] = names;
        let output = match self.context.as_str() {
            "condition" => json!({ value: true, condition: self.snippet }),
            _ => json!({ value: self.snippet }),
        };
        template.insert(key.into(), version.into());
        template.insert(outputs.into(), json!({ "here": output }));
        if !is_hot || version >= "2016-10-14" {
            template.insert(conditions.into(), json!({ "yes": true, "no": false }));
        }
        Value::Object(template)
    }

    fn check(&self, registry: &Registry) -> Result<(), String> {
        let source = StackSource {
            template: self.template(),
            files: [("f.txt".to_owned(), "file body".to_owned())].into(),
            ..StackSource::default()
        };
        let stack = PseudoParameters {
            stack_name: "stk".into(),
            stack_id: "sid".into(),
            project_id: "p1".into(),
            facade: None,
        };
        let loaded = StackDefinition::load(&source, &stack, registry)
            .and_then(|definition| registry.validate(&definition).map(|()| definition));
        let is_condition = self.context == "condition";
        if self.stage != Stage::Resolve || (is_condition && !self.error.is_empty()) {
            let Err(refusal) = loaded else { return Err("is accepted".into()) };
            // What is wrong with a condition's value is told of the output.
            let class = match self.error.as_str() {
                "ValueError" => "StackValidationFailed",
                class => class,
            };
            let is_there = refusal.message.to_lowercase().contains(&self.path.to_lowercase());
            return match refusal.class == class && is_there {
                true => Ok(()),
                false => Err(format!("{}: {}", refusal.class, refusal.message)),
            };
        }
        let definition = loaded.map_err(|refusal| refusal.message)?;
        let described: Value = serde_json::from_str(&definition.describe()).unwrap();
        let found = &described["outputs"]["here"]["value"];
        if !self.error.is_empty() {
            return match found["!error"] == self.error {
                true => Ok(()),
                false => Err(found.to_string()),
            };
        }
        let outputs = definition.resolve_outputs(&Resources);
        let wanted = match is_condition && self.value == false {
            true => &Value::Null,
            false => &self.value,
        };
        match outputs[0].value == *wanted {
            true => Ok(()),
            false => Err(format!("{} {:?}", outputs[0].value, outputs[0].error)),
        }
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/template/functions").join(name)
}
