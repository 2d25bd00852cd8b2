//! Every accepted definition of a stack, oldest first.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::{action, bytes, json, micros, position, stored, time};
use super::error::ViewError;
use crate::events::stack::{OutputDeclared, RevisionAccepted};
use crate::events::{Position, RecordedEvent};
use crate::model::{Action, JsonMap, RequestId, StackId, StackRevision};

/// A revision as the history shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RevisionRow {
    pub revision: StackRevision,
    pub origin: StackRevision,
    /// Of the `RevisionAccepted`, which has the template and all else.
    pub position: Position,
    pub at: DateTime<Utc>,
    pub action: Action,
    pub user: String,
    pub request_id: Option<RequestId>,
    pub description: String,
    /// Text, hidden ones `******`.
    pub parameters: JsonMap,
    pub outputs: Vec<OutputDeclared>,
}

pub(super) fn accepted(
    db: &Connection,
    stack: i64,
    event: &RecordedEvent,
    body: &RevisionAccepted,
) -> Result<(), ViewError> {
    let user = event.meta.caller.as_ref().map_or("", |caller| caller.user_name.as_str());
    let settings = &body.settings;
    let tags = serde_json::to_string(&settings.tags)?;
    db.prepare_cached(
        "INSERT OR REPLACE INTO revisions (stack, revision, origin, position, at, action, user, \
         request_id, description, parameters, outputs, timeout_mins, disable_rollback, tags, \
         event_sinks, trustor) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
         coalesce(?16, (SELECT trustor FROM revisions WHERE stack = ?1 \
         ORDER BY revision DESC LIMIT 1)))",
    )?
    .execute(params![
        stack,
        body.revision.0,
        body.origin.0,
        stored(event.position),
        micros(event.at),
        body.action.as_str(),
        user,
        event.meta.request_id.as_ref().map(RequestId::as_str),
        body.description,
        serde_json::to_string(&body.shown_parameters)?,
        serde_json::to_string(&body.outputs)?,
        settings.timeout_mins,
        settings.disable_rollback,
        tags,
        serde_json::to_string(&body.event_sinks)?,
        body.trustor().map(|trustor| serde_json::to_string(&trustor)).transpose()?,
    ])?;
    db.prepare_cached(
        "UPDATE stacks SET revision = ?2, timeout_mins = ?3, disable_rollback = ?4, tags = ?5 \
         WHERE number = ?1",
    )?
    .execute(params![
        stack,
        body.revision.0,
        settings.timeout_mins,
        settings.disable_rollback,
        tags
    ])?;
    Ok(())
}

const COLUMNS: &str = "r.revision, r.origin, r.position, r.at, r.action, r.user, r.request_id, \
     r.description, r.parameters, r.outputs";

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<RevisionRow> {
    Ok(RevisionRow {
        revision: StackRevision(row.get(0)?),
        origin: StackRevision(row.get(1)?),
        position: position(row, 2)?,
        at: time(row, 3)?,
        action: action(row, 4)?,
        user: row.get(5)?,
        request_id: row.get::<_, Option<String>>(6)?.map(RequestId),
        description: row.get(7)?,
        parameters: json(row, 8)?,
        outputs: json(row, 9)?,
    })
}

pub(super) fn of_stack(db: &Connection, stack: StackId) -> rusqlite::Result<Vec<RevisionRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM revisions r JOIN stacks s ON s.number = r.stack \
         WHERE s.id = ?1 ORDER BY r.revision"
    ))?
    .query_map([bytes(stack.0)], row)?
    .collect()
}

pub(super) fn newest(db: &Connection, stack: StackId) -> rusqlite::Result<Option<RevisionRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM stacks s JOIN revisions r \
         ON r.stack = s.number AND r.revision = s.revision WHERE s.id = ?1"
    ))?
    .query_row([bytes(stack.0)], row)
    .optional()
}
