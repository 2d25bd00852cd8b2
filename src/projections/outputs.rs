//! Outputs: what the newest revision declares, with the values of the last traversal that ended. While
//! another is under way its stack says what they are by now.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::columns::{json, stored_revision};
use super::error::ViewError;
use crate::events::stack::{OutputDeclared, OutputResolved};
use crate::events::vault::Placed;
use crate::events::{RecordedEvent, StreamId};
use crate::model::StackId;

/// An output as it was when the last traversal ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputShown {
    pub key: String,
    pub description: String,
    /// Secrets in it are sealed under the stack's scope.
    pub placed: Placed,
    pub error: Option<String>,
    /// The cloud is asked for what it reads whenever it is shown.
    pub live: bool,
}

pub(super) fn resolved(
    db: &Connection,
    stack: i64,
    event: &RecordedEvent,
    outputs: &[OutputResolved],
) -> Result<(), ViewError> {
    if outputs.is_empty() {
        db.prepare_cached("DELETE FROM outputs WHERE stack = ?1")?.execute([stack])?;
    } else {
        db.prepare_cached(
            "INSERT OR REPLACE INTO outputs (stack, revision, vals) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![
            stack,
            stored_revision(event.revision),
            serde_json::to_string(outputs)?
        ])?;
    }
    Ok(())
}

/// The declared outputs, each with its value where there is one.
pub(super) fn of_stack(
    db: &Connection,
    (id, stack): (StackId, i64),
    declared: Vec<OutputDeclared>,
) -> rusqlite::Result<Vec<OutputShown>> {
    if declared.is_empty() {
        return Ok(Vec::new());
    }
    let resolved: Option<(i64, Vec<OutputResolved>)> = db
        .prepare_cached("SELECT revision, vals FROM outputs WHERE stack = ?1")?
        .query_row([stack], |row| Ok((row.get(0)?, json(row, 1)?)))
        .optional()?;
    let (revision, mut resolved) = resolved.unwrap_or_default();
    let stream = StreamId::stack(id);
    let rows = declared.into_iter().map(|output| {
        let at = resolved.iter().position(|other| other.key == output.key);
        let (value, error) = match at {
            Some(at) => (resolved[at].value.take(), resolved[at].error.take()),
            None => (Value::Null, None),
        };
        let place = format!("{stream}/{revision}/outputs/{}/value", at.unwrap_or_default());
        let placed = Placed { place, value };
        OutputShown {
            key: output.key,
            description: output.description,
            placed,
            error,
            live: output.live,
        }
    });
    Ok(rows.collect())
}
