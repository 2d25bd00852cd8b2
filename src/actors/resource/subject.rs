//! What a driver is told of a resource, without marks.

use std::sync::Arc;

use super::state::{Decider, Knowledge, Resource};
use crate::events::resource::Definition;
use crate::model::taint::{self, plain, plain_map};
use crate::model::{Action, Secret, Status, physical_name};
use crate::resource_types::{Declared, ObservedSignals, Subject};

impl Resource {
    /// The driver of a definition's type.
    pub(super) fn driver(
        knowledge: &Knowledge,
        definition: &Definition,
    ) -> Result<Arc<Declared>, String> {
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
        let signals = self.signals.plain();
        Subject { signals, ..self.subject_beside_signals(definition, knowledge) }
    }

    /// The same without what signals have added, of which there may be much.
    pub(super) fn subject_beside_signals(
        &self,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Subject {
        let limit = knowledge
            .registry
            .driver(&definition.driver_type)
            .map_or(255, |driver| driver.declaration().physical_name_limit);
        let stack_name = self.stack.as_ref().map(|stack| stack.name.clone());
        let data = self.data.iter().map(|(key, value)| (key.clone(), plain(value.clone())));
        let hidden = definition.properties.iter().filter(|(_, value)| taint::is_tainted(value));
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
            hidden: hidden.map(|(name, _)| name.clone()).collect(),
            metadata: plain_map(definition.metadata.clone()),
            update_policy: definition.update_policy.clone(),
            deletion_policy: definition.deletion_policy.clone(),
            reads: definition.attributes.clone(),
            physical_id: self.physical_id.clone(),
            data: data.collect(),
            signaled: self.signals.len(),
            traversal: self.traversal,
            replaces: self.replaces.clone(),
            abandons: self.action == Action::Delete && self.options.retains,
            kept_first: self.action == Action::Delete
                && self.deleted_from.1 != Status::Failed
                && definition.deletion_policy == "Snapshot",
            in_doubt: self.attempted.is_some(),
            unanswered: self.unanswered,
            ..Subject::default()
        }
    }

    /// The driver and what it is told, for a look at the live object, which is also there while a
    /// create is at work; `None` before the create.
    pub fn inspected(
        &self,
        observed_signals: &[ObservedSignals],
        knowledge: &Knowledge,
    ) -> Option<(Arc<Declared>, Subject)> {
        let definition = self.definition.as_ref().or(self.target.as_deref())?;
        let driver = knowledge.registry.driver(&definition.driver_type)?;
        let observed_signals = without_marks(observed_signals);
        Some((driver, Subject { observed_signals, ..self.subject(definition, knowledge) }))
    }

    /// The texts that must not be seen in what the resource is made of, or may be: while it is
    /// changed, and after a failure, the cloud may still have what it was made of before.
    pub(in crate::actors) fn secrets(&self) -> Vec<Secret<String>> {
        let mut secrets = self.secrets_beside_signals();
        secrets.extend(self.signals.iter().flat_map(|(_, entry)| taint::texts(entry)));
        secrets
    }

    /// The same without what signals have brought, of which nothing is made.
    pub(super) fn secrets_beside_signals(&self) -> Vec<Secret<String>> {
        let made_of = self.definitions().flat_map(|definition| {
            definition.properties.values().chain(definition.metadata.values())
        });
        let known = self.data.values().chain(self.attributes.values());
        made_of.chain(known).flat_map(taint::texts).collect()
    }

    /// What it is made of, and what it is to be made of or was tried to be.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        let tried = [self.target.as_deref(), self.attempted.as_deref()];
        self.definition.as_ref().into_iter().chain(tried.into_iter().flatten())
    }
}

impl Decider<'_> {
    /// The driver of a definition's type.
    pub(super) fn driver(&self, definition: &Definition) -> Result<Arc<Declared>, String> {
        Resource::driver(self.knowledge, definition)
    }

    /// What a driver is told, with the properties of the given definition.
    pub(super) fn subject(&self, definition: &Definition) -> Subject {
        let observed_signals = without_marks(&self.working.observed_signals);
        Subject { observed_signals, ..self.state.subject(definition, self.knowledge) }
    }
}

/// What signals brought keeps its marks: it is read once it is enough.
pub(in crate::actors::resource) fn without_marks(
    observed_signals: &[ObservedSignals],
) -> Vec<ObservedSignals> {
    let unmarked = observed_signals.iter().map(|observed| {
        let reference = plain(observed.reference.clone());
        ObservedSignals { reference, ..observed.clone() }
    });
    unmarked.collect()
}
