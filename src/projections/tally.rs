//! How much there is of what is limited.

use rusqlite::Connection;

use super::columns::uuid;
use crate::model::{ProjectId, StackId, Tally};

pub(super) fn of_all(db: &Connection) -> rusqlite::Result<Tally> {
    let stacks = "SELECT s.root, s.id, count(r.id) FROM stacks s JOIN resources r \
         ON r.stack = s.number AND r.role > 0 WHERE s.deleted_at IS NULL GROUP BY s.number";
    let mut stacks = db.prepare_cached(stacks)?;
    let stacks = stacks.query_map([], |row| {
        Ok((StackId(uuid(row, 0)?), StackId(uuid(row, 1)?), count(row.get(2)?)))
    })?;
    Ok(Tally {
        stacks: stacks.collect::<rusqlite::Result<_>>()?,
        configs: by_project(db, "configs")?,
        deployments: by_project(db, "deployments")?,
    })
}

fn by_project(db: &Connection, table: &str) -> rusqlite::Result<Vec<(ProjectId, usize)>> {
    db.prepare_cached(&format!("SELECT project, count(*) FROM {table} GROUP BY project"))?
        .query_map([], |row| Ok((ProjectId(row.get(0)?), count(row.get(1)?))))?
        .collect()
}

fn count(stored: i64) -> usize {
    usize::try_from(stored).unwrap_or(0)
}
