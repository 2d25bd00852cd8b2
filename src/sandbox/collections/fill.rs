//! Values with places in them that are filled in: `{now}`, `{id}`, `{given.host}`.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::super::ask::{Ask, stamp, stamp_micros};
use super::super::cloud::Cloud;
use super::super::doc::shown;
use super::super::keystone::Scope;
use crate::model::JsonMap;

/// The value with its places filled. A text that is nothing but a place becomes what is found; one
/// with a place for which there is nothing is null.
pub(super) fn filled(template: &Value, find: &dyn Fn(&str) -> Value) -> Value {
    match template {
        Value::String(text) => match whole_place(text) {
            Some(place) => find(place),
            None => text_of(text, find).map_or(Value::Null, Value::String),
        },
        Value::Array(items) => items.iter().map(|item| filled(item, find)).collect(),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| (key.clone(), filled(value, find)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

fn whole_place(text: &str) -> Option<&str> {
    let place = text.strip_prefix('{')?.strip_suffix('}')?;
    (!place.contains(['{', '}'])).then_some(place)
}

fn text_of(mut text: &str, find: &dyn Fn(&str) -> Value) -> Option<String> {
    let mut whole = String::new();
    while let Some((before, rest)) = text.split_once('{') {
        whole.push_str(before);
        let Some((place, after)) = rest.split_once('}') else { break };
        match find(place) {
            Value::Null => return None,
            value => whole.push_str(&shown(&value)),
        }
        text = after;
    }
    Some(whole + text)
}

/// What stands at a dotted path.
pub(super) fn at<'a>(row: &'a JsonMap, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = row.get(first)?;
    match (rest, value) {
        ("", value) => Some(value),
        (rest, Value::Object(inner)) => at(inner, rest),
        _ => None,
    }
}

/// The ids at a dotted path: a text, the texts of a list, or those of the maps of a list.
pub(super) fn ids<'a>(row: &'a JsonMap, path: &str) -> Vec<&'a str> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let items = match row.get(first) {
        Some(Value::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let texts = items.iter().filter_map(|item| match (rest, item) {
        ("", Value::String(id)) => Some(id.as_str()),
        (rest, Value::Object(inner)) => at(inner, rest)?.as_str(),
        _ => None,
    });
    texts.filter(|id| !id.is_empty()).collect()
}

/// A moment in the form of most services, or with microseconds; null for any other place.
pub(super) fn moment(at: DateTime<Utc>, place: &str) -> Value {
    match place {
        "now" => stamp(at).into(),
        "micros" => stamp_micros(at).into(),
        _ => Value::Null,
    }
}

/// What a place in a new or changed object stands for.
pub(super) fn found(cloud: &Cloud, ask: &Ask, scope: &Scope, row: &JsonMap, place: &str) -> Value {
    match place {
        "now" | "micros" => moment(ask.at, place),
        "base" => ask.base.as_str().into(),
        "fresh" => cloud.fresh_id().into(),
        "user" => scope.user_id.as_str().into(),
        "project" => scope.project_id.as_str().into(),
        path => at(row, path).cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_take_values_and_texts() {
        let row = json!({"id": 7, "a": {"b": [1]}});
        let row = row.as_object().unwrap();
        let find = |path: &str| at(row, path).cloned().unwrap_or_default();
        let template =
            json!({"one": "{id}", "ref": "/x/{id}/y", "no": "/{none}", "all": ["{a.b}"], "n": 1});
        assert_eq!(
            filled(&template, &find),
            json!({"one": 7, "ref": "/x/7/y", "no": null, "all": [[1]], "n": 1})
        );
    }

    #[test]
    fn ids_are_found_in_texts_lists_and_maps_of_lists() {
        let row = json!({"a": "x", "b": ["x", "y"], "c": [{"id": "z"}, {}], "d": null, "e": ""});
        let row = row.as_object().unwrap();
        let all = ["a", "b", "c.id", "d", "e", "f"].map(|path| ids(row, path));
        assert_eq!(all, [vec!["x"], vec!["x", "y"], vec!["z"], vec![], vec![], vec![]]);
    }
}
