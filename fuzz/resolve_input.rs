//! What a fuzzer does with an input: a template and, after a NUL, its environment, which are
//! resolved as `hearth resolve` does. Plain Rust, for `cargo fuzz` and for the tests on stable.

use std::collections::BTreeMap;

use hearth::model::{JsonMap, Refusal};
use hearth::resource_types::Registry;
use hearth::template::{EnvironmentSent, PseudoParameters, StackDefinition, StackSource};
use serde_json::Value;

/// Resolves an input. What may not be is a panic, or a description that is not JSON.
pub(crate) fn resolve(registry: &Registry, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (template, environment) = text.split_once('\0').unwrap_or((&text, ""));
    if let Ok(described) = described(registry, template, environment) {
        let value: Result<Value, _> = serde_json::from_str(&described);
        assert!(value.is_ok(), "{value:?}: {described}");
    }
}

fn described(registry: &Registry, template: &str, environment: &str) -> Result<String, Refusal> {
    let template = Value::from(template);
    let name = "env-0.yaml".to_owned();
    let files = BTreeMap::from([(name.clone(), environment.to_owned())]);
    let merged = EnvironmentSent {
        template: &template,
        environment: &Value::Null,
        environment_files: &[name],
        files: &files,
        parameters: &JsonMap::new(),
    }
    .merge()?;
    let source = StackSource {
        template,
        environment: merged.environment,
        files,
        parameters: merged.parameters,
        ..StackSource::default()
    };
    let definition =
        StackDefinition::load_unbounded(&source, &PseudoParameters::default(), registry)?;
    registry.validate(&definition)?;
    Ok(definition.describe())
}
