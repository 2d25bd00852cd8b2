//! What was purged: the names are kept before the streams are deleted for ever, so that a crash
//! between the two is made good, and so that readers of the whole log, in which the server shows
//! deleted events until a scavenge has run, leave them out.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard};

use super::super::LogError;
use super::appends::{self, Settled};
use super::node::{Deletion, Nodes};
use super::reads::{self, Stream};
use super::wire::Proposed;
use super::{blobs, record};
use crate::clock::{Clock, SystemClock};
use crate::events::StreamId;

const PURGED: &str = "hearth-streams-purged";
/// How many streams one event names.
const NAMES_PER_EVENT: usize = 256;

/// The streams that were purged, as far as this process knows.
pub(super) struct Purges {
    /// The stream that has their names.
    stream: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    streams: HashSet<StreamId>,
    next: u64,
}

impl Purges {
    pub(super) fn new(stream: String) -> Self {
        Self { stream, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn has(&self, stream: &StreamId) -> bool {
        self.lock().streams.contains(stream)
    }

    /// All of them, in the order of their names.
    pub(super) fn names(&self) -> BTreeSet<StreamId> {
        self.lock().streams.iter().cloned().collect()
    }

    /// Learns what others have purged; the streams that the last event names.
    pub(super) async fn learn(&self, nodes: &Nodes) -> Result<(), LogError> {
        self.last(nodes).await.map(|_| ())
    }

    async fn last(&self, nodes: &Nodes) -> Result<Vec<StreamId>, LogError> {
        let from = self.lock().next;
        let mut last = Vec::new();
        if let Stream::Events(events) = reads::forwards(nodes, &self.stream, from, u64::MAX).await?
        {
            let mut state = self.lock();
            for event in events {
                let names: Vec<StreamId> =
                    serde_json::from_slice(&event.data).map_err(|error| {
                        LogError::Damaged(format!("the list of what was purged: {error}"))
                    })?;
                state.streams.extend(names.iter().cloned());
                state.next = state.next.max(event.revision + 1);
                last = names;
            }
        }
        Ok(last)
    }

    /// Deletes what a process that died meant to delete.
    pub(super) async fn finish(&self, nodes: &Nodes) -> Result<(), LogError> {
        let last = self.last(nodes).await?;
        self.bury(nodes, &last).await
    }

    /// Takes streams away for good.
    pub(super) async fn purge(&self, nodes: &Nodes, streams: &[StreamId]) -> Result<(), LogError> {
        for some in streams.chunks(NAMES_PER_EVENT) {
            let names = serde_json::to_vec(some)
                .map_err(|error| LogError::Damaged(format!("names of streams: {error}")))?;
            loop {
                self.learn(nodes).await?;
                let next = self.lock().next;
                let id = SystemClock.fresh_id();
                let due = vec![Proposed::new(id, PURGED, Vec::new(), names.clone().into())];
                if appends::append(nodes, &self.stream, next, due).await? != Settled::Refused {
                    break;
                }
            }
            self.learn(nodes).await?;
            self.bury(nodes, some).await?;
        }
        Ok(())
    }

    async fn bury(&self, nodes: &Nodes, streams: &[StreamId]) -> Result<(), LogError> {
        let before = format!("{}.events.", nodes.address.prefix);
        for stream in streams {
            let name = format!("{before}{stream}");
            if let Stream::Events(events) = reads::forwards(nodes, &name, 0, u64::MAX).await? {
                for id in events.iter().filter_map(record::body_of) {
                    super::delete(nodes, &blobs::stream(nodes, &id), Deletion::ForEver).await?;
                }
            }
            super::delete(nodes, &name, Deletion::ForEver).await?;
        }
        Ok(())
    }
}
