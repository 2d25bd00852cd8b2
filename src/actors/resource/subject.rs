//! What a driver is told of a resource, with what is sealed open.

use std::sync::Arc;

use serde_json::Value;

use super::state::{Knowledge, Resource};
use crate::events::resource::Definition;
use crate::events::vault::Vault;
use crate::model::{Action, JsonMap, Secret, Status, physical_name};
use crate::resource_types::{Driver, Heard, Signals, Subject};

impl Resource {
    /// The driver of a definition's type.
    pub(super) fn driver(
        knowledge: &Knowledge,
        definition: &Definition,
    ) -> Result<Arc<dyn Driver>, String> {
        knowledge.registry.driver(&definition.driver_type).ok_or_else(|| {
            format!("NotFound: The Resource Type ({}) could not be found.", definition.driver_type)
        })
    }

    /// The scope under which the stack's secrets are sealed.
    pub(super) fn scope(&self) -> String {
        self.stack.as_ref().map(|stack| format!("stack-{}", stack.id)).unwrap_or_default()
    }

    /// What a driver is told, with the properties of the given definition, unsealed.
    pub(in crate::actors) fn subject(
        &self,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Subject {
        let limit = knowledge
            .registry
            .driver(&definition.driver_type)
            .map_or(255, |driver| driver.physical_name_limit());
        let stack_name = self.stack.as_ref().map(|stack| stack.name.clone());
        let data = self.data.iter().map(|(key, value)| (key.clone(), self.open(value, knowledge)));
        Subject {
            stack_id: self.stack.as_ref().map(|stack| stack.id),
            project_id: self.stack.as_ref().map(|stack| stack.project_id.clone()),
            resource_id: Some(self.id),
            name: Some(self.name.clone()),
            physical_name: stack_name
                .as_ref()
                .map(|stack| physical_name(stack, &self.name, self.id, limit))
                .unwrap_or_default(),
            stack_name,
            properties: self.open_map(&definition.properties, knowledge),
            metadata: self.open_map(&definition.metadata, knowledge),
            update_policy: definition.update_policy.clone(),
            deletion_policy: definition.deletion_policy.clone(),
            reads: definition.attributes.clone(),
            physical_id: self.physical_id.clone(),
            data: data.collect(),
            signals: self.open_map(&self.signals, knowledge),
            software: knowledge.software.clone(),
            traversal: self.traversal,
            replaces: self.replaces.clone(),
            abandons: self.action == Action::Delete && self.retains,
            kept_first: self.action == Action::Delete
                && self.deleted_from.1 != Status::Failed
                && definition.deletion_policy == "Snapshot",
            heard: self.working.heard.iter().map(|it| self.open_heard(it, knowledge)).collect(),
            ..Subject::default()
        }
    }

    fn open_heard(&self, heard: &Heard, knowledge: &Knowledge) -> Heard {
        Heard {
            name: heard.name.clone(),
            reference: self.open(&heard.reference, knowledge),
            signals: heard.signals.as_ref().map(|signals| Signals {
                entries: self.open_map(&signals.entries, knowledge),
                unneeded: signals.unneeded,
            }),
        }
    }

    /// A value with its sealed leaves open; a leaf that cannot be opened is null.
    pub(super) fn open(&self, value: &Value, knowledge: &Knowledge) -> Value {
        knowledge.vault.open(&self.scope(), value).unwrap_or_else(|error| {
            tracing::warn!(resource.id = %self.id, %error, "a sealed value cannot be opened");
            Value::Null
        })
    }

    pub(in crate::actors) fn open_map(&self, map: &JsonMap, knowledge: &Knowledge) -> JsonMap {
        let opened = self.open(&Value::Object(map.clone()), knowledge);
        if let Value::Object(map) = opened { map } else { JsonMap::new() }
    }

    /// Hands over what the resource hears of others, for a look at it.
    pub fn know_heard(&mut self, heard: Vec<Heard>) {
        self.working.heard = heard;
    }

    /// The driver and what it is told, for a look at the live object; `None` before a create.
    pub fn inspected(&self, knowledge: &Knowledge) -> Option<(Arc<dyn Driver>, Subject)> {
        let definition = self.definition.as_ref()?;
        let driver = knowledge.registry.driver(&definition.driver_type)?;
        Some((driver, self.subject(definition, knowledge)))
    }

    /// The texts that are sealed in what the resource is made of.
    pub(in crate::actors) fn secrets(
        &self,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Vec<Secret<String>> {
        let made_of = definition.properties.values().chain(self.data.values());
        let sealed = made_of.chain(self.attributes.values()).flat_map(Vault::sealed_leaves);
        let texts = sealed.map(|leaf| self.open(leaf, knowledge));
        texts.filter_map(|leaf| leaf.as_str().map(|text| Secret::new(text.to_owned()))).collect()
    }
}
