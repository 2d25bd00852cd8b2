//! The texts in bodies that stand for values: that there are such properties.

use serde_json::Value;

use super::Check;
use crate::resource_types::declared::shape;
use crate::resource_types::declared::stack::Stack;
use crate::resource_types::declared::waits::Waits;

impl Check<'_> {
    pub(super) fn bodies(&mut self) {
        let declaration = self.declaration;
        if let Some(shape) = &declaration.body.shape {
            self.shape(&["body", "shape"], shape, None);
        }
        if let Some(config) = &declaration.software_config {
            for (key, shape) in config.parts() {
                self.shape(&["software_config", key], shape, None);
            }
        }
        if let Some(Waits { handle, timeout, count, .. }) = &declaration.waits {
            for (key, name) in [("handle", handle), ("timeout", timeout), ("count", count)] {
                self.property(&["waits", key], name);
            }
        }
        for (key, path) in declaration.stack.iter().flat_map(Stack::names) {
            self.property(&[&["stack"], key].concat(), path);
        }
        for (path, value) in declaration.find.iter().flat_map(|find| &find.has) {
            self.shape(&["find", "where", path], value, None);
        }
        if let Some(body) = declaration.delete.as_ref().and_then(|delete| delete.body.as_ref()) {
            self.shape(&["delete", "body"], body, None);
        }
    }

    /// The texts of a template that look like a placeholder and are none; within `of` there is an
    /// item of this list.
    fn shape(&mut self, at: &[&str], shape: &Value, list: Option<&str>) {
        match shape {
            Value::String(text) => {
                let Some(path) = shape::placeholder(text) else { return };
                let unknown = match (list, path.split_once('.')) {
                    (Some(_), None) if path == "item" => None,
                    (Some(list), Some(("item", key))) => {
                        let wrong = self.unknown(&format!("{list}.{key}"));
                        wrong.map(|(_, meant)| {
                            let message = format!("an item of `{list}` has no `{key}`");
                            (message, meant.map(|meant| format!("item.{meant}")))
                        })
                    }
                    _ => self.unknown(path),
                };
                if let Some((message, meant)) = unknown {
                    self.wrong(at, message, meant.map(|name| format!("{{{name}}}")));
                }
            }
            Value::Object(map) => {
                if let Some((list, of)) = shape::each(map) {
                    self.property(&[at, &["each"]].concat(), list);
                    return self.shape(&[at, &["of"]].concat(), of, Some(list));
                }
                for (key, inner) in map {
                    self.shape(&[at, &[key.as_str()]].concat(), inner, list);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    self.shape(&[at, &[index.to_string().as_str()]].concat(), inner, list);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The texts of a call's body that look like a placeholder and are none.
    pub(super) fn body(&mut self, at: &[&str], body: &Value, property: &str) {
        match body {
            Value::String(text) => {
                let word = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
                if word.is_some_and(|word| word != property) {
                    let meant = Some(format!("{{{property}}}"));
                    self.wrong(at, format!("`{text}` is not the property of the call"), meant);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.body(&[at, &[index.to_string().as_str()]].concat(), item, property);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    self.body(&[at, &[key.as_str()]].concat(), item, property);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
