//! Software configurations and deployments: a row each while they exist. What they hold stays
//! sealed.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};
use serde_json::Value;

use super::columns::{bytes, json, micros, stored_revision, time, time_or_none, uuid};
use super::error::ViewError;
use crate::events::software::DeploymentChange;
use crate::events::vault::Placed;
use crate::events::{ConfigEvent, DeploymentEvent, RecordedEvent, StreamId};
use crate::model::sizes::ANSWER_BYTES_MAX;
use crate::model::{ConfigId, DeploymentId, ProjectId};

/// A configuration as the API shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigRow {
    pub id: ConfigId,
    pub project_id: ProjectId,
    pub name: Option<String>,
    pub group: Option<String>,
    pub created_at: DateTime<Utc>,
    /// Sealed under the project's scope.
    pub content: Placed,
}

/// A deployment as the API shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentRow {
    pub id: DeploymentId,
    pub project_id: ProjectId,
    pub server_id: String,
    /// Without its values.
    pub state: DeploymentChange,
    /// Sealed under the project's scope, as the outputs are.
    pub inputs: Option<Placed>,
    pub outputs: Option<Placed>,
    pub created_at: DateTime<Utc>,
    pub updated_at: Option<DateTime<Utc>>,
}

/// A page of configurations, the newest first.
#[derive(Clone, Debug, Default)]
pub struct ConfigQuery {
    /// None looks into every project.
    pub project: Option<ProjectId>,
    /// The page starts after this one; an unknown one is ignored.
    pub marker: Option<ConfigId>,
    pub limit: Option<u64>,
}

pub(super) fn apply_config(
    db: &Connection,
    id: ConfigId,
    event: &RecordedEvent,
    body: &ConfigEvent,
) -> Result<(), ViewError> {
    match body {
        ConfigEvent::ConfigCreated(body) => {
            db.prepare_cached(
                "INSERT OR REPLACE INTO configs (id, project, name, tool, created_at, content) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                bytes(id.0),
                body.project_id.as_str(),
                body.name,
                body.group,
                micros(event.at),
                serde_json::to_string(&body.content)?,
            ])?;
        }
        ConfigEvent::ConfigDeleted(_) => {
            db.prepare_cached("DELETE FROM configs WHERE id = ?1")?.execute([bytes(id.0)])?;
        }
    }
    Ok(())
}

pub(super) fn apply_deployment(
    db: &Connection,
    id: DeploymentId,
    event: &RecordedEvent,
    body: &DeploymentEvent,
) -> Result<(), ViewError> {
    match body {
        DeploymentEvent::DeploymentCreated(body) => {
            db.prepare_cached(
                "INSERT OR REPLACE INTO deployments (id, project, user_project, server, config, \
                 state, inputs_at, outputs_at, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, ?7)",
            )?
            .execute(params![
                bytes(id.0),
                body.project_id.as_str(),
                body.stack_user_project_id,
                body.server_id,
                body.state.config_id.map(|id| bytes(id.0)),
                serde_json::to_string(&body.state)?,
                micros(event.at),
            ])?;
        }
        DeploymentEvent::DeploymentUpdated(body) => {
            let state = db
                .prepare_cached("SELECT state FROM deployments WHERE id = ?1")?
                .query_row([bytes(id.0)], |row| json(row, 0))
                .optional()?;
            let Some(mut state): Option<DeploymentChange> = state else { return Ok(()) };
            let change = &body.change;
            state.take(change);
            db.prepare_cached(
                "UPDATE deployments SET config = ?2, state = ?3, updated_at = ?4, \
                 inputs_at = coalesce(?5, inputs_at), outputs_at = coalesce(?6, outputs_at) \
                 WHERE id = ?1",
            )?
            .execute(params![
                bytes(id.0),
                state.config_id.map(|id| bytes(id.0)),
                serde_json::to_string(&state)?,
                micros(event.at),
                change.input_values.as_ref().map(|_| stored_revision(event.revision)),
                change.output_values.as_ref().map(|_| stored_revision(event.revision)),
            ])?;
        }
        DeploymentEvent::DeploymentDeleted(_) => {
            db.prepare_cached("DELETE FROM deployments WHERE id = ?1")?.execute([bytes(id.0)])?;
        }
    }
    Ok(())
}

const CONFIG_HEAD: &str = "c.id, c.project, c.name, c.tool, c.created_at";
const CONFIG: &str = "c.id, c.project, c.name, c.tool, c.created_at, c.content";
const DEPLOYMENT: &str =
    "id, project, server, state, created_at, updated_at, inputs_at, outputs_at";
/// The deployments that a project (`?1`) sees: its own, and those that it is the users' project of,
/// as far as a stack says so that stands where the deployment does. What a deployment says itself
/// of its users is no proof.
const SEEN: &str = "(?1 IS NULL OR d.project = ?1 OR (d.user_project = ?1 AND EXISTS \
     (SELECT 1 FROM stacks s WHERE s.user_project = ?1 AND s.project = d.project)))";

fn config_row(row: &Row<'_>) -> rusqlite::Result<ConfigRow> {
    let id = ConfigId(uuid(row, 0)?);
    Ok(ConfigRow {
        id,
        project_id: ProjectId(row.get(1)?),
        name: row.get(2)?,
        group: row.get(3)?,
        created_at: time(row, 4)?,
        // What a configuration holds stands in the first event of its stream.
        content: Placed {
            place: format!("{}/0/content", StreamId::config(id)),
            value: json(row, 5)?,
        },
    })
}

fn deployment_row(row: &Row<'_>) -> rusqlite::Result<DeploymentRow> {
    let id = DeploymentId(uuid(row, 0)?);
    let mut state: DeploymentChange = json(row, 3)?;
    let placed = |revision: i64, values: Option<Value>, name: &str| {
        // The first event of the stream is that it was created.
        let part = if revision == 0 { "state" } else { "change" };
        let place = format!("{}/{revision}/{part}/{name}", StreamId::deployment(id));
        values.map(|value| Placed { place, value })
    };
    Ok(DeploymentRow {
        id,
        project_id: ProjectId(row.get(1)?),
        server_id: row.get(2)?,
        inputs: placed(row.get(6)?, state.input_values.take(), "input_values"),
        outputs: placed(row.get(7)?, state.output_values.take(), "output_values"),
        state,
        created_at: time(row, 4)?,
        updated_at: time_or_none(row, 5)?,
    })
}

/// A configuration of a project, or of any.
pub(super) fn config(
    db: &Connection,
    project: Option<&ProjectId>,
    id: ConfigId,
) -> rusqlite::Result<Option<ConfigRow>> {
    db.prepare_cached(&format!(
        "SELECT {CONFIG} FROM configs c WHERE c.id = ?1 AND (?2 IS NULL OR c.project = ?2)"
    ))?
    .query_row(params![bytes(id.0), project.map(ProjectId::as_str)], config_row)
    .optional()
}

/// A page of configurations, without what they hold.
pub(super) fn configs(db: &Connection, query: &ConfigQuery) -> rusqlite::Result<Vec<ConfigRow>> {
    db.prepare_cached(&format!(
        "SELECT {CONFIG_HEAD}, 'null' FROM configs c WHERE (?1 IS NULL OR c.project = ?1) AND \
         c.number < coalesce((SELECT number FROM configs WHERE id = ?2), c.number + 1) \
         ORDER BY c.number DESC LIMIT ?3"
    ))?
    .query_map(
        params![
            query.project.as_ref().map(ProjectId::as_str),
            query.marker.map(|id| bytes(id.0)),
            query.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
        ],
        config_row,
    )?
    .collect()
}

/// Whether a deployment has the configuration.
pub(super) fn is_deployed(db: &Connection, id: ConfigId) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT EXISTS (SELECT 1 FROM deployments WHERE config = ?1)")?
        .query_row([bytes(id.0)], |row| row.get(0))
}

/// A deployment that a project sees: its own, or one of its users'.
pub(super) fn deployment_of(
    db: &Connection,
    project: Option<&ProjectId>,
    id: DeploymentId,
) -> rusqlite::Result<Option<DeploymentRow>> {
    db.prepare_cached(&format!("SELECT {DEPLOYMENT} FROM deployments d WHERE {SEEN} AND id = ?2"))?
        .query_row(params![project.map(ProjectId::as_str), bytes(id.0)], deployment_row)
        .optional()
}

/// The deployments that a project sees, the oldest first; of one server, where one is named.
pub(super) fn deployments(
    db: &Connection,
    project: Option<&ProjectId>,
    server: Option<&str>,
) -> rusqlite::Result<Option<Vec<DeploymentRow>>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {DEPLOYMENT} FROM deployments d WHERE {SEEN} AND (?2 IS NULL OR server = ?2) \
         ORDER BY number"
    ))?;
    let rows = statement.query(params![project.map(ProjectId::as_str), server])?;
    held(rows, 3, deployment_row)
}

/// What rows say, as long as the texts in a column are not more than an answer may hold; sealed,
/// they are longer.
fn held<T>(
    mut rows: Rows<'_>,
    column: usize,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<Vec<T>>> {
    let (mut found, mut left) = (Vec::new(), SEALED_FACTOR * ANSWER_BYTES_MAX);
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(column)?.as_str()?.len();
        let Some(rest) = left.checked_sub(bytes) else { return Ok(None) };
        left = rest;
        found.push(read(row)?);
    }
    Ok(Some(found))
}

/// How much longer than what it says something sealed is, at most.
const SEALED_FACTOR: usize = 2;

/// The configurations that are deployed to a server, by their names.
pub(super) fn configs_of_server(
    db: &Connection,
    project: Option<&ProjectId>,
    server: &str,
) -> rusqlite::Result<Option<Vec<ConfigRow>>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {CONFIG} FROM deployments d JOIN configs c ON c.id = d.config WHERE {SEEN} AND \
         d.server = ?2 ORDER BY c.name, d.number"
    ))?;
    let rows = statement.query(params![project.map(ProjectId::as_str), server])?;
    held(rows, 5, config_row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_at_a_time_than_an_answer_may_hold() {
        let db = Connection::open_in_memory().unwrap();
        let found = |texts: usize| {
            let query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
                         SELECT hex(zeroblob(1048576)) FROM n";
            let mut statement = db.prepare(query).unwrap();
            let rows = statement.query([u32::try_from(texts).unwrap()]).unwrap();
            held(rows, 0, |_| Ok(())).unwrap().map(|rows| rows.len())
        };
        let most = SEALED_FACTOR * ANSWER_BYTES_MAX / (2 << 20);
        assert_eq!(found(most), Some(most));
        assert_eq!(found(most + 1), None);
    }
}
