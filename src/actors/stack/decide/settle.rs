//! A traversal ends: complete, or failed and perhaps rolled back.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::command::{StackCommand, StackEffect};
use crate::actors::stack::state::{Decider, Stack, is_act};
use crate::events::stack::TraversalSettled;
use crate::model::sizes::REASON;
use crate::model::{Action, Status};

impl Decider<'_> {
    /// Everything is done.
    pub(super) fn complete(&self) -> Decision<Stack> {
        let in_part = match self.action == Action::Check && !self.checks_fully() {
            true => ". 'CHECK' not fully supported (see resources)",
            false => "",
        };
        if let Some(reason) = self.failed_checks() {
            return self.fail(reason + in_part);
        }
        let reason = format!("Stack {} completed successfully{in_part}", self.action);
        let mut settled = self.settled(Status::Complete, reason);
        if !is_act(self.action) {
            settled.rows = None;
        }
        let decision = self.ending(settled);
        if self.action == Action::Delete {
            return decision.and_do(self.release());
        }
        self.and_deferred(decision)
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
    pub(super) fn fail(&self, reason: String) -> Decision<Stack> {
        let decision = self.ending(self.settled(Status::Failed, reason));
        let is_change = matches!(
            self.action,
            Action::Create | Action::Adopt | Action::Update | Action::Restore
        );
        let goes_back =
            is_change && self.revision().is_some_and(|newest| !newest.settings.disable_rollback);
        match goes_back {
            true => self.roll_back(decision),
            false => self.and_deferred(decision),
        }
    }

    /// Records the end of the traversal, and of the snapshot that it takes; after a failure nobody
    /// waits at hooks any more.
    pub(super) fn ending(&self, settled: TraversalSettled) -> Decision<Stack> {
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
    pub(super) fn roll_back(&self, decision: Decision<Stack>) -> Decision<Stack> {
        let Some(accepted) = self.rolled_back() else { return decision };
        let known = self.working.definitions.get(&accepted.origin);
        let mut started = self.traversal_of(Action::Rollback, &accepted, known);
        if !decision.events.is_empty() {
            // The settling that stands before it says how the incarnations are.
            started.rows = None;
        }
        // What could not be adopted is somebody else's still.
        started.options.retains = self.action == Action::Adopt;
        let deadline = Stack::deadline_of(&started);
        decision
            .and_record(accepted)
            .and_record(started)
            .and_do(deadline)
            .and_then(StackCommand::Advance)
    }

    /// The end of the traversal under way.
    pub(super) fn settled(&self, status: Status, reason: String) -> TraversalSettled {
        TraversalSettled {
            traversal: self.traversal.as_ref().map(|traversal| traversal.id).unwrap_or_default(),
            action: self.action,
            status,
            reason: REASON.shortened(reason),
            outputs: self.view().outputs(self.knowledge),
            rows: Some(self.view().current_rows().cloned().collect()),
        }
    }
}
