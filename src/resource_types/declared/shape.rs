//! Bodies as templates: a text that is `{property}` or `{map.key}` stands for that value, what is
//! unset falls out together with its key, and so does a map or list in which nothing is set.
//! `{ each: LIST, of: … }` makes an entry of each item, which `{item}` and `{item.key}` mean;
//! `{ json: … }` is the text of what is within. The same places are read backwards.

use serde_json::{Value, json};

use super::dotted;
use crate::model::JsonMap;
use crate::resource_types::python;

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

/// A whole body: its constants stay whatever is set.
pub(super) fn body(shape: &Value, values: &Value) -> JsonMap {
    let fields = shape.as_object().into_iter().flatten();
    fields.filter_map(|(key, inner)| Some((key.clone(), filled(inner, values)?))).collect()
}

/// The template with values in it; `None` where it stands for values and none of them is set.
pub(super) fn filled(shape: &Value, values: &Value) -> Option<Value> {
    match shape {
        Value::String(text) => match placeholder(text) {
            Some(path) => dotted::one(values, path).filter(|value| !value.is_null()).cloned(),
            None => Some(shape.clone()),
        },
        Value::Object(map) => {
            if let Some((list, of)) = each(map) {
                let items = dotted::one(values, list)?.as_array()?;
                let entry = |item: &Value| filled(of, &json!({ "item": item }));
                return Some(items.iter().filter_map(entry).collect());
            }
            if let Some(inner) = as_json(map) {
                return Some(python::json(&filled(inner, values)?).into());
            }
            is_said(shape, values).then(|| body(shape, values).into())
        }
        Value::Array(list) => is_said(shape, values)
            .then(|| list.iter().filter_map(|inner| filled(inner, values)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(shape.clone()),
    }
}

/// Whether there is something to say: a constant, where nothing stands for a value, or a value.
fn is_said(shape: &Value, values: &Value) -> bool {
    let inner: Vec<&Value> = match shape {
        Value::Object(map) => map.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => Vec::new(),
    };
    let mut open = inner.into_iter().filter(|inner| is_open(inner)).peekable();
    open.peek().is_none() || open.any(|inner| filled(inner, values).is_some())
}

/// Whether something in a template stands for a value.
fn is_open(shape: &Value) -> bool {
    match shape {
        Value::String(text) => placeholder(text).is_some(),
        Value::Object(map) => each(map).is_some() || map.values().any(is_open),
        Value::Array(list) => list.iter().any(is_open),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
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
            map.iter().find_map(|(key, inner)| read(inner, body.get(key).unwrap_or(&nothing), name))
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
            "fixed": [{ "name": "key", "ref": "{key}" }, { "name": "other", "ref": "{other}" }],
        })
    }

    #[test]
    fn what_is_unset_falls_out_with_its_key_and_constants_stay() {
        let values = json!({ "title": "a", "mode": null });
        let wanted = json!({ "type": "generic", "name": "a" });
        assert_eq!(Value::Object(body(&shape(), &values)), wanted);
    }

    #[test]
    fn lists_are_made_entry_by_entry_and_read_backwards() {
        let values = json!({
            "size": 3,
            "secrets": [{ "name": "k", "ref": "r" }, { "name": null, "ref": "s" }],
            "hints": { "b": 1 },
            "other": "o",
        });
        let body = Value::Object(body(&shape(), &values));
        let wanted = json!({
            "type": "generic",
            "meta": { "size": 3 },
            "refs": [{ "name": "k", "ref": "r" }, { "ref": "s" }],
            "text": "{\"hints\": {\"b\": 1}}",
            "fixed": [{ "name": "other", "ref": "o" }],
        });
        assert_eq!(body, wanted);
        assert_eq!(read(&shape(), &body, "size"), Some(json!(3)));
        assert_eq!(read(&shape(), &body, "secrets"), Some(values["secrets"].clone()));
        assert_eq!(read(&shape(), &body, "hints"), Some(json!({ "b": 1 })));
        assert_eq!(read(&shape(), &body, "title"), Some(Value::Null), "shown, and unset");
        assert_eq!(read(&shape(), &body, "unknown"), None);
    }
}
