//! The newest durable events, kept for those who follow the log live: bounded in number and size.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::Filter;
use crate::events::{RecordedEvent, StreamId};

const EVENTS_MAX: usize = 4_096;
const BYTES_MAX: usize = 4 << 20;

/// The newest durable events.
pub(super) struct Tail {
    events: VecDeque<Arc<RecordedEvent>>,
    bytes: usize,
    /// Everything durable after this position is here.
    floor: u64,
}

impl Tail {
    /// Empty, at the end of a log that has been opened.
    pub(super) fn new(floor: u64) -> Self {
        Self { events: VecDeque::new(), bytes: 0, floor }
    }

    /// The next durable event.
    pub(super) fn push(&mut self, event: Arc<RecordedEvent>) {
        self.bytes += event.body.len();
        self.events.push_back(event);
        while self.events.len() > EVENTS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.body.len();
            self.floor = oldest.position.0;
        }
    }

    /// Up to `limit` events that a filter takes, after a position; `None` when some of them are on
    /// disk alone.
    pub(super) fn after(
        &self,
        position: u64,
        filter: &Filter,
        limit: usize,
    ) -> Option<Vec<Arc<RecordedEvent>>> {
        if position < self.floor {
            return None;
        }
        let start = self.events.partition_point(|event| event.position.0 <= position);
        let taken = self.events.iter().skip(start).filter(|event| filter.takes(&event.stream));
        Some(taken.take(limit).cloned().collect())
    }

    /// Forgets the events of streams that were taken away.
    pub(super) fn drop_streams(&mut self, streams: &[StreamId]) {
        let streams: HashSet<&StreamId> = streams.iter().collect();
        self.events.retain(|event| !streams.contains(&event.stream));
        self.bytes = self.events.iter().map(|event| event.body.len()).sum();
    }
}
