//! The log on EventStoreDB or KurrentDB: a stream of the server's for each of ours, whose positions
//! in the server's whole log are our positions, with gaps. What was copied here keeps the positions
//! that it had.
//!
//! An append returns when the server has acknowledged it, so all that has a place is durable and no
//! generation is ever lost: the server cannot write several streams at once, and what it takes one
//! after the other would not be durable by prefix if actors went ahead of it. An append whose outcome
//! is not known is sent again until it is settled, and its actor waits.
//!
//! | streams | hold |
//! | --- | --- |
//! | `PREFIX.events.STREAM` | events; the last may be one that closes the stream |
//! | `PREFIX.bodies.HASH` | a large body, in pieces |
//! | `PREFIX.keys.SCOPE` | a sealed key |
//! | `PREFIX.writer` | which process writes |
//! | `PREFIX.purged` | the names of streams that were purged, before they are deleted for ever |
//! | `PREFIX.copy` | copies that were made to here, and where some of their events stand |

mod address;
mod appends;
mod blobs;
mod claim;
mod follow;
mod keys;
mod live;
mod log;
mod names;
mod node;
mod places;
mod purges;
mod queries;
mod reads;
mod record;
mod transfer;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;
use tonic::Code;

use super::embedded::FOLLOWED_EVERY;
use super::heads::{Heads, Tip};
use super::{Filter, LogError, OpenError};
use crate::events::{RecordedEvent, StreamId};
pub use address::{Address, AddressError};
use appends::Settled;
use blobs::Blobs;
use claim::Claim;
use live::Live;
use names::Names;
use node::{Deletion, Nodes};
use places::Places;
use purges::Purges;
use reads::{Found, Stream, Wanted};
use record::{CLOSED, Read};
pub(super) use transfer::{dump, has_log, load};

/// How long a server may take to be there when the log is opened.
const OPEN_TIME_MAX: Duration = Duration::from_secs(30);
/// The pause between two looks for it.
const OPEN_PAUSE: Duration = Duration::from_millis(250);
/// How many threads do the log's own work.
const THREADS: usize = 2;

/// The log; it lets go of the server when it goes.
pub struct EventstoreLog {
    inner: Arc<Inner>,
    runtime: Mutex<Option<Runtime>>,
    /// Held while a key is looked up and made, so that a scope gets one key.
    keys: Mutex<()>,
    /// It takes nothing (more).
    closed: AtomicBool,
    is_read_only: bool,
    generation: watch::Sender<u64>,
}

/// What its tasks share.
struct Inner {
    nodes: Arc<Nodes>,
    runtime: Handle,
    blobs: Arc<Blobs>,
    tips: Mutex<Heads>,
    purges: Purges,
    /// `None` where it is opened for nobody in particular, or read alone.
    claim: OnceLock<Claim>,
    /// The newest position of ours that is known.
    durable: watch::Sender<u64>,
    /// From which all followers read, once there was one.
    live: Mutex<Option<Arc<Live>>>,
    places: Places,
    streams: Names,
    closed_streams: Names,
    key_scopes: Names,
    bodies: Names,
}

/// For what a log is opened.
#[derive(Default)]
struct Purpose {
    writes: bool,
    /// Whoever writes, where no other may.
    holder: Option<String>,
    /// A copy that is not whole is opened as well.
    copies: bool,
}

/// Where a log ends.
enum End {
    Nothing,
    /// The position of the last event, and where the server has it.
    At(u64, u64),
    /// Of the last append the end is not shown yet.
    Half,
}

impl Drop for EventstoreLog {
    fn drop(&mut self) {
        self.end();
    }
}

impl EventstoreLog {
    /// Opens the log for reading and writing; waits a while for the server. Nobody is kept away.
    pub fn open(address: Address) -> Result<Self, LogError> {
        let purpose = Purpose { writes: true, ..Purpose::default() };
        Self::open_for(address, purpose).map(|(log, _)| log)
    }

    /// The same for a process that is known by a name, while no other holds the log. Waits until
    /// whoever holds it was heard, or was not for a while. Errors: `Held`.
    pub fn open_as(address: Address, holder: &str) -> Result<Self, OpenError> {
        let shown = address.to_string();
        let purpose =
            Purpose { writes: true, holder: Some(holder.to_owned()), ..Purpose::default() };
        match Self::open_for(address, purpose)? {
            (log, None) => Ok(log),
            (_, Some(holder)) => Err(OpenError::Held { address: shown, holder }),
        }
    }

    /// Opens the log for reading alone, also while a server writes it.
    pub fn open_read_only(address: Address) -> Result<Self, LogError> {
        Self::open_for(address, Purpose::default()).map(|(log, _)| log)
    }

    /// Follows what others write for as long as the log is open.
    pub fn follow(&self) {
        let (inner, generation) = (self.inner.clone(), self.generation.clone());
        self.inner.runtime.spawn(async move {
            // Followers move the newest position, too.
            let (mut end, mut newest) = (*inner.durable.borrow(), 0);
            loop {
                tokio::time::sleep(FOLLOWED_EVERY).await;
                match inner.catch_up(&mut end, &mut newest).await {
                    Ok(true) => generation.send_modify(|generation| *generation += 1),
                    Ok(false) => {}
                    // A server that is away comes back.
                    Err(error) => tracing::debug!(%error, "the end of the log is not known"),
                }
            }
        });
    }

    /// With who else holds it.
    fn open_for(address: Address, purpose: Purpose) -> Result<(Self, Option<String>), LogError> {
        super::choose_cryptography();
        let unavailable = |reason: String| LogError::Unavailable(reason);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("log")
            .enable_all()
            .build()
            .map_err(|error| unavailable(error.to_string()))?;
        let prefix = address.prefix.clone();
        let named = |what: &str| format!("{prefix}.{what}.");
        let of_streams = |what: &str| {
            let before = named(what);
            Names::new(Wanted::Streams(vec![before.clone()]), before)
        };
        let of_type = |event_type: &str, what: &str| {
            Names::new(Wanted::Types(vec![event_type.to_owned()]), named(what))
        };
        let inner = Arc::new(Inner {
            nodes: Arc::new(Nodes::new(address, runtime.handle().clone())),
            runtime: runtime.handle().clone(),
            blobs: Arc::new(Blobs::new()),
            tips: Mutex::default(),
            purges: Purges::new(format!("{prefix}.purged")),
            claim: OnceLock::new(),
            durable: watch::Sender::new(0),
            live: Mutex::default(),
            places: Places::new(format!("{prefix}.copy")),
            streams: of_streams("events"),
            closed_streams: of_type(CLOSED, "events"),
            key_scopes: of_streams("keys"),
            bodies: of_type(blobs::BODY, "bodies"),
        });
        let opened = inner.clone();
        let log = Self {
            inner,
            runtime: Mutex::new(Some(runtime)),
            keys: Mutex::new(()),
            closed: AtomicBool::new(!purpose.writes),
            is_read_only: !purpose.writes,
            generation: watch::Sender::new(0),
        };
        let other = log.wait(async move { opened.open(purpose).await })?;
        Ok((log, other))
    }

    /// Waits for work of the log's own threads.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LogError>> + Send + 'static,
    ) -> Result<T, LogError> {
        let (done, heard) = std::sync::mpsc::sync_channel(1);
        self.inner.runtime.spawn(async move { done.send(work.await) });
        heard.recv().unwrap_or_else(|_| Err(closed()))
    }

    /// Ends all that works for it.
    fn end(&self) {
        if let Some(runtime) = lock(&self.runtime).take() {
            // It may be dropped where nothing may wait.
            runtime.shutdown_background();
        }
    }

    /// Errors: it was closed, or is read alone.
    fn expect_open(&self) -> Result<(), LogError> {
        match self.closed.load(Ordering::Relaxed) {
            true => Err(closed()),
            false => Ok(()),
        }
    }

    /// Work of the log's own threads, which ends also where nobody waits for it any more.
    async fn work<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LogError>> + Send + 'static,
    ) -> Result<T, LogError> {
        self.inner.runtime.spawn(work).await.unwrap_or_else(|_| Err(closed()))
    }

    /// The same for what changes something, which only whoever holds the log may do.
    async fn change<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LogError>> + Send + 'static,
    ) -> Result<T, LogError> {
        self.expect_open()?;
        self.work(self.inner.clone().held_during(work)).await
    }
}

fn closed() -> LogError {
    LogError::Unavailable("the log is closed".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Inner {
    /// Gives who else holds the log that is to be held.
    async fn open(self: Arc<Self>, purpose: Purpose) -> Result<Option<String>, LogError> {
        let address = self.nodes.address.to_string();
        let found = tokio::time::timeout(OPEN_TIME_MAX, async {
            while let Err(reason) = self.nodes.find().await {
                tracing::warn!(log = address, reason, "the log's server is not there yet");
                tokio::time::sleep(OPEN_PAUSE).await;
            }
        });
        if found.await.is_err() {
            let reason = self.nodes.find().await.err().unwrap_or_default();
            return Err(LogError::Unavailable(format!("{address}: {reason}")));
        }
        self.expect_whole(purpose.copies).await?;
        if let Some(holder) = purpose.holder {
            match claim::take(&self.nodes, &holder).await? {
                Ok(claim) => drop(self.claim.set(claim)),
                Err(other) => return Ok(Some(other)),
            }
            let held = self.clone();
            self.runtime.spawn(async move {
                if let Some(claim) = held.claim.get() {
                    claim.keep(&held.nodes).await;
                }
            });
        }
        self.expect_whole(purpose.copies).await?;
        match purpose.writes {
            true => self.purges.finish(&self.nodes).await?,
            false => self.learn_purges().await?,
        }
        loop {
            match self.end().await? {
                End::Nothing => return Ok(None),
                End::At(position, at) => {
                    self.passed(position, at);
                    return Ok(None);
                }
                End::Half => tokio::time::sleep(OPEN_PAUSE / 10).await,
            }
        }
    }

    /// Errors: what is there is a copy that is not whole, and `copies` says that it is to be.
    async fn expect_whole(&self, copies: bool) -> Result<(), LogError> {
        self.places.learn(&self.nodes).await?;
        match copies || self.places.is_whole() {
            true => Ok(()),
            false => Err(LogError::Unavailable(format!(
                "{}: a copy that is not whole; copying again goes on with it",
                self.nodes.address
            ))),
        }
    }

    /// Where the log ends now.
    async fn end(&self) -> Result<End, LogError> {
        let ours = self.wanted(&Filter::default());
        let mut count = 1;
        loop {
            let last = reads::last_of_all(&self.nodes, &ours, count).await?;
            if let Some(found) = last.iter().find(|found| self.is_ours(found))
                && let Some(stream) = self.stream_of(found)
            {
                let read = record::read(stream, found)?;
                return Ok(match read.ends_group {
                    true => End::At(read.event.position.0, found.position),
                    false => End::Half,
                });
            }
            if (last.len() as u64) < count {
                return Ok(End::Nothing);
            }
            // So many were closed or purged last.
            count *= 8;
        }
    }

    /// Takes in how far others have written after an end; false where that is no further. `newest`
    /// is the last place of the server's that was looked at.
    async fn catch_up(&self, end: &mut u64, newest: &mut u64) -> Result<bool, LogError> {
        // To find the last of ours the server walks past all that others wrote after it.
        let last = reads::last_of_all(&self.nodes, &Wanted::Everything, 1).await?;
        let last = last.first().map_or(0, |found| found.position);
        if last == *newest {
            return Ok(false);
        }
        let End::At(position, at) = self.end().await? else { return Ok(false) };
        *newest = last;
        if position <= *end {
            return Ok(false);
        }
        self.learn_purges().await?;
        self.places.learn(&self.nodes).await?;
        *lock(&self.tips) = Heads::default();
        *end = position;
        self.passed(position, at);
        Ok(true)
    }

    /// Returns once it is sure that no other process has taken the log over.
    async fn held(&self) -> Result<(), LogError> {
        match self.claim.get() {
            Some(claim) => claim.held().await,
            None => Ok(()),
        }
    }

    /// Does something once it is sure that no other process has taken the log over. Errors: one has
    /// by the end, too.
    async fn held_during<T>(
        self: Arc<Self>,
        work: impl Future<Output = Result<T, LogError>>,
    ) -> Result<T, LogError> {
        self.held().await?;
        let done = work.await?;
        self.held().await?;
        Ok(done)
    }

    fn events_before(&self) -> String {
        format!("{}.events.", self.nodes.address.prefix)
    }

    /// What is asked of the server: our events, of some kinds or all.
    fn wanted(&self, filter: &Filter) -> Wanted {
        let ours = self.events_before();
        Wanted::Streams(match filter.kinds.as_slice() {
            [] => vec![ours],
            kinds => kinds.iter().map(|kind| format!("{ours}{kind}-")).collect(),
        })
    }

    fn stream_name(&self, stream: &StreamId) -> String {
        format!("{}{stream}", self.events_before())
    }

    fn stream_of(&self, found: &Found) -> Option<StreamId> {
        let name = found.stream.strip_prefix(&self.events_before())?;
        Some(StreamId(name.into()))
    }

    /// Whether it is an event that readers of the log see.
    fn is_ours(&self, found: &Found) -> bool {
        let shown = found.event_type != CLOSED && !found.event_type.starts_with('$');
        shown && self.stream_of(found).is_some_and(|stream| !self.is_purged(&stream))
    }

    fn is_purged(&self, stream: &StreamId) -> bool {
        self.purges.has(stream)
    }

    async fn learn_purges(&self) -> Result<(), LogError> {
        self.purges.learn(&self.nodes).await
    }

    /// An event of ours stands at the position, and at that of the server, and is durable.
    fn passed(&self, position: u64, at: u64) {
        self.durable.send_if_modified(|durable| {
            let newer = position > *durable;
            *durable = position.max(*durable);
            newer
        });
        self.places.passed(position, at);
    }

    /// The event with its body, wherever that lies; `None` where it was purged just now.
    async fn whole(&self, read: Read) -> Result<Option<RecordedEvent>, LogError> {
        let Some(id) = read.body else { return Ok(Some(read.event)) };
        let lost = || LogError::Damaged(format!("the body {id:?} of an event is not there"));
        let Some(content) = blobs::read(&self.nodes, &id).await? else {
            // A purge says so before it takes bodies away.
            self.learn_purges().await?;
            return if self.is_purged(&read.event.stream) { Ok(None) } else { Err(lost()) };
        };
        let body = std::str::from_utf8(&content).map_err(|_| lost())?;
        Ok(Some(RecordedEvent { body: body.into(), ..read.event }))
    }

    /// Where a stream ends, as it was last known here.
    async fn tip(&self, stream: &StreamId) -> Result<Tip, LogError> {
        let known = lock(&self.tips).get(stream).map(|entry| entry.tip);
        match known {
            Some(tip) => Ok(tip),
            None => self.fresh_tip(stream).await,
        }
    }

    /// Where a stream ends, as the server says.
    async fn fresh_tip(&self, stream: &StreamId) -> Result<Tip, LogError> {
        let found = reads::last(&self.nodes, &self.stream_name(stream), 2).await?;
        let tip = match found {
            Stream::Gone => Tip { tombstoned: true, ..Tip::default() },
            Stream::None => Tip::default(),
            Stream::Events(events) => {
                let tombstoned = events.first().is_some_and(|last| last.event_type == CLOSED);
                let last = events.get(usize::from(tombstoned));
                let last = last.map(|last| record::read(stream.clone(), last)).transpose()?;
                match last.map(|read| read.event) {
                    Some(event) => Tip { next: event.revision.0 + 1, hash: event.hash, tombstoned },
                    None => Tip { tombstoned, ..Tip::default() },
                }
            }
        };
        self.know(stream, tip);
        Ok(tip)
    }

    fn know(&self, stream: &StreamId, tip: Tip) {
        let mut tips = lock(&self.tips);
        match tips.get(stream) {
            Some(entry) if entry.tip.next > tip.next && !tip.tombstoned => {}
            Some(entry) => entry.tip = tip,
            None => tips.insert(stream, tip),
        }
    }

    /// Closes a stream to appends.
    async fn close(&self, stream: &StreamId) -> Result<(), LogError> {
        loop {
            let tip = self.fresh_tip(stream).await?;
            if tip.tombstoned {
                return Ok(());
            }
            let id = crate::clock::Clock::fresh_id(&crate::clock::SystemClock);
            let due = wire::Proposed::new(id, CLOSED, Vec::new(), bytes::Bytes::new());
            let name = self.stream_name(stream);
            if appends::append(&self.nodes, &name, tip.next, vec![due]).await? != Settled::Refused {
                self.know(stream, Tip { tombstoned: true, ..tip });
                return Ok(());
            }
        }
    }
}

/// Deletes a stream; one that is not there, or ends elsewhere by now, counts as deleted.
async fn delete(nodes: &Nodes, stream: &str, deletion: Deletion) -> Result<(), LogError> {
    loop {
        let node = nodes.leader().await;
        let Err(status) = nodes.delete(&node, stream, deletion).await else { return Ok(()) };
        match status.code() {
            // It is deleted, or was not there, or was written since.
            Code::FailedPrecondition => return Ok(()),
            Code::PermissionDenied | Code::Unauthenticated => {
                let reason = format!("the server lets nobody of ours delete {stream}");
                return Err(LogError::Unavailable(reason));
            }
            _ => nodes.lost(&node, status.message()),
        }
        tokio::time::sleep(appends::AGAIN_PAUSE).await;
    }
}
