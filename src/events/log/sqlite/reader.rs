//! Reading the log file, on a few connections that are kept for the next reader.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::DateTime;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::super::heads::Tip;
use super::super::ledger::StoredKey;
use super::super::store::Scan;
use super::super::{BlobId, Filter, LogError};
use super::{proof, schema, write_ahead};
use crate::events::{Meta, Position, RecordedEvent, StreamId, StreamRevision};

/// How many idle connections are kept.
const READERS_KEPT_MAX: usize = 4;
/// How much of the file each keeps in memory.
const READER_CACHE_KIB: i64 = 1_024;
/// How many positions a page that cannot be read may hold; more are not looked past.
const DAMAGED_POSITIONS_MAX: u64 = 4_096;
/// How many streams and metas each remembers.
const NAMES_KEPT_MAX: usize = 2_048;

/// The columns of an event, in the order that `Reader::event` reads them.
pub(super) const COLUMNS: &str = "position, stream, revision, type, version, at, meta, hash, body";

/// The pool.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Reader>>,
}

/// One connection and the names it has met.
pub(super) struct Reader {
    connection: Connection,
    names: Names,
}

/// Names that are stored once and referred to by number.
#[derive(Default)]
pub(super) struct Names {
    streams: HashMap<i64, StreamId>,
    types: HashMap<i64, Arc<str>>,
    metas: HashMap<i64, Arc<Meta>>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), idle: Mutex::default() }
    }

    /// Reads with an idle connection, or a new one where all are busy.
    pub(super) fn with<T>(
        &self,
        read: impl FnOnce(&mut Reader) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let idle = self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader::open(&self.path).map_err(unreadable)?,
        };
        let result = read(&mut reader);
        let mut idle = self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if idle.len() < READERS_KEPT_MAX {
            idle.push(reader);
        }
        result
    }

    /// How long the file is, with what SQLite has written and not brought into it.
    pub(super) fn size(&self) -> u64 {
        let files = [self.path.clone(), write_ahead(&self.path)];
        let lengths = files.iter().filter_map(|file| std::fs::metadata(file).ok());
        lengths.map(|file| file.len()).sum()
    }

    /// The newest position.
    pub(super) fn end(&self) -> Result<Position, LogError> {
        self.with(|reader| {
            let end: Option<i64> = reader
                .connection
                .query_row("SELECT max(position) FROM events", [], |row| row.get(0))
                .map_err(unreadable)?;
            Ok(Position(end.unwrap_or(0) as u64))
        })
    }
}

impl Reader {
    fn open(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
        Ok(Self { connection, names: Names::default() })
    }

    pub(super) fn tip(&mut self, stream: &StreamId) -> Result<Tip, LogError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT tombstoned, revision, hash FROM streams \
                 LEFT JOIN events ON events.stream = streams.id \
                 WHERE name = ?1 ORDER BY revision DESC LIMIT 1",
            )
            .and_then(|mut statement| {
                statement
                    .query_row([stream.as_str()], |row| {
                        let last = match row.get::<_, Option<i64>>(1)? {
                            Some(revision) => Some((revision as u64, row.get(2)?)),
                            None => None,
                        };
                        Ok((row.get(0)?, last))
                    })
                    .optional()
            })
            .map_err(unreadable)?;
        let mut tip = Tip::default();
        if let Some((tombstoned, last)) = found {
            tip.tombstoned = tombstoned;
            if let Some((revision, hash)) = last {
                tip.next = revision + 1;
                tip.hash = hash;
            }
        }
        Ok(tip)
    }

    pub(super) fn stream(
        &mut self,
        stream: &StreamId,
        from: u64,
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM events \
             WHERE stream = (SELECT id FROM streams WHERE name = ?1) AND revision >= ?2 \
             ORDER BY revision"
        );
        let Self { connection, names } = self;
        let mut statement = connection.prepare_cached(&sql).map_err(unreadable)?;
        let mut rows =
            statement.query(params![stream.as_str(), from as i64]).map_err(unreadable)?;
        let mut events = Vec::new();
        while let Some(row) = rows.next().map_err(unreadable)? {
            let event = names.event(connection, row, stream.clone());
            events.push(Arc::new(event.map_err(|error| of(stream, &error))?));
        }
        Ok(events)
    }

    pub(super) fn scan(
        &mut self,
        after: Position,
        filter: &Filter,
        limit: usize,
    ) -> Result<Scan, LogError> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE position > ?1 ORDER BY position");
        let Self { connection, names } = self;
        let mut statement = connection.prepare_cached(&sql).map_err(unreadable)?;
        let mut rows = statement.query([after.0 as i64]).map_err(unreadable)?;
        let mut scan = Scan { events: Vec::new(), to: after };
        while scan.events.len() < limit {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(error) => {
                    let next = behind_damage(connection, scan.to).ok_or(unreadable(error))?;
                    tracing::error!(after = %scan.to, before = %next, "events cannot be read");
                    // The next scan goes on behind them.
                    scan.to = Position(next.0 - 1);
                    break;
                }
            };
            scan.to = Position(row.get::<_, i64>(0).map_err(unreadable)? as u64);
            match names.taken(connection, row, filter) {
                Ok(Some(event)) => scan.events.push(Arc::new(event)),
                Ok(None) => {}
                // One event that is damaged does not hide those after it. Whoever reads its stream
                // is refused.
                Err(error) => {
                    tracing::error!(position = %scan.to, %error, "an event is passed over");
                }
            }
        }
        Ok(scan)
    }

    pub(super) fn blob(&mut self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT content FROM blobs WHERE id = ?1 ORDER BY part")
            .map_err(unreadable)?;
        let mut rows = statement.query([&id.0]).map_err(unreadable)?;
        let mut content: Option<Vec<u8>> = None;
        while let Some(row) = rows.next().map_err(unreadable)? {
            let part = row.get_ref(0).and_then(|part| Ok(part.as_blob()?));
            let part = part.map_err(|error| of(format_args!("blob {id:?}"), &unreadable(error)))?;
            content.get_or_insert_default().extend_from_slice(part);
        }
        Ok(content.map(Arc::from))
    }

    /// The checkpoint at the end; `None` in a log of the first format.
    pub(super) fn head(&mut self) -> Result<Option<String>, LogError> {
        let (_, format) = schema::identity(&self.connection).map_err(unreadable)?;
        if format < 2 { Ok(None) } else { proof::head(&self.connection).map_err(unreadable) }
    }

    /// Free pages.
    pub(super) fn spare(&mut self) -> Result<u64, LogError> {
        let pages: i64 = self
            .connection
            .pragma_query_value(None, "freelist_count", |row| row.get(0))
            .map_err(unreadable)?;
        Ok(pages as u64)
    }

    pub(super) fn keys(
        &mut self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        self.page(
            "SELECT scope, sealed FROM keys WHERE scope > ?1 AND sealed IS NOT NULL \
             ORDER BY scope LIMIT ?2",
            params![after, limit as i64],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    pub(super) fn streams(
        &mut self,
        kind: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StreamId>, LogError> {
        self.page(
            "SELECT name FROM streams WHERE name > max(?1, ?2 || '-') AND name < ?2 || '.' \
             AND EXISTS (SELECT 1 FROM events WHERE events.stream = streams.id) \
             ORDER BY name LIMIT ?3",
            params![after, kind, limit as i64],
            |row| Ok(StreamId(row.get::<_, String>(0)?.into())),
        )
    }

    pub(super) fn blobs(&mut self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError> {
        self.page(
            "SELECT id FROM blobs WHERE id > ?1 AND part = 0 ORDER BY id LIMIT ?2",
            params![after, limit as i64],
            |row| Ok(BlobId(row.get(0)?)),
        )
    }

    fn page<T>(
        &mut self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LogError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(unreadable)?;
        let rows = statement.query_map(params, |row| read(row)).map_err(unreadable)?;
        rows.collect::<rusqlite::Result<_>>().map_err(unreadable)
    }

    pub(super) fn key(&mut self, scope: &str) -> Result<StoredKey, LogError> {
        let row: Option<Option<Vec<u8>>> = self
            .connection
            .prepare_cached("SELECT sealed FROM keys WHERE scope = ?1")
            .and_then(|mut statement| statement.query_row([scope], |row| row.get(0)).optional())
            .map_err(unreadable)?;
        Ok(match row {
            None => StoredKey::Absent,
            Some(None) => StoredKey::Destroyed,
            Some(Some(sealed)) => StoredKey::Sealed(sealed),
        })
    }
}

impl Names {
    /// The event of a row, if the filter takes it.
    fn taken(
        &mut self,
        connection: &Connection,
        row: &Row<'_>,
        filter: &Filter,
    ) -> Result<Option<RecordedEvent>, LogError> {
        let stream = self.stream(connection, row.get(1).map_err(unreadable)?)?;
        match filter.takes(&stream) {
            true => self.event(connection, row, stream).map(Some),
            false => Ok(None),
        }
    }

    pub(super) fn event(
        &mut self,
        connection: &Connection,
        row: &Row<'_>,
        stream: StreamId,
    ) -> Result<RecordedEvent, LogError> {
        let event_type = self.event_type(connection, row.get(3).map_err(unreadable)?)?;
        let meta = self.meta(connection, row.get(6).map_err(unreadable)?)?;
        let read = || -> rusqlite::Result<RecordedEvent> {
            Ok(RecordedEvent {
                position: Position(row.get::<_, i64>(0)? as u64),
                revision: StreamRevision(row.get::<_, i64>(2)? as u64),
                version: row.get(4)?,
                at: DateTime::from_timestamp_micros(row.get(5)?).unwrap_or_default(),
                hash: row.get(7)?,
                body: row.get_ref(8)?.as_str()?.into(),
                stream,
                event_type,
                meta,
            })
        };
        read().map_err(unreadable)
    }

    pub(super) fn stream(
        &mut self,
        connection: &Connection,
        number: i64,
    ) -> Result<StreamId, LogError> {
        remembered(&mut self.streams, number, || {
            let name: String = named(connection, "SELECT name FROM streams WHERE id = ?1", number)?;
            Ok(StreamId(name.into()))
        })
    }

    fn event_type(&mut self, connection: &Connection, number: i64) -> Result<Arc<str>, LogError> {
        remembered(&mut self.types, number, || {
            let name: String = named(connection, "SELECT name FROM types WHERE id = ?1", number)?;
            Ok(name.into())
        })
    }

    fn meta(&mut self, connection: &Connection, number: i64) -> Result<Arc<Meta>, LogError> {
        remembered(&mut self.metas, number, || {
            let body: String = named(connection, "SELECT body FROM metas WHERE id = ?1", number)?;
            let meta = serde_json::from_str(&body)
                .map_err(|error| LogError::Damaged(format!("meta {number}: {error}")))?;
            Ok(Arc::new(meta))
        })
    }
}

fn named(connection: &Connection, sql: &str, number: i64) -> Result<String, LogError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([number], |row| row.get(0)))
        .map_err(unreadable)
}

/// A value out of a bounded memory, or looked up and kept.
fn remembered<K: Eq + Hash + Copy, V: Clone>(
    memory: &mut HashMap<K, V>,
    key: K,
    look_up: impl FnOnce() -> Result<V, LogError>,
) -> Result<V, LogError> {
    if let Some(value) = memory.get(&key) {
        return Ok(value.clone());
    }
    let value = look_up()?;
    if memory.len() >= NAMES_KEPT_MAX {
        memory.clear();
    }
    memory.insert(key, value.clone());
    Ok(value)
}

/// The next position that can be read, where the page behind one cannot.
fn behind_damage(connection: &Connection, after: Position) -> Option<Position> {
    let sql = "SELECT position FROM events WHERE position > ?1 ORDER BY position LIMIT 1";
    let mut statement = connection.prepare_cached(sql).ok()?;
    (1..=DAMAGED_POSITIONS_MAX).find_map(|skipped| {
        let from = (after.0 + skipped) as i64;
        let next: i64 = statement.query_row([from], |row| row.get(0)).ok()?;
        Some(Position(next as u64))
    })
}

/// What cannot be read, and of what it is.
fn of(what: impl std::fmt::Display, error: &LogError) -> LogError {
    LogError::Damaged(format!("{what}: {error}"))
}

fn unreadable(error: rusqlite::Error) -> LogError {
    LogError::Damaged(format!("it cannot be read: {error}"))
}
