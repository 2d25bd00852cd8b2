//! The log in MariaDB or MySQL, on one server or a Galera cluster: one writer, which commits all
//! that waits in one transaction, readers on connections of their own, and both go to another
//! server when theirs is gone.
//!
//! **Invariant:** of two transactions with the same group one alone is ever written (`writer`), and
//! of two processes one alone writes (`claim`).

mod address;
mod batch;
mod claim;
mod open;
mod reader;
mod rows;
mod schema;
mod session;
mod transfer;
mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub use address::{Address, AddressError};
pub(super) use transfer::{dump, has_log, load};

use self::open::Opened;
use self::reader::Readers;
use self::session::Line;
use self::writer::Writer;
use super::embedded::Embedded;
use super::heads::Tip;
use super::ledger::{Ledger, StoredKey};
use super::proof::Signing;
use super::sqlite::OpenError;
use super::store::{Scan, Store};
use super::{BlobId, Filter, LogError};
use crate::events::{Position, RecordedEvent, StreamId};

/// A log in a database.
pub type MariadbLog = Embedded<MariadbStore>;

/// What a `MariadbLog` works with.
pub struct MariadbStore {
    readers: Readers,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// The size that was told last.
    size: AtomicU64,
}

impl MariadbStore {
    fn of(readers: Readers, writer: Option<JoinHandle<()>>) -> Arc<Self> {
        Arc::new(Self { readers, writer: Mutex::new(writer), size: AtomicU64::new(0) })
    }
}

impl MariadbLog {
    /// Opens the log for reading and writing; makes its tables where there are none. One process at
    /// a time: `holder` names it to others, and lets it take its own log again after it was killed.
    pub fn open(
        address: &Address,
        holder: &str,
        signing: Option<Signing>,
    ) -> Result<Self, OpenError> {
        let shared = Arc::new(address.clone());
        let failed = |error: std::io::Error| OpenError::Server {
            address: address.to_string(),
            reason: error.to_string(),
        };
        let (told, opened) = sync_channel(1);
        let line = Line::to_write(shared.clone());
        let holder = holder.to_owned();
        let runtime = runtime().map_err(failed)?;
        let thread = std::thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(move || {
                let mut line = line;
                let taken =
                    runtime.block_on(open::take(&shared, &mut line, &holder, signing.as_ref()));
                let Opened { claim, end, position } = match taken {
                    Ok(opened) => opened,
                    Err(error) => return drop(told.send(Err(error))),
                };
                let ledger = Arc::new(Ledger::new(position));
                let (signer, beside) = signing.map(|it| (it.key, it.beside)).unzip();
                let writer = Writer { runtime, line, claim, end, signer, beside };
                if told.send(Ok(ledger.clone())).is_ok() {
                    writer.run(&ledger);
                }
            })
            .map_err(failed)?;
        let gone = || OpenError::Log(LogError::Unavailable("the writer ended".to_owned()));
        let ledger = opened.recv().map_err(|_| gone())??;
        let readers = Readers::start(&Arc::new(address.clone())).map_err(failed)?;
        Ok(Self::of(ledger, MariadbStore::of(readers, Some(thread))))
    }

    /// The newest format of the tables.
    pub const FORMAT: i64 = schema::FORMAT as i64;

    /// The format of the tables, which opening the log for writing brings to `FORMAT`. Errors: there
    /// is no log, or one that this version cannot read.
    pub fn format(address: &Address) -> Result<i64, OpenError> {
        let address = Arc::new(address.clone());
        let look = move || {
            let runtime = runtime().map_err(|error| OpenError::Server {
                address: address.to_string(),
                reason: error.to_string(),
            })?;
            runtime.block_on(open::check(&address, &mut Line::new(address.clone()), false))
        };
        let gone = || OpenError::Log(LogError::Unavailable("the reader ended".to_owned()));
        // On a thread of its own, for the caller may be within a runtime.
        std::thread::spawn(look).join().map_err(|_| gone())?
    }

    /// Opens the log for reading alone, also while a server writes it. It ends where it ends
    /// now, unless it is followed.
    pub fn open_read_only(address: &Address) -> Result<Self, OpenError> {
        let shared = Arc::new(address.clone());
        let failed = |error: std::io::Error| OpenError::Server {
            address: address.to_string(),
            reason: error.to_string(),
        };
        Self::format(address)?;
        let readers = Readers::start(&shared).map_err(failed)?;
        Ok(Self::to_read(MariadbStore::of(readers, None))?)
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

impl Store for MariadbStore {
    const WAITS: bool = true;

    fn tip(&self, stream: &StreamId) -> Result<Tip, LogError> {
        self.readers.tip(stream)
    }

    fn end(&self) -> Result<Position, LogError> {
        self.readers.end()
    }

    fn stream(&self, stream: &StreamId, from: u64) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        self.readers.stream(stream, from)
    }

    fn scan(&self, after: Position, filter: &Filter, limit: usize) -> Result<Scan, LogError> {
        self.readers.scan(after, filter, limit)
    }

    fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
        self.readers.blob(id)
    }

    fn key(&self, scope: &str) -> Result<StoredKey, LogError> {
        self.readers.key(scope)
    }

    fn keys(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        self.readers.keys(after, limit)
    }

    fn streams(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<StreamId>, LogError> {
        self.readers.streams(kind, after, limit)
    }

    fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError> {
        self.readers.blobs(after, limit)
    }

    fn checkpoint(&self) -> Result<Option<String>, LogError> {
        self.readers.head()
    }

    fn size(&self) -> u64 {
        // What is measured while the server is away is not to wait for it.
        if let Some(size) = self.readers.size() {
            self.size.store(size, Ordering::Relaxed);
        }
        self.size.load(Ordering::Relaxed)
    }

    fn finish(&self, _ledger: &Ledger) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer
            && writer.join().is_err()
        {
            tracing::error!("the log's writer ended in a panic");
        }
        self.readers.close();
    }
}
