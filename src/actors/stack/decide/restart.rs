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
        if self.has_restarted(signal) {
            return Ok(Decision::nothing());
        }
        self.may_restart()?;
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
    /// Whether a signal has led to a restart before.
    pub(in crate::actors) fn has_restarted(&self, signal: CommandId) -> bool {
        self.revisions.iter().rev().any(|revision| revision.restart == Some(signal))
    }

    /// Refuses what cannot be brought to its own definition now, because something else is under
    /// way, or the definition was not reached.
    pub(in crate::actors) fn may_restart(&self) -> Result<(), Refusal> {
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
