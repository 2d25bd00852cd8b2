//! Cancel an update, with a rollback or without.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::state::{Knowledge, Stack};
use crate::clock::Moment;
use crate::model::{Action, Refusal, Status};

impl Stack {
    pub(in crate::actors::stack) fn cancel_update(
        &mut self,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Result<Decision<Self>, Refusal> {
        self.alive()?;
        if !(self.in_progress() && self.action == Action::Update) {
            return Err(self.cannot_cancel());
        }
        Ok(self.roll_back(Decision::nothing(), moment, knowledge))
    }

    pub(in crate::actors::stack) fn cancel_without_rollback(
        &mut self,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Result<Decision<Self>, Refusal> {
        self.alive()?;
        if !(self.in_progress() && matches!(self.action, Action::Update | Action::Create)) {
            return Err(self.cannot_cancel());
        }
        let reason = format!("Stack {} cancelled", self.action);
        let decision = self.ending(self.settled(Status::Failed, reason, knowledge));
        let decision = self.interrupt(decision, || ResourceCommand::BeginNothing);
        Ok(self.and_deferred(decision, moment, knowledge))
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
