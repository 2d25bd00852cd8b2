//! Groups of deployments: a member for each server that the group names, in a stack like that of a
//! ResourceGroup.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::batches::{Batch, Pace, of_indexed};
use super::member_stack::{Group, check_size, count, section};
use super::members::{self, Change};
use super::outputs::{Language, Read, at, map, output_name};
use crate::model::JsonMap;
use crate::resource_types::failure::Failure;

/// The group's names for what every deployment gives out.
const RENAMED: [(&str, &str); 3] = [
    ("deploy_stdouts", "deploy_stdout"),
    ("deploy_stderrs", "deploy_stderr"),
    ("deploy_status_codes", "deploy_status_code"),
];

/// The attributes that the group itself has.
pub(crate) fn attribute_names() -> Vec<String> {
    RENAMED.map(|(name, _)| name.to_owned()).into()
}

/// The names of all members.
pub(crate) fn names(group: &Group<'_>) -> Vec<String> {
    section(group.properties, "servers").into_iter().flat_map(JsonMap::keys).cloned().collect()
}

/// Refuses a group of more servers than there is room for members.
pub(crate) fn check(group: &Group<'_>, room: usize) -> Result<(), Failure> {
    let shared = group.properties.iter().filter(|(key, _)| *key != "servers");
    let size = section(group.properties, "servers").map_or(0, JsonMap::len);
    check_size(size, room, shared.map(|(_, value)| value))
}

/// A member: the group's own properties, for one of its servers.
fn definition(group: &Group<'_>, type_name: &str, name: &str) -> Value {
    let shared =
        group.properties.iter().filter(|(key, value)| *key != "servers" && !value.is_null());
    let mut properties: JsonMap = shared.map(|(key, value)| (key.clone(), value.clone())).collect();
    let servers = section(group.properties, "servers");
    let server = servers.and_then(|servers| servers.get(name)).cloned().unwrap_or_default();
    properties.insert("server".to_owned(), server);
    json!({ "type": type_name, "properties": properties })
}

/// The template of these members.
pub(crate) fn whole(group: &Group<'_>, type_name: &str, names: &[String]) -> Value {
    let members = names.iter().map(|name| (name.clone(), definition(group, type_name, name)));
    Language::Hot.template(members, outputs(group.reads, names))
}

/// The batches of the policy of that name, from so many members that are there; none without it.
pub(crate) fn batches(
    group: &Group<'_>,
    policy: &str,
    present: usize,
) -> Option<(Vec<Batch>, Pace)> {
    let policy = section(group.update_policy, policy)?;
    let pace = Pace {
        min_in_service: 0,
        batch_max: count(policy, "max_batch_size"),
        pause_secs: policy.get("pause_time").and_then(Value::as_f64).unwrap_or(0.0),
    };
    let batches = of_indexed(names(group).len(), present, pace);
    (!batches.is_empty()).then_some((batches, pace))
}

/// The template of one batch. Members whose server is not named any more go at once; what is new
/// counts among those that may change.
pub(crate) fn batch(group: &Group<'_>, type_name: &str, batch: Batch) -> Value {
    let all = names(group);
    let places: HashMap<&str, usize> =
        all.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let place = |name: &str| places.get(name).copied();
    let mut old =
        group.stack.map_or_else(Vec::new, |stack| stack.defined(Language::Hot, stack.healthy()));
    old.retain(|member| place(&member.name).is_some());
    old.sort_by_key(|member| place(&member.name));
    let there: Vec<String> = old.iter().map(|member| member.name.clone()).collect();
    let new: Vec<String> = all.iter().filter(|name| !there.contains(name)).cloned().collect();
    let change = Change {
        total: batch.capacity.min(old.len() + batch.changes),
        changes: batch.changes,
        definition: &|name| definition(group, type_name, name),
    };
    let next = members::next(&old, &change, new.into_iter());
    let there: Vec<String> = next.iter().map(|member| member.name.clone()).collect();
    let outputs = outputs(group.reads, &there);
    Language::Hot.template(next.into_iter().map(|it| (it.name, it.definition)), outputs)
}

/// The attribute of each member that stands behind one of the group's.
fn of_members(name: &str) -> &str {
    RENAMED.iter().find(|(group, _)| *group == name).map_or(name, |(_, member)| member)
}

fn output(read: &Read) -> String {
    output_name(&["attributes".into(), of_members(&read.name).into()])
}

fn outputs(reads: &[Read], members: &[String]) -> JsonMap {
    let value = |read: &Read| {
        map(members, |name| Language::Hot.attribute(name, &[of_members(&read.name).into()]))
    };
    let read = reads.iter().filter(|read| read.name != crate::template::ALL_ATTRIBUTES);
    read.map(|read| (output(read), value(read))).collect()
}

/// An attribute, by the names of the members, of the outputs of their stack.
pub(crate) fn attribute(read: &Read, outputs: &JsonMap) -> Option<Value> {
    outputs.get(&output(read)).map(|value| at(value, &read.path))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::resource_types::groups::member_stack::{MemberStack, MemberState};

    const TYPE: &str = "OS::Heat::SoftwareDeployment";

    fn given<T>(
        servers: Value,
        policy: Value,
        stack: Option<&MemberStack>,
        then: impl FnOnce(&Group<'_>) -> T,
    ) -> T {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let properties =
            object(json!({ "servers": servers, "config": "c2", "name": null, "actions": [] }));
        then(&Group {
            name: "g",
            properties: &properties,
            update_policy: &object(policy),
            data: &BTreeMap::new(),
            reads: &[Read::of("deploy_stdouts")],
            stack,
        })
    }

    #[test]
    fn a_member_is_a_deployment_to_one_server() {
        let made = given(json!({ "a": "s1", "b": "s2" }), json!({}), None, |group| {
            whole(group, TYPE, &names(group))
        });
        let wanted = json!({ "type": TYPE, "properties": {
            "config": "c2", "actions": [], "server": "s2" } });
        assert_eq!(made["resources"]["b"], wanted);
        let wanted = json!({ "value": {
            "a": { "get_attr": ["a", "deploy_stdout"] },
            "b": { "get_attr": ["b", "deploy_stdout"] } } });
        assert_eq!(made["outputs"]["attributes, deploy_stdout"], wanted);
    }

    #[test]
    fn members_change_in_batches_and_those_without_a_server_go_first() {
        let old = |server: &str| {
            json!({ "type": TYPE, "properties": {
            "config": "c1", "actions": [], "server": server } })
        };
        let template = json!({ "resources": { "a": old("s1"), "b": old("s2"), "x": old("s9") } });
        let names = ["a", "b", "x"]
            .map(|name| MemberState { name: name.to_owned(), ..MemberState::default() });
        let stack = MemberStack::new(template, names.into());
        let policy = json!({ "rolling_update": { "max_batch_size": 1 } });
        given(json!({ "a": "s1", "b": "s2" }), policy, Some(&stack), |group| {
            let (batches, _) = batches(group, "rolling_update", 3).unwrap();
            let made = batch(group, TYPE, batches[0]);
            let of = |name: &str| made["resources"][name]["properties"]["config"].clone();
            assert_eq!((of("a"), of("b")), (json!("c2"), json!("c1")));
            assert_eq!(made["resources"].as_object().unwrap().len(), 2);
        });
    }

    #[test]
    fn a_member_for_another_server_takes_the_place_of_one_whose_server_went() {
        let old = json!({ "type": TYPE, "properties": { "server": "s" } });
        let names = ["a", "b"];
        let template = json!({ "resources": { "a": old, "b": old } });
        let state =
            names.map(|name| MemberState { name: name.to_owned(), ..MemberState::default() });
        let mut stack = MemberStack::new(template, state.into());
        let policy = json!({ "rolling_update": { "max_batch_size": 1 } });
        let made = |stack: &MemberStack, at: usize| {
            given(json!({ "c": "s1", "d": "s2" }), policy.clone(), Some(stack), |group| {
                let (batches, _) = batches(group, "rolling_update", 2).unwrap();
                assert_eq!(batches.len(), 2);
                batch(group, TYPE, batches[at])
            })
        };
        let members = |made: &Value| -> Vec<String> {
            made["resources"].as_object().unwrap().keys().cloned().collect()
        };
        let first = made(&stack, 0);
        assert_eq!(members(&first), ["c"]);
        let state = MemberState { name: "c".to_owned(), ..MemberState::default() };
        stack = MemberStack::new(first, vec![state]);
        assert_eq!(members(&made(&stack, 1)), ["c", "d"]);
    }

    #[test]
    fn an_attribute_is_a_map_by_member() {
        let outputs = json!({ "attributes, deploy_stdout": { "a": "x" } });
        let outputs = outputs.as_object().cloned().unwrap_or_default();
        let of = |name: &str| attribute(&Read::of(name), &outputs);
        assert_eq!(of("deploy_stdouts"), Some(json!({ "a": "x" })));
        assert_eq!(of("other"), None);
    }
}
