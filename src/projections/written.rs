//! How much each project has written into the log, by the hour, for a day and a little more.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::columns::bytes;
use crate::events::{MetricEvent, RecordedEvent, StackEvent};
use crate::model::ProjectId;

/// What an event takes in the log beside its body: who, when and because of what, its hash, and
/// its line in the indexes.
const ENVELOPE_BYTES: u64 = 768;

/// How long an hour is kept: those of a day, and the one that has begun.
const HOURS_KEPT: i64 = 25;

/// The sums of one batch by project and hour, which are written once.
#[derive(Default)]
pub(super) struct Sums(HashMap<(String, i64), u64>);

impl Sums {
    /// Counts an event that the other views have taken in: one that ends a configuration or a
    /// deployment is nobody's by then. Whose it is may be `known` already. What a stack's user has
    /// sent counts with the project of such users as well. Says whose it is.
    pub(super) fn count(
        &mut self,
        db: &Connection,
        event: &RecordedEvent,
        known: Option<&str>,
    ) -> rusqlite::Result<Option<ProjectId>> {
        let project = match known {
            Some(project) => Some(project.to_owned()),
            None => project_of(db, event)?,
        };
        if let Some(project) = &project {
            let bytes = ENVELOPE_BYTES + event.body.len() as u64 + source_bytes(event);
            let sender = event.meta.caller.as_ref().filter(|caller| !caller.admin);
            let sender = sender.map(|caller| &caller.project_id.0).filter(|it| *it != project);
            for project in sender.cloned().into_iter().chain([project.clone()]) {
                *self.0.entry((project, hour(event.at))).or_default() += bytes;
            }
        }
        Ok(project.map(ProjectId))
    }

    /// Writes the sums, and forgets what is older than a day.
    pub(super) fn write(self, db: &Connection) -> rusqlite::Result<()> {
        let Some(newest) = self.0.keys().map(|(_, hour)| *hour).max() else { return Ok(()) };
        let mut add = db.prepare_cached(
            "INSERT INTO written (project, hour, bytes) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes",
        )?;
        for ((project, hour), bytes) in self.0 {
            add.execute(params![project, hour, i64::try_from(bytes).unwrap_or(i64::MAX)])?;
        }
        db.prepare_cached("DELETE FROM written WHERE hour <= ?1")?
            .execute([newest - HOURS_KEPT])?;
        Ok(())
    }
}

/// What a project has written in the day before a moment, in bytes.
pub(super) fn in_day_before(
    db: &Connection,
    project: &ProjectId,
    now: DateTime<Utc>,
) -> rusqlite::Result<u64> {
    let since = hour(now - TimeDelta::days(1));
    let sum: Option<i64> = db
        .prepare_cached("SELECT sum(bytes) FROM written WHERE project = ?1 AND hour > ?2")?
        .query_row(params![project.as_str(), since], |row| row.get(0))?;
    Ok(sum.and_then(|sum| u64::try_from(sum).ok()).unwrap_or(0))
}

fn hour(at: DateTime<Utc>) -> i64 {
    at.timestamp().div_euclid(3600)
}

/// The length of a source that stands beside the log.
fn source_bytes(event: &RecordedEvent) -> u64 {
    if &*event.event_type != "RevisionAccepted" {
        return 0;
    }
    match event.decode() {
        Ok(StackEvent::RevisionAccepted(accepted)) => accepted.source_bytes,
        Ok(_) | Err(_) => 0,
    }
}

/// Whose an event is that no feed carries.
fn project_of(db: &Connection, event: &RecordedEvent) -> rusqlite::Result<Option<String>> {
    let Some((kind, id)) = event.stream.as_str().split_once('-') else { return Ok(None) };
    let query = match kind {
        "config" => "SELECT project FROM configs WHERE id = ?1",
        "deployment" => "SELECT project FROM deployments WHERE id = ?1",
        "alarm" => "SELECT project FROM alarms WHERE id = ?1",
        "metrics" => {
            let put = event.decode().ok();
            return Ok(put.map(|MetricEvent::DataPut(put)| put.project_id.0));
        }
        _ => return Ok(None),
    };
    let Ok(id) = Uuid::try_parse(id) else { return Ok(None) };
    db.prepare_cached(query)?.query_row([bytes(id)], |row| row.get(0)).optional()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::events::{Meta, Position, StreamId, StreamRevision};
    use crate::model::{Caller, Scope, StackId};

    #[test]
    fn what_a_stacks_user_sends_counts_with_his_project_as_well() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("schema.sql")).unwrap();
        let counted = |project: &str, admin: bool| {
            let caller = Caller {
                user_id: "u".to_owned(),
                user_name: "u".to_owned(),
                project_id: ProjectId::from(project),
                project_name: project.to_owned(),
                roles: Vec::new(),
                scope: Scope::default(),
                admin,
            };
            let event = RecordedEvent {
                position: Position(1),
                stream: StreamId::stack(StackId(Uuid::nil())),
                revision: StreamRevision(1),
                event_type: "Any".into(),
                version: 1,
                at: DateTime::UNIX_EPOCH,
                meta: Arc::new(Meta { caller: Some(Arc::new(caller)), ..Meta::default() }),
                body: "{}".into(),
                hash: [0; 32],
            };
            let mut sums = Sums::default();
            sums.count(&db, &event, Some("p")).unwrap();
            let mut counted: Vec<String> = sums.0.into_keys().map(|(project, _)| project).collect();
            counted.sort();
            counted
        };
        assert_eq!(counted("p", false), ["p"]);
        assert_eq!(counted("users", false), ["p", "users"]);
        assert_eq!(counted("admins", true), ["p"]);
    }

    #[test]
    fn what_was_written_a_day_ago_counts_no_more_and_is_forgotten() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("schema.sql")).unwrap();
        let now = DateTime::from_timestamp(1_000_000_000, 0).unwrap();
        let write = |hours_ago: i64, bytes: u64| {
            let sums = HashMap::from([(("p".to_owned(), hour(now) - hours_ago), bytes)]);
            Sums(sums).write(&db).unwrap();
        };
        for (hours_ago, bytes) in [(30, 1), (24, 10), (23, 100), (0, 1000), (0, 10_000)] {
            write(hours_ago, bytes);
        }
        let project = ProjectId::from("p");
        assert_eq!(in_day_before(&db, &project, now).unwrap(), 11_100);
        assert_eq!(in_day_before(&db, &ProjectId::from("q"), now).unwrap(), 0);
        let later = now + TimeDelta::hours(23);
        assert_eq!(in_day_before(&db, &project, later).unwrap(), 11_000);
        let kept: i64 = db.query_row("SELECT count(*) FROM written", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 3);
    }
}
