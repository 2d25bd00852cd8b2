//! What a resource still owes when it wakes: the beat that its log ends in.

use super::state::{Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::clock::Moment;
use crate::resource_types::Attempt;

impl Resource {
    pub(super) fn resume(&mut self, moment: &Moment<'_>, knowledge: &Knowledge) -> Decision<Self> {
        let mut owed = self.signals_owed(knowledge);
        if !self.in_progress() {
            return owed;
        }
        // A step whose intent is on record may have been carried out; any other was not.
        let attempt = match self.call {
            super::Call::Intended(_) => Attempt::Unanswered,
            super::Call::None | super::Call::First | super::Call::Due(_) => Attempt::First,
        };
        let mut decision = self.proceed(attempt, moment, knowledge);
        decision.effects.append(&mut owed.effects);
        decision
    }
}
