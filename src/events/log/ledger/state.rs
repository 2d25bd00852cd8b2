//! What the ledger's lock guards: the events' places, the queue, and who waits for what.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::chain::{Content, Hash, link, meta_text};
use super::super::heads::Heads;
use super::super::room;
use super::super::tail::Tail;
use super::super::{BlobId, LogError};
use super::{Done, StoredKey, Work};
use crate::events::{Meta, NewEvent, Position, RecordedEvent, StreamId, StreamRevision};

/// How many events one group commit takes, unless a single append has more.
const GROUP_EVENTS_MAX: usize = 1_024;
/// How many bytes one group commit takes, unless a single item has more.
const GROUP_BYTES_MAX: usize = 8 << 20;
/// How long after it was put a blob is not dropped: whoever put it is about to refer to it.
const BLOB_SPARED: Duration = Duration::from_secs(60);
/// How many puts are remembered before those that count no more are forgotten.
const BLOBS_PUT_MAX: usize = 4_096;

/// What the lock of the ledger guards.
pub(super) struct State {
    pub(super) next_position: u64,
    pub(super) heads: Heads,
    pub(super) types: HashMap<&'static str, Arc<str>>,
    pub(super) queue: VecDeque<Work>,
    pub(super) queued_events: usize,
    pub(super) tail: Tail,
    pub(super) waiters: BTreeMap<u64, Vec<Done>>,
    /// Positions that were given and lost, as inclusive ranges.
    pub(super) lost: Vec<(u64, u64)>,
    /// Why the last of them were.
    pub(super) lost_because: String,
    /// Why nothing can be written now.
    pub(super) down: Option<String>,
    pub(super) closed: bool,
    pub(super) taken_over: bool,
    /// Blobs that wait for the writer, each with its room.
    pub(super) blobs: HashMap<BlobId, (Arc<[u8]>, room::Taken)>,
    /// Blobs that are known to be on disk, so that a template used again is not written again.
    pub(super) blobs_written: HashSet<BlobId>,
    /// When blobs were put, for as long as that counts.
    blobs_put: HashMap<BlobId, Instant>,
    pub(super) keys: HashMap<String, StoredKey>,
    /// How many of them came to be on disk.
    pub(super) keys_written: u64,
}

impl State {
    /// At the end of a log that has been opened.
    pub(super) fn at(durable: Position) -> Self {
        Self {
            next_position: durable.0 + 1,
            heads: Heads::default(),
            types: HashMap::new(),
            queue: VecDeque::new(),
            queued_events: 0,
            tail: Tail::new(durable.0),
            waiters: BTreeMap::new(),
            lost: Vec::new(),
            lost_because: String::new(),
            down: None,
            closed: false,
            taken_over: false,
            blobs: HashMap::new(),
            blobs_written: HashSet::new(),
            blobs_put: HashMap::new(),
            keys: HashMap::new(),
            keys_written: 0,
        }
    }

    pub(super) fn refuse_unless_writable(&self) -> Result<(), LogError> {
        if self.closed {
            return Err(LogError::Unavailable("the log is closed".to_owned()));
        }
        match &self.down {
            Some(reason) => Err(LogError::Unavailable(reason.clone())),
            None => Ok(()),
        }
    }

    /// Gives each event its position, revision and hash. The stream's tip is in `heads`.
    pub(super) fn place(
        &mut self,
        stream: &StreamId,
        expected: u64,
        events: Vec<NewEvent>,
        digests: &[Hash],
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        let Some(entry) = self.heads.get(stream) else {
            return Err(LogError::Lost { stream: stream.clone() });
        };
        if entry.tip.tombstoned {
            return Err(LogError::Tombstoned(stream.clone()));
        }
        if entry.tip.next != expected {
            let actual = entry.tip.next;
            return Err(LogError::Conflict { stream: stream.clone(), expected, actual });
        }
        let mut recorded = Vec::with_capacity(events.len());
        for (event, digest) in events.into_iter().zip(digests) {
            let event_type = self
                .types
                .entry(event.event_type)
                .or_insert_with(|| Arc::from(event.event_type))
                .clone();
            let hash = link(&entry.tip.hash, digest);
            let event = Arc::new(RecordedEvent {
                position: Position(self.next_position),
                stream: stream.clone(),
                revision: StreamRevision(entry.tip.next),
                event_type,
                version: event.version,
                at: whole_micros(event.at),
                meta: event.meta,
                body: event.body.into(),
                hash,
            });
            self.next_position += 1;
            entry.tip.next += 1;
            entry.tip.hash = hash;
            entry.pending.push_back(event.clone());
            recorded.push(event);
        }
        Ok(recorded)
    }

    pub(super) fn next_group(&mut self) -> Option<Vec<Work>> {
        let mut group = Vec::new();
        let (mut events, mut bytes) = (0, 0);
        while events < GROUP_EVENTS_MAX && bytes < GROUP_BYTES_MAX {
            let Some(work) = self.queue.pop_front() else { break };
            match &work {
                Work::Events(batch, _) => {
                    events += batch.len();
                    bytes += batch.iter().map(|event| event.body.len()).sum::<usize>();
                    self.queued_events -= batch.len();
                }
                Work::Blob(_, content) => bytes += content.len(),
                Work::Key(..) | Work::DestroyKey(..) | Work::Tombstone(..) => events += 1,
                Work::Reseal(batch, _) => events += batch.len(),
                Work::DropBlobs(ids, _) => events += ids.len(),
                // Others must not wait for more than one of them.
                Work::Purge(..) | Work::Compact { .. } | Work::Settle(_) => {
                    events += GROUP_EVENTS_MAX;
                }
            }
            group.push(work);
        }
        (!group.is_empty()).then_some(group)
    }

    /// Remembers that a blob is put just now; whether it is to be kept, for it neither waits nor is
    /// known to be on disk.
    pub(super) fn takes_blob(&mut self, id: &BlobId) -> bool {
        self.note_put(id);
        !self.closed && !self.blobs.contains_key(id) && !self.blobs_written.contains(id)
    }

    fn note_put(&mut self, id: &BlobId) {
        if self.blobs_put.len() >= BLOBS_PUT_MAX {
            self.blobs_put.retain(|_, put| put.elapsed() < BLOB_SPARED);
        }
        self.blobs_put.insert(id.clone(), Instant::now());
    }

    /// Whether somebody may be about to refer to the blob.
    pub(super) fn was_put_lately(&self, id: &BlobId) -> bool {
        self.blobs_put.get(id).is_some_and(|put| put.elapsed() < BLOB_SPARED)
    }
}

/// The digest of each event, at the revisions from `first` on.
pub(super) fn digests(
    stream: &StreamId,
    first: u64,
    events: &[NewEvent],
) -> Result<Vec<Hash>, LogError> {
    let mut last: Option<(&Arc<Meta>, String)> = None;
    let mut digests = Vec::with_capacity(events.len());
    for (revision, event) in (first..).zip(events) {
        // Events that are appended together mostly share their meta.
        let meta = match last.take() {
            Some((meta, text)) if Arc::ptr_eq(meta, &event.meta) => text,
            _ => meta_text(&event.meta).map_err(|error| {
                LogError::Damaged(format!("the meta of {} cannot be written: {error}", stream))
            })?,
        };
        digests.push(
            Content {
                stream,
                revision,
                event_type: event.event_type,
                version: event.version,
                at: whole_micros(event.at),
                meta: &meta,
                body: &event.body,
            }
            .digest(),
        );
        last = Some((&event.meta, meta));
    }
    Ok(digests)
}

/// The log keeps microseconds.
fn whole_micros(at: chrono::DateTime<chrono::Utc>) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp_micros(at.timestamp_micros()).unwrap_or(at)
}
