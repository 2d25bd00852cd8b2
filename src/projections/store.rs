//! The file of the views: opening it, knowing whether it can be kept, connections to it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::columns::{position, stored};
use super::error::ViewError;
use crate::events::Position;
use crate::private_files;

/// Moves with every change of `schema.sql` or of what the projections write.
const SCHEMA_VERSION: i64 = 25;

/// How many connections for reading are kept open.
const READERS_MAX: usize = 4;

/// Pages of the write-ahead log after which it is folded in: fewer and longer pauses.
const WAL_PAGES: u32 = 4_000;

/// How many pages one step of giving space back frees.
const SPARE_PAGES: u32 = 1_000;

/// What each connection may keep of the file in memory.
pub(super) const CACHE_KIB: i64 = 2_048;

/// The same for the one that writes while the views catch up with a long log.
pub(super) const CATCH_UP_CACHE_KIB: i64 = 65_536;

/// How many statements a connection keeps prepared.
const STATEMENTS_KEPT: usize = 64;

/// Where the views are kept.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(PathBuf),
    /// A name of its own; gone with its last connection.
    Memory(String),
}

impl Place {
    /// A fresh place in memory.
    pub(super) fn memory() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Place::Memory(format!("/hearth-views-{}", COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let db = match self {
            Place::File(path) => Connection::open(path)?,
            Place::Memory(name) => Connection::open_with_flags(
                format!("file:{name}?vfs=memdb"),
                OpenFlags::SQLITE_OPEN_READ_WRITE
                    | OpenFlags::SQLITE_OPEN_CREATE
                    | OpenFlags::SQLITE_OPEN_URI,
            )?,
        };
        db.busy_timeout(Duration::from_secs(5))?;
        keep_in_memory(&db, CACHE_KIB)?;
        db.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        // A statement is planned once, whatever values it is given: many were prepared again for
        // each new one.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(db)
    }

    /// The one connection that writes. NORMAL keeps the file whole through a power cut; the last
    /// transactions may be missing then, and the log has them.
    pub(super) fn open_to_write(&self) -> Result<Connection, ViewError> {
        if let Place::File(path) = self {
            // SQLite gives its side files the same mode.
            private_files::make_file(path)?;
        }
        let db = self.open()?;
        // Has effect on a file without tables alone.
        db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
        Ok(db)
    }

    /// Removes the file, so that the next opening starts from nothing.
    pub(super) fn discard(&self) {
        let Place::File(path) = self else { return };
        for suffix in ["", "-wal", "-shm"] {
            if let Err(error) = std::fs::remove_file(private_files::beside(path, suffix))
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!(%error, "old views could not be removed");
            }
        }
    }
}

/// How much of its file a connection may keep in memory from now on, in KiB.
pub(super) fn keep_in_memory(db: &Connection, kib: i64) -> rusqlite::Result<()> {
    db.pragma_update(None, "cache_size", -kib)
}

/// How far the views have come: the last event they contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub(super) position: Position,
    pub(super) hash: [u8; 32],
}

impl Checkpoint {
    /// Before the first event.
    pub(super) const START: Checkpoint = Checkpoint { position: Position(0), hash: [0; 32] };
}

/// The checkpoint of views that this program can go on with; none where they must be made anew.
pub(super) fn checkpoint(db: &Connection) -> rusqlite::Result<Option<Checkpoint>> {
    let known: Option<i64> = db
        .query_row("SELECT 1 FROM sqlite_schema WHERE name = 'meta'", [], |row| row.get(0))
        .optional()?;
    if known.is_none() {
        return Ok(None);
    }
    db.query_row("SELECT position, hash FROM meta WHERE schema = ?1", [SCHEMA_VERSION], |row| {
        Ok(Checkpoint { position: position(row, 0)?, hash: row.get(1)? })
    })
    .optional()
}

/// How far the views in a file have come, whoever leads them on; `None` where there are none that
/// this program can go on with.
pub fn views_stand_at(path: &Path) -> Result<Option<Position>, ViewError> {
    if !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(Duration::from_secs(5))?;
    Ok(checkpoint(&db)?.map(|checkpoint| checkpoint.position))
}

/// Whether the blocks of views are those of a log with this spacing: one that has moved to a backend
/// of another kind has others.
pub(super) fn is_spaced(db: &Connection, spacing: u64) -> rusqlite::Result<bool> {
    db.query_row("SELECT spacing = ?1 FROM meta", [whole(spacing)], |row| row.get(0))
}

fn whole(spacing: u64) -> i64 {
    i64::try_from(spacing).unwrap_or(i64::MAX)
}

/// Makes the tables of empty views.
pub(super) fn create(db: &mut Connection, spacing: u64) -> Result<(), ViewError> {
    let transaction = db.transaction()?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    transaction.execute(
        "INSERT INTO meta (schema, spacing, position, hash) VALUES (?1, ?2, 0, ?3)",
        params![SCHEMA_VERSION, whole(spacing), Checkpoint::START.hash],
    )?;
    transaction.commit()?;
    Ok(())
}

/// Makes the indexes that reads need, where they are not there yet.
pub(super) fn index(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(include_str!("indexes.sql"))
}

/// Gives some of the pages that hold nothing back to the file system; whether there are more.
pub(super) fn give_back(db: &Connection) -> rusqlite::Result<bool> {
    let spare = || db.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
    let before = spare()?;
    if before == 0 {
        return Ok(false);
    }
    // A page is freed with each row that is asked for.
    let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({SPARE_PAGES})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    drop(rows);
    let after = spare()?;
    if after > 0 && after < before {
        return Ok(true);
    }
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(false)
}

/// Moves the checkpoint, within the transaction of the batch.
pub(super) fn move_checkpoint(db: &Connection, to: &Checkpoint) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE meta SET position = ?1, hash = ?2")?
        .execute(params![stored(to.position), to.hash])?;
    Ok(())
}

/// Connections for reading, opened when first needed.
pub(super) struct Readers {
    place: Place,
    idle: Mutex<Idle>,
}

/// Connections that nobody uses, and how often the file was made anew before they were opened.
#[derive(Default)]
struct Idle {
    connections: Vec<Connection>,
    generation: u64,
}

impl Readers {
    pub(super) fn new(place: Place) -> Self {
        Self { place, idle: Mutex::default() }
    }

    /// Where they read.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Closes the connections to a file that is no more.
    pub(super) fn forget(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.connections.clear();
        idle.generation += 1;
    }

    /// Runs a read on one of the connections.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ViewError> {
        let (idle, generation) = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            (idle.connections.pop(), idle.generation)
        };
        let db = match idle {
            Some(db) => db,
            None => {
                let db = self.place.open()?;
                db.pragma_update(None, "query_only", true)?;
                db
            }
        };
        // One transaction, so that everything that is read is of the same moment. Its statements are
        // kept prepared, too; a connection on which one fails is not used again.
        db.prepare_cached("BEGIN")?.execute([])?;
        let found = read(&db)?;
        db.prepare_cached("COMMIT")?.execute([])?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.generation == generation && idle.connections.len() < READERS_MAX {
            idle.connections.push(db);
        }
        Ok(found)
    }
}

/// How SQLite goes about a query on views, a line for each step.
#[cfg(test)]
pub(super) fn plan(query: &str) -> String {
    let mut db = Place::memory().open_to_write().unwrap();
    create(&mut db, 1).unwrap();
    index(&db).unwrap();
    let mut explained = db.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
    let steps = explained.raw_query().mapped(|row| row.get::<_, String>(3));
    steps.collect::<Result<Vec<_>, _>>().unwrap().join("\n")
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn a_kept_statement_is_not_prepared_again_for_another_value() {
        let mut db = Place::memory().open_to_write().unwrap();
        create(&mut db, 1).unwrap();
        let query = "SELECT s.project FROM resources r JOIN stacks s ON s.number = r.stack \
                     WHERE r.id = ?1";
        for id in [[1_u8; 16], [2; 16], [3; 16]] {
            let mut statement = db.prepare_cached(query).unwrap();
            assert!(!statement.exists([id]).unwrap());
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        }
    }
}
