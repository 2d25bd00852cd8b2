//! A log moved from one place to another, row by row: the events with their positions and hashes,
//! what is left of purged ones, notes, checkpoints, bodies, keys and closed streams, and the end as
//! it was signed. So the copy is proved by what proves the log, and moves back. A place that has an
//! earlier copy is given what differs. EventStoreDB has no place for what proves a log as a whole:
//! that is left out of such a copy, and made anew where one of there is copied to (`proving.rs`).

mod proving;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use super::checkpoint::{Checkpoint, ReadCheckpoint};
use super::rows::{Row, Rows, Step, Steps};
use super::{Address, EventstoreAddress, eventstore, mariadb, sqlite};

/// How many rows wait for whoever writes them.
const ROWS_WAITING: usize = 1_024;

/// Where a log is copied from or to.
#[derive(Clone, Debug)]
pub enum Side {
    File(PathBuf),
    Database(Address),
    Events(Box<EventstoreAddress>),
}

impl Side {
    /// Whether there is a log; what a copy that broke off has left is none, but where it cannot be
    /// taken away.
    fn has_log(&self) -> Result<bool, String> {
        match self {
            Side::File(path) => Ok(path.exists()),
            Side::Database(address) => mariadb::has_log(address),
            Side::Events(address) => eventstore::has_log(address),
        }
    }

    /// Whether it has a place for what proves a log as a whole.
    fn has_proof(&self) -> bool {
        !matches!(self, Side::Events(_))
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Side::File(path) => path.display().fmt(f),
            Side::Database(address) => address.fmt(f),
            Side::Events(address) => address.fmt(f),
        }
    }
}

/// Copies the log as it stands at one moment to a place where there is none, or an earlier copy that
/// nobody has written since, and reads the copy again: how many events are the same. The error is a
/// whole sentence.
pub fn transfer(from: &Side, to: &Side) -> Result<u64, String> {
    // A database that has none, or a copy that is not whole, says so when it is read.
    if !matches!(from, Side::Database(_)) && !from.has_log()? {
        return Err(format!("there is no log at {from}"));
    }
    let has_proof = from.has_proof() && to.has_proof();
    let read = |side: &Side, copies: bool| match has_proof {
        true => rows(side, copies),
        false => proving::without(rows(side, copies)?),
    };
    let has_log = to.has_log()?;
    if has_log {
        // Nothing of another log is touched.
        differences(read(from, false)?, Some(read(to, true)?), has_proof, &|_| true)
            .map_err(|reason| format!("{to}: {reason}"))?;
    }
    let there = if has_log { Some(read(to, true)?) } else { None };
    let (rows, marks) = marked(read(from, false)?)?;
    let steps = match steps(rows, there, has_proof)? {
        steps if has_proof || !to.has_proof() => steps,
        steps => proving::with(steps, if has_log { end_of(to)? } else { Checkpoint::default() })?,
    };
    write(to, steps, has_log)?;
    let marks = marks.join().map_err(|_| "the copy ended in a panic".to_owned())?;
    same(read(to, false)?, marks)
}

/// Copies without a second look.
pub fn copy_out(from: &Address, to: &std::path::Path) -> Result<(), String> {
    let rows = rows(&Side::Database(from.clone()), false)?;
    write(&Side::File(to.to_owned()), steps(rows, None, true)?, false)
}

/// Writes to a place. On a thread of its own, for the caller may be within a runtime.
fn write(to: &Side, steps: Steps, catches_up: bool) -> Result<(), String> {
    let to = to.clone();
    let writing = spawn(move || match &to {
        Side::File(path) if catches_up => sqlite::catch_up(path, &steps),
        Side::File(path) => sqlite::load(path, &steps),
        Side::Database(address) => mariadb::load(address, steps, catches_up),
        Side::Events(address) => eventstore::load(address, &steps),
    })?;
    writing.join().map_err(|_| "the copy ended in a panic".to_owned())?
}

/// All rows of a place; `copies` says that it may be a copy that is not whole: one that broke off and
/// cannot be taken away, or one that is brought up to date meanwhile.
fn rows(from: &Side, copies: bool) -> Result<Rows, String> {
    let (sender, rows) = sync_channel(ROWS_WAITING);
    let from = from.clone();
    spawn(move || {
        let read = match &from {
            Side::File(path) => sqlite::dump(path, &sender),
            Side::Database(address) => mariadb::dump(address, copies, &sender),
            Side::Events(address) => eventstore::dump(address, copies, &sender),
        };
        if let Err(reason) = read {
            // Nobody may be there to hear it.
            let _ = sender.send(Err(reason));
        }
    })?;
    Ok(rows)
}

/// The checkpoint at the end of a log.
fn end_of(side: &Side) -> Result<Checkpoint, String> {
    let mut checkpoint = String::new();
    for row in rows(side, false)? {
        if let Row::End { checkpoint: found, .. } = row? {
            checkpoint = found;
        }
    }
    let read = ReadCheckpoint::parse(&checkpoint);
    read.map(|read| read.checkpoint).map_err(|error| format!("{side}: its end: {error}"))
}

fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, String> {
    let thread = std::thread::Builder::new().name("log-copy".to_owned());
    thread.spawn(work).map_err(|error| error.to_string())
}

/// What turns the rows that are there into those of the log.
fn steps(log: Rows, there: Option<Rows>, has_proof: bool) -> Result<Steps, String> {
    let (sender, steps) = sync_channel(ROWS_WAITING);
    spawn(move || {
        let told = sender.clone();
        if let Err(reason) = differences(log, there, has_proof, &|step| told.send(Ok(step)).is_ok())
        {
            // Nobody may be there to hear it.
            let _ = sender.send(Err(reason));
        }
    })?;
    Ok(steps)
}

/// Goes over both in the order that they share. With `has_proof` hashes are left of what was purged;
/// without it, it is known by its stream, which is closed. Errors: the rows that are there are not of
/// an earlier copy.
fn differences(
    log: Rows,
    there: Option<Rows>,
    has_proof: bool,
    tell: &dyn Fn(Step) -> bool,
) -> Result<(), String> {
    let another = || Err("there is another log already".to_owned());
    let mut there = there.into_iter().flatten();
    let mut old = there.next().transpose()?;
    // Those that the log has no longer, until it says that they were purged.
    let mut missing = HashMap::new();
    for row in log {
        let row = row?;
        let is_end = matches!(row, Row::End { .. });
        while let Some(earlier) = old.take_if(|old| old.place() < row.place()) {
            match &earlier {
                Row::Event(event) => {
                    missing.insert(event.position.0, event.stream.as_str().to_owned());
                }
                // A log has each key for ever, if only as one that was destroyed.
                Row::Key { .. } => return another(),
                row if row.is_for_ever() => return another(),
                _ => {}
            }
            if !tell(Step::Take(earlier)) {
                return Ok(());
            }
            old = there.next().transpose()?;
        }
        match &row {
            Row::Purged { position, .. } => drop(missing.remove(position)),
            // Where no more is left of what was purged.
            Row::Closed(closed) if !has_proof => missing.retain(|_, stream| stream != closed),
            // The copy has later ones.
            Row::Event(event) if old.as_ref().is_some_and(|old| old.is_event_after(event)) => {
                return another();
            }
            _ => {}
        }
        if is_end && !missing.is_empty() {
            return another();
        }
        let same = old.take_if(|old| old.place() == row.place());
        let has_it = match &same {
            Some(old) if mark(old) == mark(&row) => true,
            Some(old) if old.is_for_ever() => return another(),
            Some(_) | None => false,
        };
        if let Some(earlier) = same {
            old = there.next().transpose()?;
            if !has_it && !is_end && !tell(Step::Take(earlier)) {
                return Ok(());
            }
        }
        // The end says that all is there, also where it is as it was.
        if (!has_it || is_end) && !tell(Step::Put(row)) {
            return Ok(());
        }
    }
    Ok(())
}

/// Passes rows on, and keeps a mark of each.
fn marked(rows: Rows) -> Result<(Rows, JoinHandle<Vec<u64>>), String> {
    let (sender, passed) = sync_channel(ROWS_WAITING);
    let passing = spawn(move || {
        let mut marks = Vec::new();
        for row in rows {
            marks.extend(row.as_ref().ok().map(mark));
            if sender.send(row).is_err() {
                break;
            }
        }
        marks
    })?;
    Ok((passed, passing))
}

/// By what a row is known: two that differ have the same mark by chance alone.
fn mark(row: &Row) -> u64 {
    let mut hasher = DefaultHasher::new();
    match row {
        Row::Event(event) => {
            (event.position.0, event.stream.as_str(), event.revision.0).hash(&mut hasher);
            (&event.event_type, event.version, event.at, &event.body).hash(&mut hasher);
            (format!("{:?}", event.meta), event.hash).hash(&mut hasher);
        }
        Row::BlobPart { id, part, content } => (id, part, content).hash(&mut hasher),
        // Which position is the next one follows from the others.
        Row::End { checkpoint, .. } => checkpoint.hash(&mut hasher),
        other => format!("{other:?}").hash(&mut hasher),
    }
    hasher.finish()
}

/// Compares a copy with what was read of the log, row by row; how many events both have.
fn same(copy: Rows, marks: Vec<u64>) -> Result<u64, String> {
    let mut marks = marks.into_iter();
    let mut events = 0;
    for row in copy {
        let row = row?;
        if marks.next() != Some(mark(&row)) {
            return Err(format!("the copy is not the log: {} differs", place(&row)));
        }
        match row {
            Row::Event(_) => events += 1,
            Row::End { .. } if marks.len() == 0 => return Ok(events),
            Row::End { .. } => return Err("the log has more than the copy".to_owned()),
            _ => {}
        }
    }
    Err("the copy ends before its end".to_owned())
}

/// What a row is, without what is in it.
fn place(row: &Row) -> String {
    match row {
        Row::Event(event) => format!("position {}", event.position),
        Row::Purged { position, .. } => format!("purged position {position}"),
        Row::Note { number, .. } => format!("note {number}"),
        Row::Checkpoint { position, .. } => format!("the checkpoint of position {position}"),
        Row::BlobPart { id, part, .. } => format!("part {part} of blob {id}"),
        Row::Key { scope, .. } => format!("the key of {scope}"),
        Row::Closed(stream) => format!("stream {stream}"),
        Row::End { .. } => "the end".to_owned(),
    }
}
