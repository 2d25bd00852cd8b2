//! Cancel an update, with a rollback or without.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::state::{Decider, Stack};
use crate::model::{Action, Refusal, Status};

impl Decider<'_> {
    pub(in crate::actors::stack) fn cancel_update(&mut self) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        if !(self.in_progress() && self.action == Action::Update) {
            return Err(self.cannot_cancel());
        }
        Ok(self.roll_back(Decision::nothing()))
    }

    pub(in crate::actors::stack) fn cancel_without_rollback(
        &mut self,
    ) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        if !(self.in_progress() && matches!(self.action, Action::Update | Action::Create)) {
            return Err(self.cannot_cancel());
        }
        let reason = format!("Stack {} cancelled", self.action);
        let decision = self.ending(self.settled(Status::Failed, reason));
        let decision = self.interrupt(decision, || ResourceCommand::BeginNothing);
        Ok(self.and_deferred(decision))
    }

    fn cannot_cancel(&self) -> Refusal {
        Refusal::new(
            "NotSupported",
            format!(
                "Cancelling update when stack is {}_{} is not supported.",
                self.action, self.status
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::command::StackCommand;
    use crate::actors::stack::story::{act, delete, given, given_made, revise, update};
    use crate::model::StackRevision;

    #[test]
    fn an_update_that_is_cancelled_goes_back_though_no_rollback_was_asked_for() {
        let story = given_made("net").when(update(revise("net port:net")));
        let story = story.when_done("net").when(StackCommand::CancelUpdate);
        assert_eq!(story.told(), ["RevisionAccepted", "TraversalStarted"]);
        assert_eq!(story.started().action, Action::Rollback);
        let newest = story.stack.revision().unwrap();
        assert_eq!((newest.revision, newest.origin), (StackRevision(3), StackRevision(1)));
        let story = story.when_all_are_done();
        assert_eq!(story.state(), "ROLLBACK_COMPLETE: Stack ROLLBACK completed successfully");
        assert_eq!(story.incarnations().len(), 1);
    }

    #[test]
    fn only_an_update_under_way_is_cancelled() {
        for (mut story, state) in [
            (given("net"), "CREATE_IN_PROGRESS"),
            (given_made("net"), "CREATE_COMPLETE"),
            (given_made("net").when(delete()), "DELETE_IN_PROGRESS"),
        ] {
            let refusal = story.refuses(StackCommand::CancelUpdate);
            let wanted = format!("Cancelling update when stack is {state} is not supported.");
            assert_eq!((&*refusal.class, refusal.message), ("NotSupported", wanted));
        }
    }

    #[test]
    fn a_cancel_without_rollback_leaves_what_is_at_work_to_its_end_and_starts_nothing_further() {
        let story = given_made("net port:net").when(update(revise("net port:net")));
        let story = story.when(StackCommand::CancelWithoutRollback);
        assert_eq!(story.told(), ["TraversalSettled"]);
        assert_eq!(story.orders(), ["begin nothing net"]);
        assert_eq!(story.state(), "UPDATE_FAILED: Stack UPDATE cancelled");
        let story = story.when_done("net");
        assert!(story.told().is_empty() && story.orders().is_empty());
    }

    #[test]
    fn what_was_asked_for_meanwhile_is_done_after_a_cancel() {
        let story = given("net").when(act(Action::Check)).when(StackCommand::CancelWithoutRollback);
        assert_eq!(story.told(), ["TraversalSettled", "TraversalStarted"]);
        assert_eq!(story.started().action, Action::Check);
    }
}
