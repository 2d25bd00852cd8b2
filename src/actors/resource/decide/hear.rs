//! Others of the stack were signaled: one that waits for that goes on, and one that is through
//! looks up anew what it tells of them.

use crate::actors::resource::command::ResourceEffect;
use crate::actors::resource::phase::Call;
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::model::{Action, Status};
use crate::resource_types::{Attempt, ObservedSignals};

impl Decider<'_> {
    pub(in crate::actors::resource) fn observe_signals(
        &mut self,
        observed_signals: Vec<ObservedSignals>,
    ) -> Decision<Resource> {
        self.working.observed_signals = observed_signals;
        if self.in_progress() {
            // A beat that is out took what was known before it: the pause after it is cut short.
            return match self.call() {
                Some(Call::Due(step)) if !step.mutates => self.proceed(Attempt::First),
                _ => Decision::nothing(),
            };
        }
        let Some(definition) = self.definition.clone().filter(|it| !it.attributes.is_empty())
        else {
            return Decision::nothing();
        };
        if self.status == Status::Failed || self.action == Action::Delete {
            return Decision::nothing();
        }
        self.working.epoch += 1;
        Decision::nothing().and_do(ResourceEffect::Observe {
            epoch: self.working.epoch,
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            wanted: definition.attributes,
            trustor: self.signals_for.clone(),
        })
    }
}
