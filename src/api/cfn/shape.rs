//! The shapes of answers: XML by Heat's rules, or JSON where it was asked for.

use serde_json::{Value, json};

use crate::api::error::Fault;
use crate::model::python::is_truthy;
use crate::model::sizes::{Room, answer_json};
use crate::resource_types::python;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum Format {
    Xml,
    /// `ContentType=JSON`.
    Json,
}

/// What stands as JSON text within XML.
const AS_JSON: [&str; 2] = ["TemplateBody", "Metadata"];

impl Format {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::Xml => "application/xml",
            Format::Json => "application/json",
        }
    }
}

/// A value under one root.
pub(super) fn body(format: Format, root: &str, value: &Value) -> Result<Vec<u8>, Fault> {
    match format {
        Format::Xml => xml(root, value).map(String::into_bytes),
        Format::Json => answer_json(&json!({ root: value })).map_err(Fault::from),
    }
}

/// A value as XML: members of lists are `member`, entries of maps elements by their names, and the
/// rest is as Python prints it.
fn xml(root: &str, value: &Value) -> Result<String, Fault> {
    let mut writer = Writer { text: String::new(), room: Room::default() };
    writer.element(root, value)?;
    Ok(writer.text)
}

struct Writer {
    text: String,
    room: Room,
}

impl Writer {
    fn element(&mut self, name: &str, value: &Value) -> Result<(), Fault> {
        let name = element_name(name);
        let start = self.text.len();
        self.put(&format!("<{name}>"))?;
        let content = self.text.len();
        if AS_JSON.contains(&name.as_str()) {
            if is_truthy(value) {
                self.put(&escaped(&python::json(value)))?;
            }
        } else {
            self.content(value)?;
        }
        if self.text.len() == content {
            self.text.truncate(start);
            return self.put(&format!("<{name}/>"));
        }
        self.put(&format!("</{name}>"))
    }

    fn content(&mut self, value: &Value) -> Result<(), Fault> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.element("member", item)),
            // Heat writes `None`, which clients take for a wrong time or number.
            Value::Object(map) => {
                let mut given = map.iter().filter(|(_, value)| !value.is_null());
                given.try_for_each(|(name, value)| self.element(name, value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.put(&escaped(&python::text(value)))
            }
        }
    }

    fn put(&mut self, text: &str) -> Result<(), Fault> {
        self.room.take(text.len())?;
        self.text.push_str(text);
        Ok(())
    }
}

/// A name that an element may have: keys of users' maps may be anything. Heat puts dots for the
/// colons alone, and has no answer for the rest.
fn element_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = name
        .chars()
        .map(|c| match c {
            ':' => '.',
            c if fits(c) => c,
            _ => '_',
        })
        .collect();
    match name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        true => name,
        false => format!("_{name}"),
    }
}

/// Text between tags. What XML has no way to write becomes a question mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' | '\n' => escaped.push(c),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            // What lxml writes where no encoding is declared.
            c if !c.is_ascii() => escaped.push_str(&format!("&#{};", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_heat_writes_them() {
        let value = json!({
            "Stacks": [{ "Name": "a<b>&\"ü\u{1}", "Rollback": true, "Timeout": null, "Of": [] }],
            "Metadata": {}, "TemplateBody": { "a": [1, "<"] },
            "Empty": "", "with space": { "OS::x": 1.5, "9": "" },
        });
        assert_eq!(
            xml("R", &value).unwrap(),
            "<R><Stacks><member><Name>a&lt;b&gt;&amp;\"&#252;?</Name><Rollback>True</Rollback>\
             <Of/></member></Stacks><Metadata/>\
             <TemplateBody>{\"a\": [1, \"&lt;\"]}</TemplateBody><Empty/>\
             <with_space><OS..x>1.5</OS..x><_9/></with_space></R>"
        );
    }

    #[test]
    fn an_answer_has_a_bound() {
        let value: Value = vec![Value::from("x".repeat(1 << 20)); 33].into();
        assert!(xml("R", &value).is_err());
    }
}
