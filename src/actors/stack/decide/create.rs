//! Create a stack: it exists, its first revision is accepted, and the first traversal starts.

use crate::actors::shell::Decision;
use crate::actors::stack::command::{Create, StackCommand};
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::{RevisionAccepted, StackCreated};
use crate::model::{Action, Refusal, StackRevision};

impl Decider<'_> {
    pub(in crate::actors::stack) fn create(
        &mut self,
        create: Create,
    ) -> Result<Decision<Stack>, Refusal> {
        if self.has_claim_of(&create.revise) {
            return Ok(Decision::nothing());
        }
        if self.exists() {
            return Err(Refusal::new(
                "StackExists",
                format!("The Stack ({}) already exists.", create.name),
            ));
        }
        let revise = create.revise;
        let revision = StackRevision(1);
        let action = if create.adopts.is_some() { Action::Adopt } else { Action::Create };
        let accepted = RevisionAccepted {
            adopts: create.adopts,
            ..Stack::accepted(revision, action, &revise, self.knowledge)
        };
        let started = self.traversal_of(action, &accepted, Some(&revise.known));
        self.working.know_definition(self.state, revision, revise.known.clone());
        let deadline = Stack::deadline_of(&started);
        Ok(Decision::record(StackCreated {
            stack_id: create.id,
            name: create.name,
            project_id: create.project_id,
            owner_user_id: revise.trustor.user_id,
            owner_user_name: create.owner_user_name,
            owner: create.owner,
        })
        .and_record(accepted)
        .and_record(started)
        .and_do(deadline)
        .and_then(StackCommand::Advance))
    }
}
