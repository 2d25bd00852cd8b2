//! A traversal ends: complete, or failed and perhaps rolled back.

use super::act::is_act;
use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::command::{StackCommand, StackEffect};
use crate::actors::stack::state::{Knowledge, Stack};
use crate::actors::stack::values::Values;
use crate::clock::Moment;
use crate::events::stack::{OutputResolved, TraversalSettled};
use crate::model::sizes::REASON;
use crate::model::{Action, Status};

impl Stack {
    /// Everything is done.
    pub(super) fn complete(&self, moment: &Moment<'_>, knowledge: &Knowledge) -> Decision<Self> {
        let in_part = match self.action == Action::Check && !self.checks_fully(knowledge) {
            true => ". 'CHECK' not fully supported (see resources)",
            false => "",
        };
        if let Some(reason) = self.failed_checks() {
            return self.fail(reason + in_part, moment, knowledge);
        }
        let reason = format!("Stack {} completed successfully{in_part}", self.action);
        let mut settled = self.settled(Status::Complete, reason, knowledge);
        if !is_act(self.action) {
            settled.rows = None;
        }
        let decision = self.ending(settled);
        if self.action == Action::Delete {
            return decision.and_do(self.release());
        }
        self.and_deferred(decision, moment, knowledge)
    }

    /// The stack's name is free.
    pub(in crate::actors::stack) fn release(&self) -> StackEffect {
        StackEffect::Release {
            project_id: self.project_id.clone(),
            name: self.name.clone(),
            id: self.id,
        }
    }

    /// Something failed: nothing further starts, and a create or update goes back where asked.
    pub(super) fn fail(
        &self,
        reason: String,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let decision = self.ending(self.settled(Status::Failed, reason, knowledge));
        let goes_back = matches!(
            self.action,
            Action::Create | Action::Adopt | Action::Update | Action::Restore
        ) && self.revision().is_some_and(|newest| !newest.disable_rollback);
        match goes_back {
            true => self.roll_back(decision, moment, knowledge),
            false => self.and_deferred(decision, moment, knowledge),
        }
    }

    /// Records the end of the traversal, and of the snapshot that it takes; after a failure nobody
    /// waits at hooks any more.
    pub(super) fn ending(&self, settled: TraversalSettled) -> Decision<Self> {
        let failed = settled.status == Status::Failed;
        let mut decision = Decision::nothing();
        let snapshot = self.snapshot_settled(settled.status, &settled.reason);
        decision.events.extend(snapshot.map(Into::into));
        let waiting = self.working.reports.values().filter(|report| failed && report.waits);
        decision.effects.extend(waiting.map(|report| StackEffect::Tell {
            id: report.id,
            name: report.name.clone(),
            command: ResourceCommand::LeaveHook,
        }));
        decision.and_record(settled)
    }

    /// A new revision with the definition of the one before, and the traversal towards it.
    pub(super) fn roll_back(
        &self,
        decision: Decision<Self>,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let Some(accepted) = self.rolled_back() else { return decision };
        let known = self.working.definitions.get(&accepted.origin);
        let mut started = self.traversal_of(Action::Rollback, &accepted, known, moment, knowledge);
        if !decision.events.is_empty() {
            // The settling that stands before it says how the incarnations are.
            started.rows = None;
        }
        // What could not be adopted is somebody else's still.
        started.retains = self.action == Action::Adopt;
        let deadline = Self::deadline_of(&started);
        decision
            .and_record(accepted)
            .and_record(started)
            .and_do(deadline)
            .and_then(StackCommand::Advance)
    }

    /// The end of the traversal under way.
    pub(super) fn settled(
        &self,
        status: Status,
        reason: String,
        knowledge: &Knowledge,
    ) -> TraversalSettled {
        TraversalSettled {
            traversal: self.traversal.as_ref().map(|traversal| traversal.id).unwrap_or_default(),
            action: self.action,
            status,
            reason: REASON.shortened(reason),
            outputs: self.outputs(knowledge),
            rows: Some(self.current_rows().cloned().collect()),
        }
    }

    /// The outputs as they resolve now, secrets marked; none for a stack that goes or has gone.
    pub(in crate::actors) fn outputs(&self, knowledge: &Knowledge) -> Vec<OutputResolved> {
        if self.action == Action::Delete {
            return Vec::new();
        }
        let Some(known) = self.known() else { return Vec::new() };
        let definition = &known.definition;
        let values = Values::of(self, knowledge);
        let outputs = definition.resolve_outputs(&values).into_iter();
        outputs
            .map(|output| OutputResolved {
                value: output.value,
                key: output.key,
                description: output.description,
                error: output.error,
            })
            .collect()
    }
}
