//! What of a definition must not be seen where it is kept: the values of hidden parameters of the
//! whole tree, wherever they were given, and secrets that are written in templates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{NESTED_DEPTH_MAX, StackDefinition};
use crate::model::taint::taint;
use crate::model::{JsonMap, ResourceName};
use crate::template::functions::table::{self, Position};
use crate::template::node::{Form, Node};
use crate::template::provider::Files;
use crate::template::value::Datum;
use crate::template::version::Version;
use crate::template::{StackSource, document, python};

/// The keys with which a template hides a parameter.
const HIDING: [&str; 2] = ["hidden", "NoEcho"];

/// The calls that only name what stands elsewhere, so that nothing is written in them.
const REFERENCES: [&str; 6] =
    ["get_param", "get_resource", "get_attr", "get_file", "Ref", "Fn::GetAtt"];

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
        mark_written(&mut template, self.version, is_secret, 0);
        template
    }

    /// Whether a property is the text of a file, made of no values.
    pub(crate) fn is_file(&self, name: &ResourceName, property: &str) -> bool {
        let Some(definition) = self.definitions.get(name.as_str()) else { return false };
        let properties = definition.properties.to_marked_json();
        let value = properties.get(property).and_then(Value::as_object);
        value.is_some_and(|call| call.len() == 1 && call.contains_key("get_file"))
    }

    /// The names of the files that are templates with secrets written in them.
    pub(crate) fn secret_files(&self, is_secret: IsSecret<'_>) -> BTreeSet<String> {
        let candidates = self.files.texts.iter().filter(|(_, text)| may_be_template(text));
        let secret = candidates.filter(|(name, text)| {
            let root = self.files.template(name, text);
            root.is_ok_and(|root| is_secret_within(&root, is_secret, 0))
        });
        secret.map(|(name, _)| name.clone()).collect()
    }
}

/// Whether a text is a template with secrets written in it.
pub(crate) fn is_secret_template(text: &str, is_secret: IsSecret<'_>) -> bool {
    is_secret_text(text, is_secret, 0)
}

/// The same at a depth of texts within texts; what lies too deep to be run is taken for a secret.
fn is_secret_text(text: &str, is_secret: IsSecret<'_>, depth: u32) -> bool {
    may_be_template(text)
        && (depth > NESTED_DEPTH_MAX
            || document::template_text(text, document::ROOT)
                .is_ok_and(|root| is_secret_within(&root, is_secret, depth)))
}

fn is_secret_within(root: &Node, is_secret: IsSecret<'_>, depth: u32) -> bool {
    let version = Version::of(root);
    version.is_ok_and(|version| mark_written(&mut root.to_json(), version, is_secret, depth))
}

/// Marks the secrets that are written in a template, and says whether there are any.
fn mark_written(
    template: &mut Value,
    version: &'static Version,
    is_secret: IsSecret<'_>,
    depth: u32,
) -> bool {
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
            let is_own = is_secret(&type_name, name) && !value.is_null();
            let text = value.as_str();
            if is_own && !is_reference(value, version)
                || text.is_some_and(|text| is_secret_text(text, is_secret, depth + 1))
            {
                *value = taint(value.take());
                found = true;
            }
        }
    }
    found
}

/// Whether a value only names what stands elsewhere, and so is nothing that is written.
fn is_reference(value: &Value, version: &'static Version) -> bool {
    let Value::Object(map) = value else { return false };
    let name = map.keys().next().filter(|_| map.len() == 1);
    name.filter(|name| REFERENCES.contains(&name.as_str()))
        .is_some_and(|name| table::lookup(version, Position::Value, name).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::AnyType;
    use super::*;
    use crate::model::taint::masked;
    use crate::template::PseudoParameters;

    const IS_SECRET: IsSecret<'static> = &|_, property| property == "password";

    fn kept(properties: Value) -> Value {
        let template = json!({
            "heat_template_version": "2021-04-16",
            "parameters": { "p": { "type": "string", "default": "x" } },
            "resources": { "a": { "type": "Some::Type", "properties": properties } },
        });
        let source = StackSource { template, ..StackSource::default() };
        let definition = StackDefinition::load(&source, &PseudoParameters::default(), &AnyType);
        let kept = definition.unwrap().template_kept(IS_SECRET);
        masked(&kept["resources"]["a"]["properties"])
    }

    #[test]
    fn what_is_written_in_a_call_under_a_secret_property_is_not_kept_in_clear() {
        let call = json!({ "list_join": ["", ["hunter2", { "get_param": "p" }]] });
        assert_eq!(
            kept(json!({ "password": call, "open": call })),
            json!({ "password": "******", "open": call })
        );
        let reference = json!({ "password": { "get_param": "p" } });
        assert_eq!(kept(reference.clone()), reference);
    }

    /// A template whose text stands in so many others, one within the next.
    fn nested(depth: u32, property: &str) -> String {
        let mut properties = json!({ property: "hunter2" });
        for _ in 0..depth {
            let text = within(&properties).to_string();
            properties = json!({ "template": text });
        }
        within(&properties).to_string()
    }

    fn within(properties: &Value) -> Value {
        json!({
            "heat_template_version": "2021-04-16",
            "resources": { "a": { "type": "Some::Type", "properties": properties } },
        })
    }

    #[test]
    fn a_secret_in_the_text_of_a_template_in_a_template_is_not_kept_in_clear() {
        assert_eq!(kept(json!({ "t": nested(1, "password") })), json!({ "t": "******" }));
        let open = json!({ "t": nested(1, "open"), "u": "heat_template_version" });
        assert_eq!(kept(open.clone()), open);
    }

    #[test]
    fn texts_within_texts_are_not_read_for_ever() {
        assert_eq!(kept(json!({ "t": nested(NESTED_DEPTH_MAX + 1, "open") }))["t"], "******");
    }
}
