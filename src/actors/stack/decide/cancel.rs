//! Cancel an update, with a rollback or without.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::state::{Decider, Stack};
use crate::model::{Action, Refusal, Status};

impl Decider<'_> {
    pub(in crate::actors::stack) fn cancel_update(&mut self) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        if !(self.in_progress() && self.action == Action::Update) {
            return Err(self.cannot_cancel());
        }
        Ok(self.roll_back(Decision::nothing()))
    }

    pub(in crate::actors::stack) fn cancel_without_rollback(
        &mut self,
    ) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        if !(self.in_progress() && matches!(self.action, Action::Update | Action::Create)) {
            return Err(self.cannot_cancel());
        }
        let reason = format!("Stack {} cancelled", self.action);
        let decision = self.ending(self.settled(Status::Failed, reason));
        let decision = self.interrupt(decision, || ResourceCommand::BeginNothing);
        Ok(self.and_deferred(decision))
    }

    fn cannot_cancel(&self) -> Refusal {
        Refusal::new(
            "NotSupported",
            format!(
                "Cancelling update when stack is {}_{} is not supported.",
                self.action, self.status
            ),
        )
    }
}
