//! A stack as it is read: what its log says, and what is known beside it.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use super::known::Known;
use super::reports::Reports;
use super::state::{Decider, Knowledge, Stack, Working};
use crate::events::stack::Row;
use crate::model::{Action, IndexMap, ResourceId, ResourceName, StackRevision, Status};
use crate::resource_types::ObservedSignals;

/// A stack with its working memory.
#[derive(Clone, Copy)]
pub struct StackView<'a> {
    stack: &'a Stack,
    working: &'a Working,
}

impl Deref for StackView<'_> {
    type Target = Stack;

    fn deref(&self) -> &Stack {
        self.stack
    }
}

impl<'a> StackView<'a> {
    /// A stack, and what is known of it beside its log.
    pub fn of(stack: &'a Stack, working: &'a Working) -> Self {
        Self { stack, working }
    }

    /// Whether nothing is at work, neither the stack nor a resource of it.
    pub fn at_rest(self) -> bool {
        !self.in_progress()
            && !self.working.reports.any_at_work()
            && self.working.told.is_empty()
            && self.deletions_owed().is_empty()
    }

    /// How the incarnations stand.
    pub fn reports(self) -> &'a Reports {
        &self.working.reports
    }

    /// Whether a task was given to an incarnation that has not reported its end.
    pub(super) fn is_told(self, id: ResourceId) -> bool {
        self.working.told.contains_key(&id)
    }

    /// The newest definition, where it is known.
    pub fn known(self) -> Option<&'a Arc<Known>> {
        let origin = self.revision()?.origin;
        self.working.definitions.get(&origin)
    }

    /// The definition of a revision, where it is known.
    pub fn known_of(self, origin: StackRevision) -> Option<&'a Arc<Known>> {
        self.working.definitions.get(&origin)
    }

    /// The incarnation that counts for a name: the newest revision's, or what is left of it.
    pub fn incarnation(self, name: &ResourceName) -> Option<ResourceId> {
        let current = self.traversal.as_ref().and_then(|traversal| traversal.nodes.get(name));
        let left = || self.current_rows().filter(|row| row.name == *name).map(|row| row.id).last();
        current.copied().or_else(left)
    }

    /// The resource that a reference is of: what `get_resource` gives for it.
    pub fn referred(self, reference: &str) -> Option<(ResourceName, ResourceId)> {
        let is_meant = |id: &ResourceId| {
            let own = self.reports().get(id).and_then(|report| report.reference.as_ref());
            own.and_then(Value::as_str) == Some(reference)
        };
        self.incarnations().into_iter().find(|(_, id)| is_meant(id))
    }

    /// The resource that is a user of this id, by what it says itself.
    pub fn user(self, id: &str) -> Option<ResourceName> {
        let is_meant = |resource: &ResourceId| {
            let report = self.reports().get(resource);
            report.and_then(|report| report.physical_id.as_deref()) == Some(id)
        };
        self.incarnations().into_iter().find(|(_, id)| is_meant(id)).map(|(name, _)| name)
    }

    /// The incarnations as they are now: in mid-traversal, as its tasks have left them.
    pub(super) fn current_rows(self) -> impl Iterator<Item = &'a Row> {
        let is_traversing = self.in_progress()
            && self.working.traversing == self.traversal.as_ref().map(|traversal| traversal.id);
        if is_traversing { self.working.rows.values() } else { self.stack.rows.values() }
    }

    /// What there is under each name: the incarnation that a revision of this origin would go on
    /// with.
    pub fn going_on(self, origin: StackRevision) -> IndexMap<ResourceName, ResourceId> {
        let former = self.revision().map(|newest| newest.origin);
        let mut going_on: IndexMap<&ResourceName, (i32, ResourceId)> = IndexMap::default();
        for row in self.current_rows() {
            let marks = self.marks(row, origin, former);
            let best = going_on.entry(&row.name).or_insert((marks, row.id));
            if marks >= best.0 {
                *best = (marks, row.id);
            }
        }
        going_on.into_iter().map(|(name, (_, id))| (name.clone(), id)).collect()
    }

    /// What a new revision would go on with.
    pub fn going_on_anew(self) -> IndexMap<ResourceName, ResourceId> {
        let newest = self.revision().map_or(0, |newest| newest.revision.0);
        self.going_on(StackRevision(newest + 1))
    }

    /// What earlier changes have left beside that: the next one takes it away.
    pub fn left_over(self) -> Vec<(ResourceName, ResourceId)> {
        let going_on = self.going_on_anew();
        let rows = self.current_rows().filter(|row| going_on.get(&row.name) != Some(&row.id));
        rows.map(|row| (row.name.clone(), row.id)).collect()
    }

    pub(super) fn incarnation_for(
        self,
        name: &ResourceName,
        origin: StackRevision,
        former: Option<StackRevision>,
    ) -> Option<ResourceId> {
        let candidates = self.current_rows().filter(|row| row.name == *name);
        candidates.max_by_key(|row| self.marks(row, origin, former)).map(|row| row.id)
    }

    /// How well an incarnation serves a revision, by Heat's marks: a failed one is the last choice
    /// but a deleted one, and one that stood under the very same revision the first.
    fn marks(self, row: &Row, origin: StackRevision, former: Option<StackRevision>) -> i32 {
        let report = self.working.reports.get(&row.id);
        let mut marks = 0;
        if report.is_some_and(|report| report.status == Status::Failed) {
            marks -= 30;
        }
        // One that was told to go and has not reported its end may have been told in vain, by a
        // process that died. It says itself whether it has to be made anew.
        if report.is_some_and(|report| report.action == Action::Delete) {
            marks -= 50;
        }
        if row.replaced_by.is_some() {
            marks -= 1;
        }
        if Some(row.revision) == former {
            marks += 5;
        }
        if row.revision == origin {
            marks += 10;
        }
        marks
    }

    /// What a resource observes of the others: of those that it requires, if one of them takes
    /// signals, or else of all; nothing where its type does not wait for signals.
    pub(in crate::actors) fn signals_observed_by(
        self,
        name: &ResourceName,
        knowledge: &Knowledge,
    ) -> Vec<ObservedSignals> {
        let declared = self.known().and_then(|known| known.definition.resources().get(name));
        let driver = declared.and_then(|it| knowledge.registry.driver(&it.type_name));
        let Some(traversal) = self
            .traversal
            .as_ref()
            .filter(|_| driver.is_some_and(|it| it.program().observes_signals()))
        else {
            return Vec::new();
        };
        let observed = |other: &ResourceName| {
            let report = self.reports().get(traversal.nodes.get(other)?)?;
            Some(ObservedSignals {
                name: other.clone(),
                reference: report.reference.clone()?,
                signals: report.signals.clone(),
            })
        };
        let required = traversal.requires.get(name).into_iter().flatten();
        let required: Vec<ObservedSignals> = required.filter_map(observed).collect();
        if required.iter().any(|other| other.signals.is_some()) {
            return required;
        }
        // It may know its handle by what that is, and not by its name.
        let others = traversal.nodes.keys().filter(|other| *other != name);
        others.filter_map(observed).collect()
    }
}

impl Decider<'_> {
    /// The stack as the decision sees it so far.
    pub(super) fn view(&self) -> StackView<'_> {
        StackView::of(self.state, self.working)
    }
}
