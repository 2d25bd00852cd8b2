//! Change the size of a group, as a policy asks for it: one change at a time, and none before the
//! group has rested from the last.

use crate::actors::resource::command::{Adjust, Adjusted, Resize, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource, Working};
use crate::actors::shell::Decision;
use crate::events::resource::SignalTaken;
use crate::model::{CommandId, Refusal, Status};
use crate::resource_types::{Attempt, cooldown};

impl Decider<'_> {
    pub(in crate::actors::resource) fn adjust(
        &mut self,
        adjust: Adjust,
    ) -> Result<Decision<Resource>, Refusal> {
        if self.knows_signal(adjust.id) {
            return Ok(Decision::nothing());
        }
        let Some(definition) = self.definition.clone() else { return Err(declined()) };
        let driver = self.driver(&definition);
        let scales = driver.is_ok_and(|it| it.nests().is_some_and(|it| it.scales()));
        if !scales {
            let text = format!("The resource {} is no group that can be scaled.", self.name);
            return Err(Refusal::new("ResourceFailure", text));
        }
        let is_free = self.status == Status::Complete
            && self.working.adjusting.is_none()
            && self.open_signal().is_none()
            && cooldown::is_over(&self.metadata(), self.moment.now);
        if !is_free {
            return Err(declined());
        }
        self.working.adjusting = Some(adjust.id);
        Ok(Decision::nothing().and_do(ResourceEffect::Size {
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            adjust: Box::new(adjust),
        }))
    }

    /// The size that an adjustment leads to is known; `None`: it is that already.
    pub(in crate::actors::resource) fn sized(
        &mut self,
        id: CommandId,
        resize: Option<Resize>,
    ) -> Decision<Resource> {
        if self.working.adjusting != Some(id) {
            return Decision::nothing();
        }
        self.working.adjusting = None;
        let definition = self.definition.clone().filter(|_| self.status == Status::Complete);
        let (Some(resize), Some(definition)) = (resize, definition) else {
            return Decision::nothing();
        };
        let details = serde_json::to_value(resize).unwrap_or_default();
        let taken = SignalTaken { signal: id, details };
        let carry_out = self.carry_out(&taken, Attempt::First, definition);
        Decision::record(taken).and_do(carry_out).and_do(ResourceEffect::Report)
    }
}

impl Resource {
    /// How an adjustment ended; `None` while it is made.
    pub fn adjusted(&self, working: &Working, id: CommandId) -> Option<Adjusted> {
        if working.adjusting == Some(id) || self.open_signal() == Some(id) {
            return None;
        }
        Some(match &self.handled {
            Some((handled, Some(error))) if *handled == id => Adjusted::Failed(error.clone()),
            _ if self.knows_signal(id) => Adjusted::Made,
            _ => Adjusted::Declined,
        })
    }
}

/// Heat's `NoActionRequired`, of which nothing is told.
fn declined() -> Refusal {
    Refusal::new("NoActionRequired", "The group is not adjusted now.")
}
