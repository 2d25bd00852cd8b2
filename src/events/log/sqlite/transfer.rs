//! The rows of a log's file, on their way to another place and from it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::super::rows::{Row, Sender, Step, Steps};
use super::writer::{Numbers, close};
use super::{lock, proof, schema};
use crate::private_files;

use super::reader::{COLUMNS, Names};

/// The format whose rows these are.
const FORMAT: i64 = 3;
/// What a file is called until its copy is whole, after its own name.
const PARTIAL: &str = ".partial";

/// Sends all rows of a file, which others may be writing. The error is a whole sentence.
pub(in crate::events::log) fn dump(path: &Path, to: &Sender) -> Result<(), String> {
    schema::check(path).map_err(|error| error.to_string())?;
    dump_rows(path, to).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn dump_rows(path: &Path, to: &Sender) -> Result<(), Box<dyn std::error::Error>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(schema::BUSY_TIMEOUT)?;
    // One moment for all of it.
    connection.execute_batch("BEGIN")?;
    let (_, format) = schema::identity(&connection)?;
    if format != FORMAT {
        return Err("it was written by an earlier version; start the server on it once".into());
    }
    let mut next = 1;
    let mut names = Names::default();
    let mut statement =
        connection.prepare(&format!("SELECT {COLUMNS} FROM events ORDER BY position"))?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let stream = names.stream(&connection, row.get(1)?)?;
        let event = names.event(&connection, row, stream)?;
        next = event.position.0 + 1;
        to.send(Ok(Row::Event(Box::new(event))))?;
    }
    let each = |sql: &str, make: &dyn Fn(&rusqlite::Row<'_>) -> rusqlite::Result<Row>| {
        let mut statement = connection.prepare(sql)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            to.send(Ok(make(row)?))?;
        }
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    each(
        "SELECT position, name, hash FROM purged JOIN streams ON streams.id = stream \
         ORDER BY position",
        &|row| {
            let position = row.get::<_, i64>(0)? as u64;
            Ok(Row::Purged { position, stream: row.get(1)?, hash: row.get(2)? })
        },
    )?;
    each("SELECT number, after, kind, name, hash FROM notes ORDER BY number", &|row| {
        let (number, after) = (row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64);
        Ok(Row::Note { number, after, kind: row.get(2)?, name: row.get(3)?, hash: row.get(4)? })
    })?;
    each("SELECT position, notes, checkpoint FROM checkpoints ORDER BY 1, 2", &|row| {
        let (position, notes) = (row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64);
        Ok(Row::Checkpoint { position, notes, text: row.get(2)? })
    })?;
    each("SELECT id, part, content FROM blobs ORDER BY id, part", &|row| {
        Ok(Row::BlobPart { id: row.get(0)?, part: row.get(1)?, content: row.get(2)? })
    })?;
    each("SELECT scope, sealed FROM keys ORDER BY scope", &|row| {
        Ok(Row::Key { scope: row.get(0)?, sealed: row.get(1)? })
    })?;
    each("SELECT name FROM streams WHERE tombstoned ORDER BY name", &|row| {
        Ok(Row::Closed(row.get(0)?))
    })?;
    let checkpoint = proof::head(&connection)?.unwrap_or_default();
    to.send(Ok(Row::End { next, checkpoint }))?;
    Ok(())
}

/// Makes a file of rows. It takes its name last: a copy that broke off is no log, and is taken away
/// by itself or by the next one.
pub(in crate::events::log) fn load(path: &Path, steps: &Steps) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    // Whoever else makes a log there takes it, too.
    let _lock = lock(path).map_err(|error| error.to_string())?;
    if path.exists() {
        return Err(failed(&"there is something already"));
    }
    let partial = private_files::beside(path, PARTIAL);
    take_away(&partial).map_err(|error| failed(&error))?;
    let made = schema::open(&partial).map_err(|error| error.to_string()).and_then(|connection| {
        follow(&connection, steps).map_err(|error| failed(&error))?;
        // All of it goes into the file itself with the last connection.
        connection.close().map_err(|(_, error)| failed(&error))?;
        std::fs::rename(&partial, path).map_err(|error| failed(&error))
    });
    if made.is_err() {
        // The next copy does so if this one cannot.
        let _ = take_away(&partial);
    }
    made
}

/// Removes a file and what SQLite has beside it.
fn take_away(file: &Path) -> std::io::Result<()> {
    for beside in ["", "-wal", "-shm"] {
        match std::fs::remove_file(private_files::beside(file, beside)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Brings a file that was copied earlier up to date, all at once.
pub(in crate::events::log) fn catch_up(path: &Path, steps: &Steps) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let _lock = lock(path).map_err(|error| error.to_string())?;
    let connection = schema::open(path).map_err(|error| error.to_string())?;
    follow(&connection, steps).map_err(|error| failed(&error))?;
    connection.close().map_err(|(_, error)| failed(&error))
}

fn follow(connection: &Connection, steps: &Steps) -> Result<(), Box<dyn std::error::Error>> {
    let transaction = connection.unchecked_transaction()?;
    let mut numbers = Numbers::default();
    for step in steps {
        let row = match step? {
            Step::Put(row) => row,
            Step::Take(row) => {
                take(connection, row)?;
                continue;
            }
        };
        match row {
            Row::Event(event) => {
                numbers.insert_event(connection, &event)?;
            }
            Row::Purged { position, stream, hash } => {
                let sql = "INSERT OR IGNORE INTO streams (name) VALUES (?1)";
                connection.prepare_cached(sql)?.execute([&stream])?;
                let sql = "INSERT INTO purged SELECT ?1, id, ?3 FROM streams WHERE name = ?2";
                let values = params![position as i64, stream, hash];
                connection.prepare_cached(sql)?.execute(values)?;
            }
            Row::Note { number, after, kind, name, hash } => {
                let values = params![number as i64, after as i64, kind, name, hash];
                let sql = "INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5)";
                connection.prepare_cached(sql)?.execute(values)?;
            }
            Row::Checkpoint { position, notes, text } => {
                let sql = "INSERT OR REPLACE INTO checkpoints VALUES (?1, ?2, ?3)";
                let values = params![position as i64, notes as i64, text];
                connection.prepare_cached(sql)?.execute(values)?;
            }
            Row::BlobPart { id, part, content } => {
                let sql = "INSERT OR REPLACE INTO blobs VALUES (?1, ?2, ?3)";
                connection.prepare_cached(sql)?.execute(params![id, part, content])?;
            }
            Row::Key { scope, sealed } => {
                let sql = "INSERT OR REPLACE INTO keys VALUES (?1, ?2)";
                connection.prepare_cached(sql)?.execute(params![scope, sealed])?;
            }
            Row::Closed(stream) => close(connection, &crate::events::StreamId(stream.into()))?,
            Row::End { checkpoint, .. } => {
                // Who caused what was purged.
                let sql = "DELETE FROM metas WHERE id NOT IN (SELECT meta FROM events)";
                connection.execute(sql, [])?;
                connection.execute("INSERT OR REPLACE INTO head VALUES (0, ?1)", [checkpoint])?;
                return Ok(transaction.commit()?);
            }
        }
    }
    Err("the log broke off".into())
}

/// Takes a row away that the log has no longer.
fn take(connection: &Connection, row: Row) -> Result<(), Box<dyn std::error::Error>> {
    match row {
        Row::Event(event) => {
            let sql = "DELETE FROM events WHERE position = ?1";
            connection.prepare_cached(sql)?.execute([event.position.0 as i64])?;
        }
        Row::Checkpoint { position, notes, .. } => {
            let sql = "DELETE FROM checkpoints WHERE position = ?1 AND notes = ?2";
            connection.prepare_cached(sql)?.execute([position as i64, notes as i64])?;
        }
        Row::BlobPart { id, part, .. } => {
            let sql = "DELETE FROM blobs WHERE id = ?1 AND part = ?2";
            connection.prepare_cached(sql)?.execute(params![id, part])?;
        }
        Row::Key { scope, .. } => {
            connection.prepare_cached("DELETE FROM keys WHERE scope = ?1")?.execute([scope])?;
        }
        Row::Purged { .. } | Row::Note { .. } | Row::Closed(_) | Row::End { .. } => {
            return Err("what is there for ever is to be taken away".into());
        }
    }
    Ok(())
}
