//! Parameters by cases: a schema and what is given beside the value that templates see and the
//! text that users are shown, or the class of the error.

use std::path::Path;

use hearth::resource_types::Registry;
use hearth::template::{PseudoParameters, StackDefinition, StackSource};
use serde_json::{Value, json};

#[test]
fn parameters_come_to_what_is_written_beside_them() {
    let registry = Registry::built_in().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/parameters/cases.yaml");
    let cases: Vec<Value> = serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let wrong: Vec<String> = cases
        .iter()
        .map(|case| (case, found(case, &registry)))
        .filter(|(case, found)| !agrees(case, found))
        .map(|(case, found)| format!("{case}\n  found {found}"))
        .collect();
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

fn agrees(case: &Value, found: &Value) -> bool {
    ["value", "shown", "error"].iter().all(|key| case[key] == found[key])
}

fn found(case: &Value, registry: &Registry) -> Value {
    let key = case["key"].as_str().unwrap_or("heat_template_version");
    let section = if key == "heat_template_version" { "parameters" } else { "Parameters" };
    let mut environment = json!({ "parameters": {}, "parameter_defaults": {} });
    if let Some(given) = case.get("given") {
        environment["parameters"]["p"] = given.clone();
    }
    if let Some(default) = case.get("parameter_default") {
        environment["parameter_defaults"]["p"] = default.clone();
    }
    let source = StackSource {
        template: json!({ key: case["version"], section: { "p": case["schema"] } }),
        environment: environment.as_object().unwrap().clone(),
        ..StackSource::default()
    };
    match StackDefinition::load(&source, &PseudoParameters::default(), registry) {
        Err(refusal) => json!({ "error": refusal.class }),
        Ok(definition) => {
            let described: Value = serde_json::from_str(&definition.describe()).unwrap();
            let shown = &definition.shown_parameters()["p"];
            let hidden = shown == "******";
            // A hidden value is described as hidden; what a template sees is the value given.
            let value = if hidden { &case["given"] } else { &described["parameters"]["p"] };
            json!({ "value": value, "shown": shown })
        }
    }
}
