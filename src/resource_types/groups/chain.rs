//! OS::Heat::ResourceChain: a member for each type of a list, one after the other.

use serde_json::{Value, json};

use super::member_stack::Group;
use super::outputs::{Language, Read, at, list, map, output_name};
use crate::model::JsonMap;
use crate::template::ALL_ATTRIBUTES;

const OWN_ATTRIBUTES: [&str; 2] = ["refs", "attributes"];

/// The types of the members.
pub(crate) fn types(properties: &JsonMap) -> &[Value] {
    properties.get("resources").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The template of the members, each of which waits for the one before.
pub(crate) fn template(group: &Group<'_>) -> Value {
    let is_concurrent = group.properties.get("concurrent") == Some(&Value::Bool(true));
    let member = |(place, type_name): (usize, &Value)| {
        let mut member = json!({ "type": type_name });
        if let Some(properties) = group.properties.get("resource_properties") {
            member["properties"] = properties.clone();
        }
        if let (false, Some(before)) = (is_concurrent, place.checked_sub(1)) {
            member["depends_on"] = before.to_string().into();
        }
        (place.to_string(), member)
    };
    let types = types(group.properties);
    let names: Vec<String> = (0..types.len()).map(|place| place.to_string()).collect();
    Language::Hot.template(types.iter().enumerate().map(member), outputs(group.reads, &names))
}

fn outputs(reads: &[Read], members: &[String]) -> JsonMap {
    let hot = Language::Hot;
    let mut outputs = JsonMap::new();
    for read in reads {
        let value = match (read.of_member(), read.name.as_str(), read.path.as_slice()) {
            (Some((member, _)), _, _) if !members.iter().any(|name| name == member) => continue,
            (Some((member, path)), _, _) if path.is_empty() => hot.reference(member),
            (Some((member, path)), _, _) => hot.attribute(member, &path),
            (None, "refs", _) => {
                outputs.insert("refs".to_owned(), list(members, |name| hot.reference(name)));
                continue;
            }
            (None, "attributes", path @ [_, ..]) => map(members, |name| hot.attribute(name, path)),
            (None, own, _) if OWN_ATTRIBUTES.contains(&own) || own == ALL_ATTRIBUTES => continue,
            (None, _, _) => list(members, |name| hot.attribute(name, &read.whole())),
        };
        outputs.insert(output_name(&read.whole()), value);
    }
    outputs
}

/// An attribute, of the outputs of the members' stack. `None`: the outputs do not have it.
pub(crate) fn attribute(read: &Read, outputs: &JsonMap) -> Option<Value> {
    match read.name.as_str() {
        "attributes" if read.path.is_empty() => Some(Value::Null),
        "refs" => Some(at(outputs.get("refs")?, &read.path)),
        _ => outputs.get(&output_name(&read.whole())).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn made(properties: Value, reads: &[Read]) -> Value {
        let properties = properties.as_object().cloned().unwrap_or_default();
        template(&Group {
            name: "chain",
            properties: &properties,
            update_policy: &JsonMap::new(),
            data: &BTreeMap::new(),
            reads,
            stack: None,
        })
    }

    #[test]
    fn each_member_waits_for_the_one_before_unless_all_are_made_at_once() {
        let properties = json!({ "resources": ["A", "B"], "resource_properties": { "p": 1 } });
        assert_eq!(
            made(properties, &[])["resources"],
            json!({
                "0": { "type": "A", "properties": { "p": 1 } },
                "1": { "type": "B", "properties": { "p": 1 }, "depends_on": "0" },
            })
        );
        let at_once = made(json!({ "resources": ["A", "B"], "concurrent": true }), &[]);
        assert_eq!(at_once["resources"], json!({ "0": { "type": "A" }, "1": { "type": "B" } }));
    }

    #[test]
    fn attributes_are_those_of_the_members() {
        let read = |name: &str, path: &[&str]| Read {
            name: name.to_owned(),
            path: path.iter().map(|step| Value::from(*step)).collect(),
        };
        let reads = [
            read("refs", &[]),
            read("attributes", &["v"]),
            read("v", &[]),
            read("resource.1", &[]),
            read("resource.7", &[]),
        ];
        let made = made(json!({ "resources": ["A", "B"] }), &reads);
        assert_eq!(
            made["outputs"],
            json!({
                "refs": { "value": [{ "get_resource": "0" }, { "get_resource": "1" }] },
                "attributes, v": { "value": {
                    "0": { "get_attr": ["0", "v"] }, "1": { "get_attr": ["1", "v"] } } },
                "v": { "value": [{ "get_attr": ["0", "v"] }, { "get_attr": ["1", "v"] }] },
                "resource.1": { "value": { "get_resource": "1" } },
            })
        );
        let outputs = json!({ "refs": ["a", "b"], "resource.1": "b" });
        let outputs = outputs.as_object().cloned().unwrap_or_default();
        let of = |name: &str, path: &[&str]| attribute(&read(name, path), &outputs);
        assert_eq!(of("refs", &[]), Some(json!(["a", "b"])));
        assert_eq!(of("resource.1", &[]), Some(json!("b")));
        assert_eq!(of("attributes", &[]), Some(Value::Null));
        assert_eq!(of("v", &[]), None);
    }
}
