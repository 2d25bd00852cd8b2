//! Have what is not healthy made anew: an update to the definition that the stack has, once for the
//! signal that asks for it.

use super::update::refuse_resting;
use crate::actors::shell::Decision;
use crate::actors::stack::command::StackCommand;
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::RevisionAccepted;
use crate::model::{Action, CommandId, Refusal, StackRevision, Status};

impl Decider<'_> {
    pub(in crate::actors::stack) fn restart(
        &mut self,
        signal: CommandId,
    ) -> Result<Decision<Stack>, Refusal> {
        if self.restarted(signal)? {
            return Ok(Decision::nothing());
        }
        // Without its definition the stack would be led to nothing.
        let (Some(newest), Some(known)) = (self.revision(), self.view().known()) else {
            return Err(Refusal::unavailable("The definition of the stack cannot be read."));
        };
        let accepted = RevisionAccepted {
            revision: StackRevision(newest.revision.0 + 1),
            action: Action::Update,
            source_bytes: 0,
            back_to: None,
            adopts: None,
            claim: None,
            restart: Some(signal),
            ..newest.clone()
        };
        let started = self.traversal_of(Action::Update, &accepted, Some(known));
        let deadline = Stack::deadline_of(&started);
        Ok(Decision::record(accepted)
            .and_record(started)
            .and_do(deadline)
            .and_then(StackCommand::Advance))
    }
}

impl Stack {
    /// Whether a signal has led to a restart before; a refusal is why it cannot lead to one now.
    pub(in crate::actors) fn restarted(&self, signal: CommandId) -> Result<bool, Refusal> {
        let has = self.revisions.iter().rev().any(|revision| revision.restart == Some(signal));
        match has {
            true => Ok(true),
            false => self.may_restart().map(|()| false),
        }
    }

    /// Refuses what cannot be brought to its own definition now, because something else is under
    /// way, or the definition was not reached.
    fn may_restart(&self) -> Result<(), Refusal> {
        if !self.exists() || self.is_deleted() {
            return Err(Refusal::not_found("Stack", &self.name));
        }
        refuse_resting(self.action)?;
        let is_reached = self.status == Status::Complete
            || (self.action, self.status) == (Action::Check, Status::Failed);
        if is_reached {
            return Ok(());
        }
        let text = format!("The stack {} is {}_{}", self.name, self.action, self.status);
        Err(Refusal::new("ActionInProgress", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::story::{act, command_id, given, given_made};

    fn restart(number: u128) -> StackCommand {
        StackCommand::Restart { signal: command_id(number) }
    }

    #[test]
    fn a_signal_leads_once_to_the_definition_that_the_stack_has() {
        let story = given_made("net").when(restart(1));
        assert_eq!(story.told(), ["RevisionAccepted", "TraversalStarted"]);
        assert_eq!(story.orders(), ["converge net"]);
        let newest = story.stack.revision().unwrap();
        assert_eq!((newest.revision, newest.origin), (StackRevision(2), StackRevision(1)));
        let story = story.when(restart(1));
        assert!(story.told().is_empty());
        let story = story.when_all_are_done().when_woken().when(restart(1));
        assert!(story.told().is_empty());
        assert_eq!(story.when(restart(2)).orders(), ["converge net"]);
    }

    #[test]
    fn whether_a_signal_has_restarted_a_stack_is_known_though_it_could_not_restart_it_now() {
        let story = given_made("net");
        assert!(!story.stack.restarted(command_id(1)).unwrap());
        let story = story.when(restart(1)).when_it_fails("net", "boom");
        assert!(story.stack.restarted(command_id(1)).unwrap());
        let refusal = story.stack.restarted(command_id(2)).unwrap_err();
        assert_eq!(refusal.message, "The stack web is UPDATE_FAILED");
    }

    #[test]
    fn a_stack_that_is_at_work_failed_or_suspended_is_not_restarted() {
        let suspended = given_made("net").when(act(Action::Suspend)).when_all_are_done();
        for (mut story, class, message) in [
            (given("net"), "ActionInProgress", "The stack web is CREATE_IN_PROGRESS"),
            (
                given("net").when_it_fails("net", "boom"),
                "ActionInProgress",
                "The stack web is CREATE_FAILED",
            ),
            (suspended, "NotSupported", "Updating a stack when it is suspended is not supported."),
        ] {
            let refusal = story.refuses(restart(1));
            assert_eq!((&*refusal.class, &*refusal.message), (class, message));
        }
    }

    #[test]
    fn a_stack_that_failed_its_check_is_restarted() {
        let story = given_made("net").when(act(Action::Check)).when_it_fails("net", "gone");
        assert_eq!(story.when(restart(1)).orders(), ["converge net"]);
    }

    #[test]
    fn a_stack_whose_definition_cannot_be_read_is_not_led_to_nothing() {
        let mut story = given_made("net");
        story.working.definitions.clear();
        assert!(story.refuses(restart(1)).is_unavailable());
    }
}
