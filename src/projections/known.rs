//! A resource as the views know it when its next event comes.

use rusqlite::{Connection, OptionalExtension};

use super::columns::{action, bytes, status};
use crate::model::{Action, ResourceId, Status};

/// What is known of a resource when an event of it comes.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) id: ResourceId,
    pub(super) stack: i64,
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) physical_id: Option<String>,
    pub(super) definition: Option<i64>,
    pub(super) action: Action,
    pub(super) status: Status,
}

/// A resource as it was last.
pub(super) fn known(db: &Connection, id: ResourceId) -> rusqlite::Result<Option<Known>> {
    db.prepare_cached(
        "SELECT stack, name, type, physical_id, definition, action, status FROM resources \
         WHERE id = ?1",
    )?
    .query_row([bytes(id.0)], |row| {
        Ok(Known {
            id,
            stack: row.get(0)?,
            name: row.get(1)?,
            type_name: row.get(2)?,
            physical_id: row.get(3)?,
            definition: row.get(4)?,
            action: action(row, 5)?,
            status: status(row, 6)?,
        })
    })
    .optional()
}
