//! A copy of a log as it stands at one moment, also while a process writes it.

use std::path::Path;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use super::super::checkpoint::ReadCheckpoint;
use super::{OpenError, proof, schema};
use crate::events::Position;
use crate::private_files;

/// All pages in one step: the copy is of one moment, and nobody waits for it.
const ALL_PAGES: i32 = -1;

/// What was copied.
#[derive(Clone, Debug)]
pub struct CopiedLog {
    /// The last event's.
    pub position: Position,
    /// The checkpoint at the end; `None` in a log of the first format.
    pub checkpoint: Option<String>,
}

/// Copies a log into a new file, which needs nothing beside it.
pub fn copy(from: &Path, to: &Path) -> Result<CopiedLog, OpenError> {
    schema::check(from)?;
    private_files::make_file(to)
        .map_err(|source| OpenError::File { path: to.to_owned(), source })?;
    let failed = |source| OpenError::Sqlite { path: to.to_owned(), source };
    copy_pages(from, to).map_err(failed)?;
    finish(to).map_err(failed)
}

fn copy_pages(from: &Path, to: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(from, flags)?;
    source.busy_timeout(schema::BUSY_TIMEOUT)?;
    // Within a transaction that has read, what others write meanwhile does not begin it anew.
    source.execute_batch("BEGIN")?;
    schema::identity(&source)?;
    let mut target = Connection::open(to)?;
    Backup::new(&source, &mut target)?.step(ALL_PAGES)?;
    Ok(())
}

/// Makes the copy a file of its own that nobody writes.
fn finish(path: &Path) -> rusqlite::Result<CopiedLog> {
    let copy = Connection::open(path)?;
    copy.pragma_update(None, "synchronous", "FULL")?;
    copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    let (_, format) = schema::identity(&copy)?;
    if format >= 3 {
        schema::mark_writing(&copy, false)?;
    }
    let checkpoint = if format >= 2 { proof::head(&copy)? } else { None };
    let signed = checkpoint.as_deref().and_then(|text| ReadCheckpoint::parse(text).ok());
    let position = match signed {
        Some(read) => read.checkpoint.position,
        None => copy.query_row("SELECT coalesce(max(position), 0) FROM events", [], |row| {
            Ok(row.get::<_, i64>(0)? as u64)
        })?,
    };
    Ok(CopiedLog { position: Position(position), checkpoint })
}
