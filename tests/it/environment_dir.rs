//! An operator's environments hold for everybody, and so do the templates that they name.

use hearth::model::{Refusal, ResourceName};
use hearth::resource_types::Registry;
use hearth::template::{PseudoParameters, StackDefinition, StackSource};
use serde_json::json;

fn load(registry: &Registry, type_name: &str) -> Result<String, Refusal> {
    let source = StackSource {
        template: json!({
            "heat_template_version": "2018-08-31",
            "resources": {"r": {"type": type_name}},
        }),
        ..StackSource::default()
    };
    let pseudo = PseudoParameters { stack_name: "web".into(), ..PseudoParameters::default() };
    let definition = StackDefinition::load(&source, &pseudo, registry)?;
    registry.validate(&definition)?;
    Ok(definition.resources()[&ResourceName::from("r")].type_name.clone())
}

#[test]
fn an_operators_mappings_go_above_what_is_built_in() {
    let directory = tempfile::tempdir().unwrap();
    let template = directory.path().join("own.template");
    let url = format!("file://{}", template.display());
    let own = "heat_template_version: 2018-08-31\nresources: {inner: {type: OS::Heat::None}}";
    std::fs::write(&template, own).unwrap();
    let environments = directory.path().join("environment.d");
    std::fs::create_dir(&environments).unwrap();
    let first =
        format!("resource_registry: {{\"Our::Type\": \"{url}\", \"Our::Alias\": \"No::Such\"}}");
    std::fs::write(environments.join("1.yaml"), first).unwrap();
    let second = "resource_registry: {\"Our::Alias\": \"OS::Heat::None\"}";
    std::fs::write(environments.join("2.yaml"), second).unwrap();
    std::fs::write(environments.join("3.yaml"), "resource_registry: [").unwrap();

    let mut registry = Registry::built_in().unwrap();
    assert!(load(&registry, "Our::Type").is_err());
    registry.add_mappings(&environments);
    assert_eq!(load(&registry, "Our::Type").unwrap(), url);
    assert_eq!(load(&registry, "Our::Alias").unwrap(), "OS::Heat::None");
    assert_eq!(load(&registry, "OS::Quantum::Net").unwrap(), "OS::Neutron::Net");
    let refusal = load(&registry, &url).unwrap_err();
    assert!(refusal.message.ends_with("Invalid URL scheme file"), "{}", refusal.message);
}
