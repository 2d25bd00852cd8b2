//! Places within a value: `a.b`, `a.0` for the first of a list, `a[].b` for each entry of one.

use serde_json::Value;

use crate::model::JsonMap;

/// All that is at the path.
pub(super) fn all<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![value];
    for step in path.split('.') {
        let (key, is_each) = match step.strip_suffix("[]") {
            Some(key) => (key, true),
            None => (step, false),
        };
        let inner = found.into_iter().filter_map(|value| match key {
            "" => Some(value),
            key => value.get(key).or_else(|| value.get(key.parse::<usize>().ok()?)),
        });
        found = match is_each {
            true => inner.filter_map(Value::as_array).flatten().collect(),
            false => inner.collect(),
        };
    }
    found
}

/// The first that is at the path in a map.
pub(super) fn within<'a>(map: &'a JsonMap, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((first, rest)) => one(map.get(first)?, rest),
        None => map.get(path),
    }
}

/// The first that is at the path.
pub(super) fn one<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    all(value, path).first().copied()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_into_maps_and_through_lists() {
        let value = json!({ "a": { "b": 1 }, "c": [{ "d": 2 }, { "e": 3 }, { "d": 4 }] });
        assert_eq!(one(&value, "a.b"), Some(&json!(1)));
        assert_eq!(one(&value, "a.x.y"), None);
        assert_eq!(all(&value, "c[].d"), [&json!(2), &json!(4)]);
        assert_eq!(one(&value, "c.1.e"), Some(&json!(3)));
    }
}
