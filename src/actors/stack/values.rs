//! Other resources' values while a definition is resolved, and the secrets among them.

use std::cell::RefCell;

use serde_json::Value;

use super::state::{Knowledge, Stack};
use crate::events::vault::Vault;
use crate::model::{JsonMap, Refusal, ResourceName, Secret, Status};
use crate::template::{
    ALL_ATTRIBUTES, FAILED_ATTRIBUTES, ResourceValues, StackDefinition, TypeLookup, attribute_key,
    select,
};

/// Looks values up in the reports of a stack's incarnations, and notes every secret it opens.
pub(super) struct Values<'a> {
    stack: &'a Stack,
    knowledge: &'a Knowledge,
    opened: RefCell<Vec<Secret<String>>>,
}

impl<'a> Values<'a> {
    pub(super) fn of(stack: &'a Stack, knowledge: &'a Knowledge) -> Self {
        Self { stack, knowledge, opened: RefCell::default() }
    }

    /// Seals every leaf that holds a secret: hidden parameters, and what was opened on the way.
    pub(super) fn seal(&self, value: Value, definition: &StackDefinition) -> Value {
        let mut secrets = definition.hidden_values();
        secrets.extend(self.opened.borrow().iter().cloned());
        if secrets.is_empty() {
            return value;
        }
        self.knowledge.vault.seal_leaves(&self.stack.scope(), value, &secrets).unwrap_or_else(
            |error| {
                // Better a value lost than a secret in clear text for ever.
                tracing::error!(stack.id = %self.stack.id, %error, "a secret cannot be sealed");
                Value::Null
            },
        )
    }

    /// The secrets that were opened.
    pub(super) fn into_opened(self) -> Vec<Secret<String>> {
        self.opened.into_inner()
    }

    pub(super) fn open(&self, value: &Value) -> Value {
        let leaves = Vault::sealed_leaves(value);
        if leaves.is_empty() {
            return value.clone();
        }
        let scope = self.stack.scope();
        let vault = &self.knowledge.vault;
        for leaf in leaves {
            if let Ok(opened) = vault.open(&scope, leaf) {
                note_texts(&opened, &mut self.opened.borrow_mut());
            }
        }
        vault.open(&scope, value).unwrap_or(Value::Null)
    }
}

fn note_texts(value: &Value, texts: &mut Vec<Secret<String>>) {
    match value {
        Value::String(text) if !text.is_empty() => texts.push(Secret::new(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| note_texts(item, texts)),
        Value::Object(map) => map.values().for_each(|item| note_texts(item, texts)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl ResourceValues for Values<'_> {
    fn reference(&self, name: &ResourceName) -> Option<Value> {
        let id = self.stack.traversal.as_ref()?.nodes.get(name)?;
        let reference = self.stack.reports().get(id)?.reference.as_ref()?;
        Some(self.open(reference))
    }

    fn attribute(&self, name: &ResourceName, attribute: &str) -> Result<Option<Value>, Refusal> {
        let Some(id) = self.stack.traversal.as_ref().and_then(|walk| walk.nodes.get(name)) else {
            return Ok(None);
        };
        let Some(report) = self.stack.reports().get(id) else { return Ok(None) };
        if attribute == ALL_ATTRIBUTES {
            let named = report.attributes.iter();
            let named =
                named.filter(|(name, _)| *name != ALL_ATTRIBUTES && *name != FAILED_ATTRIBUTES);
            return Ok(Some(self.open(&Value::Object(
                named.map(|(name, value)| (name.clone(), value.clone())).collect(),
            ))));
        }
        let value = report.attributes.get(attribute);
        let value = value.map(|value| self.open(value)).filter(|value| !value.is_null());
        let failed = report.attributes.get(FAILED_ATTRIBUTES).and_then(|it| it.get(attribute));
        match (value, failed.map(|why| self.open(why))) {
            (None, Some(Value::String(why))) => Err(Refusal::new("TemplateOutputError", why)),
            (value, _) => Ok(value),
        }
    }

    fn attribute_at(
        &self,
        name: &ResourceName,
        attribute: &str,
        path: &[Value],
    ) -> Result<Option<Value>, Refusal> {
        let known = self.stack.known();
        let declared = known.and_then(|known| known.definition.resources().get(name));
        let reads_paths =
            declared.is_some_and(|it| self.knowledge.registry.reads_paths(&it.type_name));
        if reads_paths {
            return self.attribute(name, &attribute_key(attribute, path));
        }
        let value = self.attribute(name, attribute)?;
        Ok(value.and_then(|value| select(&value, path)))
    }
}

impl Stack {
    /// A resource's metadata, nothing in it sealed, with what other resources have for it by now:
    /// as in Heat it follows signals to them. `None` where an action runs or has failed, which has
    /// its own time for each resource.
    pub fn metadata_now(&self, name: &ResourceName, knowledge: &Knowledge) -> Option<JsonMap> {
        let known = self.known().filter(|_| self.status == Status::Complete)?;
        let resolved = known.definition.resolve(name, &Values::of(self, knowledge));
        resolved.ok().map(|resolved| resolved.metadata)
    }

    /// The scope under which the stack's secrets are sealed.
    pub(super) fn scope(&self) -> String {
        format!("stack-{}", self.id)
    }
}
