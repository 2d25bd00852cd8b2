//! The rows of a log's tables, on their way to another place and from it.

use std::sync::Arc;

use mysql_async::prelude::FromRow;
use mysql_async::{Params, Value};

use super::super::rows::{Row, Sender, Step, Steps};
use super::address::Address;
use super::claim::{self, COPY, is_copy};
use super::rows::{COLUMNS, EventRow, bytes, hash, insert, values_of};
use super::session::{Failure, Line, Session};
use super::{open, runtime, schema};
use crate::clock::{Clock, SystemClock};

/// Long after anybody who looks.
const FOR_EVER: &str = "9999-01-01";
/// How many rows are read at a time, and bodies, which are large.
const PAGE: u64 = 2_000;
const BLOB_PAGE: u64 = 16;
/// How many rows are written in a transaction, and after how many bytes it ends.
const GROUP: usize = 1_000;
const GROUP_BYTES: usize = 8 << 20;
/// How often a group is tried.
const TRIES: usize = 10;
/// The tables beside the sequencer.
const TABLES: [&str; 7] =
    ["events", "purged", "notes", "checkpoints", "closed", "blobs", "scope_keys"];

/// Sends all rows of a database, which others may be writing; `copies` says that it may be a copy that
/// is not whole. The error is a whole sentence.
pub(in crate::events::log) fn dump(
    address: &Address,
    copies: bool,
    to: &Sender,
) -> Result<(), String> {
    let runtime = runtime().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut line = Line::new(Arc::new(address.clone()));
        open::check(address, &mut line, copies).await.map_err(|error| error.to_string())?;
        let dumped = match line.session().await {
            Ok(session) => dump_rows(session, to).await,
            Err(failure) => Err(failure),
        };
        dumped.map_err(|failure| format!("{address}: {}", failure.reason()))
    })
}

async fn dump_rows(session: &mut Session, to: &Sender) -> Result<(), Failure> {
    // One moment for all of it, in which nothing can be asked again.
    session.be_patient();
    session.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
    session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT").await?;
    let mut next = 1;
    let sql =
        format!("SELECT {COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT {PAGE}");
    loop {
        let page: Vec<EventRow> = session.ask(&sql, (next - 1,)).await?;
        let is_last = (page.len() as u64) < PAGE;
        for row in page {
            let event = row.event().map_err(|error| Failure::Refused(error.to_string()))?;
            next = event.position.0 + 1;
            send(to, Row::Event(Box::new(event)))?;
        }
        if is_last {
            break;
        }
    }
    let sql = "SELECT position, stream, hash FROM purged WHERE position > ? ORDER BY position";
    pages(session, sql, PAGE, (0_u64,), |(position, stream, found): (u64, Vec<u8>, Vec<u8>)| {
        let hash = hash(&found).unwrap_or_default();
        send(to, Row::Purged { position, stream: text(stream), hash })?;
        Ok((position,))
    })
    .await?;
    let sql = "SELECT number, after_position, kind, name, hash FROM notes WHERE number > ? \
               ORDER BY number";
    pages(session, sql, PAGE, (0_u64,), |row: (u64, u64, u8, Vec<u8>, Vec<u8>)| {
        let (number, after, kind, name, hash) = row;
        send(to, Row::Note { number, after, kind, name: text(name), hash })?;
        Ok((number,))
    })
    .await?;
    // By the first column first, which the server looks up at once.
    let sql = "SELECT position, notes, checkpoint FROM checkpoints \
               WHERE position >= ? AND (position > ? OR notes > ?) ORDER BY position, notes";
    pages(session, sql, PAGE, (0_u64, 0_u64, 0_u64), |(position, notes, found)| {
        let found: Vec<u8> = found;
        send(to, Row::Checkpoint { position, notes, text: text(found) })?;
        Ok((position, position, notes))
    })
    .await?;
    let sql = "SELECT id, part, content FROM blobs \
               WHERE id >= ? AND (id > ? OR part > ?) ORDER BY id, part";
    let none = Vec::new;
    pages(session, sql, BLOB_PAGE, (none(), none(), 0_u32), |(id, part, content)| {
        let id: Vec<u8> = id;
        send(to, Row::BlobPart { id: text(id.clone()), part, content })?;
        Ok((id.clone(), id, part))
    })
    .await?;
    let sql = "SELECT scope, sealed FROM scope_keys WHERE scope > ? ORDER BY scope";
    pages(session, sql, PAGE, (none(),), |(scope, sealed)| {
        let scope: Vec<u8> = scope;
        send(to, Row::Key { scope: text(scope.clone()), sealed })?;
        Ok((scope,))
    })
    .await?;
    let sql = "SELECT stream FROM closed WHERE stream > ? ORDER BY stream";
    pages(session, sql, PAGE, (none(),), |stream: Vec<u8>| {
        send(to, Row::Closed(text(stream.clone())))?;
        Ok((stream,))
    })
    .await?;
    let checkpoint = claim::head(session).await?.unwrap_or_default();
    session.run("COMMIT").await?;
    send(to, Row::End { next, checkpoint })
}

/// All rows of a table, some at a time: those after a key, which each of them tells in its turn.
async fn pages<R: FromRow + Send + 'static, K: Into<Params> + Clone + Send>(
    session: &mut Session,
    sql: &str,
    size: u64,
    mut after: K,
    each: impl Fn(R) -> Result<K, Failure>,
) -> Result<(), Failure> {
    let sql = format!("{sql} LIMIT {size}");
    loop {
        let page: Vec<R> = session.ask(&sql, after.clone()).await?;
        let is_last = (page.len() as u64) < size;
        for row in page {
            after = each(row)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

fn send(to: &Sender, row: Row) -> Result<(), Failure> {
    to.send(Ok(row)).map_err(|_| Failure::Refused("nobody takes it".to_owned()))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether there is a log; what a copy that broke off has left is none.
pub(in crate::events::log) fn has_log(address: &Address) -> Result<bool, String> {
    let address = address.clone();
    let look = move || {
        let runtime = runtime().map_err(|error| error.to_string())?;
        let found = runtime.block_on(async {
            let mut line = Line::new(Arc::new(address.clone()));
            let session = line.session().await?;
            if schema::format(session).await? == 0 {
                return Ok(false);
            }
            let sql = "SELECT turn, holder FROM sequencer WHERE id = 0";
            let found: Option<(u64, Vec<u8>)> = session.ask_one(sql, ()).await?;
            Ok(found.is_some_and(|(turn, holder)| turn > 0 && !is_copy(&holder)))
        });
        found.map_err(|failure: Failure| format!("{address}: {}", failure.reason()))
    };
    // On a thread of its own, for the caller may be within a runtime.
    std::thread::spawn(look).join().map_err(|_| "the copy ended in a panic".to_owned())?
}

/// Fills an empty database with rows, or brings an earlier copy up to date. It is a log with the
/// last of them.
pub(in crate::events::log) fn load(
    address: &Address,
    steps: Steps,
    catches_up: bool,
) -> Result<(), String> {
    let runtime = runtime().map_err(|error| error.to_string())?;
    let loaded = runtime.block_on(async {
        let mut line = Line::new(Arc::new(address.clone()));
        follow(line.session().await?, steps, catches_up).await
    });
    loaded.map_err(|failure| format!("{address}: {}", failure.reason()))
}

async fn follow(session: &mut Session, steps: Steps, catches_up: bool) -> Result<(), Failure> {
    session.be_patient();
    let format = schema::format(session).await?;
    if format > schema::FORMAT {
        return Err(Failure::Refused("its tables are of a newer version".to_owned()));
    }
    schema::migrate(session, format).await?;
    let epoch = match catches_up {
        false => claim(session).await?,
        true => claim_again(session).await?,
    };
    let (mut group, mut size) = (Vec::new(), 0);
    for step in steps {
        match step.map_err(Failure::Refused)? {
            Step::Put(Row::End { next, checkpoint }) => {
                write(session, epoch, &group).await?;
                let sql = "UPDATE sequencer SET next = ?, turn = turn + 1, epoch = epoch + 1, \
                           holder = '', checkpoint = ?, seen = UTC_TIMESTAMP(6) \
                           WHERE id = 0 AND epoch = ?";
                return held(session.change(sql, (next, checkpoint, epoch)).await?);
            }
            Step::Put(row) => {
                size += row.size();
                group.push(Step::Put(row));
            }
            take => group.push(take),
        }
        if group.len() >= GROUP || size >= GROUP_BYTES {
            write(session, epoch, &group).await?;
            group.clear();
            size = 0;
        }
    }
    Err(Failure::Refused("the log broke off".to_owned()))
}

/// Takes a database without a log, or goes over what a copy that broke off has left. The epoch of
/// this copy, in which no other one writes.
async fn claim(session: &mut Session) -> Result<u64, Failure> {
    let sql = "SELECT turn, epoch, holder FROM sequencer WHERE id = 0";
    let found: Option<(u64, u64, Vec<u8>)> = session.ask_one(sql, ()).await?;
    let (epoch, is_over_another) = match found {
        Some((_, epoch, holder)) if is_copy(&holder) => (epoch, true),
        Some((0, epoch, holder)) if holder.is_empty() => (epoch, false),
        _ => return Err(Failure::Refused("there is a log in it already".to_owned())),
    };
    let sql = "UPDATE sequencer SET epoch = epoch + 1, holder = ?, seen = ? \
               WHERE id = 0 AND epoch = ?";
    held(session.change(sql, (holder(), FOR_EVER, epoch)).await?)?;
    if is_over_another {
        for table in TABLES {
            session.run(&format!("TRUNCATE TABLE {table}")).await?;
        }
    }
    Ok(epoch + 1)
}

/// Takes a copy that is whole, and that nobody writes.
async fn claim_again(session: &mut Session) -> Result<u64, Failure> {
    let claim = match claim::take(session, &holder()).await? {
        Ok(claim) => claim,
        Err(holder) => return Err(Failure::Refused(format!("{holder} writes it"))),
    };
    touch(session, claim.epoch).await?;
    Ok(claim.epoch)
}

/// The name of a copy that begins.
fn holder() -> String {
    format!("{COPY} ({})", SystemClock.fresh_id())
}

/// Whether the log is still this copy's, by how many rows of that were found.
fn held(rows: u64) -> Result<(), Failure> {
    match rows {
        1 => Ok(()),
        _ => Err(Failure::Refused("another process has taken it over".to_owned())),
    }
}

/// Says that the copy is under way. Errors: the log is another's by now. The turn moves, so that the
/// row is changed, and of two transactions that touch it a cluster refuses one.
async fn touch(session: &mut Session, epoch: u64) -> Result<(), Failure> {
    let sql = "UPDATE sequencer SET turn = turn + 1, seen = ? WHERE id = 0 AND epoch = ?";
    held(session.change(sql, (FOR_EVER, epoch)).await?)
}

/// Writes a group; the same again where the server is in its own way, and nothing of it was written.
async fn write(session: &mut Session, epoch: u64, group: &[Step]) -> Result<(), Failure> {
    for _ in 1..TRIES {
        match try_to_write(session, epoch, group).await {
            Err(Failure::Again) => session.run("ROLLBACK").await?,
            tried => return tried,
        }
    }
    try_to_write(session, epoch, group).await
}

async fn try_to_write(session: &mut Session, epoch: u64, group: &[Step]) -> Result<(), Failure> {
    let mut gone = Vec::new();
    let mut tables: [(&str, Vec<Vec<Value>>); TABLES.len()] = TABLES.map(|name| (name, Vec::new()));
    let [events, purged, notes, checkpoints, closed, blobs, keys] = &mut tables;
    for step in group {
        let row = match step {
            Step::Put(row) => row,
            Step::Take(row) => {
                gone.push(row);
                continue;
            }
        };
        match row {
            Row::Event(event) => events.1.push(values_of(event)?),
            Row::Purged { position, stream, hash } => {
                purged.1.push(vec![position.into(), stream.into(), bytes(hash)]);
            }
            Row::Note { number, after, kind, name, hash } => {
                let name = name.into();
                notes.1.push(vec![number.into(), after.into(), kind.into(), name, bytes(hash)]);
            }
            Row::Checkpoint { position, notes, text } => {
                checkpoints.1.push(vec![position.into(), notes.into(), text.into()]);
            }
            Row::BlobPart { id, part, content } => {
                blobs.1.push(vec![id.into(), part.into(), bytes(content)]);
            }
            Row::Key { scope, sealed } => keys.1.push(vec![scope.into(), sealed.clone().into()]),
            Row::Closed(stream) => closed.1.push(vec![stream.into()]),
            Row::End { .. } => {}
        }
    }
    session.begin().await?;
    touch(session, epoch).await?;
    for row in gone {
        take(session, row).await?;
    }
    for (table, rows) in tables {
        insert(session, &format!("REPLACE INTO {table}"), "", rows).await?;
    }
    session.run("COMMIT").await
}

/// Takes a row away that the log has no longer.
async fn take(session: &mut Session, row: &Row) -> Result<(), Failure> {
    match row {
        Row::Event(event) => {
            session.change("DELETE FROM events WHERE position = ?", (event.position.0,)).await
        }
        Row::Checkpoint { position, notes, .. } => {
            let sql = "DELETE FROM checkpoints WHERE position = ? AND notes = ?";
            session.change(sql, (*position, *notes)).await
        }
        Row::BlobPart { id, part, .. } => {
            session
                .change("DELETE FROM blobs WHERE id = ? AND part = ?", (id.as_str(), *part))
                .await
        }
        Row::Key { scope, .. } => {
            session.change("DELETE FROM scope_keys WHERE scope = ?", (scope.as_str(),)).await
        }
        Row::Purged { .. } | Row::Note { .. } | Row::Closed(_) | Row::End { .. } => {
            Err(Failure::Refused("what is there for ever is to be taken away".to_owned()))
        }
    }
    .map(drop)
}
