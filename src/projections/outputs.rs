//! Outputs: what the newest revision declares, with the values of the last walk that ended. While
//! another is under way its stack says what they are by now.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::columns::json;
use super::views::ViewError;
use crate::events::stack::{OutputDeclared, OutputResolved};

pub(super) fn resolved(
    db: &Connection,
    stack: i64,
    outputs: &[OutputResolved],
) -> Result<(), ViewError> {
    if outputs.is_empty() {
        db.prepare_cached("DELETE FROM outputs WHERE stack = ?1")?.execute([stack])?;
    } else {
        db.prepare_cached("INSERT OR REPLACE INTO outputs (stack, vals) VALUES (?1, ?2)")?
            .execute(params![stack, serde_json::to_string(outputs)?])?;
    }
    Ok(())
}

/// The declared outputs, each with its value where there is one.
pub(super) fn of_stack(
    db: &Connection,
    stack: i64,
    declared: Vec<OutputDeclared>,
) -> rusqlite::Result<Vec<OutputResolved>> {
    if declared.is_empty() {
        return Ok(Vec::new());
    }
    let resolved: Option<Vec<OutputResolved>> = db
        .prepare_cached("SELECT vals FROM outputs WHERE stack = ?1")?
        .query_row([stack], |row| json(row, 0))
        .optional()?;
    let mut resolved = resolved.unwrap_or_default();
    let rows = declared.into_iter().map(|output| {
        let at = resolved.iter().position(|other| other.key == output.key);
        let (value, error) = match at.map(|at| resolved.swap_remove(at)) {
            Some(found) => (found.value, found.error),
            None => (Value::Null, None),
        };
        OutputResolved { key: output.key, description: output.description, value, error }
    });
    Ok(rows.collect())
}
