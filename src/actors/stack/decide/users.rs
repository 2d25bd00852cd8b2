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
