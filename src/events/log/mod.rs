//! The append-only log behind one trait.
//!
//! Output commit: `append` returns once the events have their place, and actors go on at memory
//! speed; only what leaves the process waits for `durable(position)`. The embedded log is totally
//! ordered and durable by prefix. If a group cannot be written, the generation moves on, every
//! append made with a head of the lost generation is refused, and actors are woken again from
//! what is durable.

pub mod chain;
pub mod checkpoint;
mod embedded;
mod eventstore;
mod groups;
mod heads;
mod ledger;
mod mariadb;
mod memory;
mod proof;
mod room;
mod rows;
mod sqlite;
mod store;
mod subscription;
mod tail;
mod transfer;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

pub use embedded::Embedded;
pub use eventstore::{
    Address as EventstoreAddress, AddressError as EventstoreAddressError, EventstoreLog,
};
pub use groups::Groups;
pub use mariadb::{Address, AddressError, MariadbLog, MariadbStore};
pub use memory::{MemoryLog, MemoryStore};
pub use proof::Signing;
pub use sqlite::{Audit, CopiedLog, Held, OpenError, SqliteLog, SqliteStore, audit, copy};
pub use transfer::{Side, copy_out, transfer};

use crate::metrics::Measured;

use super::{NewEvent, Position, RecordedEvent, StreamId, StreamRevision};

thread_local! {
    /// Whether the thread may wait for the log's server.
    static MAY_WAIT: Cell<bool> = const { Cell::new(false) };
}

/// Does something on a thread that may wait for the log's server, or that takes long. `None` where it
/// ended in a panic.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let marked = move || {
        // None of these threads ever has others to serve.
        MAY_WAIT.set(true);
        work()
    };
    spawn_blocking(marked).await.ok()
}

/// The same with what awaits. The log lists, and looks up keys, only for one who may wait.
pub async fn aside<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let runtime = Handle::current();
    apart(move || runtime.block_on(work)).await
}

/// The same for a look at the log itself.
pub async fn looked_aside<L: EventLog + ?Sized, T: Send + 'static>(
    log: &Arc<L>,
    look: impl FnOnce(&L) -> Result<T, LogError> + Send + 'static,
) -> Result<T, LogError> {
    let log = Arc::clone(log);
    let looked = aside(async move { look(log.as_ref()) }).await;
    looked.unwrap_or_else(|| Err(LogError::Unavailable("its reader stopped".to_owned())))
}

/// Bodies are stored in parts of this size at most, where rows have them.
const BLOB_PART_MAX_BYTES: usize = 500 << 10;

/// Says whose cryptography TLS has in the servers' clients, which take what the process has: the
/// crates bring two.
fn choose_cryptography() {
    // It may have been said before.
    let _ = tokio_rustls::rustls::crypto::aws_lc_rs::default_provider().install_default();
}

/// The content hash of a large body: `sha256` in hex.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobId(pub String);

impl BlobId {
    /// The id that a content has.
    pub fn of(content: &[u8]) -> Self {
        Self(chain::hex(&Sha256::digest(content)))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Where a stream ends, as its reader or last writer knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Head {
    /// How many events the stream has; the next one gets this revision.
    pub next: u64,
    /// The log's generation in which that was learned.
    pub generation: u64,
    /// The stream's id was made by this process, and nothing is written yet: there is nothing to
    /// look for.
    pub is_minted: bool,
}

impl Head {
    /// Of a stream whose id was made by this process, and to which nothing was written yet.
    pub fn minted(generation: u64) -> Self {
        Self { next: 0, generation, is_minted: true }
    }
}

/// Where appended events came to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Of the last event appended.
    pub position: Position,
    pub head: Head,
}

/// A stream, or the part of it from the revision asked for.
#[derive(Clone, Debug, Default)]
pub struct StreamSlice {
    pub events: Vec<Arc<RecordedEvent>>,
    pub head: Head,
}

/// Which events a reader of the whole log wants; empty takes all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Stream kinds: `stack`, `resource`, `project`.
    pub kinds: Vec<&'static str>,
}

impl Filter {
    /// Whether events of the stream are wanted.
    pub fn takes(&self, stream: &StreamId) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&stream.kind())
    }
}

/// A scope's sealed key and what is put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reseal {
    pub scope: String,
    pub from: Vec<u8>,
    pub to: Vec<u8>,
}

/// Why the log did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Somebody else has written to the stream: the writer's state is old.
    #[error("stream {stream} is at {actual}, not at {expected}")]
    Conflict { stream: StreamId, expected: u64, actual: u64 },
    /// The head belongs to a generation whose last events were lost before they were durable.
    #[error("stream {stream} was written ahead of a log that failed; read it again")]
    Lost { stream: StreamId },
    /// The log cannot be written now (disk full, file gone); nothing of the group was kept.
    #[error("the log cannot be written: {0}")]
    Unavailable(String),
    /// What is stored is not what was written.
    #[error("the log is damaged: {0}")]
    Damaged(String),
    #[error("stream {0} has been deleted")]
    Tombstoned(StreamId),
    /// The scope's key has been destroyed, and with it what it sealed.
    #[error("the key of {0} has been destroyed")]
    KeyDestroyed(String),
}

/// An append-only log of events. All methods may be called from any thread.
#[async_trait]
pub trait EventLog: Send + Sync + 'static {
    /// Gives the events their place at the end of the stream, all or none. Not yet durable.
    /// Errors: `Conflict` when `expected.next` is not the stream's length, `Lost`, `Unavailable`.
    async fn append(
        &self,
        stream: &StreamId,
        expected: Head,
        events: Vec<NewEvent>,
    ) -> Result<Appended, LogError>;

    /// The stream from a revision on (events that have their place, durable or not), and its head.
    /// A stream that was never written is empty.
    async fn read(&self, stream: &StreamId, from: StreamRevision) -> Result<StreamSlice, LogError>;

    /// Where a stream ends, without what it has. One that is purged ends where it began.
    async fn head(&self, stream: &StreamId) -> Result<Head, LogError> {
        // No stream is that long.
        Ok(self.read(stream, StreamRevision(u32::MAX.into())).await?.head)
    }

    /// Up to `limit` durable events of the whole log after a position, in order.
    async fn read_all(
        &self,
        after: Position,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError>;

    /// Durable events after a position: those stored, then those to come, without gap or repeat.
    fn subscribe(
        &self,
        after: Position,
        filter: Filter,
    ) -> BoxStream<'static, Result<Arc<RecordedEvent>, LogError>>;

    /// Returns when everything up to the position is on disk; `Lost` or `Unavailable` when it was
    /// appended and could not be kept.
    async fn durable(&self, position: Position) -> Result<(), LogError>;

    /// The newest durable position.
    fn durable_position(&self) -> Position;

    /// Whether appends are taken: not while the disk is full, or once the log is closed.
    fn is_writable(&self) -> bool;

    /// Whether another process writes the log from now on: this one will not again.
    fn is_taken_over(&self) -> bool {
        false
    }

    /// About how far apart the positions are of two events that follow each other.
    fn spacing(&self) -> u64 {
        1
    }

    /// Whether looking up a key may wait for a server, so that it is nothing for a thread that
    /// serves others meanwhile.
    fn waits(&self) -> bool {
        false
    }

    /// Whether it was opened for reading alone: others write it.
    fn is_read_only(&self) -> bool;

    /// The generation: moves on each time that appended events were lost, and, in a log that others
    /// write, when there is more of it. Watchers drop every actor whose state is another than the
    /// log's.
    fn generation(&self) -> tokio::sync::watch::Receiver<u64>;

    /// Refuses further appends to the stream; its events stay until they are purged.
    async fn tombstone(&self, stream: &StreamId) -> Result<(), LogError>;

    /// Keeps a body by its content; durable no later than any event appended after this returned.
    /// Waits while 64 MiB of bodies are not kept yet. Errors: `Unavailable` where there are as many
    /// after a while; then the body is not kept.
    async fn put_blob(&self, content: &[u8]) -> Result<BlobId, LogError>;

    /// A body by its id; `None` where there is none.
    async fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError>;

    /// The sealed key of a scope (a stack or project); `fresh` is stored and returned where there
    /// is none yet, durable no later than any event appended afterwards. Keys live beside the log,
    /// not in it, so that they can be destroyed. Errors: `KeyDestroyed`, `Unavailable`.
    fn key(&self, scope: &str, fresh: &dyn Fn() -> Vec<u8>) -> Result<Vec<u8>, LogError>;

    /// The sealed key of a scope, if it has one.
    fn find_key(&self, scope: &str) -> Result<Option<Vec<u8>>, LogError>;

    /// The next scopes after one, in the order of their names, with their sealed keys as they are on
    /// disk. Destroyed ones are left out.
    fn keys(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, LogError>;

    /// Puts other sealed keys in place of those that are still `from`; returns when that and every
    /// key made before is on disk.
    async fn reseal_keys(&self, batch: Vec<Reseal>) -> Result<(), LogError>;

    /// Destroys a scope's key: what it sealed can never be read again.
    async fn destroy_key(&self, scope: &str) -> Result<(), LogError>;

    /// The next streams of a kind after one, in the order of their names, as they are on disk.
    /// Purged ones are left out.
    fn streams(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<StreamId>, LogError>;

    /// Takes the events of the streams away for good and closes the streams; returns when that is
    /// on disk. The hash of each event stays, so that the log can be proved still.
    async fn purge(&self, streams: Vec<StreamId>) -> Result<(), LogError>;

    /// The next bodies after one, in the order of their ids, as they are on disk.
    fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError>;

    /// Drops those of the bodies that nobody has put for a while, for whoever puts one is about to
    /// refer to it; returns how many went when they are off the disk.
    async fn drop_blobs(&self, ids: Vec<BlobId>) -> Result<usize, LogError>;

    /// Gives the space of what was taken away back to the file system, in steps between which
    /// others write. A file of the first format is rewritten as a whole, if that is allowed.
    async fn compact(&self, may_rewrite: bool) -> Result<(), LogError>;
}

/// A log that a process has opened, whatever keeps it.
#[async_trait]
pub trait OwnedLog: EventLog + Measured {
    /// The checkpoint at the end of what is durable, as text; `None` where none was ever made.
    fn checkpoint(&self) -> Result<Option<String>, LogError>;

    /// Puts the newest checkpoint beside the log, where one is kept there, and brings what is
    /// durable into the log's own file, as far as readers let it.
    async fn settle(&self) -> Result<(), LogError>;

    /// Writes what is queued and lets go of what keeps it, whoever still holds the log; it takes
    /// nothing more.
    fn close(&self);
}
