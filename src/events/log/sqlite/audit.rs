//! Proves a log's file, row by row, and names whatever is not what was written or signed.
//!
//! One read transaction, so that a server may write meanwhile. Everything that is stored is read
//! and compared with something that another place says of it: bodies with hashes, hashes with the
//! running digest, the digest with signed checkpoints, keys with notes, large bodies with their ids.

mod events;
mod holdings;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::super::chain::{Hash, hex};
use super::super::checkpoint::{Checkpoint, CheckpointError, ReadCheckpoint};
use super::{OpenError, proof, schema};
use crate::events::signing::PublicKey;

/// How many problems are told; where there are more, the first say enough.
const PROBLEMS_MAX: usize = 100;
/// How many faults of its own SQLite tells.
const FAULTS_MAX: u32 = 20;

/// What an audit found.
#[derive(Debug)]
pub struct Audit {
    /// What the log comes to by its own rows.
    pub end: Checkpoint,
    /// Whose signature the end carries.
    pub signed_by: Option<PublicKey>,
    /// How many checkpoints the log passes through.
    pub checkpoints: usize,
    /// One sentence each; empty where all holds.
    pub problems: Vec<String>,
}

impl Audit {
    /// One hash over the ends of all streams and the notes, in hex.
    pub fn digest(&self) -> String {
        hex(&self.end.digest)
    }
}

/// A checkpoint that the log must pass through, and what to call it.
pub struct Held {
    pub name: String,
    pub text: String,
    /// Kept by somebody who knows what the log said of itself until then.
    pub was_away: bool,
}

/// Proves the log. `key` is the one that signs, if it is known; `held` are checkpoints that were
/// taken away, and that of the file beside.
pub fn audit(path: &Path, key: Option<PublicKey>, held: &[Held]) -> Result<Audit, OpenError> {
    let sqlite = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(sqlite)?;
    let (application, format) = schema::identity(&connection).map_err(sqlite)?;
    schema::refuse_foreign(path, application, format)?;
    connection.execute_batch("BEGIN").map_err(sqlite)?;
    let mut auditor = Auditor::new(&connection, format, key);
    auditor.file();
    auditor.head();
    auditor.passed();
    for held in held {
        auditor.held(held);
    }
    auditor.part("the events", Auditor::events);
    auditor.part("the keys", Auditor::keys);
    auditor.part("the streams", Auditor::streams);
    auditor.part("the blobs", Auditor::blobs);
    auditor.end();
    auditor.part("whether the file is all there is", |auditor| auditor.alone(path));
    Ok(auditor.found)
}

/// A checkpoint on the way that is not met yet.
struct Due {
    name: String,
    checkpoint: Checkpoint,
    kept: Kept,
}

/// Where a checkpoint was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// In the log, as its end.
    AtEnd,
    /// In the log, as a place that it passed.
    OnTheWay,
    /// Outside of the log's file.
    Outside,
}

struct Auditor<'a> {
    connection: &'a Connection,
    format: i64,
    key: Option<PublicKey>,
    due: Vec<Due>,
    /// Notes up to here are known to whoever holds a checkpoint.
    known_notes: u64,
    /// Whether a checkpoint outside of the file is of the place that the walk has come to.
    is_end_known: bool,
    heads: HashMap<String, (u64, Hash)>,
    /// Scopes by the notes: the hash of their sealed key, or none where it was destroyed.
    keys: BTreeMap<String, Option<Vec<u8>>>,
    closed: BTreeSet<String>,
    /// What purges say of streams: how many events, and the last hash.
    purges: HashMap<String, Vec<(u64, String)>>,
    /// Large bodies that events refer to, and which event does.
    referred: BTreeMap<String, String>,
    found: Audit,
}

impl<'a> Auditor<'a> {
    fn new(connection: &'a Connection, format: i64, key: Option<PublicKey>) -> Self {
        Self {
            connection,
            format,
            key,
            due: Vec::new(),
            known_notes: 0,
            is_end_known: false,
            heads: HashMap::new(),
            keys: BTreeMap::new(),
            closed: BTreeSet::new(),
            purges: HashMap::new(),
            referred: BTreeMap::new(),
            found: Audit {
                end: Checkpoint::default(),
                signed_by: None,
                checkpoints: 0,
                problems: Vec::new(),
            },
        }
    }

    fn problem(&mut self, text: impl Into<String>) {
        if self.found.problems.len() < PROBLEMS_MAX {
            self.found.problems.push(text.into());
        }
    }

    /// Runs a part that reads the file; where it cannot be read, that is a problem like others.
    fn part(&mut self, what: &str, read: impl FnOnce(&mut Self) -> rusqlite::Result<()>) {
        if let Err(error) = read(self) {
            self.problem(format!("{what} cannot be read: {error}"));
        }
    }

    /// The file as SQLite sees it, and its tables.
    fn file(&mut self) {
        self.part("the file", |auditor| {
            let sql = format!("PRAGMA integrity_check({FAULTS_MAX})");
            let mut statement = auditor.connection.prepare(&sql)?;
            let faults = statement.query_map([], |row| row.get::<_, String>(0))?;
            for fault in faults {
                let fault = fault?;
                if fault != "ok" {
                    auditor.problem(format!("the file is damaged: {fault}"));
                }
            }
            Ok(())
        });
        self.part("the tables", |auditor| {
            if schema::found(auditor.connection)? != schema::expected(auditor.format)? {
                auditor.problem("the tables of the file are not those of a log");
            }
            Ok(())
        });
    }

    /// The checkpoint at the end, which the log must come to.
    fn head(&mut self) {
        if self.format < 2 {
            return;
        }
        self.part("the checkpoint at the end", |auditor| {
            match proof::head(auditor.connection)? {
                None => auditor.problem("the checkpoint at the end is gone"),
                Some(text) => {
                    let name = "the checkpoint at the end".to_owned();
                    auditor.found.signed_by = auditor.expect(name, &text, Kept::AtEnd);
                }
            }
            Ok(())
        });
    }

    /// The checkpoints that the log keeps of its way.
    fn passed(&mut self) {
        if self.format < 2 {
            return;
        }
        self.part("the checkpoints", |auditor| {
            let sql = "SELECT position, notes, CAST(checkpoint AS BLOB) FROM checkpoints";
            let mut statement = auditor.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let place = (row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64);
                let text = String::from_utf8_lossy(row.get_ref(2)?.as_bytes()?).into_owned();
                let name = format!("the checkpoint of position {}", place.0);
                auditor.expect(name.clone(), &text, Kept::OnTheWay);
                if auditor.due.last().is_some_and(|due| due.checkpoint.place() != place) {
                    auditor.problem(format!("{name} is of another place"));
                }
            }
            Ok(())
        });
    }

    fn held(&mut self, held: &Held) {
        let before = self.due.len();
        let signed_by = self.expect(held.name.clone(), &held.text, Kept::Outside);
        if let Some(due) = self.due.get(before)
            && signed_by.is_some()
            && held.was_away
        {
            self.known_notes = self.known_notes.max(due.checkpoint.notes);
        }
    }

    /// Expects the log to pass through a checkpoint; whose signature it carries.
    fn expect(&mut self, name: String, text: &str, kept: Kept) -> Option<PublicKey> {
        let read = match ReadCheckpoint::parse(text) {
            Ok(read) => read,
            Err(error @ (CheckpointError::Malformed | CheckpointError::Signature)) => {
                self.problem(format!("{name} is no use: {error}"));
                return None;
            }
        };
        match (self.key, read.signed_by) {
            (Some(key), Some(found)) if key != found => {
                self.problem(format!("{name} was signed with the key {found}, not with {key}"));
            }
            (Some(_), None) => self.problem(format!("{name} is not signed")),
            _ => {}
        }
        self.due.push(Due { name, checkpoint: read.checkpoint, kept });
        read.signed_by
    }

    /// Compares the checkpoints of the place that the walk has come to.
    fn meet(&mut self) {
        let end = self.found.end;
        let (met, due) = std::mem::take(&mut self.due)
            .into_iter()
            .partition::<Vec<_>, _>(|due| due.checkpoint.place() == end.place());
        self.due = due;
        self.is_end_known = met.iter().any(|due| due.kept == Kept::Outside);
        for Due { name, checkpoint, .. } in met {
            self.found.checkpoints += 1;
            if checkpoint.digest != end.digest {
                self.problem(format!(
                    "the log up to position {} is not the one of {name}: {} events in {} streams \
                     were signed, {} in {} are there",
                    end.position,
                    checkpoint.events,
                    checkpoint.streams,
                    end.events,
                    self.heads.len()
                ));
            }
        }
    }

    /// A file that was being written and has nothing beside it may lack its end, unless somebody
    /// knows that this is it.
    fn alone(&mut self, path: &Path) -> rusqlite::Result<()> {
        if self.format < 3 || self.is_end_known || !schema::is_marked_writing(self.connection)? {
            return Ok(());
        }
        let write_ahead = super::write_ahead(path);
        let is_beside = std::fs::metadata(&write_ahead).is_ok_and(|found| found.len() > 0);
        if !is_beside && !super::is_locked(path) {
            self.problem(format!(
                "the log was being written when this file was copied or its process was killed, \
                 and {} is not here with the end of it: what came after position {}, if anything \
                 did, is missing",
                write_ahead.file_name().unwrap_or_default().display(),
                self.found.end.position
            ));
        }
        Ok(())
    }

    /// What was signed of the end and is not met by now.
    fn end(&mut self) {
        let end = self.found.end;
        for Due { name, checkpoint, kept } in std::mem::take(&mut self.due) {
            let Checkpoint { position, notes, events, .. } = checkpoint;
            let (is_at, noted) = end.place();
            self.problem(match checkpoint.place() > end.place() {
                true => format!(
                    "the log was cut: it ends at position {is_at} (note {noted}, {} events), and \
                     {name} is of position {position} (note {notes}, {events} events)",
                    end.events
                ),
                false if kept == Kept::AtEnd => format!(
                    "the log goes on to position {is_at} (note {noted}) after {name}, which is of \
                     position {position} (note {notes})"
                ),
                false => format!("the log does not pass through {name} (position {position})"),
            });
        }
    }
}
