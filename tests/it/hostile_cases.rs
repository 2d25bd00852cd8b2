//! The worst templates that are known, played against what a request may take. They are counted in
//! steps: what is not counted anywhere would go on for minutes, and come to an end by itself.

use std::sync::Arc;

use hearth::model::Refusal;
use hearth::resource_types::Registry;
use hearth::template::{
    PseudoParameters, REQUEST_STEPS_MAX, StackDefinition, StackSource, map_text, within_steps,
};
use serde_json::{Map, Value, json};

const CASES: &str = include_str!("../data/hostile/cases.yaml");

/// What each may take here: a request may take twenty times as much, in twenty times the time.
const STEPS: u64 = REQUEST_STEPS_MAX / 20;

/// Reads and evaluates the template of a case as a preview does; the refusal, if it is one.
fn play(case: &Value, registry: &Registry) -> Result<(), Refusal> {
    let twice = "let(a => [$a, $a]) -> ".repeat(40);
    let value = case["value"].as_str().unwrap().replace("{twice}", &twice);
    let resource = |number: u64| {
        format!("  r{number}: {{type: OS::Heat::Value, properties: {{value: {value}}}}}\n")
    };
    let size = case["parameter"]["size"].as_u64().unwrap_or_default();
    let (kind, parameter) = match case["parameter"]["kind"].as_str() {
        Some("list") => ("json", (0..size).map(|number| number.to_string()).collect()),
        Some("map") => {
            let entries = (0..size).map(|number| (format!("key{number}"), number.to_string()));
            let entries: Map<String, Value> = entries.map(|(key, it)| (key, it.into())).collect();
            ("json", entries.into())
        }
        Some("text") => ("string", "x".repeat(size as usize).into()),
        _ => ("string", Value::from("")),
    };
    let resources: String = (0..case["copies"].as_u64().unwrap()).map(resource).collect();
    let template = format!(
        "heat_template_version: 2018-08-31\nparameters: {{p: {{type: {kind}}}}}\nresources:\n\
         {resources}"
    );
    let source = StackSource {
        template: template.into(),
        parameters: json!({ "p": parameter }).as_object().unwrap().clone(),
        ..StackSource::default()
    };
    within_steps(STEPS, Arc::new(|| true), || {
        let definition = StackDefinition::load(&source, &PseudoParameters::default(), registry)?;
        registry.validate(&definition)
    })?
}

#[test]
fn no_template_takes_more_work_than_a_request_may_ask_for() {
    let registry = Registry::built_in().unwrap();
    let cases = map_text(&format!("cases:\n{CASES}")).unwrap();
    for case in cases["cases"].as_array().unwrap() {
        let played = play(case, &registry);
        let name = case["name"].as_str().unwrap();
        match (case["ends"].as_str(), played) {
            (Some("made"), Ok(())) => {}
            (Some("refused"), Err(refusal)) => {
                let bounds =
                    ["more work than a request", "too many steps", "too deeply", "too much memory"];
                let of_functions = "Functions make more of the template than may be held";
                let is_bound = |bound: &&str| refusal.message.contains(*bound);
                assert!(
                    bounds.iter().any(is_bound) || refusal.message.contains(of_functions),
                    "{name}: {refusal}"
                );
            }
            (_, played) => panic!("{name}: {played:?}"),
        }
    }
}
