//! The values of hidden parameters of a whole tree, wherever they were given: what of a definition
//! must not be seen where it is kept, beside what is written in templates (`written`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::StackDefinition;
use crate::model::taint::{MASK, taint};
use crate::model::{JsonMap, ResourceName};
use crate::template::node::{Form, Node};
use crate::template::provider::Files;
use crate::template::value::Datum;
use crate::template::version::Version;
use crate::template::{StackSource, document, python};

/// The keys with which a template hides a parameter.
const HIDING: [&str; 2] = ["hidden", "NoEcho"];

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
pub(super) fn may_be_template(text: &str) -> bool {
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
pub(super) fn is_hidden(schema: &Value) -> bool {
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
        let mark = |map: &mut JsonMap| {
            for (_, value) in map.iter_mut().filter(|(name, _)| self.is_secret_parameter(name)) {
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

    /// Whether a property is the text of a file, made of no values.
    pub(crate) fn is_file(&self, name: &ResourceName, property: &str) -> bool {
        let Some(definition) = self.definitions.get(name.as_str()) else { return false };
        let properties = definition.properties.to_marked_json();
        let value = properties.get(property).and_then(Value::as_object);
        value.is_some_and(|call| call.len() == 1 && call.contains_key("get_file"))
    }

    /// The names of the files that are environments and set a secret parameter: clients send those
    /// that they have read along with the files of templates.
    pub(crate) fn secret_environments(&self) -> BTreeSet<String> {
        let candidates = self.files.texts.iter().filter(|(_, text)| text.contains("parameter"));
        let secret = candidates.filter(|(_, text)| {
            let read = document::environment_text(text).ok();
            // The parameters of a template are declared there, and not set.
            read.is_some_and(|root| Version::of(&root).is_err() && self.sets_secret(&root))
        });
        secret.map(|(name, _)| name.clone()).collect()
    }

    fn sets_secret(&self, environment: &Node) -> bool {
        let sections = ["parameters", "parameter_defaults"];
        let given = sections.iter().filter_map(|name| environment.get(name)?.as_map());
        given.flatten().any(|(name, value)| {
            !value.to_json().is_null() && self.is_secret_parameter(name.as_ref())
        })
    }

    /// A hidden parameter whose value is the mask that secrets are shown by, as where what was shown
    /// is sent back.
    pub(crate) fn masked_parameter(&self) -> Option<&str> {
        let mut declared = self.parameters.declared();
        let masked = declared.find(|(_, parameter)| {
            let value = parameter.raw().and_then(Datum::as_text);
            parameter.is_secret && value == Some(MASK)
        });
        masked.map(|(name, _)| name)
    }

    fn is_secret_parameter(&self, name: &str) -> bool {
        let declared = self.parameters.get(name).is_some_and(|parameter| parameter.is_secret);
        declared || self.environment.is_secret(name)
    }
}
