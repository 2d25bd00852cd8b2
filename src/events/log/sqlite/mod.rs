//! The embedded default: one SQLite file in WAL mode with `synchronous=FULL`, one writer thread
//! that commits in groups, and readers on connections of their own.

mod audit;
mod copy;
mod proof;
mod reader;
mod schema;
mod transfer;
mod writer;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::embedded::Embedded;
use super::heads::Tip;
use super::ledger::{Ledger, StoredKey};
use super::proof::Signing;
use super::store::{Scan, Store};
use super::{BlobId, Filter, LogError};
use crate::events::signing::SigningKeyError;
use crate::events::{Position, RecordedEvent, StreamId};
use crate::private_files;
pub use audit::{Audit, Held, audit};
pub use copy::{CopiedLog, copy};
use proof::Proof;
use reader::Readers;
pub(super) use transfer::{catch_up, dump, load};
use writer::{SizeLimit, Writer};

/// A log in one file.
pub type SqliteLog = Embedded<SqliteStore>;

/// What a `SqliteLog` works with.
pub struct SqliteStore {
    readers: Readers,
    limit: SizeLimit,
    running: Mutex<Option<Running>>,
}

/// The writer thread and the lock on the file.
struct Running {
    writer: JoinHandle<()>,
    _lock: File,
}

/// Why a log file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the log {path} is in use by another process: stop that first (`fuser {path}.lock` names it)"
    )]
    InUse { path: PathBuf },
    #[error("{path} is not a log of Hearth")]
    NotALog { path: PathBuf },
    #[error("the log {path} was written by a newer version of Hearth (format {found})")]
    Newer { path: PathBuf, found: i64 },
    #[error("could not open the log {path}")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("could not open the log {path}")]
    Sqlite {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("the log {address} is in use by {holder}")]
    Held { address: String, holder: String },
    #[error("the database {address} holds a log of a newer version of Hearth (format {found})")]
    NewerTables { address: String, found: u64 },
    #[error("could not open the log {address}: {reason}")]
    Server { address: String, reason: String },
    #[error("the log could not be signed")]
    Signing(#[from] SigningKeyError),
    #[error(transparent)]
    Log(#[from] LogError),
}

impl SqliteLog {
    /// The newest format, which is what this version writes.
    pub const FORMAT: i64 = schema::FORMAT;

    /// Opens the log for reading and writing; makes it where there is none. One process at a time.
    /// What is written is not signed.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_for(path, || Ok(None))
    }

    /// As `open`; the end of the log is signed with each transaction. The key is asked for once the
    /// log is locked, so that of two processes at most one makes it.
    pub fn open_signed(
        path: &Path,
        signing: impl FnOnce() -> Result<Signing, SigningKeyError>,
    ) -> Result<Self, OpenError> {
        Self::open_for(path, || signing().map(Some))
    }

    fn open_for(
        path: &Path,
        signing: impl FnOnce() -> Result<Option<Signing>, SigningKeyError>,
    ) -> Result<Self, OpenError> {
        let lock = lock(path)?;
        let signing = signing()?;
        let mut connection = schema::open(path)?;
        let beside = signing.as_ref().map(|signing| signing.beside.clone());
        let proof = Proof::open(&mut connection, signing)
            .map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })?;
        let readers = Readers::new(path);
        let ledger = Arc::new(Ledger::new(readers.end()?));
        let limit = SizeLimit::default();
        let writer = Writer::new(connection, path, limit.clone(), proof, beside)
            .map_err(|source| OpenError::File { path: path.to_owned(), source })?;
        let writing = ledger.clone();
        let thread = std::thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(move || writer.run(&writing))
            .map_err(|source| OpenError::File { path: path.to_owned(), source })?;
        let running = Mutex::new(Some(Running { writer: thread, _lock: lock }));
        Ok(Self::of(ledger, Arc::new(SqliteStore { readers, limit, running })))
    }

    /// Opens the log for reading alone, also while a server writes it. It ends where it ends
    /// now, unless it is followed.
    pub fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        schema::check(path)?;
        let readers = Readers::new(path);
        let (limit, running) = (SizeLimit::default(), Mutex::new(None));
        Ok(Self::to_read(Arc::new(SqliteStore { readers, limit, running }))?)
    }

    /// The format of the log's file, which opening it for writing brings to `FORMAT`.
    pub fn format(path: &Path) -> Result<i64, OpenError> {
        schema::check(path)
    }

    /// Keeps every process from writing the log for as long as what is returned lives.
    pub fn lock(path: &Path) -> Result<File, OpenError> {
        lock(path)
    }

    /// Lets the file grow to this size at most (`None`: as far as the disk goes). At the limit
    /// appends are refused as on a full disk.
    pub fn limit_size(&self, bytes: Option<u64>) {
        self.store.limit.set(bytes);
    }
}

/// The file beside a log by which one process at a time is let in. It is not the log itself, for
/// closing any handle of that would drop SQLite's own locks.
fn lock_beside(path: &Path) -> PathBuf {
    private_files::beside(path, ".lock")
}

/// The file that SQLite writes first; what is in it is brought into the log's own now and then.
fn write_ahead(path: &Path) -> PathBuf {
    private_files::beside(path, "-wal")
}

/// Whether a process has the log open for writing.
fn is_locked(path: &Path) -> bool {
    let held = File::open(lock_beside(path)).map(|file| file.try_lock_shared());
    matches!(held, Ok(Err(TryLockError::WouldBlock)))
}

/// Takes the lock beside the file, for as long as the returned handle lives.
fn lock(path: &Path) -> Result<File, OpenError> {
    let failed = |source| OpenError::File { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        private_files::make_dir(folder).map_err(failed)?;
    }
    let file = private_files::append(&lock_beside(path)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

impl Store for SqliteStore {
    fn tip(&self, stream: &StreamId) -> Result<Tip, LogError> {
        self.readers.with(|reader| reader.tip(stream))
    }

    fn end(&self) -> Result<Position, LogError> {
        self.readers.end()
    }

    fn stream(&self, stream: &StreamId, from: u64) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        self.readers.with(|reader| reader.stream(stream, from))
    }

    fn scan(&self, after: Position, filter: &Filter, limit: usize) -> Result<Scan, LogError> {
        self.readers.with(|reader| reader.scan(after, filter, limit))
    }

    fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
        self.readers.with(|reader| reader.blob(id))
    }

    fn key(&self, scope: &str) -> Result<StoredKey, LogError> {
        self.readers.with(|reader| reader.key(scope))
    }

    fn keys(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        self.readers.with(|reader| reader.keys(after, limit))
    }

    fn streams(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<StreamId>, LogError> {
        self.readers.with(|reader| reader.streams(kind, after, limit))
    }

    fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError> {
        self.readers.with(|reader| reader.blobs(after, limit))
    }

    fn checkpoint(&self) -> Result<Option<String>, LogError> {
        self.readers.with(|reader| reader.head())
    }

    fn spare(&self) -> Result<u64, LogError> {
        self.readers.with(|reader| reader.spare())
    }

    fn size(&self) -> u64 {
        self.readers.size()
    }

    fn finish(&self, _ledger: &Ledger) {
        let running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(running) = running
            && running.writer.join().is_err()
        {
            tracing::error!("the log's writer ended in a panic");
        }
    }
}
