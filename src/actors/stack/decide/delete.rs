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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::story::{act, delete, given, given_made};

    #[test]
    fn a_deletion_waits_for_those_that_need_it() {
        let story = given_made("net port:net server:port").when(delete());
        assert_eq!(story.orders(), ["clean up server"]);
        let story = story.when_done("server");
        assert_eq!(story.orders(), ["clean up port"]);
        let story = story.when_done("port");
        assert_eq!(story.orders(), ["clean up net"]);
    }

    #[test]
    fn a_deletion_ends_what_runs_cancels_what_is_at_work_and_starts_nothing_that_was_to_follow() {
        let story = given("net port:net").when(act(Action::Check)).when(delete());
        assert_eq!(story.told(), ["TraversalSettled", "TraversalStarted"]);
        assert_eq!(story.orders(), ["cancel (user triggered cancel) net", "clean up net"]);
        let story = story.when_done("net");
        assert_eq!(story.told(), ["TraversalSettled"]);
        assert_eq!(story.state(), "DELETE_COMPLETE: Stack DELETE completed successfully");
    }

    #[test]
    fn the_name_is_freed_when_all_is_gone_and_again_after_a_crash_before_that() {
        let story = given_made("net").when(delete()).when_all_are_done();
        assert_eq!(story.orders(), ["release web"]);
        let mut story = story.when_woken();
        assert_eq!((story.told(), story.orders()), (vec![], vec!["release web".to_owned()]));
        let refusal = story.refuses(delete());
        assert_eq!(refusal.message, "The Stack (web) could not be found.");
    }

    #[test]
    fn an_abandoned_stack_leaves_in_the_cloud_what_it_has_there() {
        let story = given_made("net").when(StackCommand::Abandon);
        let retains = story.effects.iter().any(|effect| {
            matches!(effect, StackEffect::Tell { command: ResourceCommand::CleanUp(clean_up), .. }
                if clean_up.options.retains)
        });
        assert!(retains, "{:?}", story.orders());
    }
}
