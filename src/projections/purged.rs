//! What was purged is gone from every view.

use rusqlite::Connection;
use uuid::Uuid;

use super::error::ViewError;
use super::stacks;
use crate::events::PurgeEvent;
use crate::model::StackId;

/// What there is of a stack in other tables, by its row number.
const OF_STACK: [&str; 8] = [
    "DELETE FROM signals_due WHERE resource IN (SELECT id FROM resources WHERE stack = ?1)",
    "DELETE FROM resources WHERE stack = ?1",
    "DELETE FROM revisions WHERE stack = ?1",
    "DELETE FROM user_projects WHERE stack = ?1",
    "DELETE FROM outputs WHERE stack = ?1",
    "DELETE FROM snapshots WHERE stack = ?1",
    "DELETE FROM event_list WHERE stack = ?1",
    "DELETE FROM stacks WHERE number = ?1",
];

/// Takes in a purge. Of configurations and deployments the rows went with their deletion.
pub(super) fn apply(db: &Connection, body: &PurgeEvent) -> Result<(), ViewError> {
    let PurgeEvent::StreamsPurged(body) = body;
    for purged in &body.streams {
        let id = purged.stream.as_str().strip_prefix("stack-").map(Uuid::try_parse);
        if let Some(Ok(id)) = id
            && let Some(number) = stacks::number(db, StackId(id))?
        {
            for sql in OF_STACK {
                db.prepare_cached(sql)?.execute([number])?;
            }
        }
    }
    Ok(())
}
