//! What of a definition must not be seen where it is kept: the values of hidden parameters of the
//! whole tree, wherever they were given, and secrets that are written in templates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::StackDefinition;
use crate::model::JsonMap;
use crate::model::taint::taint;
use crate::template::functions::table::{self, Position};
use crate::template::node::{Form, Node};
use crate::template::provider::Files;
use crate::template::value::Datum;
use crate::template::version::Version;
use crate::template::{StackSource, document, python};

/// The keys with which a template hides a parameter.
const HIDING: [&str; 2] = ["hidden", "NoEcho"];

/// Whether a property of a type is a secret.
pub(crate) type IsSecret<'a> = &'a dyn Fn(&str, &str) -> bool;

/// The names of the parameters that are hidden in a template or in any that may come to stand
/// within it: in one of the files, or as a text in the template itself.
pub(super) fn hidden_names(root: &Node, files: &Files) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    hidden_in(root, &mut names);
    for (name, text) in files.texts.iter().filter(|(_, text)| may_hide(text)) {
        if let Ok(root) = files.template(name, text) {
            hidden_in(&root, &mut names);
        }
    }
    texts_in(root, &mut |text| {
        if let Ok(root) = document::template_text(text, document::ROOT) {
            hidden_in(&root, &mut names);
        }
    });
    names
}

fn may_hide(text: &str) -> bool {
    HIDING.iter().any(|key| text.contains(key)) && may_be_template(text)
}

/// Whether a text names the version of a template's language.
fn may_be_template(text: &str) -> bool {
    ["heat_template_version", "TemplateFormatVersion"].iter().any(|key| text.contains(key))
}

fn hidden_in(root: &Node, names: &mut BTreeSet<String>) {
    let section = Version::of(root).map(|version| version.dialect.sections.parameters);
    let declared = section.ok().and_then(|section| root.get(section)).and_then(Node::as_map);
    let declared = declared.into_iter().flatten();
    let hidden = declared.filter(|(_, schema)| is_hidden(&schema.to_json()));
    names.extend(hidden.map(|(name, _)| name.to_string()));
}

/// Whether the schema of a parameter hides it, however the truth is written.
fn is_hidden(schema: &Value) -> bool {
    let is_true = |flag: &Value| {
        let flag = python::text_of(&Datum::from(flag)).to_lowercase();
        matches!(&*flag, "true" | "t" | "yes" | "y" | "on" | "1")
    };
    HIDING.iter().filter_map(|key| schema.get(key)).any(is_true)
}

fn texts_in(node: &Node, found: &mut dyn FnMut(&str)) {
    match &node.form {
        Form::Text(text) if may_hide(text) => found(text),
        Form::List(items) => items.iter().for_each(|item| texts_in(item, found)),
        Form::Map(map) => map.values().for_each(|item| texts_in(item, found)),
        _ => {}
    }
}

impl StackDefinition {
    /// A source of this definition, with marks on the values of secret parameters.
    pub(crate) fn mark(&self, mut source: StackSource) -> StackSource {
        let is_secret = |name: &str| {
            let declared = self.parameters.get(name).is_some_and(|parameter| parameter.is_secret);
            declared || self.environment.is_secret(name)
        };
        let mark = |map: &mut JsonMap| {
            for (_, value) in map.iter_mut().filter(|(name, _)| is_secret(name)) {
                *value = taint(value.take());
            }
        };
        mark(&mut source.parameters);
        for section in ["parameters", "parameter_defaults"] {
            if let Some(Value::Object(values)) = source.environment.get_mut(section) {
                mark(values);
            }
        }
        source
    }

    /// The template as it is kept: with marks also on the secrets that are written in it, which are
    /// defaults of hidden parameters and values of properties that are secrets by their type.
    pub(crate) fn template_kept(&self, is_secret: IsSecret<'_>) -> Value {
        let mut template = self.template();
        mark_written(&mut template, self.version, is_secret);
        template
    }

    /// The names of the files that are templates with secrets written in them.
    pub(crate) fn secret_files(&self, is_secret: IsSecret<'_>) -> BTreeSet<String> {
        let candidates = self.files.texts.iter().filter(|(_, text)| may_be_template(text));
        let secret = candidates.filter(|(name, text)| {
            let Ok(root) = self.files.template(name, text) else { return false };
            let Ok(version) = Version::of(&root) else { return false };
            mark_written(&mut root.to_json(), version, is_secret)
        });
        secret.map(|(name, _)| name.clone()).collect()
    }
}

/// Marks the secrets that are written in a template, and says whether there are any.
fn mark_written(template: &mut Value, version: &'static Version, is_secret: IsSecret<'_>) -> bool {
    let (sections, keys) = (&version.dialect.sections, &version.dialect.resource);
    let mut found = false;
    let parameters = template.get_mut(sections.parameters).and_then(Value::as_object_mut);
    for schema in parameters.into_iter().flat_map(|all| all.values_mut()) {
        if !is_hidden(schema) {
            continue;
        }
        let key = version.dialect.parameter.default;
        if let Some(default) = schema.get_mut(key).filter(|default| !default.is_null()) {
            *default = taint(default.take());
            found = true;
        }
    }
    let resources = template.get_mut(sections.resources).and_then(Value::as_object_mut);
    for resource in resources.into_iter().flat_map(|all| all.values_mut()) {
        let Some(type_name) = resource.get(keys.kind).and_then(Value::as_str) else { continue };
        let type_name = type_name.to_owned();
        let properties = resource.get_mut(keys.properties).and_then(Value::as_object_mut);
        for (name, value) in properties.into_iter().flatten() {
            if is_secret(&type_name, name) && !value.is_null() && !is_call(value, version) {
                *value = taint(value.take());
                found = true;
            }
        }
    }
    found
}

/// Whether a value is the call of a function, and so nothing that is written.
fn is_call(value: &Value, version: &'static Version) -> bool {
    let Value::Object(map) = value else { return false };
    let name = map.keys().next().filter(|_| map.len() == 1);
    name.is_some_and(|name| table::lookup(version, Position::Value, name).is_some())
}
