//! The log in memory, for tests and the simulator: durable at once, unless a test holds the writer
//! back; and it can be cut after any event, as a crash would.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::embedded::Embedded;
use super::heads::Tip;
use super::ledger::{Ledger, StoredKey, Work};
use super::store::{Scan, Store};
use super::{BlobId, Filter, LogError, Reseal};
use crate::events::{Position, RecordedEvent, StreamId};

/// A log that is gone with the process.
pub type MemoryLog = Embedded<MemoryStore>;

/// What a `MemoryLog` holds.
#[derive(Default)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
}

#[derive(Clone, Default)]
struct Kept {
    events: BTreeMap<u64, Arc<RecordedEvent>>,
    streams: HashMap<StreamId, Vec<Arc<RecordedEvent>>>,
    tombstones: HashSet<StreamId>,
    blobs: HashMap<BlobId, Arc<[u8]>>,
    keys: HashMap<String, StoredKey>,
    held: bool,
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::with(Kept::default())
    }

    /// A log that ends where this one stood after the event at `position`: what a process finds
    /// that was killed just then. Blobs and keys are all there.
    pub fn cut_after(&self, position: Position) -> Self {
        let mut kept = self.store.lock().clone();
        kept.held = false;
        kept.events.split_off(&(position.0 + 1));
        for events in kept.streams.values_mut() {
            events.retain(|event| event.position <= position);
        }
        kept.streams.retain(|_, events| !events.is_empty());
        Self::with(kept)
    }

    /// From now on appended events get their place and are not durable, until `release`.
    pub fn hold(&self) {
        self.store.lock().held = true;
    }

    /// Makes what was held back durable.
    pub fn release(&self) {
        self.store.lock().held = false;
        self.store.queued(&self.ledger);
    }

    /// Loses what was held back, as a disk that cannot be written does; later appends succeed.
    pub fn lose(&self, reason: &str) {
        let mut group = Vec::new();
        while let Some(more) = self.ledger.try_take_group() {
            group.extend(more);
        }
        self.ledger.failed(group, reason);
        self.ledger.healed();
        self.release();
    }

    fn with(kept: Kept) -> Self {
        let end = kept.events.last_key_value().map_or(0, |(position, _)| *position);
        let store = Arc::new(MemoryStore { kept: Mutex::new(kept) });
        Self::of(Arc::new(Ledger::new(Position(end))), store)
    }
}

impl MemoryStore {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Store for MemoryStore {
    fn tip(&self, stream: &StreamId) -> Result<Tip, LogError> {
        let kept = self.lock();
        let mut tip = Tip { tombstoned: kept.tombstones.contains(stream), ..Tip::default() };
        if let Some(last) = kept.streams.get(stream).and_then(|events| events.last()) {
            tip.next = last.revision.0 + 1;
            tip.hash = last.hash;
        }
        Ok(tip)
    }

    fn end(&self) -> Result<Position, LogError> {
        Ok(Position(self.lock().events.keys().next_back().copied().unwrap_or(0)))
    }

    fn stream(&self, stream: &StreamId, from: u64) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        let kept = self.lock();
        let events = kept.streams.get(stream).map_or(&[][..], |events| events);
        Ok(events.iter().filter(|event| event.revision.0 >= from).cloned().collect())
    }

    fn scan(&self, after: Position, filter: &Filter, limit: usize) -> Result<Scan, LogError> {
        let mut scan = Scan { events: Vec::new(), to: after };
        for (position, event) in self.lock().events.range(after.0 + 1..) {
            if scan.events.len() >= limit {
                break;
            }
            scan.to = Position(*position);
            if filter.takes(&event.stream) {
                scan.events.push(event.clone());
            }
        }
        Ok(scan)
    }

    fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
        Ok(self.lock().blobs.get(id).cloned())
    }

    fn key(&self, scope: &str) -> Result<StoredKey, LogError> {
        Ok(self.lock().keys.get(scope).cloned().unwrap_or(StoredKey::Absent))
    }

    fn keys(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        let kept = self.lock();
        let sealed = kept.keys.iter().filter_map(|(scope, key)| match key {
            StoredKey::Sealed(sealed) if scope.as_str() > after => {
                Some((scope.clone(), sealed.clone()))
            }
            _ => None,
        });
        Ok(first(sealed, limit))
    }

    fn streams(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<StreamId>, LogError> {
        let kept = self.lock();
        let of_kind = kept.streams.keys().filter(|it| it.kind() == kind && it.as_str() > after);
        Ok(first(of_kind.cloned(), limit))
    }

    fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError> {
        let kept = self.lock();
        Ok(first(kept.blobs.keys().filter(|id| id.0.as_str() > after).cloned(), limit))
    }

    fn queued(&self, ledger: &Ledger) {
        // Held over both steps, so that groups of concurrent appends are kept in their order.
        let mut kept = self.lock();
        if kept.held {
            return;
        }
        while let Some(group) = ledger.try_take_group() {
            // As the unique index of a database does.
            if group.iter().any(|work| kept.has(work)) {
                ledger.failed(group, "a revision is there already");
                ledger.healed();
                continue;
            }
            for work in &group {
                kept.keep(work);
            }
            ledger.written(group);
        }
    }

    fn finish(&self, ledger: &Ledger) {
        self.queued(ledger);
    }
}

impl Kept {
    /// Whether there is an event already where one of the work's is to be.
    fn has(&self, work: &Work) -> bool {
        let Work::Events(events, _) = work else { return false };
        let first =
            events.first().and_then(|first| Some((first, self.streams.get(&first.stream)?)));
        first.is_some_and(|(first, there)| first.revision.0 < there.len() as u64)
    }

    fn keep(&mut self, work: &Work) {
        match work {
            Work::Events(events, _) => {
                for event in events {
                    self.events.insert(event.position.0, event.clone());
                    self.streams.entry(event.stream.clone()).or_default().push(event.clone());
                }
            }
            Work::Blob(id, content) => {
                self.blobs.insert(id.clone(), content.clone());
            }
            Work::Key(scope, key) => {
                self.keys.insert(scope.clone(), StoredKey::Sealed(key.clone()));
            }
            Work::DestroyKey(scope, _) => {
                self.keys.insert(scope.clone(), StoredKey::Destroyed);
            }
            Work::Reseal(batch, _) => {
                for Reseal { scope, from, to } in batch {
                    if self.keys.get(scope) == Some(&StoredKey::Sealed(from.clone())) {
                        self.keys.insert(scope.clone(), StoredKey::Sealed(to.clone()));
                    }
                }
            }
            Work::Tombstone(stream, _) => {
                self.tombstones.insert(stream.clone());
            }
            Work::Purge(streams, _) => {
                for stream in streams {
                    self.tombstones.insert(stream.clone());
                    for event in self.streams.remove(stream).unwrap_or_default() {
                        self.events.remove(&event.position.0);
                    }
                }
            }
            Work::DropBlobs(ids, _) => ids.iter().for_each(|id| drop(self.blobs.remove(id))),
            Work::Compact { .. } | Work::Settle(_) => {}
        }
    }
}

/// The first so many, in order.
fn first<T: Ord>(found: impl Iterator<Item = T>, limit: usize) -> Vec<T> {
    let mut found: Vec<T> = found.collect();
    found.sort_unstable();
    found.truncate(limit);
    found
}
