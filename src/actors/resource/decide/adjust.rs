//! Change the size of a group, as a policy asks for it: one change at a time, and none before the
//! group has rested from the last.

use crate::actors::resource::command::{Adjust, Adjusted, Resize, ResourceEffect};
use crate::actors::resource::state::{Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::clock::Moment;
use crate::events::resource::SignalTaken;
use crate::model::{CommandId, Refusal, Status};
use crate::resource_types::{Attempt, cooldown};

impl Resource {
    pub(in crate::actors::resource) fn adjust(
        &mut self,
        adjust: Adjust,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Result<Decision<Self>, Refusal> {
        if self.knows_signal(adjust.id) {
            return Ok(Decision::nothing());
        }
        let Some(definition) = self.definition.clone() else { return Err(declined()) };
        let driver = Self::driver(knowledge, &definition);
        let scales = driver.is_ok_and(|it| it.nests().is_some_and(|it| it.scales().is_some()));
        if !scales {
            let text = format!("The resource {} is no group that can be scaled.", self.name);
            return Err(Refusal::new("ResourceFailure", text));
        }
        let is_free = self.status == Status::Complete
            && self.working.adjusting.is_none()
            && self.open_signal().is_none()
            && cooldown::is_over(&self.metadata(), moment.now);
        if !is_free {
            return Err(declined());
        }
        self.working.adjusting = Some(adjust.id);
        Ok(Decision::nothing().and_do(ResourceEffect::Size {
            subject: Box::new(self.subject(&definition, knowledge)),
            driver_type: definition.driver_type,
            adjust: Box::new(adjust),
        }))
    }

    /// The size that an adjustment leads to is known; `None`: it is that already.
    pub(in crate::actors::resource) fn sized(
        &mut self,
        id: CommandId,
        resize: Option<Resize>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
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
        let carry_out = self.carry_out(&taken, Attempt::First, definition, knowledge);
        Decision::record(taken).and_do(carry_out).and_do(ResourceEffect::Report)
    }

    /// How an adjustment ended; `None` while it is made.
    pub fn adjusted(&self, id: CommandId) -> Option<Adjusted> {
        if self.working.adjusting == Some(id) || self.open_signal() == Some(id) {
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
