//! What outlets tell others: events with the sinks that they go to, and stacks as they stood when
//! something happened to them.

use chrono::{DateTime, Utc};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::columns::{action, bytes, json, status, stored, time, time_or_none, uuid};
use super::event_list::{self, EventRow, STACK_TYPE};
use crate::events::Position;
use crate::model::{Action, ProjectId, StackId, Status, Trustor};

/// A line of the event list, and where its stack's environment has it sent.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDue {
    pub event: EventRow,
    pub project_id: ProjectId,
    /// In whose name it is sent.
    pub trustor: Trustor,
    /// As the environment says them.
    pub sinks: Vec<Value>,
}

/// A stack as it stood at a position of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct StackThen {
    pub id: StackId,
    pub name: String,
    pub project_id: ProjectId,
    pub owner: String,
    pub owner_id: String,
    pub action: Action,
    pub status: Status,
    pub reason: String,
    pub created_at: DateTime<Utc>,
    pub updated_at: Option<DateTime<Utc>>,
    pub description: String,
    pub tags: Vec<String>,
}

/// The events after a position and up to another of stacks that have had sinks, of a project or of
/// all, oldest first.
pub(super) fn due(
    db: &Connection,
    project: Option<&ProjectId>,
    (after, to): (Position, Position),
    limit: usize,
) -> rusqlite::Result<Vec<EventDue>> {
    // Mostly no stack has sinks, which one look at an index tells.
    let sql = "SELECT e.position, e.name, e.type, e.physical_id, e.action, e.status, e.reason, \
         e.at, e.definition, s.id, s.name, s.project, r.trustor, \
         r.event_sinks, s.owner_id FROM event_list e JOIN stacks s ON s.number = e.stack \
         JOIN revisions r ON r.stack = e.stack AND r.revision = (SELECT max(revision) \
         FROM revisions WHERE stack = e.stack AND position <= e.position) \
         WHERE EXISTS (SELECT 1 FROM revisions WHERE event_sinks != '[]') \
         AND e.position > ?1 AND e.position <= ?2 AND (?3 IS NULL OR s.project = ?3) \
         AND e.stack IN (SELECT stack FROM revisions WHERE event_sinks != '[]') \
         ORDER BY e.position LIMIT ?4";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let project = project.map(ProjectId::as_str);
    db.prepare_cached(sql)?
        .query_map(params![stored(after), stored(to), project, limit], |row| {
            let stack = StackId(uuid(row, 9)?);
            let trustor = match row.get_ref(12)? {
                ValueRef::Null => Trustor { user_id: row.get(14)?, roles: None },
                _ => json(row, 12)?,
            };
            Ok(EventDue {
                event: event_list::of_row(row, stack, row.get(10)?)?,
                project_id: ProjectId(row.get(11)?),
                trustor,
                sinks: json(row, 13)?,
            })
        })?
        .collect()
}

/// A stack by what the event list says of it up to a position.
pub(super) fn stack_then(
    db: &Connection,
    id: StackId,
    at: Position,
) -> rusqlite::Result<Option<StackThen>> {
    let sql = "SELECT s.name, s.project, s.owner, s.owner_id, e.action, e.status, e.reason, \
         s.created_at, (SELECT max(u.at) FROM event_list u WHERE u.stack = s.number \
         AND u.position <= ?2 AND u.type = ?3 AND u.physical_id = ?4 AND u.status = 'IN_PROGRESS' \
         AND u.action != 'CREATE'), r.description, r.tags \
         FROM stacks s JOIN event_list e ON e.position = (SELECT max(position) FROM event_list \
         WHERE stack = s.number AND position <= ?2 AND type = ?3 AND physical_id = ?4) \
         JOIN revisions r ON r.stack = s.number AND r.revision = (SELECT max(revision) \
         FROM revisions WHERE stack = s.number AND position <= ?2) WHERE s.id = ?1";
    db.prepare_cached(sql)?
        .query_row(params![bytes(id.0), stored(at), STACK_TYPE, id.to_string()], |row| {
            Ok(StackThen {
                id,
                name: row.get(0)?,
                project_id: ProjectId(row.get(1)?),
                owner: row.get(2)?,
                owner_id: row.get(3)?,
                action: action(row, 4)?,
                status: status(row, 5)?,
                reason: row.get(6)?,
                created_at: time(row, 7)?,
                updated_at: time_or_none(row, 8)?,
                description: row.get(9)?,
                tags: json(row, 10)?,
            })
        })
        .optional()
}
