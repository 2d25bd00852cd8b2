//! Bring the stack to a new definition; one that arrives in mid-traversal takes over.

use crate::actors::shell::Decision;
use crate::actors::stack::command::{Revise, StackCommand};
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::TraversalStarted;
use crate::model::{Action, Refusal, StackRevision, Status};

impl Decider<'_> {
    pub(in crate::actors::stack) fn update(
        &mut self,
        revise: Revise,
    ) -> Result<Decision<Stack>, Refusal> {
        if self.has_claim_of(&revise) {
            return Ok(Decision::nothing());
        }
        self.alive()?;
        match revise.back_to.is_some() || revise.from_rest {
            true => refuse_going_back(self.action, self.status)?,
            false => refuse_resting(self.action)?,
        }
        self.lead_to(Action::Update, revise)
    }

    /// Bring the stack to the definition of a snapshot: an update by another name.
    pub(in crate::actors::stack) fn restore(
        &mut self,
        revise: Revise,
    ) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        if self.action == Action::Delete {
            refuse_resting(self.action)?;
        }
        self.lead_to(Action::Restore, revise)
    }

    fn lead_to(&mut self, action: Action, revise: Revise) -> Result<Decision<Stack>, Refusal> {
        let revision = StackRevision(self.alive()? + 1);
        let accepted = Stack::accepted(revision, action, &revise, self.knowledge);
        let started = TraversalStarted {
            options: revise.options,
            ..self.traversal_of(action, &accepted, Some(&revise.known))
        };
        self.working.know_definition(self.state, revision, revise.known.clone());
        let deadline = Stack::deadline_of(&started);
        let mut decision = Decision::nothing();
        if self.in_progress() {
            let reason = format!("Stack {} superseded", self.action);
            decision.events.extend(self.snapshot_settled(Status::Failed, &reason).map(Into::into));
        }
        Ok(decision
            .and_record(accepted)
            .and_record(started)
            .and_do(deadline)
            .and_then(StackCommand::Advance))
    }

    /// The number of the newest revision; a stack that never was, or is deleted, is not found.
    pub(super) fn alive(&self) -> Result<u32, Refusal> {
        match self.revision() {
            Some(newest) if !self.is_deleted() => Ok(newest.revision.0),
            _ => Err(Refusal::not_found("Stack", &self.name)),
        }
    }
}

/// Heat's refusal of an update to a stack that is deleted or suspended, or on its way there.
pub(in crate::actors) fn refuse_resting(action: Action) -> Result<(), Refusal> {
    let state = match action {
        Action::Delete => "deleting",
        Action::Suspend => "suspended",
        Action::Init
        | Action::Create
        | Action::Update
        | Action::Rollback
        | Action::Resume
        | Action::Adopt
        | Action::Snapshot
        | Action::Check
        | Action::Restore => return Ok(()),
    };
    let text = format!("Updating a stack when it is {state} is not supported.");
    Err(Refusal::new("NotSupported", text))
}

/// The refusal to go back to an earlier revision: from wherever the stack has come to rest, be it
/// suspended or left by a deletion that failed, there is a way back.
pub(in crate::actors) fn refuse_going_back(action: Action, status: Status) -> Result<(), Refusal> {
    match status {
        Status::InProgress => refuse_resting(action),
        Status::Complete | Status::Failed => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::story::{act, command_id, delete, given, given_made, revise, update};
    use crate::events::stack::Claim;

    #[test]
    fn a_revision_in_mid_traversal_takes_over_without_an_end_of_the_former() {
        let story = given("net port:net").when(update(revise("net other")));
        assert_eq!(story.told(), ["RevisionAccepted", "TraversalStarted"]);
        assert_eq!(story.started().revision, StackRevision(2));
        // What was never begun goes at once, what was goes on.
        assert_eq!(story.orders(), ["converge net", "converge other"]);
        let story = story.when_all_are_done();
        assert_eq!(story.state(), "UPDATE_COMPLETE: Stack UPDATE completed successfully");
        assert_eq!(story.stack.rows.len(), 2);
    }

    #[test]
    fn an_update_with_a_key_is_accepted_once() {
        let mut keyed = revise("net port");
        keyed.claim = Some(Claim { key: "k".to_owned(), command: command_id(1) });
        let story = given_made("net").when(update(keyed.clone())).when_all_are_done();
        let story = story.when(update(keyed)).when_woken();
        assert_eq!(story.stack.revisions.len(), 2);
        assert!(!story.stack.in_progress());
    }

    #[test]
    fn a_stack_at_rest_is_not_updated_and_can_go_back() {
        let mut story = given_made("net").when(act(Action::Suspend)).when_all_are_done();
        let refusal = story.refuses(update(revise("net")));
        let words = "Updating a stack when it is suspended is not supported.";
        assert_eq!((&*refusal.class, &*refusal.message), ("NotSupported", words));
        let mut back = revise("net");
        back.back_to = Some(StackRevision(1));
        assert_eq!(story.when(update(back.clone())).orders(), ["converge net"]);

        let mut deleting = given_made("net").when(delete());
        let refusal = deleting.refuses(update(back));
        assert_eq!(refusal.message, "Updating a stack when it is deleting is not supported.");
    }

    #[test]
    fn a_snapshot_is_restored_to_a_suspended_stack_but_to_none_that_goes() {
        let restore = || StackCommand::Restore(Box::new(revise("net")));
        let suspended = given_made("net").when(act(Action::Suspend)).when_all_are_done();
        assert_eq!(suspended.when(restore()).started().action, Action::Restore);
        let refusal = given_made("net").when(delete()).refuses(restore());
        assert_eq!(refusal.class, "NotSupported");
    }

    #[test]
    fn a_deleted_stack_is_not_found() {
        let refusal =
            given_made("net").when(delete()).when_all_are_done().refuses(update(revise("net")));
        assert_eq!(refusal.message, "The Stack (web) could not be found.");
    }
}
