//! Where streams end: a bounded cache, so that tens of thousands of streams cost no memory. A
//! stream with events that are not yet on disk stays in it, for they are nowhere else.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::chain::{GENESIS, Hash};
use crate::events::{RecordedEvent, StreamId};

/// How many streams may be kept beside those with unwritten events.
const STREAMS_KEPT_MAX: usize = 8_192;

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tip {
    /// The revision that the next event gets.
    pub(super) next: u64,
    /// The hash of the last event.
    pub(super) hash: Hash,
    pub(super) tombstoned: bool,
}

impl Default for Tip {
    fn default() -> Self {
        Self { next: 0, hash: GENESIS, tombstoned: false }
    }
}

/// A stream's end and its events that are not yet on disk.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) tip: Tip,
    pub(super) pending: VecDeque<Arc<RecordedEvent>>,
    touched: bool,
}

/// The cache.
#[derive(Default)]
pub(super) struct Heads {
    entries: HashMap<StreamId, Entry>,
    /// Moves on with each eviction, so that a tip read from disk meanwhile is known to be old.
    pub(super) evictions: u64,
}

impl Heads {
    /// The entry of a stream, if it is kept.
    pub(super) fn get(&mut self, stream: &StreamId) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(stream)?;
        entry.touched = true;
        Some(entry)
    }

    /// Keeps a tip that was read from disk, unless one is there already.
    pub(super) fn insert(&mut self, stream: &StreamId, tip: Tip) {
        if self.entries.len() >= STREAMS_KEPT_MAX {
            self.evict();
        }
        self.entries.entry(stream.clone()).or_insert(Entry {
            tip,
            pending: VecDeque::new(),
            touched: true,
        });
    }

    /// The oldest unwritten event of the stream is on disk now.
    pub(super) fn written(&mut self, stream: &StreamId) {
        if let Some(entry) = self.entries.get_mut(stream) {
            entry.pending.pop_front();
        }
    }

    /// Forgets everything: what was appended last is lost.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.evictions += 1;
    }

    /// Drops what was not touched since the last time; if that is not enough, all that can go.
    fn evict(&mut self) {
        self.evictions += 1;
        self.entries.retain(|_, entry| {
            !entry.pending.is_empty() || std::mem::replace(&mut entry.touched, false)
        });
        if self.entries.len() >= STREAMS_KEPT_MAX / 4 * 3 {
            self.entries.retain(|_, entry| !entry.pending.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(number: usize) -> StreamId {
        StreamId(format!("stack-{number}").into())
    }

    #[test]
    fn many_streams_are_not_all_kept() {
        let mut heads = Heads::default();
        for number in 0..100_000 {
            heads.insert(&stream(number), Tip::default());
        }
        assert!(heads.entries.len() <= STREAMS_KEPT_MAX);
        assert!(heads.get(&stream(99_999)).is_some());
    }
}
