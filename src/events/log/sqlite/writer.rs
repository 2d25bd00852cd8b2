//! The one thread that writes the log: takes what is queued, commits it as one transaction, and
//! when that fails tries until the disk takes pages again.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::super::chain::meta_text;
use super::super::checkpoint::NoteKind;
use super::super::ledger::{Ledger, Work};
use super::super::{BLOB_PART_MAX_BYTES, BlobId, Reseal};
use super::proof::{self, Proof};
use super::schema;
use crate::events::{Meta, RecordedEvent, StreamId};

/// How many numbers of streams and metas are remembered.
const NUMBERS_KEPT_MAX: usize = 4_096;
/// The first pause before a disk that failed is tried again, and the longest.
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(2);
/// How long readers are waited for before the write-ahead log is left as it is.
const FOLD_WAIT: Duration = Duration::from_millis(200);
/// How many pages one step of a compaction frees.
const COMPACT_PAGES: u32 = 2_000;
/// SQLite's number for a file that can give pages back in steps.
const AUTO_VACUUM_INCREMENTAL: i64 = 2;
/// What a trial writes: more pages than a group that follows may find free by chance.
const PROBE_BYTES: i32 = 64 << 10;

/// The size that the file may grow to; zero for none. Shared with whoever sets it.
#[derive(Clone, Default)]
pub(super) struct SizeLimit(Arc<AtomicU64>);

impl SizeLimit {
    pub(super) fn set(&self, bytes: Option<u64>) {
        self.0.store(bytes.unwrap_or(0), Ordering::SeqCst);
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{} is gone", .0.display())]
    Gone(PathBuf),
    #[error("an event's meta cannot be written: {0}")]
    Meta(#[from] serde_json::Error),
}

/// The writer's connection and what it remembers of the file.
pub(super) struct Writer {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the file that was opened.
    file: (u64, u64),
    limit: SizeLimit,
    limit_set: u64,
    numbers: Numbers,
    proof: Proof,
    /// Where the newest checkpoint is kept outside the log's own files.
    beside: Option<PathBuf>,
    /// Whether metas may be left that no event refers to.
    has_purged: bool,
}

/// Numbers under which recurring names are stored.
#[derive(Default)]
pub(super) struct Numbers {
    streams: HashMap<StreamId, i64>,
    types: HashMap<Arc<str>, i64>,
    metas: HashMap<String, i64>,
    /// The meta written last, found again without making its text.
    last_meta: Option<(Arc<Meta>, i64)>,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        path: &Path,
        limit: SizeLimit,
        proof: Proof,
        beside: Option<PathBuf>,
    ) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let writer = Self {
            connection,
            path: path.to_owned(),
            file: (metadata.dev(), metadata.ino()),
            limit,
            limit_set: 0,
            numbers: Numbers::default(),
            proof,
            beside,
            has_purged: false,
        };
        if let Err(error) = writer.mark(true) {
            tracing::warn!(%error, "the log's own file does not say that it is being written");
        }
        Ok(writer)
    }

    /// Writes group after group until the log is closed.
    pub(super) fn run(mut self, ledger: &Ledger) {
        while let Some(group) = ledger.take_group() {
            match self.commit(&group) {
                Ok(()) => ledger.written(group),
                Err(error) => {
                    tracing::error!(%error, path = %self.path.display(), "the log cannot be written");
                    self.numbers = Numbers::default();
                    ledger.failed(group, &error.to_string());
                    if !self.wait_until_writable(ledger) {
                        return;
                    }
                    tracing::info!(path = %self.path.display(), "the log can be written again");
                    ledger.healed();
                }
            }
        }
        // So that the file is whole without what SQLite keeps beside it.
        if let Err(error) = self.mark(false) {
            tracing::warn!(%error, "the write-ahead log stays beside the log");
        }
    }

    /// Says in the file itself whether it is being written.
    fn mark(&self, is_written: bool) -> rusqlite::Result<()> {
        schema::mark_writing(&self.connection, is_written)?;
        self.settle()
    }

    /// Keeps the newest checkpoint, and then brings the write-ahead log into the file. In this
    /// order: a log with nothing left to bring in is at the checkpoint beside it.
    fn settle(&self) -> rusqlite::Result<()> {
        let kept = self.beside.as_ref().map(|beside| proof::keep_beside(&self.connection, beside));
        if let Some(Err(error)) = kept {
            tracing::error!(%error, "the checkpoint beside the log is an old one");
        }
        self.fold()
    }

    /// Brings the write-ahead log into the file, as far as readers let it.
    fn fold(&self) -> rusqlite::Result<()> {
        let wait = |time| self.connection.busy_timeout(time);
        wait(FOLD_WAIT)?;
        let folded = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        wait(schema::BUSY_TIMEOUT)?;
        folded
    }

    /// Tries now and then whether the file takes pages; false when the log was closed.
    fn wait_until_writable(&mut self, ledger: &Ledger) -> bool {
        let mut pause = RETRY_FIRST;
        loop {
            if ledger.pause(pause) {
                return false;
            }
            match self.probe() {
                Ok(()) => return true,
                Err(error) => {
                    tracing::debug!(%error, "the log still cannot be written");
                    ledger.refuse(&error.to_string());
                }
            }
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    fn probe(&mut self) -> Result<(), WriteError> {
        self.check_file()?;
        self.follow_limit()?;
        self.connection.execute("INSERT INTO probe VALUES (zeroblob(?1))", [PROBE_BYTES])?;
        self.connection.execute("DELETE FROM probe", [])?;
        Ok(())
    }

    fn commit(&mut self, group: &[Work]) -> Result<(), WriteError> {
        self.check_file()?;
        self.follow_limit()?;
        let end = self.proof.end;
        let written = self.write(group);
        if written.is_err() {
            // Nothing of the group was kept.
            self.proof.end = end;
            return written;
        }
        for work in group {
            let tidied = match work {
                Work::Compact { may_rewrite, .. } => self.compact(*may_rewrite),
                Work::Settle(_) => self.settle(),
                _ => Ok(()),
            };
            // What was written is durable whatever becomes of this.
            if let Err(error) = tidied {
                tracing::warn!(%error, "the log's file is larger than it need be");
            }
        }
        Ok(())
    }

    fn write(&mut self, group: &[Work]) -> Result<(), WriteError> {
        if group.iter().all(|work| matches!(work, Work::Compact { .. } | Work::Settle(_))) {
            return Ok(());
        }
        let Self { connection, numbers, proof, .. } = self;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for work in group {
            match work {
                Work::Events(events, _) => {
                    for event in events {
                        numbers.insert_event(&transaction, event)?;
                        proof.event(&transaction, event)?;
                    }
                }
                Work::Blob(id, content) => {
                    if insert_blob(&transaction, &id.0, content)? {
                        proof.end.blobs += 1;
                    }
                }
                Work::Key(scope, sealed) => keep_key(&transaction, proof, scope, sealed)?,
                Work::DestroyKey(scope, _) => destroy_key(&transaction, proof, scope)?,
                Work::Reseal(batch, _) => {
                    batch.iter().try_for_each(|one| reseal(&transaction, proof, one))?;
                }
                Work::Tombstone(stream, _) => {
                    close(&transaction, stream)?;
                    proof.note(&transaction, NoteKind::Closed, stream.as_str(), &[])?;
                }
                Work::Purge(streams, _) => {
                    for stream in streams {
                        purge(&transaction, stream)?;
                    }
                    // What no event refers to goes with the next compaction, and must not be
                    // referred to again.
                    numbers.metas.clear();
                    numbers.last_meta = None;
                    self.has_purged = true;
                }
                Work::DropBlobs(ids, _) => {
                    for id in ids {
                        proof.end.blobs -= u64::from(drop_blob(&transaction, id)?);
                    }
                }
                Work::Compact { .. } | Work::Settle(_) => {}
            }
        }
        proof.write_head(&transaction)?;
        Ok(transaction.commit()?)
    }

    /// One step towards a file without free pages.
    fn compact(&mut self, may_rewrite: bool) -> rusqlite::Result<()> {
        if std::mem::take(&mut self.has_purged) {
            self.connection
                .execute("DELETE FROM metas WHERE id NOT IN (SELECT meta FROM events)", [])?;
        }
        let kind: i64 =
            self.connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
        if kind == AUTO_VACUUM_INCREMENTAL {
            let steps = format!("PRAGMA incremental_vacuum({COMPACT_PAGES})");
            // It frees a page with each row that is asked for.
            let mut statement = self.connection.prepare(&steps)?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
        } else if may_rewrite {
            self.connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            self.connection.execute_batch("VACUUM")?;
        }
        self.settle()
    }

    /// SQLite would go on writing into a file that has been unlinked, and all of it would be lost.
    fn check_file(&self) -> Result<(), WriteError> {
        match fs::metadata(&self.path) {
            Ok(metadata) if (metadata.dev(), metadata.ino()) == self.file => Ok(()),
            _ => Err(WriteError::Gone(self.path.clone())),
        }
    }

    fn follow_limit(&mut self) -> Result<(), WriteError> {
        let limit = self.limit.0.load(Ordering::SeqCst);
        if limit != self.limit_set {
            let page: i64 =
                self.connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let none = i64::from(u32::MAX) - 1;
            let pages = if limit == 0 { none } else { (limit as i64 / page).max(1) };
            self.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
            self.limit_set = limit;
        }
        Ok(())
    }
}

impl Numbers {
    pub(super) fn insert_event(
        &mut self,
        connection: &Connection,
        event: &RecordedEvent,
    ) -> Result<(), WriteError> {
        let stream = self.stream(connection, event)?;
        let event_type = self.event_type(connection, &event.event_type)?;
        let meta = self.meta(connection, &event.meta)?;
        connection
            .prepare_cached(
                "INSERT INTO events (position, stream, revision, type, version, at, meta, hash, body) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                event.position.0 as i64,
                stream,
                event.revision.0 as i64,
                event_type,
                event.version,
                event.at.timestamp_micros(),
                meta,
                event.hash,
                &*event.body,
            ])?;
        Ok(())
    }

    fn stream(
        &mut self,
        connection: &Connection,
        event: &RecordedEvent,
    ) -> Result<i64, WriteError> {
        if let Some(number) = self.streams.get(&event.stream) {
            return Ok(*number);
        }
        let name = event.stream.as_str();
        let number = if event.revision.0 == 0 {
            connection.prepare_cached("INSERT INTO streams (name) VALUES (?1)")?.insert([name])?
        } else {
            connection
                .prepare_cached("SELECT id FROM streams WHERE name = ?1")?
                .query_row([name], |row| row.get(0))?
        };
        if self.streams.len() >= NUMBERS_KEPT_MAX {
            self.streams.clear();
        }
        self.streams.insert(event.stream.clone(), number);
        Ok(number)
    }

    fn event_type(&mut self, connection: &Connection, name: &Arc<str>) -> Result<i64, WriteError> {
        if let Some(number) = self.types.get(name) {
            return Ok(*number);
        }
        let known: Option<i64> = connection
            .prepare_cached("SELECT id FROM types WHERE name = ?1")?
            .query_row([&**name], |row| row.get(0))
            .optional()?;
        let number = match known {
            Some(number) => number,
            None => connection
                .prepare_cached("INSERT INTO types (name) VALUES (?1)")?
                .insert([&**name])?,
        };
        self.types.insert(name.clone(), number);
        Ok(number)
    }

    fn meta(&mut self, connection: &Connection, meta: &Arc<Meta>) -> Result<i64, WriteError> {
        if let Some((last, number)) = &self.last_meta
            && Arc::ptr_eq(last, meta)
        {
            return Ok(*number);
        }
        let text = meta_text(meta)?;
        let number = match self.metas.get(&text) {
            Some(number) => *number,
            None => {
                let number = connection
                    .prepare_cached("INSERT INTO metas (body) VALUES (?1)")?
                    .insert([&text])?;
                if self.metas.len() >= NUMBERS_KEPT_MAX {
                    self.metas.clear();
                }
                self.metas.insert(text, number);
                number
            }
        };
        self.last_meta = Some((meta.clone(), number));
        Ok(number)
    }
}

fn keep_key(
    connection: &Connection,
    proof: &mut Proof,
    scope: &str,
    sealed: &[u8],
) -> Result<(), WriteError> {
    let made = connection
        .prepare_cached("INSERT OR IGNORE INTO keys (scope, sealed) VALUES (?1, ?2)")?
        .execute(params![scope, sealed])?;
    if made > 0 {
        proof.note_key(connection, scope, sealed)?;
        proof.end.keys += 1;
    }
    Ok(())
}

fn destroy_key(connection: &Connection, proof: &mut Proof, scope: &str) -> Result<(), WriteError> {
    let known: Option<bool> = connection
        .prepare_cached("SELECT sealed IS NOT NULL FROM keys WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))
        .optional()?;
    if known == Some(false) {
        return Ok(());
    }
    connection
        .prepare_cached("INSERT OR REPLACE INTO keys (scope, sealed) VALUES (?1, NULL)")?
        .execute([scope])?;
    proof.note(connection, NoteKind::Destroyed, scope, &[])?;
    proof.end.keys -= u64::from(known.is_some());
    Ok(())
}

fn reseal(connection: &Connection, proof: &mut Proof, one: &Reseal) -> Result<(), WriteError> {
    let Reseal { scope, from, to } = one;
    let changed = connection
        .prepare_cached("UPDATE keys SET sealed = ?3 WHERE scope = ?1 AND sealed = ?2")?
        .execute(params![scope, from, to])?;
    if changed > 0 {
        proof.note_key(connection, scope, to)?;
    }
    Ok(())
}

pub(super) fn close(connection: &Connection, stream: &StreamId) -> Result<(), WriteError> {
    connection
        .prepare_cached(
            "INSERT INTO streams (name, tombstoned) VALUES (?1, 1) \
             ON CONFLICT (name) DO UPDATE SET tombstoned = 1",
        )?
        .execute([stream.as_str()])?;
    Ok(())
}

/// Leaves the hash of each event of the stream, and nothing else.
fn purge(connection: &Connection, stream: &StreamId) -> Result<(), WriteError> {
    close(connection, stream)?;
    let number: i64 = connection
        .prepare_cached("SELECT id FROM streams WHERE name = ?1")?
        .query_row([stream.as_str()], |row| row.get(0))?;
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO purged (position, stream, hash) \
             SELECT position, stream, hash FROM events WHERE stream = ?1",
        )?
        .execute([number])?;
    connection.prepare_cached("DELETE FROM events WHERE stream = ?1")?.execute([number])?;
    Ok(())
}

/// Whether it was there.
fn drop_blob(connection: &Connection, id: &BlobId) -> Result<bool, WriteError> {
    let parts = connection.prepare_cached("DELETE FROM blobs WHERE id = ?1")?.execute([&id.0])?;
    Ok(parts > 0)
}

/// Whether it was not there before.
fn insert_blob(connection: &Connection, id: &str, content: &[u8]) -> Result<bool, WriteError> {
    let known = connection
        .prepare_cached("SELECT 1 FROM blobs WHERE id = ?1 AND part = 0")?
        .exists([id])?;
    if known {
        return Ok(false);
    }
    let mut statement =
        connection.prepare_cached("INSERT INTO blobs (id, part, content) VALUES (?1, ?2, ?3)")?;
    if content.is_empty() {
        statement.execute(params![id, 0, content])?;
    }
    for (part, chunk) in (0_i64..).zip(content.chunks(BLOB_PART_MAX_BYTES)) {
        statement.execute(params![id, part, chunk])?;
    }
    Ok(true)
}
