//! The embedded log: the ledger in memory before a store that keeps what is durable. One
//! implementation of `EventLog` for the memory, the SQLite and the MariaDB store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::timeout;

use super::ledger::{Ledger, StoredKey};
use super::store::Store;
use super::{
    Appended, BlobId, EventLog, Filter, Head, LogError, MAY_WAIT, OwnedLog, Reseal, StreamSlice,
    apart, chain, subscription,
};
use crate::events::{NewEvent, Position, RecordedEvent, StreamId, StreamRevision};
use crate::metrics::{Measured, Page};

/// How often it is looked for what others have written.
pub(super) const FOLLOWED_EVERY: Duration = Duration::from_millis(100);

/// How many look something up at the same time, each on a thread of its own, in a store that may wait
/// for a server: more would wait for its readers.
const LOOKS_MAX: usize = 16;
/// How long one waits for its turn: as long as a look takes at most.
const TURN_WITHIN: Duration = Duration::from_secs(20);

/// A log that one process writes. `MemoryLog`, `SqliteLog` and `MariadbLog` are its kinds.
#[expect(private_bounds, reason = "the stores of this room are all there are")]
pub struct Embedded<S: Store> {
    pub(super) ledger: Arc<Ledger>,
    pub(super) store: Arc<S>,
    looks: Arc<Semaphore>,
    is_read_only: bool,
}

#[expect(private_bounds, reason = "the stores of this room are all there are")]
impl<S: Store> Embedded<S> {
    pub(super) fn of(ledger: Arc<Ledger>, store: Arc<S>) -> Self {
        Self { ledger, store, looks: Arc::new(Semaphore::new(LOOKS_MAX)), is_read_only: false }
    }

    /// A log that others write, as it stands now.
    pub(super) fn to_read(store: Arc<S>) -> Result<Self, LogError> {
        let ledger = Arc::new(Ledger::new(store.end()?));
        ledger.refuse("it was opened for reading alone");
        let mut log = Self::of(ledger, store);
        log.is_read_only = true;
        Ok(log)
    }

    /// Follows what others write for as long as the log is open. Errors: no thread can be started.
    pub fn follow(&self) -> std::io::Result<()> {
        let (ledger, store) = (Arc::clone(&self.ledger), Arc::clone(&self.store));
        let follow = move || {
            while !ledger.is_closed() {
                match store.end() {
                    Ok(end) => ledger.moved_to(end),
                    // A server that is away comes back.
                    Err(error) => tracing::debug!(%error, "the end of the log is not known"),
                }
                std::thread::sleep(FOLLOWED_EVERY);
            }
        };
        std::thread::Builder::new().name("log-follower".to_owned()).spawn(follow).map(drop)
    }

    /// Looks something up in the store. Where that may wait for a server it is not done by a thread
    /// that others need; one that may wait needs no other, for which it would wait in vain once all
    /// do the same.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&S) -> Result<T, LogError> + Send + 'static,
    ) -> Result<T, LogError> {
        if !S::WAITS || MAY_WAIT.get() || Handle::try_current().is_err() {
            return look(&self.store);
        }
        let stopped = || LogError::Unavailable("the log's reader stopped".to_owned());
        let turn = timeout(TURN_WITHIN, Arc::clone(&self.looks).acquire_owned()).await;
        let late = |_| LogError::Unavailable("all that is asked of it waits".to_owned());
        let turn = turn.map_err(late)?.map_err(|_| stopped())?;
        let store = Arc::clone(&self.store);
        let looked = apart(move || {
            // The turn is over when the look is, whoever still waits for it.
            let _turn = turn;
            look(&store)
        });
        looked.await.unwrap_or_else(|| Err(stopped()))
    }

    /// Where a stream ends is known from here on, where looking that up may wait for a server.
    async fn find_tip(&self, stream: &StreamId, expected: Head) -> Result<(), LogError> {
        while S::WAITS
            && let Some(evictions) = self.ledger.lacks_tip(stream, expected)
        {
            let wanted = stream.clone();
            let tip = self.look(move |store| store.tip(&wanted)).await?;
            self.ledger.learn_tip(stream, tip, evictions);
            self.ledger.refuse_unless_writable()?;
        }
        Ok(())
    }

    fn stored_key(&self, scope: &str) -> Result<StoredKey, LogError> {
        match self.ledger.key(scope) {
            Some(key) => Ok(key),
            None => self.store.key(scope),
        }
    }
}

impl<S: Store> Drop for Embedded<S> {
    fn drop(&mut self) {
        self.ledger.close();
        self.store.finish(&self.ledger);
        self.ledger.abandon();
    }
}

#[async_trait]
impl<S: Store> OwnedLog for Embedded<S> {
    fn checkpoint(&self) -> Result<Option<String>, LogError> {
        self.store.checkpoint()
    }

    async fn settle(&self) -> Result<(), LogError> {
        let heard = self.ledger.settle()?;
        self.store.queued(&self.ledger);
        hear(heard).await
    }

    fn close(&self) {
        self.ledger.close();
        self.store.finish(&self.ledger);
    }
}

impl<S: Store> Measured for Embedded<S> {
    fn measure(&self, page: &mut Page) {
        self.ledger.measure(page);
        page.gauge("hearth_log_size_bytes", "The files of the log.", self.store.size());
    }
}

#[async_trait]
impl<S: Store> EventLog for Embedded<S> {
    async fn append(
        &self,
        stream: &StreamId,
        expected: Head,
        events: Vec<NewEvent>,
    ) -> Result<Appended, LogError> {
        if let Some(position) = self.ledger.pressure() {
            self.durable(position).await?;
        }
        self.find_tip(stream, expected).await?;
        let appended = self.ledger.admit(stream, expected, events, || self.store.tip(stream))?;
        self.store.queued(&self.ledger);
        Ok(appended)
    }

    async fn read(&self, stream: &StreamId, from: StreamRevision) -> Result<StreamSlice, LogError> {
        loop {
            let unwritten = self.ledger.unwritten(stream, from.0);
            let whole = unwritten.events.first().is_some_and(|event| event.revision == from);
            let mut events = match whole {
                true => Vec::new(),
                false => {
                    let wanted = stream.clone();
                    self.look(move |store| store.stream(&wanted, from.0)).await?
                }
            };
            if from.0 == 0 {
                chain::check_stream(&events)?;
            }
            let next = events.last().map_or(from.0, |event| event.revision.0 + 1);
            events.extend(unwritten.events.into_iter().filter(|event| event.revision.0 >= next));
            let next = match (events.last(), unwritten.next) {
                (Some(last), _) => last.revision.0 + 1,
                // Nothing from there on: the stream may end before.
                (None, Some(next)) => next,
                (None, None) if from.0 == 0 => 0,
                (None, None) => {
                    let wanted = stream.clone();
                    self.look(move |store| store.tip(&wanted)).await?.next
                }
            };
            let generation = unwritten.generation;
            // Otherwise some of it may have been lost while it was read. What others write is not.
            if self.is_read_only || *self.ledger.generation().borrow() == generation {
                return Ok(StreamSlice {
                    events,
                    head: Head { next, generation, ..Head::default() },
                });
            }
        }
    }

    async fn read_all(
        &self,
        after: Position,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        if !self.is_read_only
            && let Some(events) = self.ledger.tail_after(after.0, filter, limit)
        {
            return Ok(events);
        }
        let mut after = after;
        loop {
            let filter = filter.clone();
            let scan = self.look(move |store| store.scan(after, &filter, limit)).await?;
            // It may have stopped at a damaged place, with events behind it.
            if !scan.events.is_empty() || scan.to <= after {
                return Ok(scan.events);
            }
            after = scan.to;
        }
    }

    fn subscribe(
        &self,
        after: Position,
        filter: Filter,
    ) -> BoxStream<'static, Result<Arc<RecordedEvent>, LogError>> {
        subscription::follow(self.ledger.clone(), self.store.clone(), after, filter)
    }

    async fn durable(&self, position: Position) -> Result<(), LogError> {
        match self.ledger.wait_durable(position)? {
            None => Ok(()),
            Some(heard) => hear(heard).await,
        }
    }

    fn durable_position(&self) -> Position {
        Position(*self.ledger.durable().borrow())
    }

    fn is_writable(&self) -> bool {
        self.ledger.is_writable()
    }

    fn is_taken_over(&self) -> bool {
        self.ledger.is_taken_over()
    }

    fn waits(&self) -> bool {
        S::WAITS
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn generation(&self) -> watch::Receiver<u64> {
        self.ledger.generation()
    }

    async fn tombstone(&self, stream: &StreamId) -> Result<(), LogError> {
        self.find_tip(stream, Head::default()).await?;
        let heard = self.ledger.tombstone(stream, || self.store.tip(stream))?;
        self.store.queued(&self.ledger);
        hear(heard).await
    }

    async fn put_blob(&self, content: &[u8]) -> Result<BlobId, LogError> {
        let id = BlobId::of(content);
        if self.ledger.takes_blob(&id) {
            let room = self.ledger.room_for(content.len()).await?;
            self.ledger.put_blob(&id, content, room);
            self.store.queued(&self.ledger);
        }
        Ok(id)
    }

    async fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
        if let Some(content) = self.ledger.blob(id) {
            return Ok(Some(content));
        }
        let wanted = id.clone();
        let content = self.look(move |store| store.blob(&wanted)).await?;
        match &content {
            Some(content) if BlobId::of(content) != *id => {
                Err(LogError::Damaged(format!("blob {id:?} is not what was kept under its id")))
            }
            _ => Ok(content),
        }
    }

    fn key(&self, scope: &str, fresh: &dyn Fn() -> Vec<u8>) -> Result<Vec<u8>, LogError> {
        loop {
            // No lock is held over the look, for a server may be silent. A key that others made
            // meanwhile shows in the ledger, or in the count once it is written.
            let written = self.ledger.keys_written();
            if let Some(key) = self.find_key(scope)? {
                return Ok(key);
            }
            let key = fresh();
            if self.ledger.put_key(scope, &key, written)? {
                self.store.queued(&self.ledger);
                return Ok(key);
            }
        }
    }

    fn find_key(&self, scope: &str) -> Result<Option<Vec<u8>>, LogError> {
        match self.stored_key(scope)? {
            StoredKey::Sealed(key) => Ok(Some(key)),
            StoredKey::Destroyed => Err(LogError::KeyDestroyed(scope.to_owned())),
            StoredKey::Absent => Ok(None),
        }
    }

    fn keys(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        self.store.keys(after, limit)
    }

    async fn reseal_keys(&self, batch: Vec<Reseal>) -> Result<(), LogError> {
        let heard = self.ledger.reseal_keys(batch)?;
        self.store.queued(&self.ledger);
        hear(heard).await
    }

    async fn destroy_key(&self, scope: &str) -> Result<(), LogError> {
        let heard = self.ledger.destroy_key(scope)?;
        self.store.queued(&self.ledger);
        hear(heard).await
    }

    fn streams(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<StreamId>, LogError> {
        self.store.streams(kind, after, limit)
    }

    async fn purge(&self, streams: Vec<StreamId>) -> Result<(), LogError> {
        for stream in &streams {
            self.find_tip(stream, Head::default()).await?;
        }
        let heard = self.ledger.purge(streams, |stream| self.store.tip(stream))?;
        self.store.queued(&self.ledger);
        hear(heard).await
    }

    fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError> {
        self.store.blobs(after, limit)
    }

    async fn drop_blobs(&self, ids: Vec<BlobId>) -> Result<usize, LogError> {
        let (count, heard) = self.ledger.drop_blobs(ids)?;
        self.store.queued(&self.ledger);
        hear(heard).await?;
        Ok(count)
    }

    async fn compact(&self, may_rewrite: bool) -> Result<(), LogError> {
        let mut spare = u64::MAX;
        loop {
            let heard = self.ledger.compact(may_rewrite)?;
            self.store.queued(&self.ledger);
            hear(heard).await?;
            let left = self.store.spare()?;
            if left == 0 || left >= spare {
                return Ok(());
            }
            spare = left;
        }
    }
}

async fn hear(heard: oneshot::Receiver<Result<(), String>>) -> Result<(), LogError> {
    match heard.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(reason)) => Err(LogError::Unavailable(reason)),
        Err(_) => Err(LogError::Unavailable("the log was closed".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use futures::FutureExt;

    use super::super::heads::Tip;
    use super::super::room::BODIES_WAITING_MAX_BYTES;
    use super::super::store::Scan;
    use super::super::{MemoryLog, aside};
    use super::*;
    use crate::model::StackId;

    const ALL: usize = BODIES_WAITING_MAX_BYTES as usize;
    /// How long a thread waits in vain.
    const IN_VAIN: Duration = Duration::from_secs(20);

    /// A store whose server answers once that is told.
    struct Silent(Mutex<Receiver<()>>);

    impl Silent {
        fn answered<T>(&self, answer: T) -> Result<T, LogError> {
            let told = self.0.lock().unwrap().recv_timeout(IN_VAIN);
            told.map_err(|error| LogError::Unavailable(error.to_string()))?;
            Ok(answer)
        }
    }

    impl Store for Silent {
        const WAITS: bool = true;

        fn tip(&self, _stream: &StreamId) -> Result<Tip, LogError> {
            self.answered(Tip::default())
        }

        fn end(&self) -> Result<Position, LogError> {
            Ok(Position(0))
        }

        fn stream(&self, _: &StreamId, _: u64) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
            self.answered(Vec::new())
        }

        fn scan(&self, after: Position, _: &Filter, _: usize) -> Result<Scan, LogError> {
            self.answered(Scan { events: Vec::new(), to: after })
        }

        fn blob(&self, _id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
            self.answered(None)
        }

        fn key(&self, _scope: &str) -> Result<StoredKey, LogError> {
            self.answered(StoredKey::Absent)
        }

        fn keys(&self, _: &str, _: usize) -> Result<Vec<(String, Vec<u8>)>, LogError> {
            Ok(Vec::new())
        }

        fn streams(&self, _: &str, _: &str, _: usize) -> Result<Vec<StreamId>, LogError> {
            Ok(Vec::new())
        }

        fn blobs(&self, _: &str, _: usize) -> Result<Vec<BlobId>, LogError> {
            Ok(Vec::new())
        }

        fn finish(&self, _ledger: &Ledger) {}
    }

    /// A log in such a store, and what has that answer.
    fn silent() -> (Embedded<Silent>, Sender<()>) {
        let (answer, answers) = channel();
        let store = Arc::new(Silent(Mutex::new(answers)));
        (Embedded::of(Arc::new(Ledger::new(Position(0))), store), answer)
    }

    #[test]
    fn whoever_may_wait_needs_no_other_thread_for_a_look() {
        let (log, answer) = silent();
        let stream = StreamId::stack(StackId::default());
        let mut one = tokio::runtime::Builder::new_current_thread();
        let runtime = one.enable_time().max_blocking_threads(1).build().unwrap();
        answer.send(()).unwrap();
        let read = aside(async move { log.read(&stream, StreamRevision(0)).await.is_ok() });
        let read = runtime.block_on(async { tokio::time::timeout(IN_VAIN, read).await });
        runtime.shutdown_background();
        assert_eq!(read, Ok(Some(true)));
    }

    #[tokio::test]
    async fn a_look_has_its_turn_until_it_is_over_though_nobody_waits_for_it() {
        let (log, answer) = silent();
        let stream = StreamId::stack(StackId::default());
        assert!(log.read(&stream, StreamRevision(0)).now_or_never().is_none());
        assert_eq!(log.looks.available_permits(), LOOKS_MAX - 1);
        answer.send(()).unwrap();
        let all = log.looks.acquire_many(LOOKS_MAX as u32).await;
        assert!(all.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_whose_turn_does_not_come_is_given_up() {
        let (log, _answer) = silent();
        let _all = log.looks.acquire_many(LOOKS_MAX as u32).await.unwrap();
        let read = log.read(&StreamId::stack(StackId::default()), StreamRevision(0)).await;
        assert!(matches!(read, Err(LogError::Unavailable(_))), "{read:?}");
    }

    #[test]
    fn a_key_that_was_made_or_written_during_a_look_is_not_made_again() {
        let (log, _answer) = silent();
        let written = log.ledger.keys_written();
        let put = |key: u8| log.ledger.put_key("stack-a", &[key], written).unwrap();
        assert!(put(1));
        assert!(!put(2), "it waits for the writer");
        log.ledger.written(log.ledger.take_group().unwrap());
        assert_eq!(log.ledger.key("stack-a"), None);
        assert!(!put(2), "it was looked for before it was written");
    }

    #[tokio::test]
    async fn a_read_of_what_others_write_does_not_begin_anew_each_time_they_have_written() {
        let (answer, answers) = channel();
        let log = Embedded::to_read(Arc::new(Silent(Mutex::new(answers)))).unwrap();
        let stream = StreamId::stack(StackId::default());
        let others = async {
            log.ledger.moved_to(Position(9));
            // One answer is all it gets.
            answer.send(()).unwrap();
        };
        let (read, ()) = tokio::join!(log.read(&stream, StreamRevision(0)), others);
        assert_eq!(read.unwrap().events, []);
        assert_eq!(log.durable_position(), Position(9));
    }

    #[tokio::test]
    async fn a_server_that_is_silent_does_not_hold_up_the_thread_that_asks() {
        let (log, answer) = silent();
        let stream = StreamId::stack(StackId::default());
        // Of one thread: what tells the server to answer comes after what asks it.
        let others = || async { answer.send(()).unwrap() };
        let (read, ()) = tokio::join!(log.read(&stream, StreamRevision(0)), others());
        assert_eq!(read.unwrap().events, []);
        let filter = Filter::default();
        let (page, ()) = tokio::join!(log.read_all(Position(0), &filter, 9), others());
        assert_eq!(page.unwrap(), []);
        let unknown = BlobId("00".to_owned());
        let (blob, ()) = tokio::join!(log.blob(&unknown), others());
        assert_eq!(blob.unwrap(), None);
        let appended = log.append(&stream, Head::default(), Vec::new());
        let (appended, ()) = tokio::join!(appended, others());
        assert_eq!(appended.unwrap().position, Position(0));
        // From here on it is known where the stream ends.
        assert!(log.append(&stream, Head::default(), Vec::new()).await.is_ok());
        let ledger = Arc::clone(&log.ledger);
        let write = move || ledger.written(ledger.take_group().unwrap());
        let writer = std::thread::spawn(move || [(); 2].map(|()| write()));
        let [done, gone] = ["done", "gone"].map(StreamId::outlet);
        let (closed, ()) = tokio::join!(log.tombstone(&done), others());
        let (purged, ()) = tokio::join!(log.purge(vec![gone]), others());
        assert!(closed.is_ok() && purged.is_ok());
        writer.join().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_wait_for_a_slow_writer_hold_up_whoever_puts_more() {
        let log = MemoryLog::new();
        log.hold();
        let large = vec![7; ALL];
        let first = log.put_blob(&large).await.unwrap();
        assert_eq!(log.put_blob(&large).await.unwrap(), first, "it waits already");
        let refused = log.put_blob(b"one more").await;
        assert!(matches!(refused, Err(LogError::Unavailable(_))), "{refused:?}");
        let mut next = pin!(log.put_blob(b"one more"));
        assert!(next.as_mut().now_or_never().is_none());
        log.release();
        let next = next.await.unwrap();
        assert_eq!(log.blob(&next).await.unwrap().as_deref(), Some(&b"one more"[..]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_cannot_be_written_refuses_bodies_at_once_when_enough_wait() {
        let log = MemoryLog::new();
        log.hold();
        log.put_blob(&vec![7; ALL - 1]).await.unwrap();
        log.ledger.refuse("the disk is full");
        // What there is room for is kept, for the next try.
        log.put_blob(b"1").await.unwrap();
        let refused = log.put_blob(b"2").now_or_never();
        assert!(matches!(refused, Some(Err(LogError::Unavailable(why))) if why.contains("full")));
    }
}
