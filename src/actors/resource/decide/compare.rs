//! Compare a definition with what the resource is, and leave it, update it or ask to be replaced.

use std::collections::BTreeSet;

use super::converge::nests;
use crate::actors::resource::command::{Converge, Outcome, ResourceEffect};
use crate::actors::resource::state::{Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::clock::Moment;
use crate::events::resource::{ActionSettled, Definition, ReplacementRequired, UpdateRefused};
use crate::model::taint::plain_map;
use crate::model::{Action, JsonMap, Status, TraversalId};
use crate::resource_types::UpdateKind;

impl Resource {
    pub(super) fn compare(
        &mut self,
        converge: &Converge,
        definition: Definition,
        _moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let former = self.as_it_is(converge.traversal);
        let driver = match Self::driver(knowledge, &definition) {
            Ok(driver) => driver,
            Err(reason) => return self.cannot_start(converge, reason),
        };
        if driver.is_renewed() {
            return self.ask_replacement(converge);
        }
        let changed = self.changed(&former, &definition, knowledge);
        let is_through = self.outcome.as_ref().is_some_and(|(of, _)| *of == converge.traversal);
        let settings_changed = former.driver_type != definition.driver_type
            || plain_map(former.metadata.clone()) != plain_map(definition.metadata.clone())
            || former.deletion_policy != definition.deletion_policy
            || former.update_policy != definition.update_policy
            || former.is_written_otherwise(&definition.written);
        if changed.is_empty() {
            let subject = self.subject(&definition, knowledge);
            let before = plain_map(former.properties.clone());
            let kind = driver.on_change(&subject, &before, &changed);
            return if self.has_failed() || (settings_changed && kind != UpdateKind::Nothing) {
                self.update_in_place(converge, definition)
            } else if nests(&definition, knowledge)
                && !is_through
                && (converge.observes_as(knowledge) || self.is_revisited(converge))
            {
                // Whether anything in it is to be changed is for the child to see.
                self.update(converge, definition)
            } else if nests(&definition, knowledge) {
                self.see_child(converge, &definition, knowledge)
            } else {
                self.leave(converge, &definition, knowledge)
            };
        }
        let before = plain_map(former.properties.clone());
        match driver.on_change(&self.subject(&definition, knowledge), &before, &changed) {
            UpdateKind::InPlace => self.update_in_place(converge, definition),
            UpdateKind::Replace { .. } if converge.restricted.contains("replace") => {
                self.refuse(converge, "replace")
            }
            UpdateKind::Replace { reason } => self
                .start_without(Action::Update, converge)
                .and_record(ReplacementRequired { traversal: converge.traversal, reason })
                .and_do(ResourceEffect::Report),
            UpdateKind::Nothing if !self.has_failed() => {
                self.leave(converge, &definition, knowledge)
            }
            UpdateKind::Nothing => self.update_in_place(converge, definition),
            UpdateKind::Refuse(text) => {
                let reason = format!("NotSupported: resources.{}: {text}", self.name);
                self.cannot_start(converge, reason)
            }
        }
    }

    fn is_revisited(&self, converge: &Converge) -> bool {
        converge.revisits && self.action == Action::Create
    }

    /// Nothing changes; attributes that the template newly reads are looked up.
    pub(super) fn leave(
        &mut self,
        converge: &Converge,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        self.outcome = Some((converge.traversal, Outcome::Converged));
        let look = self.look_up(definition, knowledge);
        Decision::nothing().and_do(look.unwrap_or(ResourceEffect::Report))
    }

    fn update_in_place(&mut self, converge: &Converge, definition: Definition) -> Decision<Self> {
        if !self.is_made && !self.has_failed() {
            // Its create failed and a snapshot of it was complete: there is nothing to be changed.
            return self.ask_replacement(converge);
        }
        match converge.restricted.contains("update") {
            true => self.refuse(converge, "update"),
            false => self.update(converge, definition),
        }
    }

    /// An update in place. What was said to be sick meanwhile is replaced: with the update that
    /// would be forgotten.
    pub(super) fn update(&mut self, converge: &Converge, definition: Definition) -> Decision<Self> {
        match self.marked {
            true => self.ask_replacement(converge),
            false => self.start(Action::Update, converge, definition),
        }
    }

    /// Whether the type is one that no update touches.
    pub(super) fn is_kept(definition: &Definition, knowledge: &Knowledge) -> bool {
        Self::driver(knowledge, definition).is_ok_and(|driver| driver.is_kept())
    }

    /// What no update touches is well again with the next one, in Heat's words.
    pub(super) fn mend(&self, traversal: TraversalId) -> Decision<Self> {
        let reason = "Update status to COMPLETE for FAILED resource neither update nor replace.";
        Decision::record(ActionSettled {
            action: self.action,
            traversal,
            status: Status::Complete,
            reason: reason.to_owned(),
            physical_id: self.physical_id.clone(),
            data: Default::default(),
            attributes: self.attributes.clone(),
            metadata: JsonMap::new(),
            unanswered: false,
            again: false,
            untouched: false,
        })
        .and_do(ResourceEffect::Report)
    }

    /// The environment keeps the resource from it: it stays as it is, and the update fails.
    fn refuse(&self, converge: &Converge, word: &str) -> Decision<Self> {
        let traversal = converge.traversal;
        let reason = format!("{word} is restricted for resource.");
        Decision::record(UpdateRefused { traversal, reason }).and_do(ResourceEffect::Report)
    }

    /// A new incarnation is wanted, without a word in the event list.
    pub(super) fn ask_replacement(&mut self, converge: &Converge) -> Decision<Self> {
        if converge.restricted.contains("replace") {
            return self.refuse(converge, "replace");
        }
        self.outcome = Some((converge.traversal, Outcome::Replace));
        Decision::nothing().and_do(ResourceEffect::Report)
    }

    /// Whether the newest action failed; a mark is no action.
    fn has_failed(&self) -> bool {
        let is_marked = self.marked && self.action == Action::Check;
        self.status == Status::Failed && !is_marked
    }

    /// The properties that differ from what was reached last, or from what a failed update may
    /// have reached.
    pub(in crate::actors::resource) fn changed(
        &self,
        former: &Definition,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> BTreeSet<String> {
        let after = plain_map(definition.properties.clone());
        [Some(former), self.target.as_ref(), self.attempted.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(|before| {
                let before = plain_map(before.properties.clone());
                knowledge.registry.changed(&definition.driver_type, &before, &after)
            })
            .collect()
    }
}
