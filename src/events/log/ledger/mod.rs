//! The part of an embedded log that lives in memory: it gives events their place at once, queues
//! them for the writer, and knows what is durable, what is lost and who waits for it.
//!
//! ```text
//! admit ─▶ queue ─take▶ group ─written▶ durable
//!                         └───failed─▶ lost: the generation moves on, appends are refused
//!                                      until the writer can write again (`healed`)
//! ```
//!
//! **Invariant:** a position is never given twice by one process, so that `durable(position)` can
//! tell what was lost from what came after.

mod measure;
mod state;

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use super::heads::{Heads, Tip};
use super::room::{self, Room};
use super::tail::Tail;
use super::{Appended, BlobId, Filter, Head, LogError, Reseal};
use crate::events::{NewEvent, Position, RecordedEvent, StreamId};
use measure::Measures;
use state::{State, digests};

/// How many events may wait for the writer before appends wait, too.
const QUEUE_EVENTS_MAX: usize = 8_192;
/// How many blobs are remembered to be on disk.
const BLOBS_KNOWN_MAX: usize = 1_024;

/// Who is told when an item that has no position is on disk.
pub(super) type Done = oneshot::Sender<Result<(), String>>;

/// What the writer writes, in this order.
pub(super) enum Work {
    /// The events of one append, all in one transaction, and when they got their place.
    Events(Vec<Arc<RecordedEvent>>, Instant),
    Blob(BlobId, Arc<[u8]>),
    Key(String, Vec<u8>),
    DestroyKey(String, Done),
    Reseal(Vec<Reseal>, Done),
    Tombstone(StreamId, Done),
    Purge(Vec<StreamId>, Done),
    DropBlobs(Vec<BlobId>, Done),
    Compact {
        may_rewrite: bool,
        done: Done,
    },
    /// Brings all that is written into the file itself.
    Settle(Done),
}

/// What a writer finds that waits for a while.
pub(super) enum Taken {
    Group(Vec<Work>),
    Nothing,
    /// The log is closed and all is written.
    Closed,
}

/// A scope's key, as the ledger or the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoredKey {
    Absent,
    Sealed(Vec<u8>),
    Destroyed,
}

/// A stream's unwritten events and the moment in which they were looked at.
pub(super) struct Unwritten {
    pub(super) events: Vec<Arc<RecordedEvent>>,
    /// Where the stream ends, if that is known without the disk.
    pub(super) next: Option<u64>,
    pub(super) generation: u64,
}

/// See the module.
pub(super) struct Ledger {
    state: Mutex<State>,
    work: Condvar,
    durable: watch::Sender<u64>,
    generation: watch::Sender<u64>,
    measures: Measures,
    /// Of the blobs that wait for the writer.
    room: Room,
}

impl Ledger {
    /// At the end of a log that has been opened.
    pub(super) fn new(durable: Position) -> Self {
        Self {
            state: Mutex::new(State::at(durable)),
            work: Condvar::new(),
            durable: watch::Sender::new(durable.0),
            generation: watch::Sender::new(0),
            measures: Measures::default(),
            room: Room::default(),
        }
    }

    /// Whether events are taken.
    pub(super) fn is_writable(&self) -> bool {
        self.lock().refuse_unless_writable().is_ok()
    }

    /// Whether another process writes the log from now on.
    pub(super) fn is_taken_over(&self) -> bool {
        self.lock().taken_over
    }

    /// Another process writes the log: nothing more is written here.
    pub(super) fn taken_over(&self, group: Vec<Work>, reason: &str) {
        self.lock().taken_over = true;
        self.failed(group, reason);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Gives the events their place. `load` reads the stream's end from the store.
    pub(super) fn admit(
        &self,
        stream: &StreamId,
        expected: Head,
        events: Vec<NewEvent>,
        load: impl Fn() -> Result<Tip, LogError>,
    ) -> Result<Appended, LogError> {
        // The costly part of the chain needs no lock: the revisions are known if all goes well.
        let digests = digests(stream, expected.next, &events)?;
        let load = || match self.is_new(expected) {
            true => Ok(Tip::default()),
            false => load(),
        };
        let mut state = self.with_tip(stream, load)?;
        state.refuse_unless_writable()?;
        if expected.generation != *self.generation.borrow() {
            return Err(LogError::Lost { stream: stream.clone() });
        }
        let recorded = state.place(stream, expected.next, events, &digests)?;
        let next = expected.next + recorded.len() as u64;
        let head = Head { next, is_minted: false, ..expected };
        if !recorded.is_empty() {
            state.queued_events += recorded.len();
            state.queue.push_back(Work::Events(recorded, Instant::now()));
            self.work.notify_one();
        }
        Ok(Appended { position: Position(state.next_position - 1), head })
    }

    /// Errors: `Unavailable` while nothing can be written.
    pub(super) fn refuse_unless_writable(&self) -> Result<(), LogError> {
        self.lock().refuse_unless_writable()
    }

    /// Whether a stream needs no look. After a loss nobody's word is taken: what was refused then may
    /// be what was said here.
    fn is_new(&self, expected: Head) -> bool {
        expected.is_minted && *self.generation.borrow() == 0
    }

    /// How many evictions there were, where the end of a stream has to be read from the store; see
    /// `learn_tip`.
    pub(super) fn lacks_tip(&self, stream: &StreamId, expected: Head) -> Option<u64> {
        let mut state = self.lock();
        let is_known = self.is_new(expected) || state.heads.get(stream).is_some();
        (!is_known).then_some(state.heads.evictions)
    }

    /// Takes in a tip that was read from the store, unless there were evictions since: one may have
    /// been the stream's own, after an append.
    pub(super) fn learn_tip(&self, stream: &StreamId, tip: Tip, evictions: u64) {
        let mut state = self.lock();
        if state.heads.evictions == evictions {
            state.heads.insert(stream, tip);
        }
    }

    /// Locks the state with the stream's tip in it.
    fn with_tip(
        &self,
        stream: &StreamId,
        load: impl Fn() -> Result<Tip, LogError>,
    ) -> Result<MutexGuard<'_, State>, LogError> {
        loop {
            let mut state = self.lock();
            if state.heads.get(stream).is_some() {
                return Ok(state);
            }
            let evictions = state.heads.evictions;
            drop(state);
            let tip = load()?;
            let mut state = self.lock();
            // An eviction meanwhile may have been the stream's own, after an append.
            if state.heads.evictions == evictions {
                state.heads.insert(stream, tip);
                return Ok(state);
            }
        }
    }

    /// The stream's events that may not be on disk yet. To be asked for before the disk is read,
    /// so that nothing falls between.
    pub(super) fn unwritten(&self, stream: &StreamId, from: u64) -> Unwritten {
        let mut state = self.lock();
        let generation = *self.generation.borrow();
        let Some(entry) = state.heads.get(stream) else {
            return Unwritten { events: Vec::new(), next: None, generation };
        };
        let events =
            entry.pending.iter().filter(|event| event.revision.0 >= from).cloned().collect();
        Unwritten { events, next: Some(entry.tip.next), generation }
    }

    /// When so many events wait that an append should wait, too: the position to wait for.
    pub(super) fn pressure(&self) -> Option<Position> {
        let state = self.lock();
        let full = state.queued_events > QUEUE_EVENTS_MAX;
        full.then(|| Position(state.next_position - QUEUE_EVENTS_MAX as u64 / 2))
    }

    /// Notes that a blob is put, and says whether it has to be kept: not where it waits already, or
    /// is on disk.
    pub(super) fn takes_blob(&self, id: &BlobId) -> bool {
        self.lock().takes_blob(id)
    }

    /// Room for a blob of so many bytes. Errors: `Unavailable` where there is none, and nothing can
    /// be written now, or there was none for a while.
    pub(super) async fn room_for(&self, bytes: usize) -> Result<room::Taken, LogError> {
        if let Some(room) = self.room.try_take(bytes) {
            return Ok(room);
        }
        self.lock().refuse_unless_writable()?;
        self.room.take(bytes).await
    }

    /// Keeps a blob for the writer, unless it waits already.
    pub(super) fn put_blob(&self, id: &BlobId, content: &[u8], room: room::Taken) {
        let mut state = self.lock();
        if !state.takes_blob(id) {
            return;
        }
        let content: Arc<[u8]> = content.into();
        state.blobs.insert(id.clone(), (content.clone(), room));
        state.queue.push_back(Work::Blob(id.clone(), content));
        self.work.notify_one();
    }

    /// A blob that is not yet on disk.
    pub(super) fn blob(&self, id: &BlobId) -> Option<Arc<[u8]>> {
        self.lock().blobs.get(id).map(|(content, _)| content.clone())
    }

    /// A scope's key, where it was set or destroyed and that is not yet on disk.
    pub(super) fn key(&self, scope: &str) -> Option<StoredKey> {
        self.lock().keys.get(scope).cloned()
    }

    /// How many keys came to be on disk so far; see `put_key`.
    pub(super) fn keys_written(&self) -> u64 {
        self.lock().keys_written
    }

    /// Keeps a new key for the writer, of a scope that had none on disk when so many were written.
    /// False where it may have one by now.
    pub(super) fn put_key(&self, scope: &str, key: &[u8], written: u64) -> Result<bool, LogError> {
        let mut state = self.lock();
        state.refuse_unless_writable()?;
        if state.keys_written != written || state.keys.contains_key(scope) {
            return Ok(false);
        }
        state.keys.insert(scope.to_owned(), StoredKey::Sealed(key.to_owned()));
        state.queue.push_back(Work::Key(scope.to_owned(), key.to_owned()));
        self.work.notify_one();
        Ok(true)
    }

    /// Destroys a key; the receiver hears when it is done.
    pub(super) fn destroy_key(
        &self,
        scope: &str,
    ) -> Result<oneshot::Receiver<Result<(), String>>, LogError> {
        let (done, heard) = oneshot::channel();
        let mut state = self.lock();
        state.refuse_unless_writable()?;
        state.keys.insert(scope.to_owned(), StoredKey::Destroyed);
        state.queue.push_back(Work::DestroyKey(scope.to_owned(), done));
        self.work.notify_one();
        Ok(heard)
    }

    /// Puts other sealed keys in place; the receiver hears when it is done.
    pub(super) fn reseal_keys(
        &self,
        batch: Vec<Reseal>,
    ) -> Result<oneshot::Receiver<Result<(), String>>, LogError> {
        self.ask(|done| Work::Reseal(batch, done))
    }

    /// Takes the events of streams away; the receiver hears when it is done.
    pub(super) fn purge(
        &self,
        streams: Vec<StreamId>,
        load: impl Fn(&StreamId) -> Result<Tip, LogError>,
    ) -> Result<oneshot::Receiver<Result<(), String>>, LogError> {
        self.lock().refuse_unless_writable()?;
        for stream in &streams {
            if let Some(entry) = self.with_tip(stream, || load(stream))?.heads.get(stream) {
                entry.tip = Tip { tombstoned: true, ..Tip::default() };
            }
        }
        self.ask(|done| Work::Purge(streams, done))
    }

    /// Drops blobs that nobody has put for a while; how many, and a receiver that hears when it is
    /// done.
    pub(super) fn drop_blobs(
        &self,
        mut ids: Vec<BlobId>,
    ) -> Result<(usize, oneshot::Receiver<Result<(), String>>), LogError> {
        let mut state = self.lock();
        ids.retain(|id| !state.blobs.contains_key(id) && !state.was_put_lately(id));
        for id in &ids {
            // Whoever puts it from now on has it written after it was dropped.
            state.blobs_written.remove(id);
        }
        let (done, heard) = oneshot::channel();
        state.refuse_unless_writable()?;
        let count = ids.len();
        state.queue.push_back(Work::DropBlobs(ids, done));
        self.work.notify_one();
        Ok((count, heard))
    }

    /// Gives space back, one step of it; the receiver hears when it is done.
    pub(super) fn compact(
        &self,
        may_rewrite: bool,
    ) -> Result<oneshot::Receiver<Result<(), String>>, LogError> {
        self.ask(|done| Work::Compact { may_rewrite, done })
    }

    /// Brings what is written into the file itself; the receiver hears when it is done.
    pub(super) fn settle(&self) -> Result<oneshot::Receiver<Result<(), String>>, LogError> {
        self.ask(Work::Settle)
    }

    fn ask(
        &self,
        work: impl FnOnce(Done) -> Work,
    ) -> Result<oneshot::Receiver<Result<(), String>>, LogError> {
        let (done, heard) = oneshot::channel();
        let mut state = self.lock();
        state.refuse_unless_writable()?;
        state.queue.push_back(work(done));
        self.work.notify_one();
        Ok(heard)
    }

    /// Closes a stream to appends; the receiver hears when it is done.
    pub(super) fn tombstone(
        &self,
        stream: &StreamId,
        load: impl Fn() -> Result<Tip, LogError>,
    ) -> Result<oneshot::Receiver<Result<(), String>>, LogError> {
        let (done, heard) = oneshot::channel();
        let mut state = self.with_tip(stream, load)?;
        state.refuse_unless_writable()?;
        if let Some(entry) = state.heads.get(stream) {
            entry.tip.tombstoned = true;
        }
        state.queue.push_back(Work::Tombstone(stream.clone(), done));
        self.work.notify_one();
        Ok(heard)
    }

    /// The next group to write; waits for one. `None` when the log is closed and all is written.
    pub(super) fn take_group(&self) -> Option<Vec<Work>> {
        let mut state = self.lock();
        while state.queue.is_empty() && !state.closed {
            state = self.work.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        state.next_group()
    }

    /// As `take_group`, for a writer that has something to do now and then.
    pub(super) fn take_group_within(&self, time: Duration) -> Taken {
        let state = self.lock();
        let waited =
            self.work.wait_timeout_while(state, time, |it| it.queue.is_empty() && !it.closed);
        let mut state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        match state.next_group() {
            Some(group) => Taken::Group(group),
            None if state.closed => Taken::Closed,
            None => Taken::Nothing,
        }
    }

    /// The next group to write, if there is one.
    pub(super) fn try_take_group(&self) -> Option<Vec<Work>> {
        self.lock().next_group()
    }

    /// The group is on disk.
    pub(super) fn written(&self, group: Vec<Work>) {
        let mut told: Vec<Done> = Vec::new();
        let mut state = self.lock();
        let mut durable = *self.durable.borrow();
        for work in group {
            match work {
                Work::Events(events, placed) => {
                    self.measures.append_time.observe(placed.elapsed());
                    for event in events {
                        durable = event.position.0;
                        state.heads.written(&event.stream);
                        state.tail.push(event);
                    }
                }
                Work::Blob(id, _) => {
                    state.blobs.remove(&id);
                    if state.blobs_written.len() >= BLOBS_KNOWN_MAX {
                        state.blobs_written.clear();
                    }
                    state.blobs_written.insert(id);
                }
                Work::Key(scope, key) => {
                    state.keys_written += 1;
                    if state.keys.get(&scope) == Some(&StoredKey::Sealed(key)) {
                        state.keys.remove(&scope);
                    }
                }
                Work::DestroyKey(scope, done) => {
                    state.keys_written += 1;
                    state.keys.remove(&scope);
                    told.push(done);
                }
                Work::Purge(streams, done) => {
                    state.tail.drop_streams(&streams);
                    told.push(done);
                }
                Work::Tombstone(_, done)
                | Work::Reseal(_, done)
                | Work::DropBlobs(_, done)
                | Work::Settle(done)
                | Work::Compact { done, .. } => told.push(done),
            }
        }
        let later = state.waiters.split_off(&(durable + 1));
        let waiters = std::mem::replace(&mut state.waiters, later);
        told.extend(waiters.into_values().flatten());
        self.durable.send_replace(durable);
        drop(state);
        for done in told {
            // Whoever has stopped waiting does not mind.
            let _ = done.send(Ok(()));
        }
    }

    /// Others have written up to the position: what is known of their streams is old.
    pub(super) fn moved_to(&self, position: Position) {
        let mut state = self.lock();
        if position.0 <= *self.durable.borrow() {
            return;
        }
        state.heads = Heads::default();
        state.tail = Tail::new(position.0);
        self.durable.send_replace(position.0);
        drop(state);
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// The group could not be written: every event without a place on disk is lost. Blobs and keys
    /// are kept for the next try, for they are true whatever becomes of the events.
    pub(super) fn failed(&self, group: Vec<Work>, reason: &str) {
        self.measures.failures.add(1);
        let mut state = self.lock();
        let lost_from = *self.durable.borrow() + 1;
        let lost_to = state.next_position - 1;
        if lost_from <= lost_to {
            match state.lost.last_mut() {
                Some(last) if last.1 + 1 >= lost_from => last.1 = lost_to,
                _ => state.lost.push((lost_from, lost_to)),
            }
        }
        let rest = std::mem::take(&mut state.queue);
        let mut told: Vec<Done> = Vec::new();
        for work in group.into_iter().chain(rest) {
            match work {
                Work::Blob(..) | Work::Key(..) => state.queue.push_back(work),
                Work::DestroyKey(scope, done) => {
                    // A key that waits still has its scope again.
                    let waits = state.queue.iter().find_map(|work| match work {
                        Work::Key(of, key) if *of == scope => Some(key.clone()),
                        _ => None,
                    });
                    match waits {
                        Some(key) => drop(state.keys.insert(scope, StoredKey::Sealed(key))),
                        None => drop(state.keys.remove(&scope)),
                    }
                    told.push(done);
                }
                Work::Tombstone(_, done)
                | Work::Reseal(_, done)
                | Work::Purge(_, done)
                | Work::DropBlobs(_, done)
                | Work::Settle(done)
                | Work::Compact { done, .. } => told.push(done),
                Work::Events(..) => {}
            }
        }
        state.queued_events = 0;
        state.heads.clear();
        state.down = Some(reason.to_owned());
        reason.clone_into(&mut state.lost_because);
        let waiters = std::mem::take(&mut state.waiters);
        self.generation.send_modify(|generation| *generation += 1);
        drop(state);
        for done in waiters.into_values().flatten().chain(told) {
            let _ = done.send(Err(reason.to_owned()));
        }
    }

    /// Refuses appends from now on, until `healed`.
    pub(super) fn refuse(&self, reason: &str) {
        self.lock().down = Some(reason.to_owned());
    }

    /// The writer can write again.
    pub(super) fn healed(&self) {
        self.lock().down = None;
    }

    /// Waits a while between two tries of a writer that cannot write; true when the log was closed.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let state = self.lock();
        let waited = self.work.wait_timeout_while(state, time, |state| !state.closed);
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0.closed
    }

    /// Nothing more is taken; what is queued is written still.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
        // Followers look up and see that nothing more will come.
        self.durable.send_modify(|_| ());
    }

    /// Tells everybody who still waits that the log is closed.
    pub(super) fn abandon(&self) {
        self.lock().waiters.clear();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// A receiver that hears when the position is durable; `Ok(None)` when it is already.
    pub(super) fn wait_durable(
        &self,
        position: Position,
    ) -> Result<Option<oneshot::Receiver<Result<(), String>>>, LogError> {
        let mut state = self.lock();
        let lost = state.lost.iter().any(|(from, to)| (*from..=*to).contains(&position.0));
        if lost {
            let reason = format!("position {position} was lost: {}", state.lost_because);
            return Err(LogError::Unavailable(reason));
        }
        if position.0 <= *self.durable.borrow() {
            return Ok(None);
        }
        let (done, heard) = oneshot::channel();
        state.waiters.entry(position.0).or_default().push(done);
        Ok(Some(heard))
    }

    /// Follows the newest durable position.
    pub(super) fn durable(&self) -> watch::Receiver<u64> {
        self.durable.subscribe()
    }

    /// Follows the generation.
    pub(super) fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Durable events from memory; see `Tail::after`.
    pub(super) fn tail_after(
        &self,
        position: u64,
        filter: &Filter,
        limit: usize,
    ) -> Option<Vec<Arc<RecordedEvent>>> {
        self.lock().tail.after(position, filter, limit)
    }
}
