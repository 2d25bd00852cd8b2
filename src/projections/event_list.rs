//! Heat's event list: every change of the state of a stack or one of its resources.

use chrono::{DateTime, Utc};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use uuid::Uuid;

use super::columns::{bytes, micros, position, status, stored, time, uuid};
use super::error::ViewError;
use super::known::Known;
use crate::events::{Position, RecordedEvent};
use crate::model::{
    Action, PHYSICAL_NAME_MAX_CHARS, ResourceName, StackId, StackName, Status, physical_name,
};

/// The type that Heat gives to events of a stack itself.
pub const STACK_TYPE: &str = "OS::Heat::Stack";

/// One line of the event list.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    pub id: Uuid,
    /// The stack whose event it is.
    pub stack: StackId,
    pub stack_name: String,
    pub position: Position,
    /// The stack's own name for events of the stack itself.
    pub name: String,
    pub type_name: String,
    pub physical_id: Option<String>,
    /// Heat's word: an action's, or `SIGNAL`.
    pub action: String,
    pub status: Status,
    pub reason: String,
    pub at: DateTime<Utc>,
    /// Where the log has the resource's properties at that time.
    pub definition: Option<Position>,
}

/// What an event list can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSort {
    Time,
    ResourceType,
}

/// Which events of a stack, and in which order. Empty filters take all.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// How many levels of stacks within it have their events among them. As in Heat, with any at
    /// all a stack that lists no resource has none.
    pub nested_depth: u64,
    pub names: Vec<String>,
    pub types: Vec<String>,
    pub actions: Vec<String>,
    pub statuses: Vec<String>,
    pub sort: Vec<EventSort>,
    /// None is Heat's default: newest first, or ascending where keys are given.
    pub descending: Option<bool>,
    /// The page starts after this event; an unknown one is ignored.
    pub marker: Option<Uuid>,
    pub limit: Option<u64>,
    /// Only what stands after a position of the log, and no later than another.
    pub after: Option<Position>,
    pub until: Option<Position>,
}

/// The id of the event that stands at a position of the log: the same after every rebuild, and
/// read back without an index. 48 bits of position, the rest the stack's own randomness.
pub fn event_id(position: Position, stack: StackId) -> Uuid {
    let mut id = stack.0.into_bytes();
    id[..6].copy_from_slice(&position.0.to_be_bytes()[2..]);
    id[6] = 0x80 | (id[6] & 0x0f);
    id[8] = 0x80 | (id[8] & 0x3f);
    Uuid::from_bytes(id)
}

/// The position in an event's id, if it is an event of that stack.
pub(super) fn position_of(id: Uuid, stack: StackId) -> Option<Position> {
    let mut place = [0; 8];
    place[2..].copy_from_slice(&id.as_bytes()[..6]);
    let position = Position(u64::from_be_bytes(place));
    (event_id(position, stack) == id).then_some(position)
}

/// A line for the stack itself.
pub(super) fn of_stack_itself(
    db: &Connection,
    event: &RecordedEvent,
    stack: i64,
    (id, name): (StackId, &str),
    (action, status): (Action, Status),
    reason: &str,
) -> Result<(), ViewError> {
    db.prepare_cached(INSERT)?.execute(params![
        stored(event.position),
        stack,
        name,
        STACK_TYPE,
        id.to_string(),
        action.as_str(),
        status.as_str(),
        reason,
        micros(event.at),
        None::<i64>,
    ])?;
    Ok(())
}

/// A line for a resource. As in Heat, one without a physical id is told by its physical name.
pub(super) fn of_resource(
    db: &Connection,
    event: &RecordedEvent,
    known: &Known,
    (action, status): (&str, Status),
    reason: &str,
    physical_id: Option<&str>,
) -> Result<(), ViewError> {
    let physical_id = match physical_id {
        Some(id) => Some(id.to_owned()),
        None if action == Action::Init.as_str() => None,
        None => Some(name_in_cloud(db, known)?),
    };
    db.prepare_cached(INSERT)?.execute(params![
        stored(event.position),
        known.stack,
        known.name,
        known.type_name,
        physical_id,
        action,
        status.as_str(),
        reason,
        micros(event.at),
        known.definition,
    ])?;
    Ok(())
}

fn name_in_cloud(db: &Connection, known: &Known) -> rusqlite::Result<String> {
    let stack = db
        .prepare_cached("SELECT name FROM stacks WHERE number = ?1")?
        .query_row([known.stack], |row| Ok(StackName(row.get(0)?)))?;
    let name = ResourceName(known.name.clone());
    Ok(physical_name(&stack, &name, known.id, PHYSICAL_NAME_MAX_CHARS))
}

const INSERT: &str = "INSERT INTO event_list (position, stack, name, type, physical_id, action, \
     status, reason, at, definition) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

const COLUMNS: &str = "position, name, type, physical_id, action, status, reason, at, definition, \
     stack";

/// A stack whose events are asked for.
struct Of {
    number: i64,
    id: StackId,
    name: String,
}

fn row(stacks: &[Of], row: &rusqlite::Row<'_>) -> rusqlite::Result<EventRow> {
    let number: i64 = row.get(9)?;
    let stack = stacks.iter().find(|stack| stack.number == number);
    let (stack, stack_name) = stack.map(|stack| (stack.id, stack.name.clone())).unwrap_or_default();
    of_row(row, stack, stack_name)
}

/// The event of a row that begins with position, name, type, physical id, action, status, reason,
/// time and definition.
pub(super) fn of_row(
    row: &rusqlite::Row<'_>,
    stack: StackId,
    stack_name: String,
) -> rusqlite::Result<EventRow> {
    let at_position = position(row, 0)?;
    let definition: Option<i64> = row.get(8)?;
    Ok(EventRow {
        id: event_id(at_position, stack),
        stack,
        stack_name,
        position: at_position,
        name: row.get(1)?,
        type_name: row.get(2)?,
        physical_id: row.get(3)?,
        action: row.get(4)?,
        status: status(row, 5)?,
        reason: row.get(6)?,
        at: time(row, 7)?,
        definition: definition.map(|_| position(row, 8)).transpose()?,
    })
}

/// The events of a stack that a query asks for.
pub(super) fn of_stack(
    db: &Connection,
    stack: StackId,
    query: &EventQuery,
) -> rusqlite::Result<Vec<EventRow>> {
    let stacks = stacks_asked(db, stack, query.nested_depth)?;
    let marks = vec!["?"; stacks.len()].join(", ");
    let mut sql = format!("SELECT {COLUMNS} FROM event_list WHERE stack IN ({marks})");
    let mut values: Vec<Sql> = stacks.iter().map(|stack| Sql::Integer(stack.number)).collect();
    let filters = [
        ("name", &query.names),
        ("type", &query.types),
        ("action", &query.actions),
        ("status", &query.statuses),
    ];
    for (column, wanted) in filters.into_iter().filter(|(_, wanted)| !wanted.is_empty()) {
        let marks = vec!["?"; wanted.len()].join(", ");
        sql.push_str(&format!(" AND {column} IN ({marks})"));
        values.extend(wanted.iter().cloned().map(Sql::Text));
    }
    for (sign, bound) in [(">", query.after), ("<=", query.until)] {
        if let Some(bound) = bound {
            sql.push_str(&format!(" AND position {sign} ?"));
            values.push(Sql::Integer(stored(bound)));
        }
    }
    let descending = query.descending.unwrap_or(query.sort.is_empty());
    let (after, direction) = if descending { ("<", "DESC") } else { (">", "ASC") };
    // Positions are in the order of time, so time needs no column of its own to sort by.
    let by_type = query.sort.first() == Some(&EventSort::ResourceType);
    let keys: &[&str] = if by_type { &["type", "position"] } else { &["position"] };
    if let Some(position) = marker(db, &stacks, query.marker)? {
        let left = keys.join(", ");
        let right =
            if by_type { "(SELECT type FROM event_list WHERE position = ?), ?" } else { "?" };
        sql.push_str(&format!(" AND ({left}) {after} ({right})"));
        values.extend(std::iter::repeat_n(Sql::Integer(position), keys.len()));
    }
    let order: Vec<String> = keys.iter().map(|key| format!("{key} {direction}")).collect();
    sql.push_str(&format!(" ORDER BY {}", order.join(", ")));
    if let Some(limit) = query.limit {
        sql.push_str(" LIMIT ?");
        values.push(Sql::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
    }
    db.prepare_cached(&sql)?
        .query_map(params_from_iter(values), |found| row(&stacks, found))?
        .collect()
}

/// The stack, or with a depth those of its tree that list a resource.
fn stacks_asked(db: &Connection, stack: StackId, depth: u64) -> rusqlite::Result<Vec<Of>> {
    let sql = match depth {
        0 => "SELECT number, id, name FROM stacks WHERE id = ?1 AND ?2 = 0",
        _ => {
            "SELECT number, id, name FROM stacks WHERE root = ?1 AND depth <= ?2 AND EXISTS \
             (SELECT 1 FROM resources WHERE resources.stack = stacks.number AND role > 0)"
        }
    };
    let depth = i64::try_from(depth).unwrap_or(i64::MAX);
    db.prepare_cached(sql)?
        .query_map(params![bytes(stack.0), depth], |row| {
            Ok(Of { number: row.get(0)?, id: StackId(uuid(row, 1)?), name: row.get(2)? })
        })?
        .collect()
}

fn marker(db: &Connection, stacks: &[Of], marker: Option<Uuid>) -> rusqlite::Result<Option<i64>> {
    let Some(id) = marker else { return Ok(None) };
    let found = stacks.iter().find_map(|stack| Some((stack.number, position_of(id, stack.id)?)));
    let Some((number, position)) = found else { return Ok(None) };
    db.prepare_cached("SELECT position FROM event_list WHERE position = ?1 AND stack = ?2")?
        .query_row(params![stored(position), number], |row| row.get(0))
        .optional()
}

/// Where the log stood before what a stack is at, or did last.
pub(super) fn before_action(db: &Connection, stack: StackId) -> rusqlite::Result<Position> {
    let sql = "SELECT coalesce(max(e.position), 1) - 1 FROM event_list e \
               JOIN stacks s ON s.number = e.stack \
               WHERE s.id = ?1 AND e.type = ?2 AND e.physical_id = ?3 AND e.status = ?4";
    let values =
        params![bytes(stack.0), STACK_TYPE, stack.to_string(), Status::InProgress.as_str()];
    db.prepare_cached(sql)?.query_row(values, |row| position(row, 0))
}

/// One event of a stack.
pub(super) fn by_id(
    db: &Connection,
    stack: StackId,
    id: Uuid,
) -> rusqlite::Result<Option<EventRow>> {
    let Some(at) = position_of(id, stack) else { return Ok(None) };
    let stacks = stacks_asked(db, stack, 0)?;
    let Some(of) = stacks.first() else { return Ok(None) };
    let sql = format!("SELECT {COLUMNS} FROM event_list WHERE position = ?1 AND stack = ?2");
    db.prepare_cached(&sql)?
        .query_row(params![stored(at), of.number], |found| row(&stacks, found))
        .optional()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_id_leads_back_to_its_position_and_only_in_its_own_stack() {
        let (web, other) = (StackId(Uuid::from_u128(7 << 64 | 9)), StackId(Uuid::from_u128(8)));
        let id = event_id(Position(12_345), web);
        assert_eq!(position_of(id, web), Some(Position(12_345)));
        assert_eq!(position_of(id, other), None);
        assert_eq!(id.get_version_num(), 8);
    }
}
