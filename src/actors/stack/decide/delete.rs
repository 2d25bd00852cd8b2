//! Delete the stack: what runs is cancelled, what exists is cleaned up against its uses.

use std::collections::HashMap;

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::command::{StackCommand, StackEffect};
use crate::actors::stack::state::{Knowledge, Stack};
use crate::clock::Moment;
use crate::events::stack::TraversalStarted;
use crate::model::{Action, Refusal, Status, Trustor};

impl Stack {
    pub(in crate::actors::stack) fn delete(
        &mut self,
        retains: bool,
        trustor: Option<Trustor>,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Result<Decision<Self>, Refusal> {
        self.alive()?;
        let Some(newest) = self.revision().cloned() else { return Ok(Decision::nothing()) };
        let mut decision = Decision::nothing();
        let started = TraversalStarted {
            retains,
            trustor: trustor.clone(),
            ..self.traversal_of(Action::Delete, &newest, None, moment, knowledge)
        };
        if self.in_progress() {
            let reason = format!("Stack {} cancelled", self.action);
            decision = self.ending(self.settled(Status::Failed, reason, knowledge));
        }
        decision = self.interrupt(decision, || ResourceCommand::Cancel {
            reason: "user triggered cancel".to_owned(),
        });
        let deadline = Self::deadline_of(&started);
        let decision = self.delete_snapshots(decision.and_record(started), trustor.as_ref());
        Ok(decision.and_do(deadline).and_then(StackCommand::Advance))
    }

    /// Tells every resource that is at work to stop.
    pub(super) fn interrupt(
        &self,
        mut decision: Decision<Self>,
        command: impl Fn() -> ResourceCommand,
    ) -> Decision<Self> {
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
