//! Bodies as templates: a text that is `{property}` or `{map.key}` stands for that value, what is
//! unset falls out together with its key, and a map or list that becomes empty by it as well.
//! `{ each: LIST, of: … }` makes an entry of each item, which `{item}` and `{item.key}` mean;
//! `{ json: … }` is the text of what is within. The same places are read backwards.

use serde_json::{Map, Value, json};

use super::dotted;
use crate::model::JsonMap;

/// The path within a placeholder.
pub(super) fn placeholder(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    (!inner.is_empty() && !inner.contains(['{', '}', ' '])).then_some(inner)
}

/// The two parts of an entry of the form `{ each: LIST, of: … }`.
pub(super) fn each(map: &JsonMap) -> Option<(&str, &Value)> {
    let (list, of) = (map.get("each")?.as_str()?, map.get("of")?);
    (map.len() == 2).then_some((list, of))
}

/// What is written as text.
pub(super) fn as_json(map: &JsonMap) -> Option<&Value> {
    map.get("json").filter(|_| map.len() == 1)
}

/// The template with values in it; `None` where nothing of it is set.
pub(super) fn filled(shape: &Value, values: &Value) -> Option<Value> {
    match shape {
        Value::String(text) => match placeholder(text) {
            Some(path) => dotted::one(values, path).filter(|value| !value.is_null()).cloned(),
            None => Some(shape.clone()),
        },
        Value::Object(map) => {
            if let Some((list, of)) = each(map) {
                let Some(Value::Array(items)) = dotted::one(values, list) else { return None };
                let entry = |item: &Value| filled(of, &json!({ "item": item }));
                return Some(items.iter().filter_map(entry).collect());
            }
            if let Some(inner) = as_json(map) {
                return Some(filled(inner, values)?.to_string().into());
            }
            let within = |(key, inner): (&String, &Value)| {
                Some((key.clone(), filled(inner, values)?))
            };
            let filled: Map<String, Value> = map.iter().filter_map(within).collect();
            (!filled.is_empty() || map.is_empty()).then_some(Value::Object(filled))
        }
        Value::Array(list) => {
            let all: Vec<Value> = list.iter().filter_map(|inner| filled(inner, values)).collect();
            (!all.is_empty() || list.is_empty()).then_some(Value::Array(all))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(shape.clone()),
    }
}

/// A property as it stands in a body of this shape; `None` where the shape does not have it.
pub(super) fn read(shape: &Value, body: &Value, name: &str) -> Option<Value> {
    match shape {
        Value::String(text) => (placeholder(text)? == name).then(|| body.clone()),
        Value::Object(map) => {
            if let Some((list, of)) = each(map) {
                let items = body.as_array().filter(|_| list == name)?;
                return Some(items.iter().map(|item| entry(of, item)).collect());
            }
            if let Some(inner) = as_json(map) {
                let text = body.as_str().unwrap_or_default();
                let body = serde_json::from_str(text).unwrap_or_default();
                return read(inner, &body, name);
            }
            let nothing = Value::Null;
            map.iter().find_map(|(key, inner)| {
                read(inner, body.get(key).unwrap_or(&nothing), name)
            })
        }
        Value::Array(list) => {
            let nothing = Value::Null;
            let mut all = list.iter().enumerate();
            all.find_map(|(index, inner)| read(inner, body.get(index).unwrap_or(&nothing), name))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// One item of a list as the property has it.
fn entry(of: &Value, body: &Value) -> Value {
    match of {
        Value::String(text) if placeholder(text) == Some("item") => body.clone(),
        Value::Object(map) => {
            let mut item = JsonMap::new();
            for (key, inner) in map {
                let path = inner.as_str().and_then(placeholder);
                if let Some(name) = path.and_then(|path| path.strip_prefix("item.")) {
                    item.insert(name.to_owned(), body.get(key).cloned().unwrap_or_default());
                }
            }
            Value::Object(item)
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Value {
        json!({
            "type": "generic",
            "name": "{title}",
            "meta": { "size": "{size}", "mode": "{mode}" },
            "refs": { "each": "secrets", "of": { "name": "{item.name}", "ref": "{item.ref}" } },
            "text": { "json": { "hints": "{hints}" } },
        })
    }

    #[test]
    fn what_is_unset_falls_out_with_its_key_and_constants_stay() {
        let values = json!({ "title": "a", "mode": null });
        assert_eq!(filled(&shape(), &values), Some(json!({ "type": "generic", "name": "a" })));
    }

    #[test]
    fn lists_are_made_entry_by_entry_and_read_backwards() {
        let values = json!({
            "size": 3,
            "secrets": [{ "name": "k", "ref": "r" }, { "name": null, "ref": "s" }],
            "hints": { "b": 1 },
        });
        let body = filled(&shape(), &values).unwrap();
        let wanted = json!({
            "type": "generic",
            "meta": { "size": 3 },
            "refs": [{ "name": "k", "ref": "r" }, { "ref": "s" }],
            "text": "{\"hints\":{\"b\":1}}",
        });
        assert_eq!(body, wanted);
        assert_eq!(read(&shape(), &body, "size"), Some(json!(3)));
        assert_eq!(read(&shape(), &body, "secrets"), Some(values["secrets"].clone()));
        assert_eq!(read(&shape(), &body, "hints"), Some(json!({ "b": 1 })));
        assert_eq!(read(&shape(), &body, "title"), Some(Value::Null), "shown, and unset");
        assert_eq!(read(&shape(), &body, "other"), None);
    }
}
