//! The traversal's time is over.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::state::{Decider, Stack};
use crate::model::TraversalId;

impl Decider<'_> {
    pub(in crate::actors::stack) fn timed_out(
        &mut self,
        traversal: TraversalId,
    ) -> Decision<Stack> {
        if self.traversal.as_ref().map(|newest| newest.id) != Some(traversal) {
            return Decision::nothing();
        }
        // What is still at work after the stack's end has no more time either.
        let decision = match self.in_progress() {
            true => self.fail("Timed out".to_owned()),
            false => Decision::nothing(),
        };
        self.interrupt(decision, || ResourceCommand::TimeOut)
    }
}
