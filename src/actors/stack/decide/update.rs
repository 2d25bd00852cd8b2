//! Bring the stack to a new definition; one that arrives in mid-traversal takes over.

use crate::actors::shell::Decision;
use crate::actors::stack::command::{Revise, StackCommand};
use crate::actors::stack::state::{Knowledge, Stack};
use crate::clock::Moment;
use crate::model::{Action, Refusal, StackRevision};

impl Stack {
    pub(in crate::actors::stack) fn update(
        &mut self,
        revise: Revise,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Result<Decision<Self>, Refusal> {
        let newest = self.alive()?;
        refuse_resting(self.action)?;
        let revision = StackRevision(newest + 1);
        let accepted = Self::accepted(revision, Action::Update, &revise);
        let started =
            self.traversal_of(Action::Update, &accepted, Some(&revise.known), moment, knowledge);
        self.know_definition(revision, revise.known.clone());
        let deadline = Self::deadline_of(&started);
        Ok(Decision::record(accepted)
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
