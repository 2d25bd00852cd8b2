//! Templates and environments as documents: their text is bounded and read, JSON before YAML for
//! templates, and what is no map is refused. What a template must say to be one is in `version`.

use std::collections::BTreeMap;

use ecow::EcoString;
use serde_json::Value;

use super::environment::registry::is_template;
use super::error::{Outcome, TemplateError};
use super::json;
use super::node::{Form, Node};
use super::value::Datum;
use super::yaml::{self, YamlError};
use crate::model::JsonMap;

/// Heat's `max_template_size`.
pub const TEMPLATE_SIZE_MAX_BYTES: usize = 512 * 1024;

/// The name that a template has in errors where it has none.
pub(super) const ROOT: &str = "[root stack]";

const SECTION_NAMES: [&str; 3] =
    ["HeatTemplateFormatVersion", "heat_template_version", "AWSTemplateFormatVersion"];

/// Reads a template as it came in a request: an object, or text.
pub(super) fn template(source: &Value) -> Outcome<Node> {
    match source {
        Value::String(text) => template_text(text, ROOT)
            .map_err(|error| bad_request("Template not in valid format", error)),
        Value::Object(_) => {
            check_size(json_size(source))?;
            Ok(Node::from(source))
        }
        Value::Null => Err(TemplateError::new("HTTPBadRequest", "No template specified")),
        _ => {
            let error = TemplateError::value("The template is not a JSON object or YAML mapping.");
            Err(bad_request("Template not in valid format", error))
        }
    }
}

/// Reads the text of a template, which errors call by this name; what is wrong with the text is a
/// `ValueError`.
pub(super) fn template_text(text: &str, name: &str) -> Outcome<Node> {
    let node = template_map(text, name)?;
    if !is_template_map(&node) {
        return Err(TemplateError::value("Template format version not found.").placed(node.place));
    }
    Ok(node)
}

/// Reads the text of what may be a template, whether it says so or not.
pub(super) fn template_map(text: &str, name: &str) -> Outcome<Node> {
    // Heat counts characters here, for all that its message says.
    check_size(text.chars().count())?;
    let node = match json::read(text) {
        Some(node) => node,
        None => yaml::read(text).map_err(|error| {
            refused(&error, text, |message| format!("Error parsing template {name} {message}"))
        })?,
    };
    if node.as_map().is_none() {
        let error = TemplateError::value("The template is not a JSON object or YAML mapping.");
        return Err(error.placed(node.place));
    }
    Ok(node)
}

/// Whether a text is a template, whatever is wrong with it as one.
pub fn is_template_text(text: &str) -> bool {
    template_text(text, ROOT).is_ok()
}

/// A template of the same version without anything in it, as a rolled-back create leaves it.
pub fn emptied(template: &Value) -> Value {
    let sections = template.as_object().into_iter().flatten();
    let version = sections.filter(|(key, _)| key.to_ascii_lowercase().ends_with("version"));
    Value::Object(version.take(1).map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Reads the text of any map, JSON before YAML; why it is none.
pub fn map_text(text: &str) -> Result<JsonMap, String> {
    let node = match json::read(text) {
        Some(node) => node,
        None => yaml::read(text).map_err(|error| error.message(text))?,
    };
    match node.to_json() {
        Value::Object(map) => Ok(map),
        _ => Err("it is no map".to_owned()),
    }
}

/// Reads the text of what stands for a template, such as what is adopted; why it is no map.
pub fn template_map_text(text: &str) -> Result<JsonMap, String> {
    let node = template_map(text, "[root stack]").map_err(|error| error.message)?;
    match node.to_json() {
        Value::Object(map) => Ok(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Ok(JsonMap::new())
        }
    }
}

/// Reads the text of a template in JSON; the error is of Python's reader.
pub(super) fn json_map(text: &str) -> Outcome<Node> {
    check_size(text.chars().count())?;
    let node = json::parse(text).map_err(TemplateError::value)?;
    if node.as_map().is_none() {
        let error = TemplateError::value("The template is not a JSON object.");
        return Err(error.placed(node.place));
    }
    Ok(node)
}

/// Reads the text of an environment; what is wrong with it is a `ValueError`.
pub(super) fn environment_text(text: &str) -> Outcome<Node> {
    check_size(text.chars().count())?;
    let node = yaml::read(text).map_err(|error| refused(&error, text, |message| message))?;
    if node.as_map().is_none() {
        let message = "The environment is not a valid YAML mapping data type.";
        return Err(TemplateError::value(message).placed(node.place));
    }
    Ok(node)
}

/// An error of the reader; what is wrong with the YAML is said in a sentence about it.
fn refused(error: &YamlError, text: &str, say: impl Fn(String) -> String) -> TemplateError {
    let message = error.message(text);
    let message = if error.is_of_syntax() { say(message) } else { message };
    TemplateError::value(message).placed(error.place().unwrap_or_default())
}

/// A document as YAML, in the order of its maps; reading the text gives the same document.
pub fn yaml_text(document: &Value) -> String {
    yaml::emit::emit(&Datum::from(document))
}

/// A file that a template or environment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNamed {
    pub name: String,
    /// Whether it is a template, which may name files itself.
    pub is_template: bool,
}

/// The files that a template names with `get_file` and as types, or an environment in its registry.
pub fn files_named(text: &str) -> Vec<FileNamed> {
    let mut named = Vec::new();
    if let Some(mut node) = any(text) {
        each_file(&mut node, &mut |name, is_template| {
            named.push(FileNamed { name: name.to_string(), is_template });
        });
    }
    named
}

/// A template or environment as it is sent: with other names for the files that it names, and
/// without the parameters that are given above an environment. It stays as it is written where
/// that changes nothing.
pub fn text_to_send(text: &str, names: &BTreeMap<String, String>, given: &JsonMap) -> String {
    let settled = any(text).and_then(|mut node| {
        let is_changed = settle(&mut node, names, given);
        is_changed.then(|| yaml::emit::emit(&node.to_datum()))
    });
    settled.unwrap_or_else(|| text.to_owned())
}

/// The same for one that is read; whether anything is changed.
pub(super) fn settle(root: &mut Node, names: &BTreeMap<String, String>, given: &JsonMap) -> bool {
    let mut is_changed = false;
    each_file(root, &mut |name, _| {
        if let Some(other) = names.get(name.as_str()) {
            *name = other.into();
            is_changed = true;
        }
    });
    if !is_template_map(root)
        && let Form::Map(sections) = &mut root.form
        && let Some(Form::Map(parameters)) =
            sections.get_mut("parameters").map(|section| &mut section.form)
    {
        let before = parameters.len();
        parameters.retain(|name, _| !given.contains_key(name.as_str()));
        is_changed |= parameters.len() < before;
    }
    is_changed
}

/// The text of a template or of an environment, if it can be read.
fn any(text: &str) -> Option<Node> {
    json::read(text).or_else(|| yaml::read(text).ok())
}

fn is_template_map(node: &Node) -> bool {
    SECTION_NAMES.iter().any(|name| node.get(name).is_some())
}

fn each_file(root: &mut Node, visit: &mut dyn FnMut(&mut EcoString, bool)) {
    if is_template_map(root) {
        files_of_template(root, visit);
    } else if let Form::Map(sections) = &mut root.form
        && let Some(registry) = sections.get_mut("resource_registry")
    {
        files_of_registry(registry, visit);
    }
}

fn files_of_template(node: &mut Node, visit: &mut dyn FnMut(&mut EcoString, bool)) {
    match &mut node.form {
        Form::Map(map) => {
            for (key, value) in map.iter_mut() {
                match (key.as_str(), &mut value.form) {
                    ("get_file", Form::Text(name)) => visit(name, false),
                    ("type" | "Type", Form::Text(name)) if is_template(name) => visit(name, true),
                    _ => files_of_template(value, visit),
                }
            }
        }
        Form::List(items) => items.iter_mut().for_each(|item| files_of_template(item, visit)),
        _ => {}
    }
}

fn files_of_registry(node: &mut Node, visit: &mut dyn FnMut(&mut EcoString, bool)) {
    match &mut node.form {
        Form::Map(map) => map.values_mut().for_each(|entry| files_of_registry(entry, visit)),
        Form::Text(name) if is_template(name) => visit(name, true),
        _ => {}
    }
}

/// Whether a text may be a template at all; one that is too large to tell is none, and refused.
pub(super) fn may_be_template(text: &str) -> Outcome<bool> {
    check_size(text.chars().count())?;
    Ok(SECTION_NAMES.iter().any(|name| text.contains(name)))
}

/// The error that the API makes of one in a document.
pub(super) fn bad_request(what: &str, error: TemplateError) -> TemplateError {
    if error.class != "ValueError" {
        return error;
    }
    let place = error.place.unwrap_or_default();
    TemplateError::new("HTTPBadRequest", format!("{what}: {}", error.message)).placed(place)
}

fn check_size(size: usize) -> Outcome<()> {
    if size <= TEMPLATE_SIZE_MAX_BYTES {
        return Ok(());
    }
    let message = format!(
        "Request limit exceeded: Template size ({size} bytes) exceeds maximum allowed size \
         ({TEMPLATE_SIZE_MAX_BYTES} bytes)."
    );
    Err(TemplateError::new("RequestLimitExceeded", message))
}

/// The size of a value as JSON, without writing it out.
pub(crate) fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.chars().count() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_size(item) + 2).sum::<usize>(),
        Value::Object(map) => json_map_size(map),
    }
}

/// The same of a map.
pub(crate) fn json_map_size(map: &JsonMap) -> usize {
    2 + map.iter().map(|(key, item)| key.len() + 6 + json_size(item)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        template(&Value::from(text)).unwrap_err().text()
    }

    #[test]
    fn files_go_by_other_names_where_templates_and_registries_name_them() {
        let names = [("a", "A"), ("b.yaml", "B")].map(|(name, url)| (name.into(), url.into()));
        let given = [("size".to_owned(), Value::from(1))].into_iter().collect();
        let sent = |text: &str| text_to_send(text, &names.clone().into(), &given);
        let template = "heat_template_version: 2018-08-31\nresources:\n  r:\n    type: b.yaml\n    \
                        properties:\n      a: a\n      l:\n      - get_file: a\n";
        let renamed = template.replace("type: b.yaml", "type: B").replace("file: a", "file: A");
        let renamed = renamed.replace("2018-08-31", "'2018-08-31'");
        assert_eq!(sent(template), renamed);
        let environment = "parameters:\n  size: 2\n  type: b.yaml\nresource_registry:\n  b.yaml: \
                           b.yaml\n  resources:\n    r:\n      My::T: b.yaml\n";
        let settled = "parameters:\n  type: b.yaml\nresource_registry:\n  b.yaml: B\n  \
                       resources:\n    r:\n      My::T: B\n";
        assert_eq!(sent(environment), settled);
        for as_it_is in ["# c\nparameters: {a: 1}\n", "- a", "a: [", ""] {
            assert_eq!(sent(as_it_is), as_it_is);
        }
    }

    #[test]
    fn what_is_no_template_is_refused_as_heats_api_does() {
        assert_eq!(
            refused("- a"),
            "Template not in valid format: The template is not a JSON object or YAML mapping."
        );
        assert_eq!(
            refused("a: b"),
            "Template not in valid format: Template format version not found."
        );
        assert!(refused(&" ".repeat(600_000)).starts_with("Request limit exceeded: Template size"));
        assert!(refused("a: [").contains("Error parsing template [root stack]"));
    }
}
