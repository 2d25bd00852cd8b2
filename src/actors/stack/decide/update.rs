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
