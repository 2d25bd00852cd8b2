//! What a driver is told of a resource, without marks.

use std::sync::Arc;

use super::state::{Knowledge, Resource};
use crate::events::resource::Definition;
use crate::model::taint::{self, plain, plain_map};
use crate::model::{Action, Secret, Status, physical_name};
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

    /// What a driver is told, with the properties of the given definition.
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
        let data = self.data.iter().map(|(key, value)| (key.clone(), plain(value.clone())));
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
            properties: plain_map(definition.properties.clone()),
            metadata: plain_map(definition.metadata.clone()),
            update_policy: definition.update_policy.clone(),
            deletion_policy: definition.deletion_policy.clone(),
            reads: definition.attributes.clone(),
            physical_id: self.physical_id.clone(),
            data: data.collect(),
            signals: plain_map(self.signals.clone()),
            traversal: self.traversal,
            replaces: self.replaces.clone(),
            abandons: self.action == Action::Delete && self.retains,
            kept_first: self.action == Action::Delete
                && self.deleted_from.1 != Status::Failed
                && definition.deletion_policy == "Snapshot",
            in_doubt: self.attempted.is_some(),
            heard: self.working.heard.iter().map(without_marks).collect(),
            ..Subject::default()
        }
    }

    /// Hands over what the resource hears of others, for a look at it; what it had heard before.
    pub fn know_heard(&mut self, heard: Vec<Heard>) -> Vec<Heard> {
        std::mem::replace(&mut self.working.heard, heard)
    }

    /// The driver and what it is told, for a look at the live object; `None` before a create.
    pub fn inspected(&self, knowledge: &Knowledge) -> Option<(Arc<dyn Driver>, Subject)> {
        let definition = self.definition.as_ref()?;
        let driver = knowledge.registry.driver(&definition.driver_type)?;
        Some((driver, self.subject(definition, knowledge)))
    }

    /// The texts that must not be seen in what the resource is made of.
    pub(in crate::actors) fn secrets(&self, definition: &Definition) -> Vec<Secret<String>> {
        let made_of = definition.properties.values().chain(definition.metadata.values());
        let known = self.data.values().chain(self.attributes.values()).chain(self.signals.values());
        made_of.chain(known).flat_map(taint::texts).collect()
    }
}

fn without_marks(heard: &Heard) -> Heard {
    Heard {
        name: heard.name.clone(),
        reference: plain(heard.reference.clone()),
        signals: heard.signals.as_ref().map(|signals| Signals {
            entries: plain_map(signals.entries.clone()),
            unneeded: signals.unneeded,
        }),
    }
}
