//! How ids, times and words are kept in columns.

use chrono::{DateTime, Utc};
use rusqlite::Row;
use rusqlite::types::Type;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::events::{Position, StreamRevision};
use crate::model::{Action, Status};

/// A time as it is stored: microseconds since 1970.
pub(super) fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// A position as it is stored.
pub(super) fn stored(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

/// A revision of a stream as it is stored.
pub(super) fn stored_revision(revision: StreamRevision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

/// Reads a position.
pub(super) fn position(row: &Row<'_>, column: usize) -> rusqlite::Result<Position> {
    Ok(Position(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0)))
}

/// The bytes of an id.
pub(super) fn bytes(id: Uuid) -> [u8; 16] {
    id.into_bytes()
}

/// Reads an id.
pub(super) fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    Ok(Uuid::from_bytes(row.get(column)?))
}

/// Reads a time.
pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<DateTime<Utc>> {
    DateTime::from_timestamp_micros(row.get(column)?)
        .ok_or_else(|| unreadable(column, "a time out of range"))
}

/// Reads a time that may be missing.
pub(super) fn time_or_none(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<DateTime<Utc>>> {
    let stored: Option<i64> = row.get(column)?;
    stored.map(|_| time(row, column)).transpose()
}

/// A value as JSON text.
pub(super) fn text(value: &impl Serialize) -> rusqlite::Result<String> {
    let text = serde_json::to_string(value);
    text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Reads JSON text.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

/// Reads an action by its word in the API.
pub(super) fn action(row: &Row<'_>, column: usize) -> rusqlite::Result<Action> {
    Ok(match row.get_ref(column)?.as_str()? {
        "INIT" => Action::Init,
        "CREATE" => Action::Create,
        "DELETE" => Action::Delete,
        "UPDATE" => Action::Update,
        "ROLLBACK" => Action::Rollback,
        "SUSPEND" => Action::Suspend,
        "RESUME" => Action::Resume,
        "ADOPT" => Action::Adopt,
        "SNAPSHOT" => Action::Snapshot,
        "CHECK" => Action::Check,
        "RESTORE" => Action::Restore,
        _ => return Err(unreadable(column, "an unknown action")),
    })
}

/// Reads a status by its word in the API.
pub(super) fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    Ok(match row.get_ref(column)?.as_str()? {
        "IN_PROGRESS" => Status::InProgress,
        "COMPLETE" => Status::Complete,
        "FAILED" => Status::Failed,
        _ => return Err(unreadable(column, "an unknown status")),
    })
}

fn unreadable(column: usize, what: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into())
}
