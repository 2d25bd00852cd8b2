//! An operator has whatever is under way given up, in a stack that does not come to an end.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::state::{Decider, Stack};
use crate::model::{Refusal, Status};

/// Heat's words.
const REASON: &str = "Stack status manually reset";

impl Decider<'_> {
    /// A stack at work has failed, and goes back nowhere. Its resources that are at work, also
    /// after an earlier failure of it, fail as soon as the calls that are out have come back: what
    /// these made is known then.
    pub(in crate::actors::stack) fn reset(&mut self) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        let give_up = || ResourceCommand::Cancel { reason: REASON.to_owned() };
        if !self.in_progress() {
            return Ok(self.interrupt(Decision::nothing(), give_up));
        }
        let ended = self.ending(self.settled(Status::Failed, REASON.to_owned()));
        Ok(self.and_deferred(self.interrupt(ended, give_up)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::command::StackCommand;
    use crate::actors::stack::story::{create, given, given_nothing, revise, rolling_back};

    #[test]
    fn a_reset_fails_what_runs_and_goes_back_nowhere_though_a_rollback_was_asked_for() {
        let story = given_nothing().when(create(rolling_back(revise("net port:net"))));
        let story = story.when(StackCommand::Reset);
        assert_eq!(story.told(), ["TraversalSettled"]);
        assert_eq!(story.orders(), [format!("cancel ({REASON}) net")]);
        assert_eq!(story.state(), "CREATE_FAILED: Stack status manually reset");
    }

    #[test]
    fn a_stack_at_rest_keeps_its_state_and_what_is_still_at_work_in_it_stops() {
        let story = given("net other").when_it_fails("net", "boom").when(StackCommand::Reset);
        assert_eq!(story.told(), Vec::<&str>::new());
        assert_eq!(story.orders(), [format!("cancel ({REASON}) other")]);
        assert_eq!(story.state(), "CREATE_FAILED: Resource CREATE failed: boom");
    }
}
