//! What a definition makes of a resource that there is. Traversals carry it out, plans announce
//! it: both by this one comparison.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::command::Converge;
use super::decide::begin::nests;
use super::state::{Decider, Knowledge, Resource};
use crate::events::resource::Definition;
use crate::model::taint::plain_map;
use crate::model::{Action, Status, TraversalId, TraversalOptions};
use crate::resource_types::UpdateKind;

/// What becomes of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::actors) enum Verdict {
    /// It is what it should be.
    Left,
    /// It failed, and no update touches it: it counts as healthy again.
    Mended,
    /// Whether it can go on, or is replaced, is for its driver to say.
    SeeFailed,
    /// Nothing changes, unless its child stack differs from what it should be.
    SeeChild,
    Updated,
    /// By a new incarnation; with the reason, where the event list gives one.
    Replaced(Option<String>),
    /// The environment keeps it from what this word says.
    Restricted(&'static str),
    /// It fails before its first call.
    Refused(String),
    /// The same, without an event.
    Unsupported(String),
}

/// How a traversal brings a resource to a definition.
#[derive(Clone, Copy, Debug)]
pub(in crate::actors) struct Terms<'a> {
    pub(in crate::actors) traversal: TraversalId,
    /// When the traversal started.
    pub(in crate::actors) since: DateTime<Utc>,
    /// As the template says it.
    pub(in crate::actors) type_name: &'a str,
    /// What the environment keeps the resource from: `update`, `replace`.
    pub(in crate::actors) restricted: &'a BTreeSet<String>,
    pub(in crate::actors) options: TraversalOptions,
    /// Whether the traversal came to an end with the resource before.
    pub(in crate::actors) is_through: bool,
}

impl Decider<'_> {
    pub(super) fn terms<'c>(&self, converge: &'c Converge) -> Terms<'c> {
        Terms {
            traversal: converge.traversal,
            since: converge.since,
            type_name: &converge.type_name,
            restricted: &converge.restricted,
            options: converge.options,
            is_through: self.outcome().is_some_and(|(of, _)| *of == converge.traversal),
        }
    }
}

impl Resource {
    /// What becomes of the resource, as far as it is known without looks at the cloud and at child
    /// stacks. `is_lost`: its driver would have it replaced if it failed. `unsure` are properties
    /// that count as changed whatever their value.
    pub(in crate::actors) fn verdict(
        &self,
        terms: Terms<'_>,
        definition: &Definition,
        (unsure, is_lost): (&BTreeSet<String>, bool),
        knowledge: &Knowledge,
    ) -> Verdict {
        let verdict = self
            .outright(terms, definition, knowledge)
            .or_else(|| self.as_it_stands(terms, definition, knowledge));
        match verdict {
            Some(Verdict::SeeFailed) if is_lost => Self::made_anew(terms),
            None | Some(Verdict::SeeFailed) => self.compared(terms, definition, unsure, knowledge),
            Some(verdict) => verdict,
        }
    }

    /// Whether anything was begun for it that is not deleted.
    pub fn is_there(&self) -> bool {
        self.action != Action::Init
            && (self.action, self.status) != (Action::Delete, Status::Complete)
    }

    /// What is decided before anything else is asked.
    pub(super) fn outright(
        &self,
        terms: Terms<'_>,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Option<Verdict> {
        let none = Definition::default();
        let former = self.definition.as_ref().unwrap_or(&none);
        if !knowledge.registry.may_become(&former.driver_type, &definition.driver_type) {
            return Some(Self::made_anew(terms));
        }
        if former.external_id != definition.external_id {
            return Some(Verdict::Unsupported(format!(
                "NotSupported: resources.{0}: Update to property external_id of {0} ({1}) is not \
                 supported.",
                self.name, terms.type_name
            )));
        }
        definition.external_id.is_some().then_some(Verdict::Left)
    }

    /// What is decided by the newest action alone; `None` where it is for the comparison.
    pub(super) fn as_it_stands(
        &self,
        terms: Terms<'_>,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Option<Verdict> {
        match (self.action, self.status) {
            (Action::Delete, _) => Some(Self::made_anew(terms)),
            // What was said since the traversal began is for the next, unless there is something to be
            // changed: a traversal that starts over after a restart comes to what it came to before.
            (Action::Check, Status::Failed) if self.marked && self.changed_at > terms.since => None,
            (_, Status::Failed) if Self::is_kept(definition, knowledge) => Some(Verdict::Mended),
            // An unhealthy one is replaced, whatever its type says of failures; but where a child stack
            // found members unhealthy, they are.
            (Action::Check, Status::Failed)
                if self.marked || self.physical_id.is_none() || !nests(definition, knowledge) =>
            {
                Some(Self::made_anew(terms))
            }
            (_, Status::Failed) => Some(Verdict::SeeFailed),
            // Somebody said that it is healthy, and it was never made.
            (Action::Check, _) if !self.is_made => Some(Verdict::SeeFailed),
            _ => None,
        }
    }

    /// Whether what there is in the cloud stays when the resource goes.
    pub(in crate::actors) fn is_kept_when_deleted(&self) -> bool {
        self.definition.as_ref().is_some_and(Definition::keeps_object)
    }

    /// Whether its driver is asked if it can go on.
    pub(in crate::actors) fn may_be_lost(&self) -> bool {
        self.status == Status::Failed || (self.action == Action::Check && !self.is_made)
    }

    /// What the comparison of definitions says.
    pub(super) fn compared(
        &self,
        terms: Terms<'_>,
        definition: &Definition,
        unsure: &BTreeSet<String>,
        knowledge: &Knowledge,
    ) -> Verdict {
        let former = self.as_it_is(terms.traversal);
        let driver = match Self::driver(knowledge, definition) {
            Ok(driver) => driver,
            Err(reason) => return Verdict::Refused(reason),
        };
        if driver.declaration().renewed {
            // Once in a traversal, however often that starts over.
            return if terms.is_through { Verdict::Left } else { Self::made_anew(terms) };
        }
        let mut changed = self.changed(&former, definition, knowledge);
        changed.extend(unsure.iter().cloned());
        let subject = self.subject(definition, knowledge);
        let before = plain_map(former.properties.clone());
        let kind = driver.on_change(&subject, &before, &changed);
        if changed.is_empty() {
            return self.unless_changed(terms, (&former, definition), &kind, knowledge);
        }
        match kind {
            UpdateKind::InPlace => self.updated_in_place(terms),
            UpdateKind::Replace { .. } if terms.restricted.contains("replace") => {
                Verdict::Restricted("replace")
            }
            UpdateKind::Replace { reason } => Verdict::Replaced(Some(reason)),
            UpdateKind::Nothing if !self.has_failed() => Verdict::Left,
            UpdateKind::Nothing => self.updated_in_place(terms),
            UpdateKind::Refuse(text) => {
                Verdict::Refused(format!("NotSupported: resources.{}: {text}", self.name))
            }
        }
    }

    /// Whether what differs may be the same by another name: the update looks, and asks to be
    /// replaced where it is not.
    pub(in crate::actors) fn may_be_same(
        &self,
        traversal: TraversalId,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> bool {
        if self.marked || self.target.is_some() || self.attempted.is_some() {
            return false;
        }
        let Ok(driver) = Self::driver(knowledge, definition) else { return false };
        let former = self.as_it_is(traversal);
        let changed = self.changed(&former, definition, knowledge);
        let subject = self.subject(definition, knowledge);
        driver.may_be_same(&subject, &plain_map(former.properties), &changed)
    }

    /// No property differs.
    fn unless_changed(
        &self,
        terms: Terms<'_>,
        (former, definition): (&Definition, &Definition),
        kind: &UpdateKind,
        knowledge: &Knowledge,
    ) -> Verdict {
        let other_settings =
            !settings_changed(former, definition).is_empty() && *kind != UpdateKind::Nothing;
        if self.has_failed() || other_settings {
            return self.updated_in_place(terms);
        }
        // A traversal that starts over after a restart takes nothing back that was done to the child
        // since it was through: a group keeps the size that a signal gave it.
        if terms.is_through || !nests(definition, knowledge) {
            return Verdict::Left;
        }
        let is_revisited = terms.options.revisits && self.action == Action::Create;
        match knowledge.observes(terms.options) || is_revisited {
            // Whether anything in it is to be changed is for the child to see.
            true => self.updated(terms),
            false => Verdict::SeeChild,
        }
    }

    fn updated_in_place(&self, terms: Terms<'_>) -> Verdict {
        if !self.is_made && !self.has_failed() {
            // Its create failed and a snapshot of it was complete: there is nothing to be changed.
            return Self::made_anew(terms);
        }
        match terms.restricted.contains("update") {
            true => Verdict::Restricted("update"),
            false => self.updated(terms),
        }
    }

    /// An update in place. What was said to be unhealthy meanwhile is replaced: with the update that
    /// would be forgotten.
    pub(in crate::actors) fn updated(&self, terms: Terms<'_>) -> Verdict {
        match self.marked {
            true => Self::made_anew(terms),
            false => Verdict::Updated,
        }
    }

    /// A new incarnation, without a word in the event list.
    pub(in crate::actors) fn made_anew(terms: Terms<'_>) -> Verdict {
        match terms.restricted.contains("replace") {
            true => Verdict::Restricted("replace"),
            false => Verdict::Replaced(None),
        }
    }

    /// Whether the type is one that no update touches.
    pub(super) fn is_kept(definition: &Definition, knowledge: &Knowledge) -> bool {
        Self::driver(knowledge, definition).is_ok_and(|driver| driver.declaration().is_kept())
    }

    /// Whether the newest action failed; a mark is no action.
    fn has_failed(&self) -> bool {
        let is_marked = self.marked && self.action == Action::Check;
        self.status == Status::Failed && !is_marked
    }

    /// The properties that differ from what was reached last, or from what a failed update may
    /// have reached.
    pub(in crate::actors) fn changed(
        &self,
        former: &Definition,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> BTreeSet<String> {
        let after = plain_map(definition.properties.clone());
        [Some(former), self.target.as_deref(), self.attempted.as_deref()]
            .into_iter()
            .flatten()
            .flat_map(|before| {
                let before = plain_map(before.properties.clone());
                knowledge.registry.changed(&definition.driver_type, &before, &after)
            })
            .collect()
    }
}

/// What differs beside the properties, by the template's words.
pub(in crate::actors) fn settings_changed(
    former: &Definition,
    definition: &Definition,
) -> Vec<&'static str> {
    let metadata = |of: &Definition| plain_map(of.metadata.clone());
    let settings = [
        ("type", former.driver_type != definition.driver_type),
        ("metadata", metadata(former) != metadata(definition)),
        ("deletion_policy", former.deletion_policy != definition.deletion_policy),
        ("update_policy", former.update_policy != definition.update_policy),
        ("definition", former.is_written_otherwise(&definition.written)),
    ];
    settings.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect()
}
