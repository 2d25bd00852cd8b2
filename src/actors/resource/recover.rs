//! What a resource still owes when it wakes: the beat that its log ends in.

use super::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::resource_types::Attempt;

impl Decider<'_> {
    pub(super) fn resume(&mut self) -> Decision<Resource> {
        let mut owed = self.signals_owed();
        if !self.in_progress() {
            return owed;
        }
        // A step whose intent is on record may have been carried out; any other was not.
        let attempt = match self.awaits_answer() {
            true => Attempt::Unanswered,
            false => Attempt::First,
        };
        let mut decision = self.proceed(attempt);
        decision.effects.append(&mut owed.effects);
        decision
    }
}
