//! Follows the log and writes the views: a thread of its own, a transaction per batch.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use rusqlite::{Connection, ErrorCode};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinError, JoinHandle};

use super::batch::{Batch, Taken};
use super::error::ViewError;
use super::landmarks;
use super::store::{self, Checkpoint, Place, Readers};
use crate::events::log::{EventLog, Filter, LogError};
use crate::events::{Position, RecordedEvent};
use crate::model::Changes;

/// The most events of one transaction: what happens is soon visible.
const BATCH_MAX_EVENTS: usize = 1_024;
/// How many events are read at once while the views catch up.
const PAGE_EVENTS: usize = 8_192;
/// How many such pages one transaction takes in: pages of the file are written less often.
const CATCH_UP_PAGES: usize = 8;
/// The pause before views that could not be written are tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// By what others know how far the views have come.
pub(super) struct Told {
    pub(super) passed: watch::Sender<Position>,
    pub(super) changes: Changes,
}

/// A runner at work.
pub(super) struct Runner {
    /// Ends the runner when dropped.
    stop: Mutex<Option<oneshot::Sender<()>>>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Runner {
    /// Whether it still follows the log.
    pub(super) fn is_at_work(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the runner and waits until its file is closed.
    pub(super) fn end(&self) {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the views' thread panicked");
        }
    }
}

/// Opens the views, or makes them anew where they cannot be kept, and follows the log from there.
pub(super) async fn start(
    readers: Arc<Readers>,
    log: Arc<dyn EventLog>,
    told: Told,
) -> Result<Runner, ViewError> {
    let (db, checkpoint) = open(readers.place(), log.as_ref()).await?;
    told.passed.send_replace(checkpoint.position);
    let (stop, stopped) = oneshot::channel();
    let thread = thread::Builder::new()
        .name("projections".to_owned())
        .spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build()
            {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!(%error, "the views have no runtime"),
            };
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = follow(db, checkpoint, &readers, log, &told) => {}
                }
            });
        })
        .map_err(ViewError::Thread)?;
    Ok(Runner { stop: Mutex::new(Some(stop)), thread: Mutex::new(Some(thread)) })
}

/// Follows the log for ever. Where the views cannot be written, a full disk perhaps, they are tried
/// again after a pause. Views that turn out damaged are made anew, once: a disk that spoils them
/// again will not get better by another try.
async fn follow(
    db: Connection,
    checkpoint: Checkpoint,
    readers: &Readers,
    log: Arc<dyn EventLog>,
    told: &Told,
) {
    let mut result = run(db, checkpoint, Arc::clone(&log), told).await;
    let mut made_anew = false;
    while let Err(error) = result {
        if !is_damage(&error) {
            tracing::error!(%error, "the views stand still, and are tried again");
            tokio::time::sleep(RETRY_PAUSE).await;
        } else if made_anew {
            return tracing::error!(%error, "the views stand still");
        } else {
            tracing::error!(%error, "the views are damaged and made anew from the log");
            made_anew = true;
            told.passed.send_replace(Position(0));
            readers.place().discard();
            readers.forget();
        }
        result = match open(readers.place(), log.as_ref()).await {
            Ok((db, checkpoint)) => run(db, checkpoint, Arc::clone(&log), told).await,
            Err(error) => Err(error),
        };
    }
}

async fn open(place: &Place, log: &dyn EventLog) -> Result<(Connection, Checkpoint), ViewError> {
    match keep(place, log).await {
        Ok(Some(kept)) => return Ok(kept),
        Ok(None) => {}
        Err(error) if is_damage(&error) => {
            tracing::warn!(%error, "the views are damaged and made anew from the log");
        }
        Err(error) => return Err(error),
    }
    place.discard();
    let mut db = place.open_to_write()?;
    store::create(&mut db, log.spacing())?;
    Ok((db, Checkpoint::START))
}

/// Existing views, if they are of this schema and of this log.
async fn keep(
    place: &Place,
    log: &dyn EventLog,
) -> Result<Option<(Connection, Checkpoint)>, ViewError> {
    let db = place.open_to_write()?;
    let Some(checkpoint) = store::checkpoint(&db)? else { return Ok(None) };
    if !store::is_spaced(&db, log.spacing())? {
        tracing::info!("the log has moved to another kind of backend: the views are made anew");
        return Ok(None);
    }
    if checkpoint == Checkpoint::START {
        return Ok(Some((db, checkpoint)));
    }
    let before = Position(checkpoint.position.0.saturating_sub(1));
    let last = log.read_all(before, &Filter::default(), 1).await?;
    let is_of_this_log = last.first().is_some_and(|event| {
        event.position == checkpoint.position && event.hash == checkpoint.hash
    });
    if !is_of_this_log {
        tracing::warn!(position = %checkpoint.position, "the views are of another log and made anew");
        return Ok(None);
    }
    // They may have been left while they were made.
    store::index(&db)?;
    Ok(Some((db, checkpoint)))
}

async fn run(
    db: Connection,
    from: Checkpoint,
    log: Arc<dyn EventLog>,
    told: &Told,
) -> Result<(), ViewError> {
    // A former process may have ended between a purge and this.
    let landmarks = landmarks::Writer::of(log.as_ref());
    let mut writer = Writer { db, landmarks, has_spare: true, told };
    let reached = writer.catch_up(from.position, &log).await?;
    writer.follow(reached, log.as_ref()).await
}

/// Writes the views.
struct Writer<'a> {
    db: Connection,
    landmarks: landmarks::Writer,
    /// Whether the file may have pages that hold nothing.
    has_spare: bool,
    told: &'a Told,
}

impl Writer<'_> {
    /// Takes in what there is after a position; up to where. A page is read while the one before it
    /// is written, and more of the file stays in memory until it is done.
    async fn catch_up(
        &mut self,
        from: Position,
        log: &Arc<dyn EventLog>,
    ) -> Result<Position, ViewError> {
        let mut reached = from;
        let mut ahead = read_ahead(log, reached);
        store::keep_in_memory(&self.db, store::CATCH_UP_CACHE_KIB)?;
        let mut is_behind = true;
        while is_behind {
            let mut batch = Batch::begin(&mut self.db, &mut self.landmarks)?;
            for _ in 0..CATCH_UP_PAGES {
                let page = ahead.await.map_err(reader_stopped)??;
                reached = page.last().map_or(reached, |last| last.position);
                ahead = read_ahead(log, reached);
                for event in &page {
                    batch.take(event)?;
                }
                is_behind = !page.is_empty();
                if !is_behind {
                    break;
                }
                // Whoever ends the runner is heard between pages.
                tokio::task::yield_now().await;
            }
            let taken = batch.commit()?;
            self.has_taken(&taken);
        }
        store::index(&self.db)?;
        store::keep_in_memory(&self.db, store::CACHE_KIB)?;
        Ok(reached)
    }

    /// Takes in what comes after a position, as it comes.
    async fn follow(&mut self, from: Position, log: &dyn EventLog) -> Result<(), ViewError> {
        let mut batches = log.subscribe(from, Filter::default()).ready_chunks(BATCH_MAX_EVENTS);
        loop {
            // Space is given back in steps while nothing else is there to do.
            let batch = match self.has_spare {
                true => batches.next().now_or_never(),
                false => Some(batches.next().await),
            };
            let Some(batch) = batch else {
                self.has_spare = store::give_back(&self.db)?;
                continue;
            };
            let Some(batch) = batch else { return Ok(()) };
            let events: Vec<Arc<RecordedEvent>> = batch.into_iter().collect::<Result<_, _>>()?;
            let mut batch = Batch::begin(&mut self.db, &mut self.landmarks)?;
            for event in &events {
                batch.take(event)?;
            }
            let taken = batch.commit()?;
            self.has_taken(&taken);
        }
    }

    fn has_taken(&mut self, taken: &Taken) {
        // Whoever waits for a place finds nothing kept from before it.
        taken.changed.note(&self.told.changes);
        if let Some(reached) = taken.reached {
            self.told.passed.send_replace(reached);
        }
        self.has_spare |= taken.has_purged;
    }
}

fn reader_stopped(error: JoinError) -> LogError {
    LogError::Damaged(format!("the log's reader stopped: {error}"))
}

/// The events after a position, read on a thread of its own.
fn read_ahead(
    log: &Arc<dyn EventLog>,
    after: Position,
) -> JoinHandle<Result<Vec<Arc<RecordedEvent>>, LogError>> {
    let log = Arc::clone(log);
    tokio::task::spawn_blocking(move || {
        Handle::current().block_on(log.read_all(after, &Filter::default(), PAGE_EVENTS))
    })
}

fn is_damage(error: &ViewError) -> bool {
    let ViewError::Sql(error) = error else { return false };
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
