//! Where in the log something can be found: which blocks of positions have events of a project, of
//! a stack, of a type, by a user, and so on. A filtered feed reads these blocks alone, and takes of
//! them what it wants.
//!
//! What is looked for is kept as a hash: a line is small, a name that was purged is gone, and two
//! values of one hash cost a block that is read in vain.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use serde::Deserialize;
use uuid::Uuid;

use super::columns::{bytes, position, stored, uuid};
use crate::events::log::EventLog;
use crate::events::{Position, RecordedEvent, StreamId};
use crate::model::{ProjectId, StackId, Status};

/// About how many events a block has. A change moves the schema's version.
const BLOCK_EVENTS: u64 = 256;

/// How many streams' owners the writer remembers.
const OWNERS_MAX: usize = 4_096;

/// Something that events have in common.
#[derive(Clone, Copy, Debug)]
pub enum Landmark<'a> {
    Project(&'a ProjectId),
    Stack(StackId),
    /// Of the stack or of one that stands within it, by the outermost.
    Tree(StackId),
    Resource(&'a str),
    Type(&'a str),
    Action(&'a str),
    Status(&'a str),
    /// A user, by id or name.
    Caller(&'a str),
}

impl Landmark<'_> {
    fn key(self) -> i64 {
        match self {
            Landmark::Project(id) => hash(b'p', id.as_str().as_bytes()),
            Landmark::Stack(id) => hash(b's', id.0.as_bytes()),
            Landmark::Tree(id) => hash(b't', id.0.as_bytes()),
            Landmark::Resource(name) => hash(b'r', name.as_bytes()),
            Landmark::Type(name) => hash(b'e', name.as_bytes()),
            Landmark::Action(word) => hash(b'a', word.as_bytes()),
            Landmark::Status(word) => hash(b'f', word.as_bytes()),
            Landmark::Caller(user) => hash(b'u', user.as_bytes()),
        }
    }
}

/// FNV-1a: the same in every process, and nothing hangs on how hard it is to meet.
fn hash(kind: u8, value: &[u8]) -> i64 {
    let hash = [kind].iter().chain(value).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    i64::from_ne_bytes(hash.to_ne_bytes())
}

/// What is looked for: of each group one, at least. Without a group, everything.
#[derive(Clone, Debug, Default)]
pub struct Search(Vec<Vec<i64>>);

impl Search {
    /// Narrows it to events that have one of these. The groups that few events fit come first.
    pub fn one_of<'a>(&mut self, landmarks: impl IntoIterator<Item = Landmark<'a>>) {
        let group: Vec<i64> = landmarks.into_iter().map(Landmark::key).collect();
        if !group.is_empty() {
            self.0.push(group);
        }
    }

    /// Whether it takes everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What an event says of an action and its status.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Told {
    pub action: Option<String>,
    pub status: Option<String>,
}

impl Told {
    /// Reads it from an event; what starts an action leaves it in progress.
    pub fn by(event: &RecordedEvent) -> Told {
        let mut told: Told = serde_json::from_str(&event.body).unwrap_or_default();
        if told.status.is_none() && event.event_type.ends_with("Started") {
            told.status = Some(Status::InProgress.to_string());
        }
        told
    }
}

/// Collects landmarks as events come, and writes them.
pub(super) struct Writer {
    /// How many positions a block has.
    width: u64,
    block: i64,
    /// What is noted of the block already.
    noted: HashSet<i64>,
    /// Keys and blocks that are not written yet.
    unwritten: Vec<(i64, i64)>,
    owners: HashMap<StreamId, Owner>,
}

/// What all events of a stream have in common.
struct Owner {
    project: String,
    keys: Vec<i64>,
}

impl Writer {
    /// For the views of a log.
    pub(super) fn of(log: &dyn EventLog) -> Self {
        let (noted, owners) = (HashSet::new(), HashMap::new());
        Self { width: width(log), block: 0, noted, unwritten: Vec::new(), owners }
    }

    /// Notes an event that the other views have taken in; whose it is, where a feed carries it.
    pub(super) fn note(
        &mut self,
        db: &Connection,
        event: &RecordedEvent,
    ) -> rusqlite::Result<Option<&str>> {
        if !self.owners.contains_key(&event.stream) {
            let Some(owner) = owner(db, &event.stream)? else { return Ok(None) };
            if self.owners.len() >= OWNERS_MAX {
                self.owners.clear();
            }
            self.owners.insert(event.stream.clone(), owner);
        }
        let Some(owner) = self.owners.get(&event.stream) else { return Ok(None) };
        let told = Told::by(event);
        let mut keys = vec![Landmark::Type(&event.event_type).key()];
        keys.extend(told.action.as_deref().map(|word| Landmark::Action(word).key()));
        keys.extend(told.status.as_deref().map(|word| Landmark::Status(word).key()));
        if let Some(caller) = &event.meta.caller {
            keys.push(Landmark::Caller(&caller.user_id).key());
            keys.push(Landmark::Caller(&caller.user_name).key());
        }
        let block = block_of(event.position, self.width);
        if self.block != block {
            self.block = block;
            self.noted.clear();
        }
        for &key in owner.keys.iter().chain(&keys) {
            if self.noted.insert(key) {
                self.unwritten.push((key, block));
            }
        }
        Ok(Some(&owner.project))
    }

    /// Writes what was noted, in the order of the table: its keys lie anywhere, and each page of it
    /// is written once.
    pub(super) fn write(&mut self, db: &Connection) -> rusqlite::Result<()> {
        self.unwritten.sort_unstable();
        let mut insert = db.prepare_cached("INSERT OR IGNORE INTO landmarks VALUES (?1, ?2)")?;
        for (key, block) in self.unwritten.drain(..) {
            insert.execute([key, block])?;
        }
        Ok(())
    }
}

/// Whose a stream is; nobody's, where no feed carries it.
fn owner(db: &Connection, stream: &StreamId) -> rusqlite::Result<Option<Owner>> {
    let Some((kind, id)) = stream.as_str().split_once('-') else { return Ok(None) };
    let query = match kind {
        "project" => {
            let keys = vec![Landmark::Project(&ProjectId(id.to_owned())).key()];
            return Ok(Some(Owner { project: id.to_owned(), keys }));
        }
        "stack" => "SELECT project, id, root, NULL FROM stacks WHERE id = ?1",
        "resource" => {
            "SELECT s.project, s.id, s.root, r.name FROM resources r \
             JOIN stacks s ON s.number = r.stack WHERE r.id = ?1"
        }
        _ => return Ok(None),
    };
    let Ok(id) = Uuid::try_parse(id) else { return Ok(None) };
    let found = db.prepare_cached(query)?.query_row([bytes(id)], |row| {
        let project = ProjectId(row.get(0)?);
        let mut keys = vec![
            Landmark::Project(&project).key(),
            Landmark::Stack(StackId(uuid(row, 1)?)).key(),
            Landmark::Tree(StackId(uuid(row, 2)?)).key(),
        ];
        let name: Option<String> = row.get(3)?;
        keys.extend(name.map(|name| Landmark::Resource(&name).key()));
        Ok(Owner { project: project.0, keys })
    });
    found.optional()
}

fn block_of(position: Position, width: u64) -> i64 {
    stored(Position(position.0 / width))
}

/// How many positions a block of a log has.
pub(super) fn width(log: &dyn EventLog) -> u64 {
    BLOCK_EVENTS * log.spacing()
}

/// The next blocks that have something after a position.
pub(super) fn blocks(
    db: &Connection,
    width: u64,
    search: &Search,
    after: Position,
    limit: usize,
) -> rusqlite::Result<Vec<RangeInclusive<u64>>> {
    let Some((first, others)) = search.0.split_first() else { return Ok(Vec::new()) };
    let marks = |group: &[i64]| vec!["?"; group.len()].join(", ");
    let mut sql = format!(
        "SELECT DISTINCT block FROM landmarks WHERE key IN ({}) AND block >= ?",
        marks(first)
    );
    let mut values: Vec<Sql> = first.iter().copied().map(Sql::Integer).collect();
    values.push(Sql::Integer(block_of(Position(after.0.saturating_add(1)), width)));
    for group in others {
        sql.push_str(&format!(
            " AND EXISTS (SELECT 1 FROM landmarks o WHERE o.key IN ({}) \
             AND o.block = landmarks.block)",
            marks(group)
        ));
        values.extend(group.iter().copied().map(Sql::Integer));
    }
    sql.push_str(" ORDER BY block LIMIT ?");
    values.push(Sql::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
    db.prepare_cached(&sql)?
        .query_map(params_from_iter(values), |row| {
            let from = position(row, 0)?.0 * width;
            Ok(from..=from + width - 1)
        })?
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_that_have_one_of_each_group() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("schema.sql")).unwrap();
        let put = |landmark: Landmark<'_>, block: i64| {
            db.execute("INSERT INTO landmarks VALUES (?1, ?2)", [landmark.key(), block]).unwrap();
        };
        for block in [0, 1, 2, 7] {
            put(Landmark::Resource("net"), block);
        }
        put(Landmark::Status("FAILED"), 2);
        put(Landmark::Status("COMPLETE"), 7);
        put(Landmark::Status("FAILED"), 9);
        let found = |statuses: &[&str], after, limit| {
            let mut search = Search::default();
            search.one_of([Landmark::Resource("net")]);
            search.one_of(statuses.iter().map(|word| Landmark::Status(word)));
            blocks(&db, 256, &search, Position(after), limit).unwrap()
        };
        assert_eq!(found(&["FAILED"], 0, 10), [512..=767]);
        assert_eq!(found(&["FAILED", "COMPLETE"], 0, 10), [512..=767, 1792..=2047]);
        assert_eq!(found(&["FAILED", "COMPLETE"], 766, 10), [512..=767, 1792..=2047]);
        assert_eq!(found(&["FAILED", "COMPLETE"], 767, 10), [1792..=2047]);
        assert_eq!(found(&[], 0, 2), [0..=255, 256..=511]);
        assert_eq!(found(&["IN_PROGRESS"], 0, 10), []);
    }
}
