//! Environments by cases: `tests/data/environment/cases.yaml` has them beside what Heat makes of
//! them.

use crate::model::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::merge::merge_files;
use super::registry::{Found, Registry};
use super::*;
use crate::template::parameters::{Schema, schema};
use crate::template::version::Version;
use crate::template::{Mappings, TypeLookup};

#[derive(Deserialize)]
struct Cases {
    parse: Vec<Value>,
    merge: Vec<Value>,
    lookup: Vec<Value>,
    child: Vec<Value>,
    hooks: Vec<Value>,
    restricted: Vec<Value>,
}

struct Known;

impl TypeLookup for Known {
    fn exists(&self, type_name: &str) -> bool {
        ["OS::Nova::Server", "OS::Heat::None", "OS::Heat::RandomString"].contains(&type_name)
    }
}

fn cases() -> Cases {
    serde_yaml::from_str(include_str!("../../../tests/data/environment/cases.yaml")).unwrap()
}

fn registry(case: &Value) -> Outcome<Registry> {
    Registry::new(&Node::from(&case["registry"]))
}

/// Compares what came out, or the class of the error, with what a case says.
fn check(case: &Value, found: Outcome<Value>) {
    match found {
        Ok(found) => assert_eq!(found, case["result"], "{case}"),
        Err(error) => assert_eq!(json!(error.class), case["error"], "{case}: {error:?}"),
    }
}

#[test]
fn environments_are_read() {
    for case in cases().parse {
        let node = document::environment_text(case["text"].as_str().unwrap())
            .and_then(|node| check_sections(&node).map(|()| node));
        check(&case, node.map(|node| node.to_json()));
    }
}

#[test]
fn files_are_merged_in_their_order() {
    let declared = json!({
        "s": {"type": "string"}, "n": {"type": "number"}, "b": {"type": "boolean"},
        "j": {"type": "json"}, "l": {"type": "comma_delimited_list"},
    });
    let root = json!({"heat_template_version": "2018-08-31", "parameters": declared});
    let root = Node::from(&root);
    let version = Version::of(&root).unwrap();
    let schemas: IndexMap<String, Schema> = schema::read_all(&root, version).unwrap();
    for case in cases().merge {
        let texts = case["files"].as_array().unwrap().iter().map(Value::to_string);
        let files: std::collections::BTreeMap<String, String> =
            texts.enumerate().map(|(number, text)| (format!("{number}.yaml"), text)).collect();
        let names: Vec<String> = files.keys().cloned().collect();
        let mut sections = DatumMap::default();
        let merged = merge_files(&mut sections, &names, &files, &schemas);
        check(&case, merged.map(|()| Value::Object(to_json_map(&sections))));
    }
}

#[test]
fn what_stands_behind_a_type_is_found() {
    for case in cases().lookup {
        let registry = registry(&case).unwrap();
        let resource = case["resource"].as_str().unwrap_or("r");
        let found = registry.find(case["type"].as_str().unwrap(), resource, &Known, None);
        let (kind, name) = match found {
            None => {
                assert_eq!(case["error"], "EntityNotFound", "{case}");
                continue;
            }
            Some(Found::Type(name)) => ("Plugin", name),
            Some(Found::Template(entry)) => ("Template", entry.name),
        };
        assert_eq!((&case["kind"], &case["result"]), (&json!(kind), &json!(name)), "{case}");
    }
}

#[test]
fn a_nested_stack_has_an_environment_made_of_its_parents() {
    for case in cases().child {
        let parent = Environment::new(&Node::from(&case["parent"]), &JsonMap::new()).unwrap();
        let parameters = case["child_params"].as_object().unwrap();
        let resource = case["child_resource"].as_str().unwrap();
        let child = parent.of_child(resource, parameters, None);
        check(&case, child.map(|child| child.as_given()));
    }
}

#[test]
fn the_entry_of_the_template_itself_is_not_handed_down() {
    let section = json!({"T": "t.yaml", "resources": {"r": {"U": "u.yaml"}}});
    let registry = Registry::new(&Node::from(&section)).unwrap();
    for type_name in ["T", "U"] {
        let Some(Found::Template(entry)) = registry.find(type_name, "r", &Known, None) else {
            panic!("{type_name} is a template");
        };
        let child = registry.of_child("r", Some(&entry));
        assert_eq!(child.find(type_name, "r", &Known, None), None);
    }
}

#[test]
fn hooks_and_restricted_actions_are_found_by_patterns() {
    for case in cases().hooks {
        let found = registry(&case).map(|registry| {
            let resource = case["resource"].as_str().unwrap();
            registry.hooks(resource).contains(case["hook"].as_str().unwrap())
        });
        match found {
            Ok(found) => assert_eq!(json!(found), case["match"], "{case}"),
            Err(error) => assert_eq!(json!(error.class), case["error"], "{case}"),
        }
    }
    for case in cases().restricted {
        let found = registry(&case)
            .map(|registry| registry.restricted_actions(case["resource"].as_str().unwrap()));
        match found {
            Ok(found) => assert_eq!(json!(found), case["actions"], "{case}"),
            Err(error) => assert_eq!(json!(error.class), case["error"], "{case}"),
        }
    }
}

#[test]
fn mappings_that_turn_in_circles_end() {
    let section = json!({"A*": "B*", "B*": "A*", "*": "A", "A": "B", "B": "A"});
    let registry = Registry::new(&Node::from(&section)).unwrap();
    assert_eq!(registry.find("A", "r", &Known, None), None);
}

#[test]
fn what_is_built_in_can_be_read() {
    let mappings = Mappings::built_in();
    let registry = Registry::default();
    for (alias, expected) in [
        ("OS::Quantum::Net", None),
        ("AWS::RDS::DBInstance", Some("file:///etc/heat/templates/AWS_RDS_DBInstance.yaml")),
        ("AWS::CloudWatch::Alarm", Some("file:///etc/heat/templates/AWS_CloudWatch_Alarm.yaml")),
    ] {
        let found = registry.find(alias, "r", &Known, None);
        let name = match &found {
            Some(Found::Template(entry)) => Some(entry.name.as_str()),
            _ => None,
        };
        assert_eq!(name, expected);
        if let Some(name) = name {
            assert!(document::template_text(&mappings.templates[name], name).is_ok());
        }
    }
}
