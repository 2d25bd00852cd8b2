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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::stack::story::{command_id, create, given, given_nothing, revise};
    use crate::events::stack::Claim;

    #[test]
    fn a_stack_its_first_revision_and_its_first_traversal_are_one_decision() {
        let story = given("net port:net");
        assert_eq!(story.told(), ["StackCreated", "RevisionAccepted", "TraversalStarted"]);
        assert_eq!(story.stack.revision().unwrap().revision, StackRevision(1));
        assert_eq!(story.orders(), ["converge net"]);
        // A process that ended right after them owes the same.
        assert_eq!(story.when_woken().orders(), ["converge net"]);
    }

    #[test]
    fn a_create_that_is_sent_again_with_its_key_makes_nothing_and_without_it_is_refused() {
        let mut keyed = revise("net");
        keyed.claim = Some(Claim { key: "k".to_owned(), command: command_id(1) });
        let story = given_nothing().when(create(keyed.clone())).when(create(keyed));
        assert!(story.told().is_empty() && story.orders().is_empty());
        let refusal = { story }.refuses(create(revise("net")));
        assert_eq!(refusal.class, "StackExists");
        assert_eq!(refusal.message, "The Stack (web) already exists.");
    }

    #[test]
    fn a_stack_that_is_adopted_says_to_each_resource_what_there_is_of_it() {
        let StackCommand::Create(mut adopt) = create(revise("net")) else { unreachable!() };
        adopt.adopts =
            Some(json!({ "net": { "resource_id": "n1", "resource_data": { "k": "v" } } }));
        let story = given_nothing().when(StackCommand::Create(adopt));
        assert_eq!(story.started().action, Action::Adopt);
        let adopted = story.converged("net").adopts.as_ref().unwrap();
        assert_eq!(adopted.physical_id.as_deref(), Some("n1"));
        assert_eq!(adopted.data.keys().collect::<Vec<_>>(), ["k"]);
    }
}
