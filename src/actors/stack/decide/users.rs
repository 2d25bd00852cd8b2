//! The project of a stack's users: noted when a resource has one of them, and deleted when all
//! resources are gone.

use crate::actors::resource::Report;
use crate::actors::shell::Decision;
use crate::actors::stack::command::{StackCommand, StackEffect};
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::{UserProjectDeleted, UserProjectMade};
use crate::model::Action;

impl Decider<'_> {
    /// A project that a resource tells of and nothing is on record of.
    pub(in crate::actors::stack) fn user_project_made(
        &self,
        report: &Report,
    ) -> Option<UserProjectMade> {
        let is_new = self.user_project.is_none() && !self.is_deleted();
        let project_id = report.user_project.clone().filter(|_| is_new)?;
        Some(UserProjectMade { project_id })
    }

    /// The project that is to go before the stack is gone.
    pub(super) fn drop_user_project(&mut self) -> Option<StackEffect> {
        let retains = self.traversal.as_ref().is_some_and(|traversal| traversal.options.retains);
        let goes = self.action == Action::Delete && !retains && !self.working.drops_users;
        let project_id = self.user_project.clone().filter(|_| goes)?;
        self.working.drops_users = true;
        Some(StackEffect::DropUserProject { project_id })
    }

    pub(in crate::actors::stack) fn user_project_dropped(
        &mut self,
        result: Result<(), String>,
    ) -> Decision<Stack> {
        self.working.drops_users = false;
        let ends = self.in_progress() && self.action == Action::Delete;
        let Some(project_id) = self.user_project.clone().filter(|_| ends) else {
            return Decision::nothing();
        };
        match result {
            Ok(()) => {
                Decision::record(UserProjectDeleted { project_id }).and_then(StackCommand::Advance)
            }
            Err(reason) => self.fail(format!("Error deleting project: {reason}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::story::{Story, delete, given_made, reported};

    /// A stack with a resource that has a user.
    fn given_user() -> Story {
        let story = given_made("net");
        let mut report = story.report("net");
        report.user_project = Some("users".into());
        story.when(reported(report))
    }

    fn dropped(result: Result<(), &str>) -> StackCommand {
        StackCommand::UserProjectDropped { result: result.map_err(str::to_owned) }
    }

    #[test]
    fn the_project_of_a_stacks_users_is_noted_once() {
        let story = given_user();
        assert_eq!(story.told(), ["UserProjectMade"]);
        let again = story.report("net");
        let story = story.when(reported(again));
        assert!(story.told().is_empty());
        assert!(story.when_woken().told().is_empty());
    }

    #[test]
    fn a_project_that_the_stack_had_not_heard_of_is_noted_when_it_wakes() {
        let mut story = given_made("net");
        let mut report = story.report("net");
        report.user_project = Some("users".into());
        story.working.know_report(report);
        assert_eq!(story.when_woken().told(), ["UserProjectMade"]);
    }

    #[test]
    fn the_project_goes_when_all_resources_are_gone_and_before_the_stack() {
        let story = given_user().when(delete());
        assert_eq!(story.orders(), ["clean up net"]);
        let story = story.when_done("net");
        assert_eq!((story.told(), story.orders()), (vec![], vec!["drop users users".to_owned()]));
        let story = story.when_woken();
        assert_eq!((story.told(), story.orders()), (vec![], vec!["drop users users".to_owned()]));
        let story = story.when(dropped(Ok(())));
        assert_eq!(story.told(), ["UserProjectDeleted", "TraversalSettled"]);
        assert_eq!(story.orders(), ["release web"]);
    }

    #[test]
    fn a_project_that_cannot_be_deleted_fails_the_deletion_and_goes_with_the_next() {
        let story = given_user().when(delete()).when_done("net").when(dropped(Err("no")));
        assert_eq!(story.state(), "DELETE_FAILED: Error deleting project: no");
        assert_eq!(story.when(delete()).orders(), ["drop users users"]);
    }

    #[test]
    fn an_abandoned_stack_leaves_its_users() {
        let story = given_user().when(StackCommand::Abandon).when_done("net");
        assert_eq!(story.told(), ["TraversalSettled"]);
    }
}
