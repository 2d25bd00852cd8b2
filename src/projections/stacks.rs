//! Stacks: one row each, from its creation on; a deleted one stays and can be asked for by id.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::columns::{
    action, bytes, json, micros, position, status, stored, time, time_or_none, uuid,
};
use super::error::ViewError;
use super::outputs::OutputShown;
use super::{RevisionRow, event_list, outputs, resources, revisions, snapshots};
use crate::events::stack::StackCreated;
use crate::events::{Position, RecordedEvent, StackEvent};
use crate::model::{
    Action, DRIFT_TAG, DriftEvery, ProjectId, ResourceName, StackId, StackName, StackRevision,
    StackSettings, Status,
};

/// A stack as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct StackRow {
    pub id: StackId,
    pub project_id: ProjectId,
    pub name: StackName,
    pub action: Action,
    pub status: Status,
    pub reason: String,
    pub created_at: DateTime<Utc>,
    pub updated_at: Option<DateTime<Utc>>,
    pub deleted_at: Option<DateTime<Utc>>,
    /// The name of the user who created it.
    pub owner: String,
    pub revision: StackRevision,
    pub settings: StackSettings,
    /// Where a nested stack stands.
    pub within: Option<Within>,
    /// The project of the users that its resources have.
    pub user_project: Option<ProjectId>,
    /// Where its stream ends.
    pub position: Position,
}

/// Where a nested stack stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    pub parent: StackId,
    pub resource: ResourceName,
    /// The outermost stack.
    pub root: StackId,
    /// How many stacks it stands within.
    pub depth: u32,
}

impl StackRow {
    /// Whether it is the project's, or its users come with the project.
    pub fn is_seen_from(&self, project: &ProjectId) -> bool {
        self.project_id == *project || self.user_project.as_ref() == Some(project)
    }

    /// Deleted for good; only its history is left.
    pub fn is_deleted(&self) -> bool {
        self.action == Action::Delete && self.status == Status::Complete
    }
}

/// A stack with its newest definition and its outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct StackShown {
    pub stack: StackRow,
    /// None before the first is accepted.
    pub revision: Option<RevisionRow>,
    pub outputs: Vec<OutputShown>,
}

pub(super) const COLUMNS: &str = "id, project, name, action, status, reason, created_at, \
     updated_at, deleted_at, owner, revision, timeout_mins, disable_rollback, tags, parent, \
     parent_resource, root, depth, user_project, position";

pub(super) fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<StackRow> {
    Ok(StackRow {
        id: StackId(uuid(row, 0)?),
        project_id: ProjectId(row.get(1)?),
        name: StackName(row.get(2)?),
        action: action(row, 3)?,
        status: status(row, 4)?,
        reason: row.get(5)?,
        created_at: time(row, 6)?,
        updated_at: time_or_none(row, 7)?,
        deleted_at: time_or_none(row, 8)?,
        owner: row.get(9)?,
        revision: StackRevision(row.get(10)?),
        settings: StackSettings {
            timeout_mins: row.get(11)?,
            disable_rollback: row.get(12)?,
            tags: json(row, 13)?,
        },
        within: match row.get::<_, Option<[u8; 16]>>(14)? {
            None => None,
            Some(parent) => Some(Within {
                parent: StackId(Uuid::from_bytes(parent)),
                resource: ResourceName(row.get(15)?),
                root: StackId(uuid(row, 16)?),
                depth: row.get(17)?,
            }),
        },
        user_project: row.get::<_, Option<String>>(18)?.map(ProjectId),
        position: position(row, 19)?,
    })
}

/// Takes in an event of a stack's stream.
pub(super) fn apply(
    db: &Connection,
    id: StackId,
    event: &RecordedEvent,
    body: &StackEvent,
) -> Result<(), ViewError> {
    if let StackEvent::StackCreated(body) = body {
        return created(db, event, body);
    }
    let Some((number, name)) = number_and_name(db, id)? else {
        tracing::error!(stack.id = %id, position = %event.position, "an event of a stack that was never created");
        return Ok(());
    };
    if let StackEvent::DriftLooked(_) = body {
        return Ok(looked(db, number, event)?);
    }
    db.prepare_cached("UPDATE stacks SET position = ?2 WHERE number = ?1")?
        .execute(params![number, stored(event.position)])?;
    match body {
        StackEvent::StackCreated(_) | StackEvent::DriftLooked(_) => {}
        StackEvent::RevisionAccepted(body) => revisions::accepted(db, number, event, body)?,
        StackEvent::TraversalStarted(body) => {
            // Heat stamps every action but the first.
            let updated = (body.action != Action::Create).then(|| micros(event.at));
            let reason = format!("Stack {} started", body.action);
            db.prepare_cached(
                "UPDATE stacks SET action = ?2, status = 'IN_PROGRESS', reason = ?3, \
                 updated_at = coalesce(?4, updated_at) WHERE number = ?1",
            )?
            .execute(params![number, body.action.as_str(), reason, updated])?;
            let state = (body.action, Status::InProgress);
            event_list::of_stack_itself(db, event, number, (id, &name), state, &reason)?;
            resources::traversal_started(db, number, event, body)?;
        }
        StackEvent::ActionDeferred(_) => {}
        StackEvent::SnapshotStarted(body) => snapshots::started(db, number, event, body)?,
        StackEvent::SnapshotSettled(body) => {
            snapshots::settled(db, body.snapshot, event, body.status, &body.reason)?;
        }
        StackEvent::SnapshotDeletionStarted(body) => {
            let reason = "Snapshot delete started";
            snapshots::deleting(db, body.snapshot, Status::InProgress, reason)?;
        }
        StackEvent::SnapshotDeletionSettled(body) => match body.status {
            Status::Complete => snapshots::gone(db, body.snapshot)?,
            status => snapshots::deleting(db, body.snapshot, status, &body.reason)?,
        },
        StackEvent::OutputsChanged(body) => outputs::resolved(db, number, event, &body.outputs)?,
        StackEvent::UserProjectMade(body) => {
            user_project(db, number, event, Some(body.project_id.as_str()))?;
        }
        StackEvent::UserProjectDeleted(_) => user_project(db, number, event, None)?,
        StackEvent::ReplacementStarted(body) => {
            resources::replacement_started(db, event, body)?;
        }
        StackEvent::TraversalSettled(body) => {
            let gone = body.action == Action::Delete && body.status == Status::Complete;
            db.prepare_cached(
                "UPDATE stacks SET action = ?2, status = ?3, reason = ?4 WHERE number = ?1",
            )?
            .execute(params![
                number,
                body.action.as_str(),
                body.status.as_str(),
                body.reason,
            ])?;
            let state = (body.action, body.status);
            event_list::of_stack_itself(db, event, number, (id, &name), state, &body.reason)?;
            outputs::resolved(db, number, event, &body.outputs)?;
            if gone {
                db.prepare_cached("UPDATE stacks SET deleted_at = ?2 WHERE number = ?1")?
                    .execute(params![number, micros(event.at)])?;
                resources::all_gone(db, number)?;
            } else {
                resources::traversal_settled(db, number, event, body)?;
            }
        }
    }
    Ok(())
}

fn created(db: &Connection, event: &RecordedEvent, body: &StackCreated) -> Result<(), ViewError> {
    let owner = body.owner.as_ref();
    db.prepare_cached(
        "INSERT INTO stacks (id, project, name, action, status, reason, created_at, owner, \
         revision, disable_rollback, tags, parent, parent_resource, root, depth, owner_id, \
         position) VALUES (?1, ?2, ?3, 'CREATE', 'IN_PROGRESS', '', ?4, ?5, 0, 1, '[]', ?6, ?7, \
         ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        bytes(body.stack_id.0),
        body.project_id.as_str(),
        body.name.as_str(),
        micros(event.at),
        body.owner_user_name,
        owner.map(|owner| bytes(owner.stack.0)),
        owner.map(|owner| owner.name.as_str()),
        bytes(owner.map_or(body.stack_id, |owner| owner.root).0),
        owner.map_or(0, |owner| owner.depth),
        body.owner_user_id,
        stored(event.position),
    ])?;
    Ok(())
}

/// A look changes nothing of what the stack is.
fn looked(db: &Connection, number: i64, event: &RecordedEvent) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE stacks SET looked_at = ?2 WHERE number = ?1")?
        .execute(params![number, micros(event.at)])?;
    Ok(())
}

/// The stacks whose turn it may be: all, or those of which a tag says it, by the index on these
/// alone, since it is asked often.
fn candidates(all: bool) -> String {
    let tagged = format!(
        " AND number IN (SELECT stack FROM stack_tags WHERE substr(tag, 1, {}) = '{DRIFT_TAG}')",
        DRIFT_TAG.len()
    );
    format!(
        "SELECT id, tags, coalesce(looked_at, created_at) FROM stacks WHERE deleted_at IS NULL \
         AND parent IS NULL AND status != 'IN_PROGRESS'{}",
        if all { "" } else { &tagged }
    )
}

/// The stacks that are to be compared with the cloud by now, the longest due first: by their tags,
/// and where those say nothing by a default.
pub(super) fn drift_due(
    db: &Connection,
    default: Option<TimeDelta>,
    now: DateTime<Utc>,
) -> rusqlite::Result<Vec<StackId>> {
    let mut found = db.prepare_cached(&candidates(default.is_some()))?;
    let mut rows = found.query([])?;
    let mut due = Vec::new();
    while let Some(row) = rows.next()? {
        let tags: Vec<String> = json(row, 1)?;
        // What no tag may say was refused.
        let said = DriftEvery::of_tags(&tags).ok().flatten();
        let every = said.map_or(default, DriftEvery::time);
        let at = every.map(|every| time(row, 2).map(|last| last + every)).transpose()?;
        if let Some(at) = at.filter(|at| *at <= now) {
            due.push((at, StackId(uuid(row, 0)?)));
        }
    }
    due.sort_unstable_by_key(|(at, _)| *at);
    Ok(due.into_iter().map(|(_, id)| id).collect())
}

fn user_project(
    db: &Connection,
    number: i64,
    event: &RecordedEvent,
    project: Option<&str>,
) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE stacks SET user_project = ?2 WHERE number = ?1")?
        .execute(params![number, project])?;
    db.prepare_cached("INSERT OR REPLACE INTO user_projects VALUES (?1, ?2, ?3)")?
        .execute(params![number, stored(event.position), project])?;
    Ok(())
}

/// The row number under which the other tables know a stack.
pub(super) fn number(db: &Connection, id: StackId) -> rusqlite::Result<Option<i64>> {
    Ok(number_and_name(db, id)?.map(|(number, _)| number))
}

fn number_and_name(db: &Connection, id: StackId) -> rusqlite::Result<Option<(i64, String)>> {
    db.prepare_cached("SELECT number, name FROM stacks WHERE id = ?1")?
        .query_row([bytes(id.0)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

pub(super) fn by_id(db: &Connection, id: StackId) -> rusqlite::Result<Option<StackRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM stacks WHERE id = ?1"))?
        .query_row([bytes(id.0)], row)
        .optional()
}

/// Every stack of a tree, deleted ones too.
pub(super) fn of_root(db: &Connection, root: StackId) -> rusqlite::Result<Vec<StackId>> {
    db.prepare_cached("SELECT id FROM stacks WHERE root = ?1")?
        .query_map([bytes(root.0)], |row| Ok(StackId(uuid(row, 0)?)))?
        .collect()
}

/// The living stacks that stand in a stack itself.
pub(super) fn children(db: &Connection, of: &StackRow) -> rusqlite::Result<Vec<StackRow>> {
    let root = of.within.as_ref().map_or(of.id, |within| within.root);
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM stacks WHERE root = ?1 AND parent = ?2 AND deleted_at IS NULL \
         ORDER BY number"
    ))?
    .query_map([bytes(root.0), bytes(of.id.0)], row)?
    .collect()
}

/// A project's living stacks that list a resource with a physical id.
pub(super) fn with_resource(
    db: &Connection,
    project: &ProjectId,
    physical_id: &str,
) -> rusqlite::Result<Vec<StackRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM stacks WHERE project = ?1 AND deleted_at IS NULL AND EXISTS \
         (SELECT 1 FROM resources WHERE stack = stacks.number AND role > 0 AND physical_id = ?2) \
         ORDER BY number"
    ))?
    .query_map([project.as_str(), physical_id], row)?
    .collect()
}

/// A living stack by its name.
pub(super) fn by_name(
    db: &Connection,
    project: &ProjectId,
    name: &str,
) -> rusqlite::Result<Option<StackRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM stacks WHERE project = ?1 AND name = ?2 AND deleted_at IS NULL"
    ))?
    .query_row(params![project.as_str(), name], row)
    .optional()
}

/// A living stack by its name, for who comes with the project of its users.
pub(super) fn by_name_among_users(
    db: &Connection,
    project: &ProjectId,
    name: &str,
) -> rusqlite::Result<Option<StackRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM stacks WHERE user_project = ?1 AND name = ?2 AND deleted_at IS NULL"
    ))?
    .query_row(params![project.as_str(), name], row)
    .optional()
}

/// The newest stack of a project that ever had a name.
pub(super) fn once_named(
    db: &Connection,
    project: &ProjectId,
    name: &str,
) -> rusqlite::Result<Option<StackRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM stacks WHERE project = ?1 AND name = ?2 ORDER BY number DESC LIMIT 1"
    ))?
    .query_row([project.as_str(), name], row)
    .optional()
}

pub(super) fn shown(db: &Connection, id: StackId) -> rusqlite::Result<Option<StackShown>> {
    let Some(stack) = by_id(db, id)? else { return Ok(None) };
    let revision = revisions::newest(db, id)?;
    let declared = revision.as_ref().map(|revision| revision.outputs.clone()).unwrap_or_default();
    let outputs = match number(db, id)? {
        Some(number) => outputs::of_stack(db, (id, number), declared)?,
        None => Vec::new(),
    };
    Ok(Some(StackShown { stack, revision, outputs }))
}

/// Stacks in the middle of an action, others with a resource that is still at work or with a signal
/// that is not carried out yet, failed ones that a deleted resource is still part of, and those with
/// a snapshot that is being deleted: what a restart must wake.
pub(super) fn unsettled(db: &Connection) -> rusqlite::Result<Vec<StackId>> {
    let query = "SELECT id FROM stacks WHERE status = 'IN_PROGRESS' UNION \
         SELECT stacks.id FROM resources JOIN stacks ON stacks.number = resources.stack \
         WHERE resources.status = 'IN_PROGRESS' UNION \
         SELECT id FROM stacks WHERE status = 'FAILED' AND EXISTS (SELECT 1 FROM resources \
         WHERE resources.stack = stacks.number AND resources.action = 'DELETE' \
         AND resources.status = 'COMPLETE' AND role >= 0) UNION \
         SELECT stacks.id FROM signals_due JOIN resources ON resources.id = signals_due.resource \
         JOIN stacks ON stacks.number = resources.stack WHERE resources.role >= 0 \
         UNION \
         SELECT stacks.id FROM snapshots JOIN stacks ON stacks.number = snapshots.stack \
         WHERE snapshots.action = 'DELETE' AND snapshots.status = 'IN_PROGRESS'";
    db.prepare_cached(query)?.query_map([], |row| Ok(StackId(uuid(row, 0)?)))?.collect()
}

/// The living stack that has its users in a project.
pub(super) fn of_users(db: &Connection, users: &ProjectId) -> rusqlite::Result<Option<StackRow>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM stacks WHERE user_project = ?1 AND deleted_at IS NULL LIMIT 1"
    ))?
    .query_row([users.as_str()], row)
    .optional()
}

#[cfg(test)]
mod tests {
    use super::super::store;
    use super::*;

    #[test]
    fn schedules_are_found_without_a_look_at_every_stack() {
        let tagged = store::plan(&candidates(false));
        assert!(tagged.contains("stack_schedules") && !tagged.contains("SCAN stacks"), "{tagged}");
    }
}
