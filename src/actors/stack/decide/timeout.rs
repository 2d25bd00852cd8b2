//! The traversal's time is over.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::state::{Knowledge, Stack};
use crate::clock::Moment;
use crate::model::TraversalId;

impl Stack {
    pub(in crate::actors::stack) fn timed_out(
        &mut self,
        traversal: TraversalId,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let running = self.traversal.as_ref().map(|running| running.id) == Some(traversal);
        if !running || !self.in_progress() {
            return Decision::nothing();
        }
        let decision = self.fail("Timed out".to_owned(), moment, knowledge);
        self.interrupt(decision, || ResourceCommand::TimeOut)
    }
}
