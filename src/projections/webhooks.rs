//! Webhooks: a row each while they exist. Where they are, and what they are signed with, stays
//! sealed in the log.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};

use super::columns::{bytes, json, micros, position, stored, time, uuid};
use crate::events::{Position, ProjectEvent, RecordedEvent};
use crate::model::{ProjectId, Selection, WebhookId};

/// A webhook as the API shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct WebhookRow {
    pub id: WebhookId,
    pub project_id: ProjectId,
    /// Where it is, without its path.
    pub origin: String,
    pub selection: Selection,
    /// What comes after this is told.
    pub position: Position,
    pub created_at: DateTime<Utc>,
}

pub(super) fn apply(
    db: &Connection,
    project: &ProjectId,
    event: &RecordedEvent,
    body: &ProjectEvent,
) -> rusqlite::Result<()> {
    match body {
        ProjectEvent::WebhookMade(made) => {
            let selection = serde_json::to_string(&made.selection)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            db.prepare_cached(
                "INSERT OR REPLACE INTO webhooks (id, project, origin, selection, position, \
                 created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                bytes(made.id.0),
                project.as_str(),
                made.origin,
                selection,
                stored(event.position),
                micros(event.at),
            ])?;
        }
        ProjectEvent::WebhookDeleted(deleted) => {
            db.prepare_cached("DELETE FROM webhooks WHERE id = ?1")?
                .execute([bytes(deleted.id.0)])?;
        }
        _ => {}
    }
    Ok(())
}

/// The webhooks of a project, or of all, oldest first.
pub(super) fn of(
    db: &Connection,
    project: Option<&ProjectId>,
) -> rusqlite::Result<Vec<WebhookRow>> {
    let sql = "SELECT id, project, origin, selection, position, created_at FROM webhooks \
         WHERE ?1 IS NULL OR project = ?1 ORDER BY position";
    db.prepare_cached(sql)?.query_map([project.map(ProjectId::as_str)], webhook_row)?.collect()
}

fn webhook_row(row: &Row<'_>) -> rusqlite::Result<WebhookRow> {
    Ok(WebhookRow {
        id: WebhookId(uuid(row, 0)?),
        project_id: ProjectId(row.get(1)?),
        origin: row.get(2)?,
        selection: json(row, 3)?,
        position: position(row, 4)?,
        created_at: time(row, 5)?,
    })
}
