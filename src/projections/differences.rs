//! What differs between two documents, place by place.

use serde_json::{Value, json};

use crate::model::JsonMap;

/// The differences that are told at most.
pub const DIFFERENCES_MAX: usize = 500;

/// Each place where two documents differ, with what stood there and what stands there now; a place
/// that one of them has not is null there. Maps are gone into, and all else is compared as a whole.
pub fn differences(old: &Value, new: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let none = Value::Object(JsonMap::new());
    // A document that is not there has no entries.
    let [old, new] = [old, new].map(|document| if document.is_null() { &none } else { document });
    compare(old, new, "", &mut found);
    found
}

fn compare(old: &Value, new: &Value, place: &str, found: &mut Vec<Value>) {
    if old == new || found.len() >= DIFFERENCES_MAX {
        return;
    }
    let (Some(before), Some(after)) = (map_of(old, place), map_of(new, place)) else {
        found.push(json!({ "place": place, "old": old, "new": new }));
        return;
    };
    let below = |key: &str| match place {
        "" => key.to_owned(),
        place => format!("{place}.{key}"),
    };
    for (key, value) in before {
        compare(value, after.get(key).unwrap_or(&Value::Null), &below(key), found);
    }
    for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
        compare(&Value::Null, value, &below(key), found);
    }
}

/// A map with something in it, or the whole document.
fn map_of<'a>(value: &'a Value, place: &str) -> Option<&'a JsonMap> {
    value.as_object().filter(|map| place.is_empty() || !map.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_that_differs_is_told_once() {
        let old = json!({ "a": { "b": 1, "c": [1, 2] }, "gone": { "x": 1 }, "same": {} });
        let new = json!({ "a": { "b": 2, "c": [2] }, "same": {}, "fresh": null, "here": true });
        let told = json!([
            { "place": "a.b", "old": 1, "new": 2 },
            { "place": "a.c", "old": [1, 2], "new": [2] },
            { "place": "gone", "old": { "x": 1 }, "new": null },
            { "place": "here", "old": null, "new": true },
        ]);
        assert_eq!(Value::Array(differences(&old, &new)), told);
        assert_eq!(differences(&new, &new), Vec::<Value>::new());
        let all = json!([{ "place": "a", "old": null, "new": { "b": 1 } }]);
        for nothing in [json!({}), Value::Null] {
            let told = differences(&nothing, &json!({ "a": { "b": 1 } }));
            assert_eq!(Value::Array(told), all);
        }
        let many: JsonMap = (0..1_000).map(|n| (n.to_string(), json!(n))).collect();
        assert_eq!(differences(&json!({ "0": 1 }), &many.into()).len(), DIFFERENCES_MAX);
    }
}
