//! Delete what the resource has in the cloud.

use crate::actors::resource::command::{CleanUp, Outcome, ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::clock::Moment;
use crate::events::resource::ActionStarted;
use crate::model::{Action, Hook, Status};

impl Resource {
    pub(in crate::actors::resource) fn clean_up(
        &mut self,
        clean_up: CleanUp,
        _moment: &Moment<'_>,
        _knowledge: &Knowledge,
    ) -> Decision<Self> {
        if self.in_progress() && !self.is_pausing() {
            if self.traversal != Some(clean_up.traversal) || self.action != Action::Delete {
                self.working.queued = Some(Box::new(ResourceCommand::CleanUp(clean_up)));
            }
            return Decision::nothing();
        }
        self.working.looking = None;
        let told = matches!(&self.outcome, Some((traversal, Outcome::Failed { .. }))
            if *traversal == clean_up.traversal && self.action == Action::Delete);
        if told {
            return Decision::nothing().and_do(ResourceEffect::Report);
        }
        let gone =
            (self.action, self.status) == (Action::Delete, Status::Complete) && !self.is_pausing();
        if gone || self.action == Action::Init {
            self.outcome = Some((clean_up.traversal, Outcome::CleanedUp));
            return Decision::nothing().and_do(ResourceEffect::Report);
        }
        let (traversal, stack) = (clean_up.traversal, clean_up.stack.clone());
        if clean_up.stack_action == Action::Delete {
            let held = || ResourceCommand::CleanUp(clean_up.clone());
            let waits = self.waits_before(Hook::PreDelete, traversal, &clean_up.hooks, held);
            if let Some(waits) = waits {
                return waits;
            }
        }
        Self::and_proceed(Decision::record(ActionStarted {
            action: Action::Delete,
            traversal,
            stack_id: stack.id,
            stack_name: stack.name,
            project_id: stack.project_id,
            name: self.name.clone(),
            type_name: self.type_name_or(&clean_up.type_name),
            definition: None,
            deadline: clean_up.deadline,
            user_id: clean_up.trustor.user_id,
            roles: clean_up.trustor.roles,
            hooks: Self::hooks_behind(Action::Delete, clean_up.stack_action, &clean_up.hooks),
            observes: false,
            replaces: Vec::new(),
            retains: clean_up.retains,
        }))
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
        assert!(matches!(story.resource.outcome, Some((_, Outcome::CleanedUp))));
    }

    #[test]
    fn what_never_came_to_be_is_gone_without_a_word() {
        let story = given_nothing().when(clean_up(1));
        assert!(story.told().is_empty());
        assert!(matches!(story.resource.outcome, Some((_, Outcome::CleanedUp))));
    }
}
