//! The newest events in memory, from which all followers read. One subscription of the whole
//! process feeds them: a connection has a hundred calls, and one that is beyond waits in silence.
//! A node that is lost costs a new subscription, which begins where the last event was taken, so
//! that nothing is missed or repeated. The crate can subscribe again by itself and is not asked to:
//! it loses its place.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ::eventstore::{
    Error, Position as Place, StreamPosition, SubscribeToAllOptions, Subscription,
    SubscriptionEvent, SubscriptionFilter,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::super::tail::Tail;
use super::super::{Filter, Groups, LogError};
use super::address::CALL_TIME_MAX;
use super::node::Node;
use super::reads::{self, Found, Wanted};
use super::record::{self, CLOSED};
use super::{Inner, lock};
use crate::events::RecordedEvent;

/// How long nothing may come before the node is asked whether it still leads.
const SILENCE_MAX: Duration = Duration::from_secs(2);
/// The pause before another subscription, which doubles while none lasts.
const PAUSE_MIN: Duration = Duration::from_millis(25);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// How long one has to last for the next one to come soon again.
const LASTING: Duration = Duration::from_secs(5);

/// See the module.
pub(super) struct Live {
    tail: Mutex<Tail>,
    /// Up to where the tail was filled; ends with the subscription.
    reached: watch::Receiver<u64>,
    /// Why that has ended, where the log was not closed.
    failure: OnceLock<LogError>,
}

impl Live {
    /// Begins at the end of the log, as it is known.
    fn begin(log: &Arc<Inner>) -> Arc<Self> {
        let end = *log.durable.borrow();
        let (told, reached) = watch::channel(end);
        let tail = Mutex::new(Tail::new(end));
        let live = Arc::new(Self { tail, reached, failure: OnceLock::new() });
        let at = log.places.start(end);
        let feed = Feed {
            log: log.clone(),
            live: live.clone(),
            told,
            taken: end,
            place: Place { commit: at, prepare: at },
        };
        log.runtime.spawn(feed.run());
        live
    }

    /// Follows up to where the tail was filled.
    pub(super) fn reached(&self) -> watch::Receiver<u64> {
        self.reached.clone()
    }

    /// The next events after a position; `None` where some of them are on the server alone.
    pub(super) fn after(&self, position: u64, limit: usize) -> Option<Vec<Arc<RecordedEvent>>> {
        lock(&self.tail).after(position, &Filter::default(), limit)
    }

    /// Why no more events come, where the log was not closed.
    pub(super) fn failure(&self) -> Option<LogError> {
        Some(match self.failure.get()? {
            LogError::Unavailable(reason) => LogError::Unavailable(reason.clone()),
            LogError::Damaged(reason) => LogError::Damaged(reason.clone()),
            other => LogError::Damaged(other.to_string()),
        })
    }
}

impl Inner {
    /// The newest events, which somebody begins to follow.
    pub(super) fn live(self: &Arc<Self>) -> Arc<Live> {
        let mut live = lock(&self.live);
        if let Some(live) = live.as_ref().filter(|live| live.failure.get().is_none()) {
            return live.clone();
        }
        live.insert(Live::begin(self)).clone()
    }

    /// Errors: the server's log ends before a place.
    pub(super) async fn expect_place(&self, at: u64) -> Result<(), LogError> {
        let last = reads::last_of_all(&self.nodes, &Wanted::Everything, 1).await?;
        let end = last.first().map_or(0, |last| last.position);
        match at > end {
            true => Err(LogError::Damaged(format!(
                "the log ends at {end}, before {at}: was an older one restored?"
            ))),
            false => Ok(()),
        }
    }
}

/// What fills the tail.
struct Feed {
    log: Arc<Inner>,
    live: Arc<Live>,
    told: watch::Sender<u64>,
    /// The last event that was taken, or the position after which to begin.
    taken: u64,
    /// Where the next subscription begins: there, or further on where nothing fitted.
    place: Place,
}

/// Why a subscription is over.
enum Over {
    /// Another one does it.
    Lost(String),
    /// No event stands at the place.
    NoPlace,
    /// Nothing does it.
    Failed(LogError),
}

impl From<LogError> for Over {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Damaged(_) => Self::Failed(error),
            error => Self::Lost(error.to_string()),
        }
    }
}

/// What works by another's library may panic: followers must not wait for it then.
impl Drop for Feed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let reason = "what follows the log has failed".to_owned();
            drop(self.live.failure.set(LogError::Unavailable(reason)));
        }
    }
}

impl Feed {
    async fn run(mut self) {
        let mut pause = PAUSE_MIN;
        loop {
            let node = self.log.nodes.leader().await;
            let begun = Instant::now();
            let Err(over) = self.subscription(&node).await;
            // Each costs a client of the crate's, which is never freed.
            pause = if begun.elapsed() < LASTING { (pause * 2).min(PAUSE_MAX) } else { PAUSE_MIN };
            if let Over::Lost(why) = &over {
                self.log.nodes.lost(&node, why);
            }
            sleep(pause).await;
            match over {
                Over::Lost(_) => {}
                // Another log stands there now: from its beginning, what is new is found.
                Over::NoPlace => self.place = Place { commit: 0, prepare: 0 },
                Over::Failed(error) => {
                    drop(self.live.failure.set(error));
                    return;
                }
            }
        }
    }

    async fn subscription(&mut self, node: &Arc<Node>) -> Result<Infallible, Over> {
        // From beyond the end the server would say nothing until it is there.
        self.log.expect_place(self.place.commit).await?;
        self.log.learn_purges().await?;
        let from = match self.place.commit {
            0 => StreamPosition::Start,
            _ => StreamPosition::Position(self.place),
        };
        let ours = SubscriptionFilter::on_stream_name().max(reads::WINDOW_EVENTS);
        let ours = ours.add_prefix(self.log.events_before());
        let options = SubscribeToAllOptions::default().requires_leader(true);
        let options = options.position(from).filter(ours);
        let options = match self.log.nodes.address.authentication() {
            Some(user) => options.authenticated(user),
            None => options,
        };
        let client = self.log.nodes.client(node).map_err(Over::Lost)?;
        let mut subscription = client.subscribe_to_all(&options).await;
        let confirmed = timeout(CALL_TIME_MAX, subscription.next_subscription_event()).await;
        self.heard(confirmed.map_err(|_| Over::Lost("no subscription was confirmed".to_owned()))?)?;
        let mut groups = Groups::after(self.taken);
        loop {
            match self.next(node, &mut subscription).await? {
                SubscriptionEvent::EventAppeared(event) => {
                    let Some(event) = event.event else { continue };
                    self.take(&Found::from(event), &mut groups).await?;
                }
                // Some servers say 2^64 - 1 of a log in which they have found nothing yet.
                SubscriptionEvent::Checkpoint(place)
                    if groups.is_between()
                        && place.commit > self.place.commit
                        && i64::try_from(place.commit).is_ok() =>
                {
                    self.place = place;
                }
                _ => {}
            }
        }
    }

    /// The next message; asks for the node's health where none comes.
    async fn next(
        &self,
        node: &Arc<Node>,
        subscription: &mut Subscription,
    ) -> Result<SubscriptionEvent, Over> {
        let next = subscription.next_subscription_event();
        tokio::pin!(next);
        loop {
            match timeout(SILENCE_MAX, &mut next).await {
                Ok(heard) => return self.heard(heard),
                Err(_) => {
                    if let Err(status) = self.log.nodes.probe(node).await {
                        return Err(Over::Lost(status.message().to_owned()));
                    }
                }
            }
        }
    }

    /// What the crate says of a message.
    fn heard(&self, heard: Result<SubscriptionEvent, Error>) -> Result<SubscriptionEvent, Over> {
        heard.map_err(|error| match error {
            Error::Grpc { message, .. } if message.contains("invalid position") => Over::NoPlace,
            Error::AccessDenied => {
                let reason = "the server lets nobody of ours read $all".to_owned();
                Over::Failed(LogError::Unavailable(reason))
            }
            error => Over::Lost(error.to_string()),
        })
    }

    /// Puts a group into the tail when its last event is there.
    async fn take(
        &mut self,
        found: &Found,
        groups: &mut Groups<Arc<RecordedEvent>>,
    ) -> Result<(), Over> {
        let Some(stream) = self.log.stream_of(found) else { return Ok(()) };
        if found.event_type == CLOSED || found.event_type.starts_with('$') {
            return Ok(());
        }
        let read = record::read(stream, found)?;
        let (position, ends_group) = (read.event.position.0, read.ends_group);
        let is_shown = groups.is_new(position) && !self.log.is_purged(&read.event.stream);
        let event = match is_shown {
            true => self.log.whole(read).await?.map(Arc::new),
            false => None,
        };
        let Some(group) = groups.take(position, event, ends_group) else { return Ok(()) };
        let mut tail = lock(&self.live.tail);
        group.into_iter().for_each(|event| tail.push(event));
        drop(tail);
        self.taken = groups.taken();
        self.place = Place { commit: found.position, prepare: found.position };
        self.log.passed(position, found.position);
        // Followers look into the tail from here on.
        self.told.send_replace(self.taken);
        Ok(())
    }
}
