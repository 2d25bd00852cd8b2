//! OS::Heat::ResourceGroup: members that are numbers, each of the same definition.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};

use super::batches::{Batch, Pace, of_indexed};
use super::member_stack::{Group, MemberStack, MemberState, count, section};
use super::members::{self, Change};
use super::outputs::{Language, Read, at, list, map, output_name};
use crate::model::JsonMap;
use crate::model::taint;
use crate::resource_types::python;

/// The key of the resource's data that keeps the names of removed members.
pub(crate) const REMOVED: &str = "name_blacklist";

/// The attributes that the group itself has; all others are those of its members.
const OWN_ATTRIBUTES: [&str; 4] = ["refs", "refs_map", "attributes", "removed_rsrc_list"];

/// How many members are to be.
pub(crate) fn size(group: &Group<'_>) -> usize {
    count(group.properties, "count")
}

/// The names that are not used again, as they are kept.
pub(crate) fn kept_removed(group: &Group<'_>) -> BTreeSet<String> {
    let kept = group.data.get(REMOVED).and_then(Value::as_str).unwrap_or_default();
    kept.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The names that are not used again by the group's policies now.
pub(crate) fn removed(group: &Group<'_>) -> BTreeSet<String> {
    let kept = kept_removed(group);
    let policies = group.properties.get("removal_policies").and_then(Value::as_array);
    let named = policies.into_iter().flatten().filter_map(|it| it["resource_list"].as_array());
    let new = named.flatten().filter_map(|named| member_named(named, &kept, group.stack));
    let mut removed: BTreeSet<String> = new.collect();
    let is_anew = group.properties.get("removal_policies_mode").is_some_and(|it| it == "update");
    if !is_anew {
        removed.extend(kept);
    }
    removed
}

/// The removed names as they are kept.
pub(crate) fn removed_text(removed: &BTreeSet<String>) -> String {
    removed.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}

/// The name of a member that is named by its name or its id.
fn member_named(
    named: &Value,
    kept: &BTreeSet<String>,
    stack: Option<&MemberStack>,
) -> Option<String> {
    let text = python::text(named);
    let Some(stack) = stack else { return Some(text) };
    let members = stack.members.iter();
    if kept.contains(&text) || members.clone().any(|member| member.name == text) {
        return Some(text);
    }
    let is_meant = |member: &&MemberState| {
        named.is_string() && member.reference.clone().map(taint::plain).as_ref() == Some(named)
    };
    members.clone().find(is_meant).map(|member| member.name.clone())
}

/// The first numbers that were not removed.
pub(crate) fn names(removed: &BTreeSet<String>, size: usize) -> Vec<String> {
    let numbers = (0..).map(|number: usize| number.to_string());
    numbers.filter(|name| !removed.contains(name)).take(size).collect()
}

/// A member by its name. A property without value is left out, but for a look at it.
pub(crate) fn definition(group: &Group<'_>, name: &str, with_nulls: bool) -> Value {
    let Some(declared) = section(group.properties, "resource_def") else { return Value::Null };
    let variable = group.properties.get("index_var").and_then(Value::as_str).unwrap_or_default();
    let mut definition = JsonMap::new();
    definition.insert("type".to_owned(), declared.get("type").cloned().unwrap_or_default());
    if let Some(properties) = section(declared, "properties") {
        let given = properties.iter().filter(|(_, value)| with_nulls || !value.is_null());
        let properties: JsonMap =
            given.map(|(key, value)| (key.clone(), replaced(value, variable, name))).collect();
        definition.insert("properties".to_owned(), properties.into());
    }
    if let Some(metadata) = section(declared, "metadata") {
        definition.insert("metadata".to_owned(), metadata.clone().into());
    }
    definition.into()
}

/// A value in which the member's name stands for the variable.
fn replaced(value: &Value, variable: &str, name: &str) -> Value {
    match value {
        Value::String(text) => text.replace(variable, name).into(),
        Value::Array(items) => items.iter().map(|item| replaced(item, variable, name)).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, item)| (key.clone(), replaced(item, variable, name))).collect()
        }
        other => other.clone(),
    }
}

/// The template of these members, all of the group's definition.
pub(crate) fn whole(group: &Group<'_>, names: &[String], with_nulls: bool) -> Value {
    let members = names.iter().map(|name| (name.clone(), definition(group, name, with_nulls)));
    Language::Hot.template(members, outputs(group.reads, names))
}

/// The batches in which the group is made; none where it is made at once.
pub(crate) fn creation(group: &Group<'_>) -> Option<(Vec<Batch>, Pace)> {
    let policy = section(group.update_policy, "batch_create")?;
    let pace = Pace { min_in_service: 0, ..pace(policy) };
    (size(group) > 0).then(|| (of_indexed(size(group), 0, pace), pace))
}

/// How many members there are that are not to go, for a count of batches.
pub(crate) fn present(group: &Group<'_>, removed: &BTreeSet<String>) -> usize {
    group.stack.map_or(0, |stack| {
        let leaving = stack.healthy().filter(|member| removed.contains(&member.name)).count();
        stack.members.len() - leaving
    })
}

/// The batches in which `present` members get a new definition; none where they get it at once.
pub(crate) fn rolling(group: &Group<'_>, present: usize) -> Option<(Vec<Batch>, Pace)> {
    let pace = pace(section(group.update_policy, "rolling_update")?);
    let batches = of_indexed(size(group), present, pace);
    (!batches.is_empty()).then_some((batches, pace))
}

fn pace(policy: &JsonMap) -> Pace {
    Pace {
        min_in_service: count(policy, "min_in_service"),
        batch_max: count(policy, "max_batch_size"),
        pause_secs: policy.get("pause_time").and_then(Value::as_f64).unwrap_or(0.0),
    }
}

/// The template of one batch.
pub(crate) fn batch(group: &Group<'_>, removed: &BTreeSet<String>, batch: Batch) -> Value {
    let names = names(removed, batch.capacity);
    let places: HashMap<&str, usize> =
        names.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let target = size(group);
    let mut old = group.stack.map_or_else(Vec::new, |stack| {
        let staying = stack.healthy().filter(|member| !removed.contains(&member.name));
        stack.defined(Language::Hot, staying)
    });
    // What has no place goes at once; then the highest are changed first, and what is only there
    // to be in service is not.
    old.sort_by_key(|member| match places.get(member.name.as_str()) {
        None => 0,
        Some(place) if *place < target => target - place,
        Some(_) => batch.capacity,
    });
    let there: HashSet<&str> = old.iter().map(|member| member.name.as_str()).collect();
    let new = names.iter().filter(|name| !there.contains(name.as_str())).cloned();
    let new: Vec<String> = new.collect();
    let change = Change {
        total: batch.capacity,
        changes: batch.changes,
        definition: &|name| definition(group, name, false),
    };
    let next = members::next(&old, &change, new.into_iter());
    let there: Vec<String> = next.iter().map(|member| member.name.clone()).collect();
    let outputs = outputs(group.reads, &there);
    Language::Hot.template(next.into_iter().map(|it| (it.name, it.definition)), outputs)
}

/// What the template gives out of its members.
fn outputs(reads: &[Read], members: &[String]) -> JsonMap {
    let hot = Language::Hot;
    let mut outputs = JsonMap::new();
    for read in reads {
        let value = match (read.of_member(), read.name.as_str(), read.path.as_slice()) {
            (Some((_, path)), _, _) if path.is_empty() => continue,
            (Some((member, _)), _, _) if !members.iter().any(|name| name == member) => continue,
            (Some((member, path)), _, _) => hot.attribute(member, &path),
            (None, "refs", _) => {
                outputs.insert("refs".to_owned(), list(members, |name| hot.reference(name)));
                continue;
            }
            (None, "attributes", path @ [_, ..]) => map(members, |name| hot.attribute(name, path)),
            (None, own, _)
                if OWN_ATTRIBUTES.contains(&own) || own == crate::template::ALL_ATTRIBUTES =>
            {
                continue;
            }
            (None, _, _) => list(members, |name| hot.attribute(name, &read.whole())),
        };
        outputs.insert(output_name(&read.whole()), value);
    }
    outputs.insert("refs_map".to_owned(), map(members, |name| hot.reference(name)));
    outputs
}

/// An attribute, of the outputs of the members' stack. `None`: the outputs do not have it.
pub(crate) fn attribute(group: &Group<'_>, read: &Read, outputs: &JsonMap) -> Option<Value> {
    match (read.of_member(), read.name.as_str()) {
        (Some((member, path)), _) if path.is_empty() => {
            Some(outputs.get("refs_map")?.get(member).cloned().unwrap_or_default())
        }
        (None, "removed_rsrc_list") => Some(json!(kept_removed(group))),
        (None, "attributes") if read.path.is_empty() => Some(Value::Null),
        (None, "refs") => {
            let by_name = || outputs.get("refs_map")?.as_object();
            let listed = || Some(by_name()?.values().cloned().collect::<Vec<_>>().into());
            let refs: Value = outputs.get("refs").cloned().or_else(listed)?;
            Some(at(&refs, &read.path))
        }
        (None, "refs_map") => Some(at(outputs.get("refs_map")?, &read.path)),
        _ => outputs.get(&output_name(&read.whole())).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn object(value: Value) -> JsonMap {
        value.as_object().cloned().unwrap_or_default()
    }

    fn stack(members: Value) -> MemberStack {
        let members = object(members);
        let states = members.keys().map(|name| MemberState {
            name: name.clone(),
            reference: Some(format!("id-{name}").into()),
            ..MemberState::default()
        });
        let states = states.collect();
        MemberStack::new(json!({ "resources": members }), states)
    }

    fn given<T>(
        properties: Value,
        policy: Value,
        removed: Option<&str>,
        stack: Option<&MemberStack>,
        then: impl FnOnce(&Group<'_>) -> T,
    ) -> T {
        let mut properties = object(properties);
        properties.entry("index_var").or_insert("%index%".into());
        let data = removed.map(|text| (REMOVED.to_owned(), text.into()));
        then(&Group {
            name: "g",
            properties: &properties,
            update_policy: &object(policy),
            data: &data.into_iter().collect::<BTreeMap<_, _>>(),
            reads: &[],
            stack,
        })
    }

    #[test]
    fn removed_members_are_named_by_name_or_id_and_are_never_used_again() {
        let three = stack(json!({ "0": {}, "1": {}, "3": {} }));
        let cases = [
            ("", json!([]), "append", ""),
            ("0,1,2", json!([]), "append", "0,1,2"),
            ("1,3", json!(["6"]), "append", "1,3"),
            ("0,1", json!(["id-7"]), "append", "0,1"),
            ("0,1", json!(["3"]), "append", "0,1,3"),
            ("0,1", json!([3]), "append", "0,1,3"),
            ("0,1", json!(["id-3"]), "append", "0,1,3"),
            ("0,1", json!(["id-3"]), "update", "3"),
            ("7", json!(["7"]), "update", "7"),
            ("1", json!([]), "update", ""),
        ];
        for (kept, list, mode, wanted) in cases {
            let properties = json!({
                "removal_policies": [{ "resource_list": list }], "removal_policies_mode": mode });
            let text = given(properties.clone(), json!({}), Some(kept), Some(&three), |group| {
                removed_text(&removed(group))
            });
            assert_eq!(text, wanted, "{kept} {properties}");
        }
        let before_there_is_any = json!({ "removal_policies": [{ "resource_list": ["5", 1] }] });
        let text = given(before_there_is_any, json!({}), None, None, |group| {
            removed_text(&removed(group))
        });
        assert_eq!(text, "1,5");
    }

    #[test]
    fn names_are_the_first_numbers_that_are_left() {
        let removed = BTreeSet::from(["2", "4"].map(str::to_owned));
        assert_eq!(names(&removed, 4), ["0", "1", "3", "5"]);
        assert!(names(&removed, 0).is_empty());
    }

    #[test]
    fn the_number_stands_for_the_variable_in_values_alone() {
        let properties = json!({ "index_var": "__i__", "resource_def": {
            "type": "T", "metadata": { "m": "__i__" },
            "properties": { "__i__": "a-__i__", "list": ["__i__", 1], "none": null } } });
        let made = |with_nulls| {
            given(properties.clone(), json!({}), None, None, |group| {
                definition(group, "7", with_nulls)
            })
        };
        let mut wanted = json!({ "type": "T", "metadata": { "m": "__i__" },
            "properties": { "__i__": "a-7", "list": ["7", 1] } });
        assert_eq!(made(false), wanted);
        wanted["properties"]["none"] = Value::Null;
        assert_eq!(made(true), wanted);
    }

    /// A batch's members, by their values.
    fn members_after(count: usize, old: Value, removed: &str, next: Batch) -> Value {
        let old = object(old)
            .into_iter()
            .map(|(name, value)| (name, json!({ "type": "T", "properties": { "v": value } })));
        let old = stack(Value::Object(old.collect()));
        let properties = json!({ "count": count, "resource_def": { "type": "T", "properties": { "v": "new" } } });
        given(properties, json!({}), Some(removed), Some(&old), |group| {
            let made = batch(group, &kept_removed(group), next);
            let value = |(name, member): (&String, &Value)| {
                (name.clone(), member["properties"]["v"].clone())
            };
            Value::Object(object(made["resources"].clone()).iter().map(value).collect())
        })
    }

    #[test]
    fn the_highest_members_are_changed_first() {
        let old = || json!({ "0": "a", "1": "b", "2": "c" });
        let made = members_after(3, old(), "", Batch { capacity: 3, changes: 2 });
        assert_eq!(made, json!({ "0": "a", "1": "new", "2": "new" }));
        let made = members_after(3, old(), "", Batch { capacity: 4, changes: 1 });
        assert_eq!(made, json!({ "0": "a", "1": "b", "2": "c", "3": "new" }));
        let made = members_after(2, old(), "", Batch { capacity: 2, changes: 1 });
        assert_eq!(made, json!({ "0": "a", "1": "new" }));
    }

    #[test]
    fn a_removed_member_goes_with_the_first_batch() {
        let old = json!({ "0": "a", "1": "b", "2": "c" });
        let made = members_after(3, old, "1", Batch { capacity: 3, changes: 1 });
        assert_eq!(made, json!({ "0": "a", "2": "c", "3": "new" }));
    }

    #[test]
    fn policies_say_the_batches() {
        let policy = json!({
            "batch_create": { "max_batch_size": 2, "pause_time": 5 },
            "rolling_update": { "min_in_service": 1, "max_batch_size": 2, "pause_time": 0 } });
        let four = stack(json!({ "0": {}, "1": {}, "2": {}, "3": {} }));
        let made = |policy: Value, count: usize| {
            given(json!({ "count": count }), policy, None, Some(&four), |group| {
                let sizes = |(batches, _): (Vec<Batch>, Pace)| batches.len();
                (
                    creation(group).map(sizes),
                    rolling(group, present(group, &BTreeSet::new())).map(sizes),
                )
            })
        };
        assert_eq!(made(policy.clone(), 3), (Some(2), Some(2)));
        assert_eq!(made(policy, 0), (None, Some(1)));
        assert_eq!(made(json!({}), 3), (None, None));
    }

    fn read(name: &str, path: Value) -> Read {
        Read { name: name.to_owned(), path: path.as_array().cloned().unwrap_or_default() }
    }

    #[test]
    fn the_stack_gives_out_what_is_read_of_the_members() {
        let reads = [
            read("refs", json!([])),
            read("attributes", json!(["ips", 0])),
            read("ip", json!([])),
            read("resource.1.ip", json!(["x"])),
            read("resource.1", json!([])),
            read("resource.9.ip", json!([])),
            read("removed_rsrc_list", json!([])),
        ];
        let outputs = outputs(&reads, &["0".to_owned(), "1".to_owned()]);
        let wanted = json!({
            "refs": [{ "get_resource": "0" }, { "get_resource": "1" }],
            "attributes, ips, 0": {
                "0": { "get_attr": ["0", "ips", 0] }, "1": { "get_attr": ["1", "ips", 0] } },
            "ip": [{ "get_attr": ["0", "ip"] }, { "get_attr": ["1", "ip"] }],
            "resource.1.ip, x": { "get_attr": ["1", "ip", "x"] },
            "refs_map": { "0": { "get_resource": "0" }, "1": { "get_resource": "1" } },
        });
        assert_eq!(Value::Object(outputs), wanted);
    }

    #[test]
    fn attributes_are_made_of_the_outputs() {
        let outputs = object(json!({
            "refs": ["a", "b"], "refs_map": { "0": "a", "1": "b" }, "ip": [1, 2],
            "attributes, ip": { "0": 1, "1": 2 } }));
        let cases = [
            (read("refs", json!([])), Some(json!(["a", "b"]))),
            (read("refs", json!([1])), Some(json!("b"))),
            (read("refs_map", json!(["1"])), Some(json!("b"))),
            (read("resource.1", json!([])), Some(json!("b"))),
            (read("ip", json!([])), Some(json!([1, 2]))),
            (read("attributes", json!(["ip"])), Some(json!({ "0": 1, "1": 2 }))),
            (read("attributes", json!([])), Some(Value::Null)),
            (read("removed_rsrc_list", json!([])), Some(json!(["4", "5"]))),
            (read("name", json!([])), None),
        ];
        for (read, wanted) in cases {
            let found = given(json!({}), json!({}), Some("4,5"), None, |group| {
                attribute(group, &read, &outputs)
            });
            assert_eq!(found, wanted, "{read:?}");
        }
    }
}
