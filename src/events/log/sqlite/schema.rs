//! The tables of the log file, and opening it.
//!
//! Names that recur (streams, event types, metas) are stored once and referred to by number.
//! An event's body is its last column, so that a scan that does not want it need not read it.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::OpenError;
use crate::private_files;

/// "HRTH", by which SQLite files are told apart.
const APPLICATION_ID: i64 = 0x4852_5448;
/// Of the tables below. The first had neither notes nor checkpoints; the second did not say of a
/// file whether its end may lie beside it.
pub(super) const FORMAT: i64 = 3;
/// How long a statement waits for another connection.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of the file the writer's connection keeps in memory.
const WRITER_CACHE_KIB: i64 = 4_096;
/// After how many pages the write-ahead log is folded back into the file.
const CHECKPOINT_AFTER_PAGES: i64 = 4_000;
/// What the write-ahead log is cut back to after that.
const WAL_KEPT_BYTES: i64 = 32 << 20;

/// The tables of the first format.
const TABLES: &str = "
    CREATE TABLE streams (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        tombstoned INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE types (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE metas (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
    CREATE TABLE events (
        position INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL REFERENCES streams,
        revision INTEGER NOT NULL,
        type INTEGER NOT NULL REFERENCES types,
        version INTEGER NOT NULL,
        at INTEGER NOT NULL, -- microseconds since 1970, UTC
        meta INTEGER NOT NULL REFERENCES metas,
        hash BLOB NOT NULL,
        body TEXT NOT NULL
    );
    CREATE UNIQUE INDEX events_of_stream ON events (stream, revision);
    CREATE TABLE blobs (
        id TEXT NOT NULL,
        part INTEGER NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (id, part)
    );
    -- A destroyed key leaves a row without one.
    CREATE TABLE keys (scope TEXT PRIMARY KEY, sealed BLOB);
    -- Written to find out whether a disk that was full takes pages again.
    CREATE TABLE probe (page BLOB);
";

/// What the second format adds.
const PROOF_TABLES: &str = "
    -- What is left of an event that was purged.
    CREATE TABLE purged (
        position INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL REFERENCES streams,
        hash BLOB NOT NULL
    );
    -- What is part of the digest beside the events; see `checkpoint::NoteKind`.
    CREATE TABLE notes (
        number INTEGER PRIMARY KEY,
        after INTEGER NOT NULL, -- the position of the event before it
        kind INTEGER NOT NULL,
        name TEXT NOT NULL,
        hash BLOB NOT NULL
    );
    -- The checkpoint at the end of the log, moved by each transaction.
    CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 0), checkpoint TEXT NOT NULL);
    -- Those that were passed.
    CREATE TABLE checkpoints (
        position INTEGER NOT NULL,
        notes INTEGER NOT NULL,
        checkpoint TEXT NOT NULL,
        PRIMARY KEY (position, notes)
    );
";

/// What the third format adds.
const WRITING_TABLE: &str = "
    -- A row while a process writes the log: this file alone may lack its end then.
    CREATE TABLE writing (id INTEGER PRIMARY KEY CHECK (id = 0));
";

/// The tables that each format adds to those before it.
const TABLES_ADDED: [&str; FORMAT as usize] = [TABLES, PROOF_TABLES, WRITING_TABLE];

/// The tables that the formats after one add.
fn added_after(format: i64) -> String {
    TABLES_ADDED.iter().skip(format as usize).copied().collect()
}

/// Opens the file for the writer; makes it where there is none.
pub(super) fn open(path: &Path) -> Result<Connection, OpenError> {
    // SQLite gives its side files the same mode.
    private_files::make_file(path)
        .map_err(|source| OpenError::File { path: path.to_owned(), source })?;
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })?;
    prepare(&connection, path)?;
    Ok(connection)
}

/// Which format a log has that this version can read.
pub(super) fn check(path: &Path) -> Result<i64, OpenError> {
    let sqlite = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sqlite)?;
    let (application, format) = identity(&connection).map_err(sqlite)?;
    refuse_foreign(path, application, format)?;
    Ok(format)
}

fn prepare(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let (application, format) = identity(connection).map_err(sqlite)?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(sqlite)?;
    let is_new = application == 0 && tables == 0;
    if !is_new {
        refuse_foreign(path, application, format)?;
    }
    if is_new {
        // Only a file without tables takes it: what is deleted later can be given back in steps.
        connection
            .pragma_update_and_check(None, "auto_vacuum", "INCREMENTAL", |_| Ok(()))
            .or_else(no_row)
            .map_err(sqlite)?;
    }
    configure(connection).map_err(sqlite)?;
    let tables = added_after(if is_new { 0 } else { format });
    if tables.is_empty() {
        return Ok(());
    }
    connection
        .execute_batch(&format!(
            "BEGIN; {tables} PRAGMA application_id = {APPLICATION_ID}; \
             PRAGMA user_version = {FORMAT}; COMMIT;"
        ))
        .map_err(sqlite)
}

/// A pragma that answers nothing has done what it was asked.
fn no_row(error: rusqlite::Error) -> rusqlite::Result<()> {
    match error {
        rusqlite::Error::QueryReturnedNoRows => Ok(()),
        error => Err(error),
    }
}

/// The tables and indexes that a log of a format has, as SQLite keeps them.
pub(super) fn expected(format: i64) -> rusqlite::Result<Vec<(String, String)>> {
    let blank = Connection::open_in_memory()?;
    for tables in TABLES_ADDED.iter().take(format as usize) {
        blank.execute_batch(tables)?;
    }
    found(&blank)
}

/// The tables and indexes of a file: names and how they were made.
pub(super) fn found(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    connection
        .prepare(
            "SELECT name, coalesce(sql, '') || tbl_name || type FROM sqlite_schema ORDER BY name",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Says in the file whether a process writes the log.
pub(super) fn mark_writing(connection: &Connection, is_written: bool) -> rusqlite::Result<()> {
    connection.execute_batch(match is_written {
        true => "INSERT OR IGNORE INTO writing VALUES (0)",
        false => "DELETE FROM writing",
    })
}

/// Whether the file says that a process writes the log; it still does where that was killed.
pub(super) fn is_marked_writing(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare("SELECT 1 FROM writing")?.exists([])
}

pub(super) fn identity(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let application = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok((application, format))
}

pub(super) fn refuse_foreign(path: &Path, application: i64, format: i64) -> Result<(), OpenError> {
    if application != APPLICATION_ID {
        return Err(OpenError::NotALog { path: path.to_owned() });
    }
    if format > FORMAT {
        return Err(OpenError::Newer { path: path.to_owned(), found: format });
    }
    Ok(())
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update_and_check(
        None,
        "wal_autocheckpoint",
        CHECKPOINT_AFTER_PAGES,
        |_| Ok(()),
    )?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_KEPT_BYTES, |_| Ok(()))?;
    // A destroyed key is overwritten, not only unlinked.
    connection.pragma_update_and_check(None, "secure_delete", "ON", |_| Ok(()))?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}
