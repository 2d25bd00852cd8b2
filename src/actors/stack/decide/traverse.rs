//! Start a traversal: which incarnation of each resource goes on, and until when.

use std::sync::Arc;

use chrono::TimeDelta;

use crate::actors::stack::command::StackEffect;
use crate::actors::stack::known::Known;
use crate::actors::stack::state::{Knowledge, Stack};
use crate::clock::Moment;
use crate::events::stack::{Node, RevisionAccepted, Row, TraversalStarted};
use crate::model::{
    Action, IndexMap, ResourceId, ResourceName, StackRevision, Status, TraversalId, Trustor,
};

impl Stack {
    /// A traversal towards a revision, or away from everything (`None`).
    pub(super) fn traversal_of(
        &self,
        action: Action,
        accepted: &RevisionAccepted,
        known: Option<&Arc<Known>>,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> TraversalStarted {
        let former = self.revision().map(|newest| newest.origin);
        let nodes = known.into_iter().flat_map(|known| {
            known.dependencies.iter().filter_map(move |(name, requires)| {
                let declared = known.definition.resources().get(name)?;
                let id = self.incarnation_for(name, accepted.origin, former);
                Some(Node {
                    name: name.clone(),
                    id: id.unwrap_or_else(|| ResourceId(moment.fresh_id())),
                    type_name: declared.declared_type.clone(),
                    requires: requires.iter().cloned().collect(),
                    description: declared.description.clone(),
                })
            })
        });
        let timeout = match accepted.timeout_mins {
            Some(minutes) => TimeDelta::minutes(i64::from(minutes)),
            None => TimeDelta::from_std(knowledge.stack_action_timeout).unwrap_or(TimeDelta::MAX),
        };
        TraversalStarted {
            traversal: TraversalId(moment.fresh_id()),
            action,
            revision: accepted.revision,
            nodes: nodes.collect(),
            rows: self.in_progress().then(|| self.current_rows().cloned().collect()),
            deadline: moment.now.checked_add_signed(timeout),
            observes: false,
            revisits: false,
            retains: false,
            trustor: None,
        }
    }

    /// In whose name the traversal is.
    pub(super) fn acting(&self) -> Trustor {
        self.traversal.as_ref().map_or(&self.trustor, |traversal| &traversal.trustor).clone()
    }

    /// The timer of a traversal.
    pub(super) fn deadline_of(started: &TraversalStarted) -> StackEffect {
        StackEffect::Deadline {
            traversal: started.traversal,
            at: started.deadline.unwrap_or(chrono::DateTime::<chrono::Utc>::MAX_UTC),
        }
    }

    /// The incarnations as they are now: in mid-traversal, as its tasks have left them.
    pub(in crate::actors::stack) fn current_rows(&self) -> impl Iterator<Item = &Row> {
        let walking = self.in_progress()
            && self.working.traversing == self.traversal.as_ref().map(|traversal| traversal.id);
        if walking { self.working.rows.values() } else { self.rows.values() }
    }

    /// What there is under each name: the incarnation that a revision of this origin would go on
    /// with.
    pub fn going_on(&self, origin: StackRevision) -> IndexMap<ResourceName, ResourceId> {
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
    pub fn going_on_anew(&self) -> IndexMap<ResourceName, ResourceId> {
        let newest = self.revision().map_or(0, |newest| newest.revision.0);
        self.going_on(StackRevision(newest + 1))
    }

    fn incarnation_for(
        &self,
        name: &ResourceName,
        origin: StackRevision,
        former: Option<StackRevision>,
    ) -> Option<ResourceId> {
        let candidates = self.current_rows().filter(|row| row.name == *name);
        candidates.max_by_key(|row| self.marks(row, origin, former)).map(|row| row.id)
    }

    /// How well an incarnation serves a revision, by Heat's marks: a failed one is the last choice
    /// but a deleted one, and one that stood under the very same revision the first.
    fn marks(&self, row: &Row, origin: StackRevision, former: Option<StackRevision>) -> i32 {
        let report = self.working.reports.get(&row.id);
        let mut marks = 0;
        if report.is_some_and(|report| report.status == Status::Failed) {
            marks -= 30;
        }
        let is_current = self
            .traversal
            .as_ref()
            .is_some_and(|traversal| traversal.nodes.get(&row.name) == Some(&row.id));
        let cleans_up = self.is_told(row.id) && !is_current;
        if cleans_up || report.is_some_and(|report| report.action == Action::Delete) {
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
}
