//! The whole log folded anew, and what comes of it compared with the views as they are kept: row by
//! row, as of one moment, while others may write.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Row, Rows, Statement};
use uuid::Uuid;

use super::batch::Batch;
use super::columns::uuid;
use super::error::ViewError;
use super::landmarks;
use super::store::{self, Checkpoint, Place};
use crate::events::log::{EventLog, Filter};
use crate::events::{Position, PurgeEvent, RecordedEvent};
use crate::model::{ResourceId, StackId};

/// How many events are read at a time.
const PAGE_EVENTS: usize = 1_024;

/// How many differences of a table are told.
const TOLD_MAX: usize = 10;

/// What cannot be the same after a purge, because it counts what is gone: it may only be more.
const COUNTS_THE_PURGED: [&str; 2] = ["landmarks", "written"];

/// Numbers that a row has by the order in which rows came; they differ after a purge.
const NUMBER: &str = "number";

/// What came of it.
pub struct Refolded {
    /// The last event that was folded.
    pub position: Position,
    pub events: u64,
    /// How each stack and each resource stands by the views: `CREATE_COMPLETE`.
    pub stacks: HashMap<StackId, String>,
    pub resources: HashMap<ResourceId, String>,
    /// In what the kept views differ; `None` where there are none of this version.
    pub differences: Option<Vec<String>>,
}

/// Folds the log up to where the views stand, or to its end; each event is shown to `see` as well.
pub async fn refold(
    log: &dyn EventLog,
    views: &Path,
    mut see: impl FnMut(&RecordedEvent),
) -> Result<Refolded, ViewError> {
    let kept = kept(views, log.spacing())?;
    let end = match &kept {
        Some((_, checkpoint)) => checkpoint.position,
        None => log.durable_position(),
    };
    let place = Place::memory();
    let mut fresh = place.open_to_write()?;
    store::create(&mut fresh, log.spacing())?;
    let (mut events, mut after, mut has_purged) = (0, Position(0), false);
    let mut landmarks = landmarks::Writer::of(log);
    while after < end {
        let page = log.read_all(after, &Filter::default(), PAGE_EVENTS).await?;
        let Some(last) = page.last() else { break };
        after = last.position;
        let mut batch = Batch::begin(&mut fresh, &mut landmarks)?;
        for event in page.iter().take_while(|event| event.position <= end) {
            see(event);
            batch.take(event)?;
            events += 1;
        }
        has_purged |= batch.commit()?.has_purged;
    }
    let differences = match &kept {
        Some((kept, _)) => {
            let gone = purged_after(log, end).await?;
            has_purged |= !gone.is_empty();
            Some(compared((kept, &gone), &fresh, has_purged)?)
        }
        None => None,
    };
    Ok(Refolded {
        position: end,
        events,
        stacks: statuses(&fresh, "stacks")?.into_iter().map(|(id, it)| (StackId(id), it)).collect(),
        resources: (statuses(&fresh, "resources")?.into_iter())
            .map(|(id, it)| (ResourceId(id), it))
            .collect(),
        differences,
    })
}

/// The stacks that were purged since: the log has nothing of them, and views that are behind do.
async fn purged_after(
    log: &dyn EventLog,
    mut after: Position,
) -> Result<HashSet<StackId>, ViewError> {
    let (mut gone, filter) = (HashSet::new(), Filter { kinds: vec!["purge"] });
    loop {
        let page = log.read_all(after, &filter, PAGE_EVENTS).await?;
        let Some(last) = page.last() else { return Ok(gone) };
        after = last.position;
        for event in &page {
            let PurgeEvent::StreamsPurged(purged) = event.decode()?;
            let ids = purged.streams.iter().filter_map(|it| {
                it.stream.as_str().strip_prefix("stack-")?.parse().ok().map(StackId)
            });
            gone.extend(ids);
        }
    }
}

/// The views in a file as they stand at this moment, and how far they have come.
fn kept(path: &Path, spacing: u64) -> Result<Option<(Connection, Checkpoint)>, ViewError> {
    if !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    // What is read first stays as it is until the connection is closed.
    db.execute_batch("BEGIN")?;
    let Some(checkpoint) = store::checkpoint(&db)? else { return Ok(None) };
    Ok(store::is_spaced(&db, spacing)?.then_some((db, checkpoint)))
}

fn statuses(db: &Connection, table: &str) -> rusqlite::Result<Vec<(Uuid, String)>> {
    let sql = format!("SELECT id, action || '_' || status FROM {table}");
    db.prepare(&sql)?.query_map([], |row| Ok((uuid(row, 0)?, row.get(1)?)))?.collect()
}

/// A table as both have it.
struct Table {
    name: String,
    /// Its columns, those first by which a row is known.
    columns: Vec<String>,
    keys: usize,
}

/// A row: what it is known by, and the rest of it.
type Line = (Vec<Value>, Vec<Value>);

fn compared(
    (kept, gone): (&Connection, &HashSet<StackId>),
    fresh: &Connection,
    has_purged: bool,
) -> Result<Vec<String>, ViewError> {
    let ranks = [ranks(kept, gone)?, ranks(fresh, gone)?];
    let mut told = Vec::new();
    for table in tables(fresh)? {
        let may_be_more = has_purged && COUNTS_THE_PURGED.contains(&table.name.as_str());
        let before = told.len();
        compare(&table, [kept, fresh], &ranks, may_be_more, &mut told)?;
        if told.len() > before && table.name == "stacks" {
            // All others hang on the order of these.
            break;
        }
    }
    Ok(told)
}

/// The places that stacks have in the order of their creation, by their numbers; what is gone has
/// none.
fn ranks(db: &Connection, gone: &HashSet<StackId>) -> rusqlite::Result<HashMap<i64, i64>> {
    let mut statement = db.prepare("SELECT number, id FROM stacks ORDER BY number")?;
    let mut rows = statement.query([])?;
    let (mut ranks, mut rank) = (HashMap::new(), 0);
    while let Some(row) = rows.next()? {
        if !gone.contains(&StackId(uuid(row, 1)?)) {
            ranks.insert(row.get(0)?, rank);
            rank += 1;
        }
    }
    Ok(ranks)
}

/// The tables, that of stacks first.
fn tables(db: &Connection) -> rusqlite::Result<Vec<Table>> {
    let mut statement = db.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'meta' \
         AND name NOT LIKE 'sqlite%' ORDER BY name != 'stacks', name",
    )?;
    let names: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let table = |name: String| {
        let mut columns: Vec<(i64, String)> = db
            .prepare("SELECT pk, name FROM pragma_table_info(?1)")?
            .query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        columns.sort_by_key(|(place, _)| if *place == 0 { i64::MAX } else { *place });
        // A table without a primary key has its unique id first.
        let keys = columns.iter().filter(|(place, _)| *place > 0).count().max(1);
        Ok(Table { name, keys, columns: columns.into_iter().map(|(_, name)| name).collect() })
    };
    names.into_iter().map(table).collect()
}

/// Goes through both in the order of their keys.
fn compare(
    table: &Table,
    dbs: [&Connection; 2],
    ranks: &[HashMap<i64, i64>; 2],
    may_be_more: bool,
    told: &mut Vec<String>,
) -> Result<(), ViewError> {
    let (columns, keys) = (table.columns.join(", "), table.columns[..table.keys].join(", "));
    // A project that has no stack any more is as good as one that never had any.
    let counted = if table.name == "stack_counts" { "WHERE listed != 0" } else { "" };
    let sql = format!("SELECT {columns} FROM {} {counted} ORDER BY {keys}", table.name);
    let mut statements: [Statement<'_>; 2] = [dbs[0].prepare(&sql)?, dbs[1].prepare(&sql)?];
    let [kept, fresh] = &mut statements;
    let (mut kept, mut fresh) = (kept.query([])?, fresh.query([])?);
    let mut one = table.next(&mut kept, &ranks[0])?;
    let mut other = table.next(&mut fresh, &ranks[1])?;
    let mut found = 0;
    while one.is_some() || other.is_some() {
        let order = match (&one, &other) {
            (Some(one), Some(other)) => order(&one.0, &other.0),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let differs = match (order, &one, &other) {
            (Ordering::Less, Some(_), _) if may_be_more => None,
            (Ordering::Less, Some(one), _) => Some(format!("{} is too many", table.known_by(one))),
            (Ordering::Equal, Some(one), Some(other)) => table.differs(one, other, may_be_more),
            (_, _, Some(other)) => Some(format!("{} is missing", table.known_by(other))),
            (_, _, None) => None,
        };
        if let Some(differs) = differs {
            found += 1;
            if found <= TOLD_MAX {
                told.push(format!("{}: {differs}", table.name));
            }
        }
        if order != Ordering::Greater {
            one = table.next(&mut kept, &ranks[0])?;
        }
        if order != Ordering::Less {
            other = table.next(&mut fresh, &ranks[1])?;
        }
    }
    if found > TOLD_MAX {
        told.push(format!("{}: and {} rows more", table.name, found - TOLD_MAX));
    }
    Ok(())
}

impl Table {
    /// The next row that is not of a stack that is gone.
    fn next(
        &self,
        rows: &mut Rows<'_>,
        ranks: &HashMap<i64, i64>,
    ) -> rusqlite::Result<Option<Line>> {
        while let Some(row) = rows.next()? {
            if let Some(line) = self.line(row, ranks)? {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// A row, with its stack's place for the stack's number, and without a number of its own.
    fn line(&self, row: &Row<'_>, ranks: &HashMap<i64, i64>) -> rusqlite::Result<Option<Line>> {
        let mut values = Vec::with_capacity(self.columns.len());
        for (at, name) in self.columns.iter().enumerate() {
            values.push(match (row.get(at)?, name.as_str()) {
                (Value::Integer(number), "stack") => match ranks.get(&number) {
                    Some(rank) => Value::Integer(*rank),
                    None => return Ok(None),
                },
                (Value::Integer(number), NUMBER) if self.name == "stacks" => {
                    if !ranks.contains_key(&number) {
                        return Ok(None);
                    }
                    Value::Null
                }
                // Rows come in its order, which is all that it says.
                (_, NUMBER) => Value::Null,
                (value, _) => value,
            });
        }
        let rest = values.split_off(self.keys);
        Ok(Some((values, rest)))
    }

    fn differs(&self, kept: &Line, fresh: &Line, may_be_more: bool) -> Option<String> {
        let columns = self.columns[self.keys..].iter().zip(kept.1.iter().zip(&fresh.1));
        let is_more = |kept: &Value, fresh: &Value| matches!((kept, fresh), (Value::Integer(kept), Value::Integer(fresh)) if may_be_more && kept >= fresh);
        let differ = columns.filter(|(_, (kept, fresh))| kept != fresh && !is_more(kept, fresh));
        let differ: Vec<&str> = differ.map(|(name, _)| name.as_str()).collect();
        let known = self.known_by(fresh);
        (!differ.is_empty()).then(|| format!("{known} has another {}", differ.join(", ")))
    }

    /// What a row is known by: ids and numbers, which are nobody's secret.
    fn known_by(&self, (keys, rest): &Line) -> String {
        let named = self.columns.iter().zip(keys.iter().chain(rest));
        let known = named.filter(|(name, value)| {
            let is_key = self.columns[..self.keys].contains(name) && *value != &Value::Null;
            is_key || *name == "id"
        });
        let word = |value: &Value| match value {
            Value::Blob(bytes) => Uuid::from_slice(bytes).unwrap_or_default().to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            Value::Null | Value::Real(_) => String::new(),
        };
        known.map(|(name, value)| format!("{name} {}", word(value))).collect::<Vec<_>>().join(", ")
    }
}

/// As SQLite has it.
fn order(one: &[Value], other: &[Value]) -> Ordering {
    let kind = |value: &Value| match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Real(_) => 1,
        Value::Text(_) => 2,
        Value::Blob(_) => 3,
    };
    let of_two = |(one, other): (&Value, &Value)| match (one, other) {
        (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
        (Value::Blob(one), Value::Blob(other)) => one.cmp(other),
        (one, other) => kind(one).cmp(&kind(other)),
    };
    one.iter().zip(other).map(of_two).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
