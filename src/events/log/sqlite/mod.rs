//! The embedded default: one SQLite file in WAL mode with `synchronous=FULL`, one writer thread
//! that commits in groups, and readers on connections of their own.

mod reader;
mod schema;
mod writer;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::embedded::{Embedded, Scan, Store};
use super::heads::Tip;
use super::ledger::{Ledger, StoredKey};
use super::{BlobId, Filter, LogError};
use crate::events::{Position, RecordedEvent, StreamId};
use crate::private_files;
use reader::Readers;
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
    #[error("the log {path} is in use by another process")]
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
    #[error(transparent)]
    Log(#[from] LogError),
}

impl SqliteLog {
    /// Opens the log for reading and writing; makes it where there is none. One process at a time.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let lock = lock(path)?;
        let connection = schema::open(path)?;
        let readers = Readers::new(path);
        let ledger = Arc::new(Ledger::new(readers.end()?));
        let limit = SizeLimit::default();
        let writer = Writer::new(connection, path, limit.clone())
            .map_err(|source| OpenError::File { path: path.to_owned(), source })?;
        let writing = ledger.clone();
        let thread = std::thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(move || writer.run(&writing))
            .map_err(|source| OpenError::File { path: path.to_owned(), source })?;
        let running = Mutex::new(Some(Running { writer: thread, _lock: lock }));
        Ok(Self::of(ledger, Arc::new(SqliteStore { readers, limit, running })))
    }

    /// Opens the log for reading alone, also while a server writes it. It ends where it ends now.
    pub fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        schema::check(path)?;
        let readers = Readers::new(path);
        let ledger = Arc::new(Ledger::new(readers.end()?));
        ledger.refuse("it was opened for reading alone");
        let store = SqliteStore { readers, limit: SizeLimit::default(), running: Mutex::new(None) };
        Ok(Self::of(ledger, Arc::new(store)))
    }

    /// Lets the file grow to this size at most (`None`: as far as the disk goes). At the limit
    /// appends are refused as on a full disk.
    pub fn limit_size(&self, bytes: Option<u64>) {
        self.store.limit.set(bytes);
    }
}

/// Takes the lock beside the file, for as long as the returned handle lives. It is not on the file
/// itself, for closing any handle of that would drop SQLite's own locks.
fn lock(path: &Path) -> Result<File, OpenError> {
    let failed = |source| OpenError::File { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        private_files::make_dir(folder).map_err(failed)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file = private_files::append(Path::new(&beside)).map_err(failed)?;
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

    fn finish(&self, _ledger: &Ledger) {
        let running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(running) = running
            && running.writer.join().is_err()
        {
            tracing::error!("the log's writer ended in a panic");
        }
    }
}
