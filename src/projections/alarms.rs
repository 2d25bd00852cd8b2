//! Alarms: a row each while they exist, and what happened to them.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::columns::{bytes, json, micros, position, stored, text, time, time_or_none, uuid};
use super::metrics;
use crate::events::alarm::{AlarmMade, AlarmState, SignalTold};
use crate::events::{AlarmEvent, Position, RecordedEvent};
use crate::model::{AlarmId, ProjectId};

/// An alarm as the API shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmRow {
    /// With the rule that it has now.
    pub made: AlarmMade,
    pub state: AlarmState,
    pub reason: String,
    /// When it came to the state; none: it was in no other.
    pub state_at: Option<DateTime<Utc>>,
    /// When the rule was made or changed.
    pub changed_at: DateTime<Utc>,
}

/// Something that happened to an alarm.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmChange {
    pub position: Position,
    pub alarm: String,
    pub at: DateTime<Utc>,
    /// Amazon's: ConfigurationUpdate, StateUpdate, Action.
    pub kind: String,
    pub summary: String,
    pub data: Value,
}

/// A page of what happened to alarms.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    pub name: Option<String>,
    pub kind: Option<String>,
    pub from: Option<DateTime<Utc>>,
    pub to: Option<DateTime<Utc>>,
    /// What happened before this alone.
    pub before: Option<Position>,
    pub limit: u32,
}

/// How much of what happened to an alarm is shown; the log has the rest.
const CHANGES_MAX: u32 = 1_000;

const CONFIGURATION: &str = "ConfigurationUpdate";
const STATE: &str = "StateUpdate";
const ACTION: &str = "Action";

pub(super) fn apply(
    db: &Connection,
    id: AlarmId,
    event: &RecordedEvent,
    body: &AlarmEvent,
) -> rusqlite::Result<()> {
    if let AlarmEvent::AlarmMade(made) = body {
        db.prepare_cached(
            "INSERT OR REPLACE INTO alarms \
             (id, project, name, made, metric, span, state, reason, changed_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '', ?8)",
        )?
        .execute(params![
            bytes(id.0),
            made.project_id.as_str(),
            made.name,
            text(made)?,
            made.rule.metric,
            made.rule.span().num_microseconds(),
            text(&AlarmState::NoData)?,
            micros(event.at),
        ])?;
        return note(db, id, event, CONFIGURATION, "The alarm was made");
    }
    let known = db
        .prepare_cached("SELECT made FROM alarms WHERE id = ?1")?
        .query_row([bytes(id.0)], |row| json::<AlarmMade>(row, 0))
        .optional()?;
    let Some(mut made) = known else { return Ok(()) };
    match body {
        AlarmEvent::AlarmMade(_) => {}
        AlarmEvent::AlarmRevised(revised) => {
            made.rule = revised.rule.clone();
            rewrite(db, id, event, &made)?;
            note(db, id, event, CONFIGURATION, "The alarm was changed")?;
        }
        AlarmEvent::AlarmActionsSwitched(switched) => {
            made.rule.tells = switched.tells;
            rewrite(db, id, event, &made)?;
            let word = if switched.tells { "enabled" } else { "disabled" };
            note(db, id, event, CONFIGURATION, &format!("The alarm's actions were {word}"))?;
        }
        AlarmEvent::AlarmSuspended(_) => {
            set_state(db, id, event, AlarmState::Suspended, "The alarm was suspended")?;
        }
        AlarmEvent::AlarmResumed(_) => {
            set_state(db, id, event, AlarmState::NoData, "The alarm was resumed")?;
        }
        AlarmEvent::AlarmStateSet(set) => set_state(db, id, event, set.state, &set.reason)?,
        AlarmEvent::AlarmActionsTold(told) => {
            let count =
                |is: fn(&SignalTold) -> bool| told.signals.iter().filter(|it| is(it)).count();
            let (taken, refused) =
                (count(|it| it.refused.is_none()), count(|it| it.refused.is_some()));
            let summary = format!("{taken} actions were taken, {refused} were not");
            note(db, id, event, ACTION, &summary)?;
        }
        AlarmEvent::AlarmDeleted(_) => {
            db.prepare_cached(
                "DELETE FROM alarm_history WHERE alarm = (SELECT number FROM alarms WHERE id = ?1)",
            )?
            .execute([bytes(id.0)])?;
            db.prepare_cached("DELETE FROM alarms WHERE id = ?1")?.execute([bytes(id.0)])?;
            metrics::forget(db, &made.project_id, &made.rule.metric)?;
        }
    }
    Ok(())
}

fn rewrite(
    db: &Connection,
    id: AlarmId,
    event: &RecordedEvent,
    made: &AlarmMade,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE alarms SET made = ?2, metric = ?3, span = ?4, changed_at = ?5 WHERE id = ?1",
    )?
    .execute(params![
        bytes(id.0),
        text(made)?,
        made.rule.metric,
        made.rule.span().num_microseconds(),
        micros(event.at),
    ])?;
    Ok(())
}

fn set_state(
    db: &Connection,
    id: AlarmId,
    event: &RecordedEvent,
    state: AlarmState,
    reason: &str,
) -> rusqlite::Result<()> {
    let state = text(&state)?;
    let former: String = db
        .prepare_cached("SELECT state FROM alarms WHERE id = ?1")?
        .query_row([bytes(id.0)], |row| row.get(0))?;
    db.prepare_cached("UPDATE alarms SET reason = ?2 WHERE id = ?1")?
        .execute(params![bytes(id.0), reason])?;
    if former == state {
        // Somebody is told again; it is the state of before.
        return Ok(());
    }
    db.prepare_cached("UPDATE alarms SET state = ?2, state_at = ?3 WHERE id = ?1")?
        .execute(params![bytes(id.0), state, micros(event.at)])?;
    let word = |state: &str| state.trim_matches('"').to_owned();
    let summary = format!("The alarm went from {} to {}", word(&former), word(&state));
    note(db, id, event, STATE, &summary)
}

fn note(
    db: &Connection,
    id: AlarmId,
    event: &RecordedEvent,
    kind: &str,
    summary: &str,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO alarm_history (position, alarm, at, kind, summary, data) \
         SELECT ?2, number, ?3, ?4, ?5, ?6 FROM alarms WHERE id = ?1",
    )?
    .execute(params![
        bytes(id.0),
        stored(event.position),
        micros(event.at),
        kind,
        summary,
        &*event.body,
    ])?;
    db.prepare_cached(
        "DELETE FROM alarm_history WHERE alarm = (SELECT number FROM alarms WHERE id = ?1) \
         AND position <= (SELECT h.position FROM alarm_history h JOIN alarms a \
         ON a.number = h.alarm WHERE a.id = ?1 ORDER BY h.position DESC LIMIT 1 OFFSET ?2)",
    )?
    .execute(params![bytes(id.0), CHANGES_MAX])?;
    Ok(())
}

pub(super) fn all(db: &Connection) -> rusqlite::Result<Vec<(ProjectId, AlarmId)>> {
    db.prepare_cached("SELECT project, id FROM alarms")?
        .query_map([], |row| Ok((ProjectId(row.get(0)?), AlarmId(uuid(row, 1)?))))?
        .collect()
}

fn alarm_row(row: &Row<'_>) -> rusqlite::Result<AlarmRow> {
    Ok(AlarmRow {
        made: json(row, 0)?,
        state: json(row, 1)?,
        reason: row.get(2)?,
        state_at: time_or_none(row, 3)?,
        changed_at: time(row, 4)?,
    })
}

pub(super) fn of_project(
    db: &Connection,
    project: &ProjectId,
    name: Option<&str>,
) -> rusqlite::Result<Vec<AlarmRow>> {
    db.prepare_cached(
        "SELECT made, state, reason, state_at, changed_at FROM alarms \
         WHERE project = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY name, number",
    )?
    .query_map(params![project.as_str(), name], alarm_row)?
    .collect()
}

pub(super) fn history(
    db: &Connection,
    project: &ProjectId,
    query: &HistoryQuery,
) -> rusqlite::Result<Vec<AlarmChange>> {
    db.prepare_cached(
        "SELECT h.position, a.name, h.at, h.kind, h.summary, h.data FROM alarm_history h \
         JOIN alarms a ON a.number = h.alarm \
         WHERE a.project = ?1 AND (?2 IS NULL OR a.name = ?2) AND (?3 IS NULL OR h.kind = ?3) \
         AND (?4 IS NULL OR h.at >= ?4) AND (?5 IS NULL OR h.at <= ?5) \
         AND (?6 IS NULL OR h.position < ?6) ORDER BY h.position DESC LIMIT ?7",
    )?
    .query_map(
        params![
            project.as_str(),
            query.name,
            query.kind,
            query.from.map(micros),
            query.to.map(micros),
            query.before.map(stored),
            query.limit,
        ],
        |row| {
            Ok(AlarmChange {
                position: position(row, 0)?,
                alarm: row.get(1)?,
                at: time(row, 2)?,
                kind: row.get(3)?,
                summary: row.get(4)?,
                data: json(row, 5)?,
            })
        },
    )?
    .collect()
}
