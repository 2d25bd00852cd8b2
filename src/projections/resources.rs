//! Resources: a row per incarnation that ever was, and which of them a stack's list shows.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::{
    action, bytes, json, micros, position, status, stored, time, time_or_none, uuid,
};
use super::error::ViewError;
use super::event_list;
use super::known::{Known, known};
use crate::events::resource::{ActionStarted, HookReached, ResizeTaken, SignalTaken};
use crate::events::stack::{ReplacementStarted, Row, TraversalSettled, TraversalStarted};
use crate::events::{Position, RecordedEvent, ResourceEvent};
use crate::model::{Action, Holder, Hook, ProjectId, ResourceId, ResourceName, StackId, Status};

/// Deleted, or never more than planned; kept so that its events still lead to their stack.
const GONE: i64 = -1;
/// Beside the one that counts for its name; not listed.
const SUPERSEDED: i64 = 0;
/// Of a name that the revision no longer has, while it still exists; listed.
const LEFTOVER: i64 = 1;
/// What the current traversal brings the name to; listed.
const CURRENT: i64 = 2;

/// A resource as a stack lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceRow {
    pub id: ResourceId,
    pub name: ResourceName,
    /// As the template says it: an alias stays an alias.
    pub type_name: String,
    pub action: Action,
    pub status: Status,
    pub reason: String,
    pub physical_id: Option<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: Option<DateTime<Utc>>,
    pub description: String,
    /// The listed resources that need this one.
    pub required_by: Vec<ResourceName>,
    /// Where the log has its properties and metadata.
    pub definition: Option<Position>,
}

/// Takes in an event of a resource's stream.
pub(super) fn apply(
    db: &Connection,
    id: ResourceId,
    event: &RecordedEvent,
    body: &ResourceEvent,
) -> Result<(), ViewError> {
    let Some(known) = known(db, id)? else {
        // A retained or superseded incarnation that its stack no longer counts.
        tracing::debug!(resource.id = %id, position = %event.position, "an event of a resource without a row");
        return Ok(());
    };
    match body {
        ResourceEvent::ActionStarted(body) => started(db, id, &known, event, body),
        ResourceEvent::CallAnswered(body) => {
            if let Some(physical_id) = &body.physical_id {
                db.prepare_cached("UPDATE resources SET physical_id = ?2 WHERE id = ?1")?
                    .execute(params![bytes(id.0), physical_id])?;
            }
            Ok(())
        }
        ResourceEvent::ReplacementRequired(body) => {
            let state = (Action::Update, Status::Complete);
            let physical_id = known.physical_id.as_deref();
            set_state(db, id, state, &body.reason, physical_id)?;
            of_known(db, event, &known, state, &body.reason, physical_id)
        }
        ResourceEvent::HealthMarked(body) => {
            let status = if body.healthy { Status::Complete } else { Status::Failed };
            let state = (Action::Check, status);
            let physical_id = known.physical_id.as_deref();
            set_state(db, id, state, &body.reason, physical_id)?;
            if (known.action, known.status) == state {
                // What is unhealthy already gets another reason, and no event.
                return Ok(());
            }
            of_known(db, event, &known, state, &body.reason, physical_id)
        }
        ResourceEvent::ActionSettled(body) => {
            let state = (body.action, body.status);
            // The event of a deletion still says what was deleted.
            let physical_id = match body.action {
                Action::Delete => body.physical_id.as_deref().or(known.physical_id.as_deref()),
                _ => body.physical_id.as_deref(),
            };
            of_known(db, event, &known, state, &body.reason, physical_id)?;
            set_state(db, id, state, &body.reason, physical_id)?;
            Ok(())
        }
        ResourceEvent::SignalTaken(SignalTaken { signal, .. })
        | ResourceEvent::ResizeTaken(ResizeTaken { signal, .. }) => {
            db.prepare_cached("INSERT OR IGNORE INTO signals_due VALUES (?1, ?2)")?
                .execute([bytes(id.0), bytes(signal.0)])?;
            Ok(())
        }
        ResourceEvent::SignalHandled(body) => {
            db.prepare_cached("DELETE FROM signals_due WHERE resource = ?1 AND signal = ?2")?
                .execute([bytes(id.0), bytes(body.signal.0)])?;
            let Some(reason) = &body.reason else { return Ok(()) };
            let failed = body.error.as_ref().map(|_| Status::Failed);
            let state = ("SIGNAL", failed.unwrap_or(known.status));
            let physical_id = known.physical_id.as_deref();
            event_list::of_resource(db, event, &known, state, reason, physical_id)
        }
        ResourceEvent::Remarked(body) => remarked(db, event, &known, &body.reason),
        ResourceEvent::HookReached(body) => {
            if body.hook == Hook::PostDelete {
                // It is listed until somebody clears the hook.
                set_role(db, id, LEFTOVER)?;
            }
            let HookReached { hook, .. } = body;
            let reason = format!("{} paused until Hook {hook} is cleared", hook.action());
            remarked(db, event, &known, &reason)
        }
        ResourceEvent::HookCleared(body) => {
            if body.hook == Hook::PostDelete {
                set_role(db, id, GONE)?;
            }
            remarked(db, event, &known, &format!("Hook {} is cleared", body.hook))
        }
        ResourceEvent::HookLeft(body) if body.silent => Ok(()),
        ResourceEvent::HookLeft(_) => {
            remarked(db, event, &known, "Failure occurred while waiting.")
        }
        ResourceEvent::UpdateRefused(body) => {
            let state = (Action::Update, Status::Failed);
            let physical_id = known.physical_id.as_deref();
            of_known(db, event, &known, state, &body.reason, physical_id)
        }
        ResourceEvent::CallIntended(_)
        | ResourceEvent::AnswersKept(_)
        | ResourceEvent::CallRetried(_)
        | ResourceEvent::CreateRepeated(_)
        | ResourceEvent::AttributesObserved(_)
        | ResourceEvent::RealityObserved(_) => Ok(()),
    }
}

fn started(
    db: &Connection,
    id: ResourceId,
    known: &Known,
    event: &RecordedEvent,
    body: &ActionStarted,
) -> Result<(), ViewError> {
    let definition = body.definition.as_ref().map(|_| stored(event.position));
    let stays = match &body.definition {
        Some(definition) => Some(definition.keeps_object()),
        None => (body.action == Action::Delete && body.retains).then_some(true),
    };
    // Heat stamps every action but the first.
    let updated = (body.action != Action::Create).then(|| micros(event.at));
    db.prepare_cached(
        "UPDATE resources SET action = ?2, status = 'IN_PROGRESS', reason = 'state changed', \
         type = ?3, definition = coalesce(?4, definition), stays = coalesce(?5, stays), \
         updated_at = coalesce(?6, updated_at) WHERE id = ?1",
    )?
    .execute(params![
        bytes(id.0),
        body.action.as_str(),
        body.type_name,
        definition,
        stays,
        updated
    ])?;
    let state = (body.action, Status::InProgress);
    // An action taken over by the next traversal goes on; it does not start twice.
    if (known.action, known.status) == state {
        return Ok(());
    }
    let now = Known {
        type_name: body.type_name.clone(),
        definition: definition.or(known.definition),
        ..known.clone()
    };
    let physical_id = known.physical_id.as_deref();
    of_known(db, event, &now, state, "state changed", physical_id)
}

/// A line of the event list that tells a state.
fn of_known(
    db: &Connection,
    event: &RecordedEvent,
    known: &Known,
    (action, status): (Action, Status),
    reason: &str,
    physical_id: Option<&str>,
) -> Result<(), ViewError> {
    event_list::of_resource(db, event, known, (action.as_str(), status), reason, physical_id)
}

fn set_state(
    db: &Connection,
    id: ResourceId,
    (action, status): (Action, Status),
    reason: &str,
    physical_id: Option<&str>,
) -> Result<(), ViewError> {
    db.prepare_cached(
        "UPDATE resources SET action = ?2, status = ?3, reason = ?4, physical_id = ?5 \
         WHERE id = ?1",
    )?
    .execute(params![bytes(id.0), action.as_str(), status.as_str(), reason, physical_id])?;
    Ok(())
}

fn set_role(db: &Connection, id: ResourceId, role: i64) -> Result<(), ViewError> {
    db.prepare_cached("UPDATE resources SET role = ?2 WHERE id = ?1")?
        .execute(params![bytes(id.0), role])?;
    Ok(())
}

/// A line of the event list that leaves the resource as it is.
fn remarked(
    db: &Connection,
    event: &RecordedEvent,
    known: &Known,
    reason: &str,
) -> Result<(), ViewError> {
    let state = (known.action, known.status);
    of_known(db, event, known, state, reason, known.physical_id.as_deref())
}

/// A new traversal: its nodes count for their names, whatever was there before.
pub(super) fn traversal_started(
    db: &Connection,
    stack: i64,
    event: &RecordedEvent,
    body: &TraversalStarted,
) -> Result<(), ViewError> {
    db.prepare_cached("UPDATE resources SET role = ?2 WHERE stack = ?1 AND role = ?3")?
        .execute(params![stack, LEFTOVER, CURRENT])?;
    let mut insert = db.prepare_cached(
        "INSERT INTO resources (id, stack, name, type, role, place, action, status, reason, \
         created_at, description, requires) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'INIT', 'COMPLETE', '', ?7, ?8, ?9) \
         ON CONFLICT (id) DO UPDATE SET role = ?5, place = ?6, description = ?8, requires = ?9",
    )?;
    for (place, node) in (0i64..).zip(&body.nodes) {
        insert.execute(params![
            bytes(node.id.0),
            stack,
            node.name.as_str(),
            node.type_name,
            CURRENT,
            place,
            micros(event.at),
            node.description,
            serde_json::to_string(&node.requires)?,
        ])?;
    }
    db.prepare_cached(
        "UPDATE resources SET role = ?2 WHERE stack = ?1 AND role = ?3 AND name IN \
         (SELECT name FROM resources WHERE stack = ?1 AND role = ?4)",
    )?
    .execute(params![stack, SUPERSEDED, LEFTOVER, CURRENT])?;
    match &body.rows {
        Some(rows) => existing(db, stack, event, rows),
        None => Ok(()),
    }
}

/// The new incarnation counts from here on; the former one goes afterwards.
pub(super) fn replacement_started(
    db: &Connection,
    event: &RecordedEvent,
    body: &ReplacementStarted,
) -> Result<(), ViewError> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO resources (id, stack, name, type, role, place, action, status, \
         reason, created_at, description, requires) \
         SELECT ?2, stack, name, ?3, ?4, place, 'INIT', 'COMPLETE', '', ?5, description, requires \
         FROM resources WHERE id = ?1",
    )?
    .execute(params![
        bytes(body.old.0),
        bytes(body.new.0),
        body.type_name,
        CURRENT,
        micros(event.at)
    ])?;
    db.prepare_cached("UPDATE resources SET role = ?2 WHERE id = ?1")?
        .execute(params![bytes(body.old.0), SUPERSEDED])?;
    Ok(())
}

/// The traversal is over: what it names exists, and what it does not name is no more.
pub(super) fn traversal_settled(
    db: &Connection,
    stack: i64,
    event: &RecordedEvent,
    body: &TraversalSettled,
) -> Result<(), ViewError> {
    match &body.rows {
        Some(rows) => existing(db, stack, event, rows),
        None => {
            db.prepare_cached(
                "UPDATE resources SET role = ?3 WHERE stack = ?1 AND role IN (?4, ?2)",
            )?
            .execute(params![stack, SUPERSEDED, GONE, LEFTOVER])?;
            Ok(())
        }
    }
}

/// Exactly these incarnations exist (and the nodes of the traversal).
fn existing(
    db: &Connection,
    stack: i64,
    event: &RecordedEvent,
    rows: &[Row],
) -> Result<(), ViewError> {
    let named: BTreeSet<[u8; 16]> = rows.iter().map(|row| bytes(row.id.0)).collect();
    let stale: Vec<[u8; 16]> = db
        .prepare_cached("SELECT id FROM resources WHERE stack = ?1 AND role IN (?2, ?3)")?
        .query_map(params![stack, SUPERSEDED, LEFTOVER], |row| row.get(0))?
        .filter(|id| !matches!(id, Ok(id) if named.contains(id)))
        .collect::<rusqlite::Result<_>>()?;
    let mut remove = db.prepare_cached("UPDATE resources SET role = ?2 WHERE id = ?1")?;
    for id in stale {
        remove.execute(params![id, GONE])?;
    }
    let mut insert = db.prepare_cached(
        "INSERT INTO resources (id, stack, name, type, role, place, action, status, \
         reason, created_at, description, requires) \
         VALUES (?1, ?2, ?3, ?4, CASE WHEN EXISTS (SELECT 1 FROM resources WHERE stack = ?2 AND \
         name = ?3 AND role > ?5) THEN ?5 ELSE ?6 END, 1000000, 'INIT', 'COMPLETE', '', ?7, '', \
         '[]')",
    )?;
    let mut known = db.prepare_cached("SELECT 1 FROM resources WHERE id = ?1")?;
    for row in rows {
        if known.exists([bytes(row.id.0)])? {
            continue;
        }
        insert.execute(params![
            bytes(row.id.0),
            stack,
            row.name.as_str(),
            row.type_name,
            SUPERSEDED,
            LEFTOVER,
            micros(event.at)
        ])?;
    }
    Ok(())
}

/// The stack is deleted, and whatever it had with it.
pub(super) fn all_gone(db: &Connection, stack: i64) -> Result<(), ViewError> {
    db.prepare_cached("UPDATE resources SET role = ?2 WHERE stack = ?1 AND role >= 0")?
        .execute(params![stack, GONE])?;
    Ok(())
}

/// The resources of a stack, as it lists those whose role is above 0.
const LISTED: &str = "r.id, r.name, r.type, r.action, r.status, r.reason, r.physical_id, \
     r.created_at, r.updated_at, r.description, r.definition, r.requires, r.role \
     FROM stacks s JOIN resources r ON r.stack = s.number WHERE s.id = ?1";

/// A row, without who requires it.
fn listed(row: &rusqlite::Row<'_>) -> rusqlite::Result<ResourceRow> {
    Ok(ResourceRow {
        id: ResourceId(uuid(row, 0)?),
        name: ResourceName(row.get(1)?),
        type_name: row.get(2)?,
        action: action(row, 3)?,
        status: status(row, 4)?,
        reason: row.get(5)?,
        physical_id: row.get(6)?,
        created_at: time(row, 7)?,
        updated_at: time_or_none(row, 8)?,
        description: row.get(9)?,
        required_by: Vec::new(),
        definition: row.get::<_, Option<i64>>(10)?.map(|_| position(row, 10)).transpose()?,
    })
}

/// The resources that a stack lists, in the order of its template.
pub(super) fn of_stack(db: &Connection, stack: StackId) -> rusqlite::Result<Vec<ResourceRow>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {LISTED} AND r.role > 0 ORDER BY r.place, r.name"))?;
    let found = statement
        .query_map([bytes(stack.0)], |row| Ok((listed(row)?, json(row, 11)?, row.get(12)?)))?;
    let found: Vec<(ResourceRow, Vec<ResourceName>, i64)> =
        found.collect::<rusqlite::Result<_>>()?;
    Ok(with_users(found))
}

/// The resource of a name that a stack lists, without who requires it.
pub(super) fn of_name(
    db: &Connection,
    stack: StackId,
    name: &str,
) -> rusqlite::Result<Option<ResourceRow>> {
    db.prepare_cached(&one_of_name())?.query_row(params![bytes(stack.0), name], listed).optional()
}

fn one_of_name() -> String {
    // The plus keeps SQLite from a look at all that the stack lists.
    format!("SELECT {LISTED} AND r.name = ?2 AND +r.role > 0 LIMIT 1")
}

/// The stack that an incarnation belongs or belonged to, and its name there.
pub(super) fn owner(
    db: &Connection,
    id: ResourceId,
) -> rusqlite::Result<Option<(StackId, ResourceName)>> {
    db.prepare_cached(
        "SELECT s.id, r.name FROM resources r JOIN stacks s ON s.number = r.stack WHERE r.id = ?1",
    )?
    .query_row([bytes(id.0)], |row| Ok((StackId(uuid(row, 0)?), ResourceName(row.get(1)?))))
    .optional()
}

/// The resources of a project's stacks that stand for an object of the cloud: their stacks, and their
/// names there.
pub(super) fn with_physical_id(
    db: &Connection,
    project: &ProjectId,
    physical_id: &str,
) -> rusqlite::Result<Vec<(StackId, ResourceName)>> {
    let mut statement = db.prepare_cached(
        "SELECT s.id, r.name FROM resources r JOIN stacks s ON s.number = r.stack \
         WHERE r.physical_id = ?1 AND s.project = ?2 AND r.role > 0",
    )?;
    let found = statement.query_map(params![physical_id, project.as_str()], |row| {
        Ok((StackId(uuid(row, 0)?), ResourceName(row.get(1)?)))
    })?;
    found.collect()
}

/// Who has an object of the cloud, or has left it there.
pub(super) fn holders(db: &Connection, physical_id: &str) -> rusqlite::Result<Vec<Holder>> {
    let mut statement = db.prepare_cached(
        "SELECT r.id, s.id, s.project, r.type, r.role FROM resources r \
         JOIN stacks s ON s.number = r.stack WHERE r.physical_id = ?1 AND (r.role > ?2 OR r.stays)",
    )?;
    let found = statement.query_map(params![physical_id, GONE], |row| {
        Ok(Holder {
            resource: ResourceId(uuid(row, 0)?),
            stack: StackId(uuid(row, 1)?),
            project: ProjectId(row.get(2)?),
            type_name: row.get(3)?,
            is_gone: row.get::<_, i64>(4)? == GONE,
        })
    })?;
    found.collect()
}

/// Turns "requires" round. As in Heat it is the template that says who uses a resource of it: what
/// is about to go is neither used nor a user.
fn with_users(found: Vec<(ResourceRow, Vec<ResourceName>, i64)>) -> Vec<ResourceRow> {
    let mut users: HashMap<ResourceName, Vec<ResourceName>> = HashMap::new();
    for (row, requires, _) in found.iter().filter(|(.., role)| *role == CURRENT) {
        for required in requires {
            users.entry(required.clone()).or_default().push(row.name.clone());
        }
    }
    let rows = found.into_iter().map(|(row, _, role)| {
        let known = (role == CURRENT).then(|| users.remove(&row.name)).flatten();
        ResourceRow { required_by: known.unwrap_or_default(), ..row }
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::super::store;
    use super::*;

    #[test]
    fn one_resource_is_found_without_a_look_at_the_others() {
        let plan = store::plan(&one_of_name());
        assert!(plan.contains("(stack=? AND name=?)"), "{plan}");
    }
}
