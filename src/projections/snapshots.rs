//! Snapshots of stacks, oldest first; one that is deleted is no more.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::{action, bytes, micros, position, status, stored, time, uuid};
use super::error::ViewError;
use crate::events::stack::SnapshotStarted;
use crate::events::{Position, RecordedEvent};
use crate::model::{Action, ProjectId, StackId, StackRevision, Status, TraversalId};

/// A snapshot as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotRow {
    pub id: TraversalId,
    pub stack_id: StackId,
    pub project_id: ProjectId,
    pub name: Option<String>,
    /// CREATE or DELETE.
    pub action: Action,
    pub status: Status,
    pub reason: Option<String>,
    pub created_at: DateTime<Utc>,
    /// The revision whose definition it keeps.
    pub revision: StackRevision,
    /// Of the `SnapshotSettled`, which has the resources.
    pub settled: Option<Position>,
}

pub(super) fn started(
    db: &Connection,
    stack: i64,
    event: &RecordedEvent,
    body: &SnapshotStarted,
) -> Result<(), ViewError> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO snapshots (id, stack, place, name, action, status, created_at, \
         revision) VALUES (?1, ?2, ?3, ?4, 'CREATE', 'IN_PROGRESS', ?5, ?6)",
    )?
    .execute(params![
        bytes(body.snapshot.0),
        stack,
        stored(event.position),
        body.name,
        micros(event.at),
        body.revision.0,
    ])?;
    Ok(())
}

pub(super) fn settled(
    db: &Connection,
    id: TraversalId,
    event: &RecordedEvent,
    status: Status,
    reason: &str,
) -> Result<(), ViewError> {
    db.prepare_cached("UPDATE snapshots SET status = ?2, reason = ?3, settled = ?4 WHERE id = ?1")?
        .execute(params![bytes(id.0), status.as_str(), reason, stored(event.position)])?;
    Ok(())
}

pub(super) fn deleting(
    db: &Connection,
    id: TraversalId,
    status: Status,
    reason: &str,
) -> Result<(), ViewError> {
    db.prepare_cached(
        "UPDATE snapshots SET action = 'DELETE', status = ?2, reason = ?3 WHERE id = ?1",
    )?
    .execute(params![bytes(id.0), status.as_str(), reason])?;
    Ok(())
}

pub(super) fn gone(db: &Connection, id: TraversalId) -> Result<(), ViewError> {
    db.prepare_cached("DELETE FROM snapshots WHERE id = ?1")?.execute([bytes(id.0)])?;
    Ok(())
}

const COLUMNS: &str = "n.id, n.name, n.action, n.status, n.reason, n.created_at, n.revision, n.settled, s.id, \
     s.project";

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<SnapshotRow> {
    Ok(SnapshotRow {
        id: TraversalId(uuid(row, 0)?),
        stack_id: StackId(uuid(row, 8)?),
        project_id: ProjectId(row.get(9)?),
        name: row.get(1)?,
        action: action(row, 2)?,
        status: status(row, 3)?,
        reason: row.get(4)?,
        created_at: time(row, 5)?,
        revision: StackRevision(row.get(6)?),
        settled: row.get::<_, Option<i64>>(7)?.map(|_| position(row, 7)).transpose()?,
    })
}

pub(super) fn of_stack(db: &Connection, stack: StackId) -> rusqlite::Result<Vec<SnapshotRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM snapshots n JOIN stacks s ON s.number = n.stack \
         WHERE s.id = ?1 ORDER BY n.place"
    ))?
    .query_map([bytes(stack.0)], row)?
    .collect()
}

pub(super) fn by_id(db: &Connection, id: TraversalId) -> rusqlite::Result<Option<SnapshotRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM snapshots n JOIN stacks s ON s.number = n.stack WHERE n.id = ?1"
    ))?
    .query_row([bytes(id.0)], row)
    .optional()
}
