//! Views of one tree of stacks as they were at a position: the events of its streams up to there,
//! folded into a database in memory by the same projections, so that the same questions are
//! answered by the same code.

mod folds;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, params};
use tokio::sync::Semaphore;
use uuid::Uuid;

use self::folds::{EVENTS_MAX, Fold, Folding, Folds};
use super::columns::{bytes, stored, uuid};
use super::error::ViewError;
use super::event_list::STACK_TYPE;
use super::store::Place;
use crate::events::log::{EventLog, apart};
use crate::events::{Position, StreamId};
use crate::model::{ResourceId, StackId};

/// The streams that are read at most.
const STREAMS_MAX: usize = 50_000;

/// The pasts that are kept for who asks again.
const KEPT_MAX: usize = 8;

/// How many are folded at once, whoever asks.
const FOLDS_AT_ONCE: usize = 2;

/// The pasts that were asked for last, each as what is made of its database.
pub(super) struct Pasts<V> {
    turns: Semaphore,
    folds: Folds,
    kept: Mutex<VecDeque<Kept<Past<V>>>>,
}

/// One of a tree, by its outermost stack.
struct Past<V> {
    root: StackId,
    at: Position,
    views: V,
}

/// Something that was folded of so many events.
struct Kept<T> {
    events: usize,
    what: T,
}

/// Makes room for one of so many events: the oldest go.
fn make_room<T>(kept: &mut VecDeque<Kept<T>>, events: usize) {
    let has_room = |kept: &VecDeque<Kept<T>>| {
        let others: usize = kept.iter().map(|past| past.events).sum();
        kept.len() < KEPT_MAX && others + events <= EVENTS_MAX
    };
    while !has_room(kept) && kept.pop_front().is_some() {}
}

impl<V> Default for Pasts<V> {
    fn default() -> Self {
        Self {
            turns: Semaphore::new(FOLDS_AT_ONCE),
            folds: Folds::default(),
            kept: Mutex::default(),
        }
    }
}

impl<V: Clone> Pasts<V> {
    /// The views of a tree, by its outermost stack, as they were at a position. `streams` gives the
    /// streams of the tree, at most one more than so many, and up to where these are all; `made`
    /// makes the views of their database.
    pub(super) async fn of(
        &self,
        log: &Arc<dyn EventLog>,
        (root, at): (StackId, Position),
        streams: impl FnOnce(usize) -> Result<(Vec<StreamId>, Position), ViewError>,
        made: impl FnOnce(Place, Connection) -> V,
    ) -> Result<V, ViewError> {
        let _turn = self.turns.acquire().await.map_err(|_| ViewError::Stopped)?;
        if let Some(known) = self.known(root, at) {
            return Ok(known);
        }
        let folding = match self.folds.of(root, at) {
            Some(tree) => Folding::Known(tree),
            None => {
                let (streams, end) = streams(STREAMS_MAX)?;
                Folding::Fresh(streams, end)
            }
        };
        let folded = Arc::clone(log);
        let fold = move || folding.run(folded.as_ref(), root, at);
        let (tree, fold) = apart(fold).await.ok_or(ViewError::Stopped)??;
        self.folds.keep(tree);
        let Fold { place, db, taken } = fold;
        let views = made(place, db);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut kept, taken);
        kept.push_back(Kept { events: taken, what: Past { root, at, views: views.clone() } });
        Ok(views)
    }

    fn known(&self, root: StackId, at: Position) -> Option<V> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = kept.iter().map(|kept| &kept.what);
        found.find(|past| (past.root, past.at) == (root, at)).map(|past| past.views.clone())
    }
}

/// The streams of a tree; of more than there may be, one too many.
pub(super) fn streams(
    db: &Connection,
    root: StackId,
    limit: usize,
) -> rusqlite::Result<Vec<StreamId>> {
    let sql = "SELECT 0, id FROM stacks WHERE root = ?1 UNION ALL SELECT 1, r.id FROM stacks s \
         JOIN resources r ON r.stack = s.number WHERE s.root = ?1 LIMIT ?2";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    db.prepare_cached(sql)?
        .query_map(params![bytes(root.0), limit], |row| {
            let id: Uuid = uuid(row, 1)?;
            Ok(match row.get::<_, i64>(0)? {
                0 => StreamId::stack(StackId(id)),
                _ => StreamId::resource(ResourceId(id)),
            })
        })?
        .collect()
}

/// The stacks as they were at a position, under the name of the table: what asks the table is
/// answered by this.
pub(super) fn stacks_then(at: Position) -> String {
    let at = stored(at);
    let id = "lower(printf('%s-%s-%s-%s-%s', substr(hex(s.id), 1, 8), substr(hex(s.id), 9, 4), \
         substr(hex(s.id), 13, 4), substr(hex(s.id), 17, 4), substr(hex(s.id), 21, 12)))";
    let own = format!(
        "FROM event_list WHERE stack = s.number AND position <= {at} \
         AND type = '{STACK_TYPE}' AND physical_id = {id}"
    );
    format!(
        "WITH stacks AS (SELECT s.number, s.id, s.project, s.name, \
         coalesce(e.action, 'CREATE') AS action, coalesce(e.status, 'IN_PROGRESS') AS status, \
         coalesce(e.reason, '') AS reason, s.created_at, \
         (SELECT at {own} AND status = 'IN_PROGRESS' AND action != 'CREATE' \
         ORDER BY position DESC LIMIT 1) AS updated_at, \
         CASE WHEN e.action = 'DELETE' AND e.status = 'COMPLETE' THEN e.at END AS deleted_at, \
         s.owner, s.owner_id, s.parent, s.parent_resource, s.root, s.depth, r.revision, \
         r.timeout_mins, r.disable_rollback, r.tags, \
         (SELECT project FROM user_projects WHERE stack = s.number AND position <= {at} \
         ORDER BY position DESC LIMIT 1) AS user_project, \
         min(s.position, {at}) AS position FROM main.stacks s \
         JOIN revisions r ON r.stack = s.number AND r.revision = (SELECT max(revision) \
         FROM revisions WHERE stack = s.number AND position <= {at}) \
         LEFT JOIN event_list e ON e.position = (SELECT position {own} \
         ORDER BY position DESC LIMIT 1)) "
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_in_number_and_in_events() {
        let mut kept: VecDeque<Kept<usize>> = VecDeque::new();
        let mut keep = |events, what| {
            make_room(&mut kept, events);
            kept.push_back(Kept { events, what });
            kept.iter().map(|past| past.what).collect::<Vec<_>>()
        };
        for what in 0..KEPT_MAX {
            assert_eq!(keep(1, what).len(), what + 1);
        }
        assert_eq!(keep(1, KEPT_MAX), (1..=KEPT_MAX).collect::<Vec<_>>());
        assert_eq!(keep(EVENTS_MAX - 1, 20), [KEPT_MAX, 20]);
        assert_eq!(keep(EVENTS_MAX, 21), [21]);
    }

    #[test]
    fn of_too_many_streams_one_too_many_is_told() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("schema.sql")).unwrap();
        let root = StackId(Uuid::from_u128(7));
        for number in 0..4_u128 {
            db.execute(
                "INSERT INTO resources (id, stack, name, type, role, place, action, status, reason, \
                 created_at, description, requires) \
                 VALUES (?1, 1, 'a', '', 0, 0, '', '', '', 0, '', '')",
                [bytes(Uuid::from_u128(number))],
            )
            .unwrap();
        }
        db.execute(
            "INSERT INTO stacks (number, id, project, name, action, status, reason, created_at, \
             owner, owner_id, root, depth, revision, disable_rollback, tags, position) \
             VALUES (1, ?1, 'p', 'web', '', '', '', 0, '', '', ?1, 0, 1, 0, '[]', 1)",
            [bytes(root.0)],
        )
        .unwrap();
        assert_eq!(streams(&db, root, 9).unwrap().len(), 5);
        assert_eq!(streams(&db, root, 3).unwrap().len(), 4);
    }
}
