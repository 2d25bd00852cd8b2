//! Following the log: first from disk, then from the tail in memory, with one cursor for both, so
//! that nothing is missed or repeated. A follower holds one batch at most, however slow it is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt, unfold};
use tokio::sync::watch;

use super::ledger::Ledger;
use super::store::{Scan, Store};
use super::{Filter, LogError};
use crate::events::{Position, RecordedEvent};

/// How many events are fetched at a time.
const BATCH_EVENTS: usize = 256;
/// How long a store that cannot be reached is left alone.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(200);

type Item = Result<Arc<RecordedEvent>, LogError>;

struct Follower<S> {
    ledger: Arc<Ledger>,
    store: Arc<S>,
    filter: Filter,
    durable: watch::Receiver<u64>,
    /// Everything up to here was given out, is in `ready`, or is not wanted.
    after: u64,
    ready: VecDeque<Arc<RecordedEvent>>,
    failed: bool,
}

/// The durable events after a position; see `EventLog::subscribe`.
pub(super) fn follow<S: Store>(
    ledger: Arc<Ledger>,
    store: Arc<S>,
    after: Position,
    filter: Filter,
) -> BoxStream<'static, Item> {
    let durable = ledger.durable();
    let follower = Follower {
        ledger,
        store,
        filter,
        durable,
        after: after.0,
        ready: VecDeque::new(),
        failed: false,
    };
    unfold(follower, |mut follower| async move {
        let item = follower.next().await?;
        Some((item, follower))
    })
    .boxed()
}

impl<S: Store> Follower<S> {
    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.failed {
                return None;
            }
            let durable = *self.durable.borrow_and_update();
            if self.after < durable {
                match self.fetch(durable).await {
                    Ok(()) => {}
                    // A server that is away comes back; whoever follows has time.
                    Err(LogError::Unavailable(_)) if !self.ledger.is_closed() => {
                        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
                    }
                    Err(error) => {
                        self.failed = true;
                        return Some(Err(error));
                    }
                }
            } else if self.ledger.is_closed() || self.durable.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Fills `ready` and moves the cursor. There is at least one event after it.
    async fn fetch(&mut self, durable: u64) -> Result<(), LogError> {
        if let Some(events) = self.ledger.tail_after(self.after, &Filter::default(), BATCH_EVENTS) {
            self.after = events.last().map_or(durable, |event| event.position.0);
            let filter = &self.filter;
            self.ready.extend(events.into_iter().filter(|event| filter.takes(&event.stream)));
            return Ok(());
        }
        let scan = self.scan().await?;
        if scan.to.0 <= self.after {
            return Err(LogError::Damaged(format!("nothing is stored after {}", self.after)));
        }
        self.after = scan.to.0;
        self.ready.extend(scan.events);
        Ok(())
    }

    /// Reads from the store, off the runtime's threads where there is a runtime.
    async fn scan(&self) -> Result<Scan, LogError> {
        let (store, after) = (self.store.clone(), Position(self.after));
        let filter = self.filter.clone();
        let read = move || store.scan(after, &filter, BATCH_EVENTS);
        match tokio::runtime::Handle::try_current() {
            Err(_) => read(),
            Ok(runtime) => runtime.spawn_blocking(read).await.unwrap_or_else(|error| {
                Err(LogError::Damaged(format!("the log's reader stopped: {error}")))
            }),
        }
    }
}
