//! The events of a tree of stacks folded into a database in memory, and what that came to at
//! intervals on the way, so that whoever asks for another moment of the same tree has only what
//! lies between folded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::executor::block_on;
use rusqlite::Connection;
use rusqlite::backup::Backup;

use crate::events::log::EventLog;
use crate::events::{Position, RecordedEvent, StreamId, StreamRevision};
use crate::model::StackId;
use crate::projections::batch;
use crate::projections::error::ViewError;
use crate::projections::store::{self, Checkpoint, Place};

/// What changes no view, and need not be read.
const UNSEEN: [&str; 6] = [
    "CallIntended",
    "AnswersKept",
    "CallRetried",
    "CreateRepeated",
    "AttributesObserved",
    "RealityObserved",
];

/// The events that are folded at most, for one moment and for all that are kept.
pub(super) const EVENTS_MAX: usize = 200_000;

/// How many trees have folds, and how large those of one may be together.
const TREES_MAX: usize = 4;
const FOLDS_BYTES_MAX: usize = 32 << 20;

/// After how much work a fold is kept at first: an event is as much as so many bytes of one.
const WORK_BETWEEN: usize = 1_024;
const EVENT_BYTES: usize = 512;

/// The trees that were asked for last.
#[derive(Default)]
pub(super) struct Folds(Mutex<VecDeque<Arc<Tree>>>);

impl Folds {
    /// A tree, if its events are known up to a position.
    pub(super) fn of(&self, root: StackId, at: Position) -> Option<Arc<Tree>> {
        let trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trees.iter().find(|tree| tree.root == root && at <= tree.end).cloned()
    }

    /// Keeps a tree as the newest; the oldest goes.
    pub(super) fn keep(&self, tree: Arc<Tree>) {
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trees.retain(|known| known.root != tree.root);
        trees.push_back(tree);
        while trees.len() > TREES_MAX {
            trees.pop_front();
        }
    }
}

/// A tree of stacks by its events, up to a position.
pub(super) struct Tree {
    root: StackId,
    end: Position,
    /// In the order of the log.
    events: Vec<Mark>,
    kept: Mutex<Kept>,
}

/// Where an event stands.
struct Mark {
    position: Position,
    stream: StreamId,
    revision: StreamRevision,
}

/// What the first events of a tree come to.
pub(super) struct Fold {
    pub(super) place: Place,
    pub(super) db: Connection,
    /// How many events.
    pub(super) taken: usize,
}

/// The folds of a tree.
struct Kept {
    /// By how many events they have taken in, with their sizes.
    folds: BTreeMap<usize, (Fold, usize)>,
    bytes: usize,
    work_between: usize,
}

/// What there is to begin with.
pub(super) enum Folding {
    Known(Arc<Tree>),
    /// The streams of a tree of which nothing is known yet, and up to where these are all.
    Fresh(Vec<StreamId>, Position),
}

impl Folding {
    /// A tree as it was at a position.
    pub(super) fn run(
        self,
        log: &dyn EventLog,
        root: StackId,
        at: Position,
    ) -> Result<(Arc<Tree>, Fold), ViewError> {
        let (tree, fold, events) = match self {
            Folding::Known(tree) => {
                let count = tree.events.partition_point(|event| event.position <= at);
                let fold = tree.kept().before(count)?;
                let events = tree.read(log, &tree.events[fold.taken..count])?;
                (tree, fold, events)
            }
            Folding::Fresh(streams, end) => {
                let (tree, events) = Tree::of(log, root, (&streams, end), (at, EVENTS_MAX))?;
                (Arc::new(tree), Fold::empty()?, events)
            }
        };
        let fold = tree.advance(fold, &events)?;
        store::move_checkpoint(&fold.db, &Checkpoint { position: at, hash: [0; 32] })?;
        Ok((tree, fold))
    }
}

fn is_seen(event: &RecordedEvent) -> bool {
    !UNSEEN.contains(&&*event.event_type)
}

impl Tree {
    /// Reads the streams: the events up to a position, and where those after it stand. Of the
    /// former no more are read than may be, and of the latter all or none are known.
    fn of(
        log: &dyn EventLog,
        root: StackId,
        (streams, end): (&[StreamId], Position),
        (at, max): (Position, usize),
    ) -> Result<(Tree, Vec<Arc<RecordedEvent>>), ViewError> {
        let mut end = end.max(at);
        let (mut events, mut marks) = (Vec::new(), Vec::new());
        for stream in streams {
            let slice = block_on(log.read(stream, StreamRevision(0)))?;
            for event in slice.events.into_iter().filter(|event| is_seen(event)) {
                if event.position <= end {
                    let RecordedEvent { position, ref stream, revision, .. } = *event;
                    marks.push(Mark { position, stream: stream.clone(), revision });
                }
                if event.position <= at {
                    events.push(event);
                }
            }
            if events.len() > max {
                return Err(ViewError::TooMuch);
            }
            if marks.len() > max {
                end = at;
                marks.retain(|mark| mark.position <= at);
            }
        }
        events.sort_unstable_by_key(|event| event.position);
        marks.sort_unstable_by_key(|mark| mark.position);
        let kept = Kept { folds: BTreeMap::new(), bytes: 0, work_between: WORK_BETWEEN };
        Ok((Tree { root, end, events: marks, kept: kept.into() }, events))
    }

    /// Reads some events that follow each other.
    fn read(
        &self,
        log: &dyn EventLog,
        marks: &[Mark],
    ) -> Result<Vec<Arc<RecordedEvent>>, ViewError> {
        let (Some(first), Some(last)) = (marks.first(), marks.last()) else {
            return Ok(Vec::new());
        };
        let mut from: BTreeMap<&StreamId, StreamRevision> = BTreeMap::new();
        for mark in marks {
            from.entry(&mark.stream).or_insert(mark.revision);
        }
        let span = first.position..=last.position;
        let mut events = Vec::with_capacity(marks.len());
        for (stream, from) in from {
            let slice = block_on(log.read(stream, from))?;
            let wanted = slice.events.into_iter();
            events.extend(wanted.filter(|event| span.contains(&event.position) && is_seen(event)));
        }
        events.sort_unstable_by_key(|event| event.position);
        Ok(events)
    }

    /// Takes in the events that come next, and keeps what that comes to at intervals.
    fn advance(&self, mut fold: Fold, events: &[Arc<RecordedEvent>]) -> Result<Fold, ViewError> {
        let mut rest = events;
        while !rest.is_empty() {
            let most = self.kept().work_between;
            let (mut count, mut work) = (0, 0);
            while work < most && count < rest.len() {
                work += 1 + rest[count].body.len() / EVENT_BYTES;
                count += 1;
            }
            let transaction = fold.db.transaction()?;
            for event in &rest[..count] {
                batch::apply(&transaction, event)?;
            }
            transaction.commit()?;
            fold.taken += count;
            rest = &rest[count..];
            if work >= most {
                let copy = fold.copied()?;
                self.kept().keep(copy)?;
            }
        }
        Ok(fold)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fold {
    fn empty() -> Result<Fold, ViewError> {
        let place = Place::memory();
        let mut db = place.open_to_write()?;
        store::create(&mut db, 1)?;
        store::index(&db)?;
        Ok(Fold { place, db, taken: 0 })
    }

    fn copied(&self) -> Result<Fold, ViewError> {
        let place = Place::memory();
        let mut db = place.open_to_write()?;
        Backup::new(&self.db, &mut db)?.run_to_completion(i32::MAX, Duration::ZERO, None)?;
        Ok(Fold { place, db, taken: self.taken })
    }

    fn bytes(&self) -> Result<usize, ViewError> {
        let pragma = |name| self.db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let bytes = pragma("page_count")?.saturating_mul(pragma("page_size")?);
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }
}

impl Kept {
    /// The one that has taken in most of so many events, to be led on.
    fn before(&self, taken: usize) -> Result<Fold, ViewError> {
        match self.folds.range(..=taken).next_back() {
            Some((_, (fold, _))) => fold.copied(),
            None => Fold::empty(),
        }
    }

    /// Keeps a fold; where all of them are too large, every other one goes, and less are kept from
    /// then on.
    fn keep(&mut self, fold: Fold) -> Result<(), ViewError> {
        let bytes = fold.bytes()?;
        if let Some((_, former)) = self.folds.insert(fold.taken, (fold, bytes)) {
            self.bytes -= former;
        }
        self.bytes += bytes;
        while self.bytes > FOLDS_BYTES_MAX && !self.folds.is_empty() {
            self.work_between = self.work_between.saturating_mul(2);
            let all = std::mem::take(&mut self.folds).into_iter().zip(0..);
            self.folds = all.filter(|(_, place)| place % 2 == 1).map(|(fold, _)| fold).collect();
            self.bytes = self.folds.values().map(|(_, bytes)| bytes).sum();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::events::log::{Head, MemoryLog};
    use crate::events::{Meta, NewEvent};

    /// A log with one stack, of whose events all but one count.
    fn log(events: usize) -> (MemoryLog, Vec<StreamId>) {
        let (log, stream) = (MemoryLog::new(), StreamId::stack(StackId(Uuid::from_u128(7))));
        let event = |(event_type, body): (_, serde_json::Value)| NewEvent {
            event_type,
            version: 1,
            at: DateTime::UNIX_EPOCH,
            meta: Arc::new(Meta::default()),
            body: body.to_string(),
        };
        let created = json!({ "stack_id": Uuid::from_u128(7), "name": "web", "project_id": "p",
                              "owner_user_id": "u", "owner_user_name": "n" });
        let all = (1..=events).map(|position| match position {
            1 => ("StackCreated", created.clone()),
            2 => ("CallIntended", json!({})),
            _ => ("UserProjectMade", json!({ "project_id": position.to_string() })),
        });
        let all = all.map(event).collect();
        block_on(log.append(&stream, Head::default(), all)).unwrap();
        (log, vec![stream])
    }

    #[test]
    fn no_more_events_are_folded_than_may_be() {
        let (log, streams) = log(3);
        let root = StackId(Uuid::from_u128(7));
        let read = |at, max| {
            let read = Tree::of(&log, root, (&streams, Position(3)), (Position(at), max));
            read.map(|(tree, events)| (tree.end, tree.events.len(), events.len()))
        };
        assert_eq!(read(3, 2).unwrap(), (Position(3), 2, 2));
        assert!(matches!(read(3, 1), Err(ViewError::TooMuch)));
        assert_eq!(read(2, 2).unwrap(), (Position(3), 2, 1));
        assert_eq!(read(2, 1).unwrap(), (Position(2), 1, 1), "what comes after is not known");
    }

    #[test]
    fn a_fold_is_led_on_from_the_nearest_before_it() {
        let (log, streams) = log(3 * WORK_BETWEEN);
        let root = StackId(Uuid::from_u128(7));
        let at = |at: usize| Position(at as u64);
        let fresh = Folding::Fresh(streams, log.durable_position());
        let (tree, fold) = fresh.run(&log, root, at(2 * WORK_BETWEEN + 2)).unwrap();
        assert_eq!(fold.taken, 2 * WORK_BETWEEN + 1);
        let kept = |tree: &Tree| tree.kept().folds.keys().copied().collect::<Vec<_>>();
        assert_eq!(kept(&tree), [WORK_BETWEEN, 2 * WORK_BETWEEN]);
        for (to, from, taken) in [
            (WORK_BETWEEN, 0, WORK_BETWEEN - 1),
            (WORK_BETWEEN + 1, WORK_BETWEEN, WORK_BETWEEN),
            (3 * WORK_BETWEEN, 2 * WORK_BETWEEN, 3 * WORK_BETWEEN - 1),
        ] {
            assert_eq!(tree.kept().before(taken).unwrap().taken, from);
            let (_, fold) = Folding::Known(Arc::clone(&tree)).run(&log, root, at(to)).unwrap();
            assert_eq!(fold.taken, taken);
            let reached = store::checkpoint(&fold.db).unwrap().unwrap();
            assert_eq!(reached.position, at(to));
            let sql = "SELECT user_project FROM stacks";
            let last: String = fold.db.query_row(sql, [], |row| row.get(0)).unwrap();
            assert_eq!(last, to.to_string(), "it is what the last event made");
        }
    }

    #[test]
    fn folds_are_bounded_in_bytes_and_trees_in_number() {
        let mut kept = Kept { folds: BTreeMap::new(), bytes: 0, work_between: 1 };
        for taken in 1..=8 {
            kept.keep(Fold { taken, ..Fold::empty().unwrap() }).unwrap();
        }
        assert_eq!((kept.folds.len(), kept.work_between), (8, 1));
        kept.bytes = FOLDS_BYTES_MAX;
        kept.keep(Fold { taken: 9, ..Fold::empty().unwrap() }).unwrap();
        assert_eq!(kept.folds.keys().copied().collect::<Vec<_>>(), [2, 4, 6, 8]);
        assert_eq!(kept.work_between, 2);
        let each = kept.folds.values().map(|(_, bytes)| bytes).sum::<usize>();
        assert!(each > 0 && kept.bytes == each);

        let (log, streams) = log(3);
        let folds = Folds::default();
        for number in 0..=TREES_MAX {
            let root = StackId(Uuid::from_u128(number as u128));
            let read = Tree::of(&log, root, (&streams, Position(3)), (Position(3), 9));
            let (tree, _) = read.unwrap();
            folds.keep(Arc::new(tree));
        }
        let known = |number: usize, at| {
            folds.of(StackId(Uuid::from_u128(number as u128)), Position(at)).is_some()
        };
        assert!(!known(0, 3) && known(1, 3) && known(TREES_MAX, 3));
        assert!(!known(1, 4), "what comes after is not known");
    }
}
