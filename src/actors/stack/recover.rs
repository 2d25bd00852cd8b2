//! What a stack still owes when it wakes: the rest of its traversal, or the release of its name.

use super::command::StackCommand;
use super::state::{Decider, Stack};
use crate::actors::shell::Decision;
use crate::actors::stack::command::StackEffect;
use crate::model::Action;

impl Decider<'_> {
    pub(super) fn resume(&mut self) -> Decision<Stack> {
        if self.is_deleted() {
            return Decision::nothing().and_do(self.release());
        }
        let at_work = self.working.reports.values().filter(|report| report.at_work());
        let mut decision = Decision::nothing();
        // A resource has a user since, and the process ended before its stack had heard of it.
        let mut kept =
            self.view().reports().values().filter(|report| report.action != Action::Delete);
        let made = kept.find_map(|report| self.user_project_made(report));
        decision.events.extend(made.map(Into::into));
        decision.effects.extend(at_work.map(|report| StackEffect::Rouse { id: report.id }));
        decision.effects.extend(self.deletions_owed());
        let Some(traversal) = &self.traversal else { return decision };
        if traversal.settled && decision.effects.is_empty() {
            return decision;
        }
        let at = traversal.deadline.unwrap_or(chrono::DateTime::<chrono::Utc>::MAX_UTC);
        let decision = decision.and_do(StackEffect::Deadline { traversal: traversal.id, at });
        if traversal.settled { decision } else { decision.and_then(StackCommand::Advance) }
    }
}
