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
