//! The schemas that `GET /resource_types/{type}` shows, field by field beside Heat's, which
//! `tests/data/resource_types/schemas.json` holds. Descriptions are our own.

use hearth::resource_types::{Registry, TemplateKind};
use serde_json::{Map, Value, json};

fn facts() -> Map<String, Value> {
    let text = include_str!("../data/resource_types/schemas.json");
    serde_json::from_str(text).unwrap()
}

/// The shown body that a fact stands for.
fn property(fact: &Value) -> Value {
    let mut body = json!({
        "type": fact["type"].as_str().unwrap().to_lowercase(),
        "required": fact["required"],
        "update_allowed": fact["update_allowed"],
        "immutable": fact["immutable"],
    });
    for key in ["default", "constraints"] {
        if let Some(value) = fact.get(key) {
            body[key] = value.clone();
        }
    }
    if let Some(items) = fact.get("items") {
        body["schema"] = json!({ "*": property(items) });
    } else if let Some(keys) = fact["schema"].as_object() {
        body["schema"] = keys.iter().map(|(name, key)| (name.clone(), property(key))).collect();
    }
    body
}

fn is_shown(fact: &Value) -> bool {
    fact["support"][0]["status"] != "HIDDEN"
}

fn support(statuses: &[Value]) -> Value {
    match statuses {
        [] => Value::Null,
        [newest, older @ ..] => json!({
            "status": newest["status"],
            "message": newest["message"],
            "version": newest["version"],
            "previous_status": support(older),
        }),
    }
}

fn without_descriptions(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, value)| !(key.as_str() == "description" && value.is_string()))
            .map(|(key, value)| (key.clone(), without_descriptions(value)))
            .collect(),
        Value::Array(list) => list.iter().map(without_descriptions).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_type_shows_the_schema_that_heat_shows() {
    let registry = Registry::built_in().unwrap();
    for (type_name, fact) in facts() {
        let shown = without_descriptions(&registry.show(&type_name).unwrap());
        let properties = fact["properties"].as_object().unwrap().iter();
        for (name, fact) in properties.filter(|(_, fact)| is_shown(fact)) {
            assert_eq!(shown["properties"][name], property(fact), "{type_name} {name}");
        }
        let count =
            fact["properties"].as_object().unwrap().values().filter(|f| is_shown(f)).count();
        assert_eq!(shown["properties"].as_object().unwrap().len(), count, "{type_name}");

        let mut attributes: Map<String, Value> = fact["attributes"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, fact)| is_shown(fact))
            .map(|(name, fact)| {
                let body = match fact["type"].as_str() {
                    Some(kind) => json!({ "type": kind.to_lowercase() }),
                    None => json!({}),
                };
                (name.clone(), body)
            })
            .collect();
        attributes.insert("show".into(), json!({ "type": "map" }));
        assert_eq!(shown["attributes"], Value::Object(attributes), "{type_name}");
        let statuses = fact["support"].as_array().unwrap();
        assert_eq!(shown["support_status"], support(statuses), "{type_name}");
    }
}

#[test]
fn every_property_and_attribute_is_described() {
    let registry = Registry::built_in().unwrap();
    for declaration in registry.declarations() {
        let type_name = &declaration.type_name;
        assert!(!declaration.description.is_empty(), "{type_name}");
        for (name, property) in &declaration.properties {
            assert!(property.description.is_some(), "{type_name} {name}");
        }
        for (name, attribute) in &declaration.attributes {
            assert!(attribute.description.is_some(), "{type_name} {name}");
        }
    }
}

#[test]
fn a_generated_template_has_a_parameter_for_each_shown_property() {
    let registry = Registry::built_in().unwrap();
    let hot = registry.template("OS::Neutron::Subnet", TemplateKind::Hot).unwrap();
    assert_eq!(hot["heat_template_version"], "2016-10-14");
    assert_eq!(hot["parameters"]["ip_version"]["constraints"], json!([{"allowed_values": [4, 6]}]));
    assert_eq!(hot["resources"]["Subnet"]["properties"]["cidr"], json!({"get_param": "cidr"}));
    assert!(hot["parameters"].get("network_id").is_none(), "hidden");
    let cfn = registry.template("OS::Neutron::Subnet", TemplateKind::Cfn).unwrap();
    assert_eq!(cfn["Parameters"]["enable_dhcp"]["Type"], "Boolean");
    assert_eq!(
        cfn["Resources"]["Subnet"]["Properties"]["dns_nameservers"],
        json!({"Fn::Split": [",", {"Ref": "dns_nameservers"}]})
    );
    assert_eq!(cfn["Outputs"]["OS::stack_id"], json!({"Value": {"Ref": "Subnet"}}));
}
