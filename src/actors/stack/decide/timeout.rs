//! The traversal's time is over.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::state::{Decider, Stack};
use crate::model::TraversalId;

impl Decider<'_> {
    pub(in crate::actors::stack) fn timed_out(
        &mut self,
        traversal: TraversalId,
    ) -> Decision<Stack> {
        if self.traversal.as_ref().map(|newest| newest.id) != Some(traversal) {
            return Decision::nothing();
        }
        // What is still at work after the stack's end has no more time either.
        let decision = match self.in_progress() {
            true => self.fail("Timed out".to_owned()),
            false => Decision::nothing(),
        };
        self.interrupt(decision, || ResourceCommand::TimeOut)
    }
}

#[cfg(test)]
mod tests {
    use crate::actors::stack::command::{StackCommand, StackEffect};
    use crate::actors::stack::story::{
        Story, create, given, given_made, given_nothing, revise, rolling_back, update,
    };
    use crate::model::Action;

    fn timed_out(story: &Story) -> StackCommand {
        StackCommand::TimedOut { traversal: story.stack.traversal.as_ref().unwrap().id }
    }

    fn deadlines(story: &Story) -> Vec<chrono::DateTime<chrono::Utc>> {
        let deadline = |effect: &StackEffect| {
            let StackEffect::Deadline { at, .. } = effect else { return None };
            Some(*at)
        };
        story.effects.iter().filter_map(deadline).collect()
    }

    #[test]
    fn a_traversal_whose_time_is_over_fails_and_what_is_at_work_has_no_more_time() {
        let story = given("net port:net");
        let command = timed_out(&story);
        let story = story.when(command);
        assert_eq!(story.told(), ["TraversalSettled"]);
        assert_eq!(story.orders(), ["time out net"]);
        assert_eq!(story.state(), "CREATE_FAILED: Timed out");
    }

    #[test]
    fn a_create_without_time_goes_back_where_that_was_asked_for() {
        let story = given_nothing().when(create(rolling_back(revise("net"))));
        let command = timed_out(&story);
        let story = story.when(command);
        assert_eq!(story.started().action, Action::Rollback);
        assert_eq!(story.orders(), ["clean up net", "time out net"]);
    }

    #[test]
    fn the_time_of_a_traversal_that_was_superseded_is_nobodys() {
        let story = given("net");
        let former = timed_out(&story);
        let story = story.when(update(revise("net"))).when(former);
        assert!(story.told().is_empty() && story.orders().is_empty());
    }

    #[test]
    fn a_restart_prolongs_no_deadline() {
        let story = given("net");
        let deadline = deadlines(&story);
        assert_eq!(deadline.len(), 1);
        assert_eq!(deadlines(&story.after(600).when_woken()), deadline);
        assert!(deadlines(&given_made("net").when_woken()).is_empty());
    }
}
