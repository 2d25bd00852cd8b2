//! Following the log: first by reads of the server, then from the newest events in memory, with one
//! cursor for both, so that nothing is missed or repeated. A follower holds one batch at most,
//! however slow it is, and no call of the connection while it waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, unfold};
use tokio::sync::watch;

use super::super::{Filter, LogError};
use super::Inner;
use super::live::Live;
use crate::events::{Position, RecordedEvent};

/// How many events are fetched at a time.
const BATCH_EVENTS: usize = 256;
/// How long a server that is away is left alone.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(200);

type Item = Result<Arc<RecordedEvent>, LogError>;

/// The events after a position; see `EventLog::subscribe`.
pub(super) fn follow(
    log: &Arc<Inner>,
    after: Position,
    filter: Filter,
) -> BoxStream<'static, Item> {
    let live = log.live();
    let follower = Follower {
        log: log.clone(),
        reached: live.reached(),
        live,
        filter,
        after: after.0,
        ready: VecDeque::new(),
        is_over: false,
    };
    unfold(follower, |mut follower| async move {
        let item = follower.next().await?;
        Some((item, follower))
    })
    .boxed()
}

struct Follower {
    log: Arc<Inner>,
    live: Arc<Live>,
    reached: watch::Receiver<u64>,
    filter: Filter,
    /// Everything up to here was given out, is in `ready`, or is not wanted.
    after: u64,
    ready: VecDeque<Arc<RecordedEvent>>,
    is_over: bool,
}

/// Why nothing more comes.
enum Ended {
    /// The log was closed.
    Closed,
    Failed(LogError),
}

impl Follower {
    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.is_over {
                return None;
            }
            if let Err(ended) = self.advance().await {
                self.is_over = true;
                if let Ended::Failed(error) = ended {
                    return Some(Err(error));
                }
            }
        }
    }

    /// Moves the cursor and fills `ready`, or waits until there is more.
    async fn advance(&mut self) -> Result<(), Ended> {
        let reached = *self.reached.borrow_and_update();
        if self.after >= reached {
            return self.wait().await;
        }
        if let Some(events) = self.live.after(self.after, BATCH_EVENTS) {
            self.take(events, reached);
            return Ok(());
        }
        // What is not wanted is read, too: of a long walk past it the server would say nothing.
        let (log, after, all) = (self.log.clone(), self.after, Filter::default());
        let read = async move { log.read_all(after, &all, BATCH_EVENTS).await };
        if let Some(events) = self.ask(read).await? {
            self.take(events, reached);
        }
        Ok(())
    }

    /// Takes the next events that there are; fewer than a batch are all up to `reached`.
    fn take(&mut self, events: Vec<Arc<RecordedEvent>>, reached: u64) {
        let last = events.last().map_or(self.after, |last| last.position.0);
        self.after = if events.len() < BATCH_EVENTS { last.max(reached) } else { last };
        let (log, filter) = (&self.log, &self.filter);
        let is_wanted = |event: &Arc<RecordedEvent>| {
            filter.takes(&event.stream) && !log.is_purged(&event.stream)
        };
        self.ready.extend(events.into_iter().filter(is_wanted));
    }

    async fn wait(&mut self) -> Result<(), Ended> {
        // This process has seen nothing there: it may be beyond the end, of an older log perhaps.
        if self.after > *self.log.durable.borrow() {
            let (log, at) = (self.log.clone(), self.log.places.start(self.after));
            if self.ask(async move { log.expect_place(at).await }).await?.is_none() {
                return Ok(());
            }
        }
        match self.reached.changed().await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.live.failure().map_or(Ended::Closed, Ended::Failed)),
        }
    }

    /// Has the log's own threads find something out; `None` where the server is away, which comes
    /// back.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LogError>> + Send + 'static,
    ) -> Result<Option<T>, Ended> {
        let found = self.log.runtime.spawn(async move {
            let found = work.await;
            if let Err(LogError::Unavailable(_)) = found {
                tokio::time::sleep(LOOK_AGAIN_AFTER).await;
            }
            found
        });
        match found.await {
            Ok(Ok(found)) => Ok(Some(found)),
            Ok(Err(LogError::Unavailable(_))) if self.live.failure().is_none() => Ok(None),
            Ok(Err(error)) => Err(Ended::Failed(error)),
            Err(_) => Err(Ended::Closed),
        }
    }
}
