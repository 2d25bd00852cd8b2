//! Delete what the resource has in the cloud.

use super::started;
use crate::actors::resource::command::{CleanUp, Outcome, ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::ActionStarted;
use crate::model::{Action, Hook, Status};

impl Decider<'_> {
    pub(in crate::actors::resource) fn clean_up(
        &mut self,
        clean_up: CleanUp,
    ) -> Decision<Resource> {
        if self.in_progress() && !self.is_pausing() {
            if self.traversal != Some(clean_up.traversal) || self.action != Action::Delete {
                self.working.queued = Some(Box::new(ResourceCommand::CleanUp(clean_up)));
            }
            return Decision::nothing();
        }
        self.working.looking = None;
        self.working.checking = None;
        let told = matches!(self.outcome(), Some((traversal, Outcome::Failed { .. }))
            if *traversal == clean_up.traversal && self.action == Action::Delete);
        if told {
            return Decision::nothing().and_do(ResourceEffect::Report);
        }
        let gone =
            (self.action, self.status) == (Action::Delete, Status::Complete) && !self.is_pausing();
        if gone || self.action == Action::Init {
            return self.without_event(clean_up.traversal, Outcome::CleanedUp);
        }
        let traversal = clean_up.traversal;
        if clean_up.stack_action == Action::Delete {
            let held = || ResourceCommand::CleanUp(clean_up.clone());
            let waits = self.waits_before(Hook::PreDelete, traversal, &clean_up.hooks, held);
            if let Some(waits) = waits {
                return waits;
            }
        }
        let type_name = self.type_name_or(&clean_up.type_name);
        let CleanUp { stack, trustor, stack_action, hooks, options, .. } = &clean_up;
        let (name, action) = (&self.name, Action::Delete);
        let begins = Self::and_proceed(Decision::record(ActionStarted {
            deadline: clean_up.deadline,
            hooks: Resource::hooks_behind(action, *stack_action, hooks),
            ..started(action, traversal, stack, name, &type_name, trustor, *options)
        }));
        // The stack has to know that it goes before another revision goes on with it; after the
        // stack's own deletion there is none.
        match *stack_action == Action::Delete {
            true => begins,
            false => begins.and_do(ResourceEffect::Report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::resource::story::{clean_up, given_nothing, test_resource};

    #[test]
    fn what_was_created_is_deleted() {
        let story = given_nothing().when(test_resource(1, "x")).when(clean_up(2));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert!(matches!(story.outcome(), Some((_, Outcome::CleanedUp))));
    }

    #[test]
    fn what_never_came_to_be_is_gone_without_a_word() {
        let story = given_nothing().when(clean_up(1));
        assert!(story.told().is_empty());
        assert!(matches!(story.outcome(), Some((_, Outcome::CleanedUp))));
    }
}
