//! What there is too much of, and what is missing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::format::{Members, Takes};
use crate::model::JsonMap;
use crate::resource_types::declared::shape;
use crate::resource_types::python;

/// The entries to drop, and those to add.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) surplus: Vec<Value>,
    pub(super) missing: Vec<Value>,
}

/// `live` is what there is, `former` what was wanted before.
pub(super) fn difference(
    members: &Members,
    live: Option<Vec<Value>>,
    former: &[Value],
    wanted: &[Value],
) -> Difference {
    let there = live.as_deref().unwrap_or(former);
    let without = |entries: &[Value], others: &[Value]| -> Vec<Value> {
        entries.iter().filter(|entry| !holds(others, entry)).cloned().collect()
    };
    let mut surplus = without(there, wanted);
    if members.takes == Takes::Ours && live.is_some() {
        surplus.retain(|entry| holds(former, entry));
    }
    // A key that has another value is overwritten.
    let keeps = |entry: &Value| {
        let name = pair(entry).map(|(name, _)| name);
        name.is_some() && wanted.iter().any(|it| pair(it).map(|(name, _)| name) == name)
    };
    surplus.retain(|entry| !keeps(entry));
    Difference { surplus, missing: without(wanted, there) }
}

/// The entries of a property, each once: the items of a list, the pairs of a map, or a text.
pub(super) fn entries(value: Value) -> Vec<Value> {
    let all: Vec<Value> = match value {
        Value::Array(mut items) => {
            for item in &mut items {
                if let Value::Object(map) = item {
                    map.retain(|_, value| !value.is_null());
                }
            }
            items
        }
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| json!({ "key": key, "value": value })).collect()
        }
        text @ Value::String(_) => vec![text],
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    };
    let mut once: Vec<Value> = Vec::new();
    for one in all {
        if !one.is_null() && !holds(&once, &one) {
            once.push(one);
        }
    }
    once
}

/// A shown item as an entry of the property; `None` where it is none.
pub(super) fn entry(form: &Value, item: &Value) -> Option<Value> {
    shape::filled(form, &json!({ "item": item }))
}

pub(super) fn holds(entries: &[Value], one: &Value) -> bool {
    let wanted = key(one);
    entries.iter().any(|entry| key(entry) == wanted)
}

/// By which two entries are the same: numbers may be written as text, and what begins with `_` is
/// only for calls.
pub(super) fn key(entry: &Value) -> String {
    match entry {
        Value::Object(map) if map.keys().any(|name| is_private(name)) => key(&public(map).into()),
        Value::Object(map) => {
            let keys: BTreeMap<&String, String> =
                map.iter().map(|(name, value)| (name, key(value))).collect();
            format!("{keys:?}")
        }
        Value::Array(items) => format!("{:?}", items.iter().map(key).collect::<Vec<_>>()),
        other => python::text(other),
    }
}

fn is_private(name: &str) -> bool {
    name.starts_with('_')
}

/// An entry as a property has it.
pub(super) fn shown(entry: Value) -> Value {
    match entry {
        Value::Object(map) => public(&map).into(),
        other => other,
    }
}

fn public(map: &JsonMap) -> JsonMap {
    let shown = map.iter().filter(|(name, _)| !is_private(name));
    shown.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The key and the value of an entry of a map.
pub(super) fn pair(entry: &Value) -> Option<(&Value, &Value)> {
    let map = entry.as_object().filter(|map| map.len() == 2)?;
    Some((map.get("key")?, map.get("value")?))
}

/// Pairs as the map that they are of.
pub(super) fn map_of(entries: &[Value]) -> Value {
    let pairs = entries.iter().filter_map(pair);
    pairs.map(|(name, value)| (key(name), value.clone())).collect::<JsonMap>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(members: &str, [live, former, wanted]: [Value; 3], expected: [Value; 2]) {
        let members: Members = serde_yaml::from_str(members).unwrap();
        let live = (!live.is_null()).then(|| entries(live));
        let Difference { surplus, missing } =
            difference(&members, live, &entries(former), &entries(wanted));
        assert_eq!([Value::from(surplus), missing.into()], expected);
    }

    #[test]
    fn what_others_added_stays_unless_all_is_taken() {
        let lists = [json!(["x", "a"]), json!(["a", "b"]), json!(["b", "c"])];
        check("of: list", lists.clone(), [json!(["a"]), json!(["b", "c"])]);
        check("{ of: list, takes: all }", lists, [json!(["x", "a"]), json!(["b", "c"])]);
    }

    #[test]
    fn what_nothing_shows_is_what_the_last_action_left() {
        let lists = [json!(null), json!(["a", "b"]), json!(["b", "c"])];
        check("of: list", lists, [json!(["a"]), json!(["c"])]);
    }

    #[test]
    fn numbers_may_be_text_and_what_is_unset_does_not_count() {
        let live = json!([{ "port": "1", "kind": null }]);
        check(
            "of: list",
            [live, json!([]), json!([{ "port": 1 }, { "port": 1 }])],
            [json!([]), json!([])],
        );
    }

    #[test]
    fn what_is_for_calls_alone_tells_no_entries_apart() {
        let live = json!([{ "to": "a", "_id": 1 }, { "to": "b", "_id": 2 }]);
        let wanted = json!([{ "to": "a" }]);
        check(
            "{ of: list, takes: all }",
            [live, json!([]), wanted],
            [json!([{ "to": "b", "_id": 2 }]), json!([])],
        );
        assert_eq!(shown(json!({ "to": "b", "_id": 2 })), json!({ "to": "b" }));
    }

    #[test]
    fn a_key_of_a_map_may_have_no_value() {
        let wanted = entries(json!({ "a": "b", "n": null }));
        assert_eq!(map_of(&wanted), json!({ "a": "b", "n": null }));
    }

    #[test]
    fn a_key_of_another_value_is_overwritten() {
        let maps =
            [json!({ "a": 1, "b": 2, "x": 0 }), json!({ "a": 1, "b": 2 }), json!({ "a": 3 })];
        let expected = [json!([{ "key": "b", "value": 2 }]), json!([{ "key": "a", "value": 3 }])];
        check("keys_of: map", maps, expected);
    }
}
