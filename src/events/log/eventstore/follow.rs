//! Following the whole log by subscriptions of ours, one after the other: a node that is lost costs
//! a new one, which begins where the last event was given out, so that nothing is missed or
//! repeated. The crate can subscribe again by itself and is not asked to: it loses its place.

use std::sync::Arc;
use std::time::Duration;

use ::eventstore::{
    Error, Position as Place, StreamPosition, SubscribeToAllOptions, Subscription,
    SubscriptionEvent, SubscriptionFilter,
};
use futures::StreamExt;
use futures::stream::{BoxStream, unfold};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::{Filter, LogError};
use super::node::Node;
use super::reads::{Found, Wanted};
use super::record::{self, CLOSED};
use super::{Inner, reads};
use crate::events::{Position, RecordedEvent};

/// How many events wait for a slow follower.
const READY_EVENTS_MAX: usize = 256;
/// How long nothing may come before the node is asked whether it still leads.
const SILENCE_MAX: Duration = Duration::from_secs(2);

type Item = Result<Arc<RecordedEvent>, LogError>;

/// The events after a position; see `EventLog::subscribe`.
pub(super) fn follow(
    log: &Arc<Inner>,
    after: Position,
    filter: Filter,
) -> BoxStream<'static, Item> {
    let (ready, taken) = mpsc::channel(READY_EVENTS_MAX);
    let at = log.places.start(after.0).at;
    let follower = Follower {
        log: log.clone(),
        filter,
        given: after.0,
        place: Place { commit: at, prepare: at },
        ready,
    };
    log.runtime.spawn(follower.run());
    unfold(taken, |mut taken| async { taken.recv().await.map(|item| (item, taken)) }).boxed()
}

struct Follower {
    log: Arc<Inner>,
    filter: Filter,
    /// The last event that was given out, or the position after which to begin.
    given: u64,
    /// Where the next subscription begins: there, or further on where nothing fitted.
    place: Place,
    ready: mpsc::Sender<Item>,
}

/// Why a subscription is over.
enum Over {
    /// Another one does it.
    Lost(String),
    /// No event stands at the place.
    NoPlace,
    /// Nothing does it.
    Failed(LogError),
    /// Nobody listens any more.
    Unheard,
}

impl Follower {
    async fn run(mut self) {
        let ready = self.ready.clone();
        loop {
            let node = self.log.nodes.leader().await;
            let over = tokio::select! {
                over = self.subscription(&node) => over,
                () = ready.closed() => return,
            };
            match over {
                Over::Unheard => return,
                Over::Lost(why) => self.log.nodes.lost(&node, &why).await,
                Over::NoPlace => {
                    let commit = self.log.places.before(self.place.commit);
                    self.place = Place { commit, prepare: commit };
                }
                Over::Failed(error) => {
                    // Whoever is gone does not mind.
                    let _ = self.ready.send(Err(error)).await;
                    return;
                }
            }
        }
    }

    async fn subscription(&mut self, node: &Arc<Node>) -> Over {
        // From beyond the end the server would say nothing until it is there.
        match reads::last_of_all(&self.log.nodes, &Wanted::Everything, 1).await {
            Err(error) => return Over::Lost(error.to_string()),
            Ok(last) => {
                let end = last.first().map_or(0, |last| last.position);
                if self.place.commit > end {
                    return Over::Failed(LogError::Damaged(format!(
                        "the log ends at {end}, before {}: was an older one restored?",
                        self.place.commit
                    )));
                }
            }
        }
        if let Err(error) = self.log.learn_purges().await {
            return Over::Lost(error.to_string());
        }
        let from = match self.place.commit {
            0 => StreamPosition::Start,
            _ => StreamPosition::Position(self.place),
        };
        let options = SubscribeToAllOptions::default().requires_leader(true).position(from);
        let all = SubscriptionFilter::on_stream_name().max(reads::WINDOW_EVENTS);
        let options = options.filter(match self.log.wanted(&self.filter) {
            Wanted::Streams(prefixes) => prefixes.iter().fold(all, SubscriptionFilter::add_prefix),
            Wanted::Everything | Wanted::Types(_) => all,
        });
        let options = match self.log.nodes.address.authentication() {
            Some(user) => options.authenticated(user),
            None => options,
        };
        let mut subscription = node.client.subscribe_to_all(&options).await;
        let mut group: Vec<RecordedEvent> = Vec::new();
        loop {
            let next = match self.next(node, &mut subscription).await {
                Ok(next) => next,
                Err(over) => return over,
            };
            match next {
                SubscriptionEvent::EventAppeared(event) => {
                    let Some(event) = event.event else { continue };
                    match self.take(&Found::from(event), &mut group).await {
                        Ok(()) => {}
                        Err(over) => return over,
                    }
                }
                SubscriptionEvent::Checkpoint(place)
                    if group.is_empty() && place.commit > self.place.commit =>
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
                Ok(Ok(event)) => return Ok(event),
                Ok(Err(Error::Grpc { message, .. })) if message.contains("invalid position") => {
                    return Err(Over::NoPlace);
                }
                Ok(Err(Error::AccessDenied)) => {
                    let reason = "the server lets nobody of ours read $all".to_owned();
                    return Err(Over::Failed(LogError::Unavailable(reason)));
                }
                Ok(Err(error)) => return Err(Over::Lost(error.to_string())),
                Err(_) => {
                    if let Err(status) = self.log.nodes.probe(node).await {
                        return Err(Over::Lost(status.message().to_owned()));
                    }
                }
            }
        }
    }

    /// Gives a group out when its last event is there.
    async fn take(&mut self, found: &Found, group: &mut Vec<RecordedEvent>) -> Result<(), Over> {
        let Some(stream) = self.log.stream_of(found) else { return Ok(()) };
        if found.event_type == CLOSED || found.event_type.starts_with('$') {
            return Ok(());
        }
        let read = record::read(stream, found).map_err(Over::Failed)?;
        let ends_group = read.ends_group;
        let position = read.event.position.0;
        let is_new = position > self.given;
        if is_new && !self.log.is_purged(&read.event.stream) {
            let whole =
                self.log.whole(read).await.map_err(|error| Over::Lost(error.to_string()))?;
            group.extend(whole);
        }
        if !ends_group {
            return Ok(());
        }
        let commit = found.position;
        for event in group.drain(..) {
            self.given = event.position.0;
            self.ready.send(Ok(Arc::new(event))).await.map_err(|_| Over::Unheard)?;
        }
        self.given = self.given.max(position);
        self.place = Place { commit, prepare: commit };
        self.log.passed(position, commit);
        Ok(())
    }
}
