//! Every stack and resource of a log, folded by their machines.

use std::collections::HashMap;

use crate::actors::resource::Resource;
use crate::actors::shell::Aggregate;
use crate::actors::stack::Stack;
use crate::events::{DecodeError, RecordedEvent, StreamId};

/// What the log comes to.
#[derive(Default)]
pub(super) struct States {
    pub(super) stacks: HashMap<StreamId, Stack>,
    pub(super) resources: HashMap<StreamId, Resource>,
}

impl States {
    /// Takes in an event; those of other streams change nothing here.
    pub(super) fn fold(&mut self, event: &RecordedEvent) -> Result<(), DecodeError> {
        match event.stream.kind() {
            "stack" => apply(self.stacks.entry(event.stream.clone()).or_default(), event),
            "resource" => apply(self.resources.entry(event.stream.clone()).or_default(), event),
            _ => Ok(()),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.stacks.len() + self.resources.len()
    }
}

fn apply<A: Aggregate>(state: &mut A, event: &RecordedEvent) -> Result<(), DecodeError> {
    let body: A::Event = event.decode()?;
    state.apply(&body, event.at);
    Ok(())
}
