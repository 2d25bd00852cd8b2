//! What an embedded log asks of the store behind its ledger.

use std::sync::Arc;

use super::heads::Tip;
use super::ledger::{Ledger, StoredKey};
use super::{BlobId, Filter, LogError};
use crate::events::{Position, RecordedEvent, StreamId};

/// Events found by a walk over the whole log.
pub(super) struct Scan {
    pub(super) events: Vec<Arc<RecordedEvent>>,
    /// How far the walk went, past events that the filter left out.
    pub(super) to: Position,
}

/// What keeps the durable part of an embedded log. All methods may block for a disk's time.
pub(super) trait Store: Send + Sync + 'static {
    /// Whether they may wait for a server instead, for as long as that is silent.
    const WAITS: bool = false;

    /// The end of a stream.
    fn tip(&self, stream: &StreamId) -> Result<Tip, LogError>;

    /// The position of the last event.
    fn end(&self) -> Result<Position, LogError>;

    /// A stream's events from a revision on.
    fn stream(&self, stream: &StreamId, from: u64) -> Result<Vec<Arc<RecordedEvent>>, LogError>;

    /// Up to `limit` events of the whole log after a position.
    fn scan(&self, after: Position, filter: &Filter, limit: usize) -> Result<Scan, LogError>;

    /// A large body.
    fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError>;

    /// A scope's key.
    fn key(&self, scope: &str) -> Result<StoredKey, LogError>;

    /// Scopes with sealed keys; see `EventLog::keys`.
    fn keys(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, LogError>;

    /// Streams of a kind; see `EventLog::streams`.
    fn streams(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<StreamId>, LogError>;

    /// Ids of large bodies; see `EventLog::blobs`.
    fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError>;

    /// The checkpoint at the end of what is durable, as text; `None` where none was ever made.
    fn checkpoint(&self) -> Result<Option<String>, LogError> {
        Ok(None)
    }

    /// How much of the files holds nothing, in the store's own unit.
    fn spare(&self) -> Result<u64, LogError> {
        Ok(0)
    }

    /// How long the files are, in bytes.
    fn size(&self) -> u64 {
        0
    }

    /// Called after something was queued, for a store without a writer thread.
    fn queued(&self, _ledger: &Ledger) {}

    /// Called once when the log goes: writes what is queued and lets go of the files.
    fn finish(&self, ledger: &Ledger);
}
