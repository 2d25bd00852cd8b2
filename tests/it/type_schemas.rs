//! The schemas that `GET /resource_types/{type}` shows, field by field beside Heat's, which
//! `tests/data/resource_types/schemas.json` holds. Descriptions are our own.

use hearth::resource_types::schema::{Properties, PropertySchema, Support, SupportStatus};
use hearth::resource_types::{Registry, TemplateKind};
use serde_json::{Map, Value, json};

/// A type that Heat has given up, and that is made here.
pub(crate) const GONE_FROM_HEAT: &str = "OS::Heat::CWLiteAlarm";
/// A type that does nothing in Heat any more, and here what it did.
pub(crate) const IDLE_IN_HEAT: &str = "OS::Heat::HARestarter";

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
    fact["support"][0]["status"] != "HIDDEN" && fact["implemented"] != false
}

/// What is shown of a support status; messages are our own.
fn support(statuses: &[Value]) -> Value {
    match statuses {
        [] => Value::Null,
        [newest, older @ ..] => json!({
            "status": newest["status"],
            "version": newest["version"],
            "previous_status": support(older),
        }),
    }
}

fn without_messages(support: &Value) -> Value {
    let mut support = support.clone();
    let mut status = &mut support;
    while let Some(map) = status.as_object_mut() {
        map.remove("message");
        status = &mut map["previous_status"];
    }
    support
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
        if fact["support"][0]["status"] == "HIDDEN" {
            let refusal = registry.show(&type_name).unwrap_err();
            assert_eq!(refusal.class, "NotSupported", "{type_name}");
            continue;
        }
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
        let shown = without_messages(&shown["support_status"]);
        assert_eq!(shown, support(statuses), "{type_name}");
    }
}

/// The schema as a fact has it, with everything that no client is shown.
fn declared(schema: &Properties) -> Value {
    let one = |property: &PropertySchema| property_fact(property);
    schema.iter().map(|(name, property)| (name.clone(), one(property))).collect()
}

fn property_fact(property: &PropertySchema) -> Value {
    let mut fact = json!({
        "type": property.kind,
        "required": property.required,
        "update_allowed": property.update_allowed,
        "immutable": property.immutable,
        "implemented": property.implemented,
        "support": statuses(&property.support),
        "constraints": property.constraints,
    });
    if let Some(default) = &property.default {
        fact["default"] = default.clone();
    }
    if let Some(items) = &property.items {
        fact["items"] = property_fact(items);
    }
    if let Some(keys) = &property.keys {
        fact["schema"] = declared(keys);
    }
    fact
}

fn statuses(support: &Support) -> Value {
    let status = |it: &SupportStatus| json!({ "status": it.status, "version": it.version });
    support.0.iter().map(status).collect()
}

/// The same of a recorded fact, with what goes without saying filled in.
fn expected(facts: &Value) -> Value {
    let facts = facts.as_object().unwrap();
    facts.iter().map(|(name, fact)| (name.clone(), expected_property(fact))).collect()
}

fn expected_property(fact: &Value) -> Value {
    let mut fact = fact.clone();
    let kind = fact["type"].as_str().unwrap().to_lowercase();
    fact["type"] = kind.into();
    for (key, usual) in [
        ("implemented", json!(true)),
        ("support", json!([{ "status": "SUPPORTED", "version": null }])),
        ("constraints", json!([])),
    ] {
        if fact.get(key).is_none() {
            fact[key] = usual;
        }
    }
    if let Some(items) = fact.get("items") {
        fact["items"] = expected_property(items);
    }
    if let Some(keys) = fact.get("schema") {
        fact["schema"] = expected(keys);
    }
    fact
}

#[test]
fn every_type_is_declared_as_heat_declares_it_and_in_its_order() {
    let registry = Registry::built_in().unwrap();
    let facts = facts();
    let known = registry.declarations().filter(|it| it.type_name != GONE_FROM_HEAT);
    assert_eq!(known.count(), facts.len());
    for (type_name, fact) in facts {
        let declaration = registry.schema(&type_name).unwrap();
        assert_eq!(fact["class"], declaration.class.as_str(), "{type_name}");
        assert_eq!(fact["snapshots"], declaration.snapshots, "{type_name}");
        assert_eq!(fact["physical_name_limit"], declaration.physical_name_limit, "{type_name}");
        assert_eq!(fact["support"], statuses(&declaration.support), "{type_name}");
        let policy = declared(&declaration.update_policy);
        assert_eq!(policy, expected(&fact["update_policy"]), "{type_name}");
        if type_name == IDLE_IN_HEAT {
            continue;
        }
        let properties = declared(&declaration.properties);
        let facts = expected(&fact["properties"]);
        assert_eq!(properties, facts, "{type_name}");
        assert_eq!(names(&properties), names(&facts), "{type_name}");
    }
}

/// The names in their order, which decides the first refusal.
fn names(schema: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for (name, property) in schema.as_object().unwrap() {
        names.push(name.clone());
        let keys = property.get("schema").or(property["items"].get("schema"));
        names.extend(keys.map(self::names).into_iter().flatten());
    }
    names
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
