//! Delete the stack: what runs is cancelled, what exists is cleaned up against its uses.

use std::collections::HashMap;

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::command::{StackCommand, StackEffect};
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::TraversalStarted;
use crate::model::{Action, Refusal, Status, TraversalOptions, Trustor};

impl Decider<'_> {
    pub(in crate::actors::stack) fn delete(
        &mut self,
        retains: bool,
        trustor: Option<Trustor>,
    ) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        let Some(newest) = self.revision().cloned() else { return Ok(Decision::nothing()) };
        let mut decision = Decision::nothing();
        let started = TraversalStarted {
            options: TraversalOptions { retains, ..TraversalOptions::default() },
            trustor: trustor.clone(),
            ..self.traversal_of(Action::Delete, &newest, None)
        };
        if self.in_progress() {
            let reason = format!("Stack {} cancelled", self.action);
            decision = self.ending(self.settled(Status::Failed, reason));
        }
        decision = self.interrupt(decision, || ResourceCommand::Cancel {
            reason: "user triggered cancel".to_owned(),
        });
        let deadline = Stack::deadline_of(&started);
        let decision = self.delete_snapshots(decision.and_record(started), trustor.as_ref());
        Ok(decision.and_do(deadline).and_then(StackCommand::Advance))
    }

    /// Tells every resource that is at work to stop.
    pub(super) fn interrupt(
        &self,
        mut decision: Decision<Stack>,
        command: impl Fn() -> ResourceCommand,
    ) -> Decision<Stack> {
        let reports = self.working.reports.values().filter(|report| report.in_progress());
        let told = self.working.told.iter();
        let mut at_work: HashMap<_, _> = told.map(|(id, (name, _))| (*id, name.clone())).collect();
        at_work.extend(reports.map(|report| (report.id, report.name.clone())));
        for (id, name) in at_work {
            decision.effects.push(StackEffect::Tell { id, name, command: command() });
        }
        decision
    }
}
