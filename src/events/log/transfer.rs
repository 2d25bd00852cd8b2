//! A log moved from one place to another, row by row: the events with their positions and hashes,
//! what is left of purged ones, notes, checkpoints, bodies, keys and closed streams, and the end as
//! it was signed. So the copy is proved by what proves the log, and moves back. A place that has an
//! earlier copy is given what differs.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::chain::Hash;
use super::{Address, mariadb, sqlite};
use crate::events::RecordedEvent;

/// How many rows wait for whoever writes them.
const ROWS_WAITING: usize = 1_024;

/// What a log is made of, in the order in which it is copied.
#[derive(Debug, PartialEq)]
pub(super) enum Row {
    Event(Box<RecordedEvent>),
    Purged {
        position: u64,
        stream: String,
        hash: Hash,
    },
    Note {
        number: u64,
        after: u64,
        kind: u8,
        name: String,
        hash: Vec<u8>,
    },
    Checkpoint {
        position: u64,
        notes: u64,
        text: String,
    },
    BlobPart {
        id: String,
        part: u32,
        content: Vec<u8>,
    },
    Key {
        scope: String,
        sealed: Option<Vec<u8>>,
    },
    Closed(String),
    /// The last one: what was copied before it is no log without it.
    End {
        next: u64,
        checkpoint: String,
    },
}

impl Row {
    /// Where it stands among the rows of a log.
    fn place(&self) -> (u8, u64, &str, u64) {
        match self {
            Row::Event(event) => (0, event.position.0, "", 0),
            Row::Purged { position, .. } => (1, *position, "", 0),
            Row::Note { number, .. } => (2, *number, "", 0),
            Row::Checkpoint { position, notes, .. } => (3, *position, "", *notes),
            Row::BlobPart { id, part, .. } => (4, 0, id, u64::from(*part)),
            Row::Key { scope, .. } => (5, 0, scope, 0),
            Row::Closed(stream) => (6, 0, stream, 0),
            Row::End { .. } => (7, 0, "", 0),
        }
    }

    /// Whether it stays as it is once it is written. A key that was destroyed never comes back.
    fn is_for_ever(&self) -> bool {
        match self {
            Row::Event(_) | Row::Purged { .. } | Row::Note { .. } | Row::Closed(_) => true,
            Row::Key { sealed, .. } => sealed.is_none(),
            Row::Checkpoint { .. } | Row::BlobPart { .. } | Row::End { .. } => false,
        }
    }
}

/// What is done to a place, so that it has what the log has.
pub(super) enum Step {
    /// The row is there, in place of what is where it stands.
    Put(Row),
    /// The row is not there.
    Take(Row),
}

/// Rows on their way.
pub(super) type Sender = SyncSender<Result<Row, String>>;
type Rows = Receiver<Result<Row, String>>;
pub(super) type Steps = Receiver<Result<Step, String>>;

/// Where a log is copied from or to.
#[derive(Clone, Debug)]
pub enum Side {
    File(PathBuf),
    Database(Address),
}

impl Side {
    /// Whether there is a log; what a copy that broke off has left is none.
    fn has_log(&self) -> Result<bool, String> {
        match self {
            Side::File(path) => Ok(path.exists()),
            Side::Database(address) => mariadb::has_log(address),
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Side::File(path) => path.display().fmt(f),
            Side::Database(address) => address.fmt(f),
        }
    }
}

/// Copies the log as it stands at one moment to a place where there is none, or an earlier copy that
/// nobody has written since, and reads the copy again: how many events are the same. The error is a
/// whole sentence.
pub fn transfer(from: &Side, to: &Side) -> Result<u64, String> {
    let has_log = to.has_log()?;
    if has_log {
        // Nothing of another log is touched.
        differences(rows(from)?, Some(rows(to)?), &|_| true)
            .map_err(|reason| format!("{to}: {reason}"))?;
    }
    let there = if has_log { Some(rows(to)?) } else { None };
    let (rows, marks) = marked(rows(from)?)?;
    write(to, rows, there)?;
    same(to, marks.join().map_err(|_| "the copy ended in a panic".to_owned())?)
}

/// Copies without a second look.
pub fn copy_out(from: &Address, to: &std::path::Path) -> Result<(), String> {
    write(&Side::File(to.to_owned()), rows(&Side::Database(from.clone()))?, None)
}

/// Writes rows to a place that has these. On a thread of its own, for the caller may be within a
/// runtime.
fn write(to: &Side, rows: Rows, there: Option<Rows>) -> Result<(), String> {
    let to = to.clone();
    let catches_up = there.is_some();
    let steps = steps(rows, there)?;
    let write = move || match &to {
        Side::File(path) if catches_up => sqlite::catch_up(path, &steps),
        Side::File(path) => sqlite::load(path, &steps),
        Side::Database(address) => mariadb::load(address, steps, catches_up),
    };
    let thread = std::thread::Builder::new().name("log-copy".to_owned());
    let writing = thread.spawn(write).map_err(|error| error.to_string())?;
    writing.join().map_err(|_| "the copy ended in a panic".to_owned())?
}

fn rows(from: &Side) -> Result<Rows, String> {
    let (sender, rows) = sync_channel(ROWS_WAITING);
    let from = from.clone();
    let read = move || {
        let read = match &from {
            Side::File(path) => sqlite::dump(path, &sender),
            Side::Database(address) => mariadb::dump(address, &sender),
        };
        if let Err(reason) = read {
            // Nobody may be there to hear it.
            let _ = sender.send(Err(reason));
        }
    };
    let thread = std::thread::Builder::new().name("log-copy".to_owned());
    thread.spawn(read).map_err(|error| error.to_string())?;
    Ok(rows)
}

/// What turns the rows that are there into those of the log.
fn steps(log: Rows, there: Option<Rows>) -> Result<Steps, String> {
    let (sender, steps) = sync_channel(ROWS_WAITING);
    let compare = move || {
        let told = sender.clone();
        if let Err(reason) = differences(log, there, &|step| told.send(Ok(step)).is_ok()) {
            // Nobody may be there to hear it.
            let _ = sender.send(Err(reason));
        }
    };
    let thread = std::thread::Builder::new().name("log-copy".to_owned());
    thread.spawn(compare).map_err(|error| error.to_string())?;
    Ok(steps)
}

/// Goes over both in the order that they share. Errors: the rows that are there are not of an
/// earlier copy.
fn differences(log: Rows, there: Option<Rows>, tell: &dyn Fn(Step) -> bool) -> Result<(), String> {
    let another = || Err("there is another log already".to_owned());
    let mut there = there.into_iter().flatten();
    let mut old = there.next().transpose()?;
    // Those that the log has no longer, until it says that they were purged.
    let mut missing = HashSet::new();
    for row in log {
        let row = row?;
        let is_end = matches!(row, Row::End { .. });
        while let Some(earlier) = old.take_if(|old| old.place() < row.place()) {
            match &earlier {
                Row::Event(event) => {
                    missing.insert(event.position.0);
                }
                row if row.is_for_ever() => return another(),
                _ => {}
            }
            if !tell(Step::Take(earlier)) {
                return Ok(());
            }
            old = there.next().transpose()?;
        }
        if let Row::Purged { position, .. } = &row {
            missing.remove(position);
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
        if same.is_some() {
            old = there.next().transpose()?;
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
    let pass = move || {
        let mut marks = Vec::new();
        for row in rows {
            marks.extend(row.as_ref().ok().map(mark));
            if sender.send(row).is_err() {
                break;
            }
        }
        marks
    };
    let thread = std::thread::Builder::new().name("log-copy".to_owned());
    Ok((passed, thread.spawn(pass).map_err(|error| error.to_string())?))
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
        other => format!("{other:?}").hash(&mut hasher),
    }
    hasher.finish()
}

/// Compares a copy with what was read of the log, row by row; how many events both have.
fn same(copy: &Side, marks: Vec<u64>) -> Result<u64, String> {
    let mut marks = marks.into_iter();
    let mut events = 0;
    for row in rows(copy)? {
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
