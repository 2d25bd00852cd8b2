//! Others of the stack were signaled: one that waits for that goes on, and one that is through
//! looks up anew what it tells of them.

use crate::actors::resource::command::ResourceEffect;
use crate::actors::resource::state::{Call, Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::clock::Moment;
use crate::model::{Action, Status};
use crate::resource_types::{Attempt, ObservedSignals};

impl Resource {
    pub(in crate::actors::resource) fn observe_signals(
        &mut self,
        observed_signals: Vec<ObservedSignals>,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        self.working.observed_signals = observed_signals;
        if self.in_progress() {
            // A beat that is out took what was known before it: the pause after it is cut short.
            return match &self.call {
                Call::Due(step) if !step.mutates => self.proceed(Attempt::First, moment, knowledge),
                Call::None | Call::First | Call::Due(_) | Call::Intended(_) => Decision::nothing(),
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
            subject: Box::new(self.subject(&definition, knowledge)),
            driver_type: definition.driver_type,
            wanted: definition.attributes,
            trustor: self.signals_for.clone(),
        })
    }
}
