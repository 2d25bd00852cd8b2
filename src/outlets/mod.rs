//! What goes out to others as it happens: notifications, events to the sinks that environments
//! name and to the webhooks of projects, and what the agents of servers are to know; and the looks
//! at what differs in the cloud that are due.
//!
//! An outlet follows what is durable, sends, and keeps in the log how far it has come, so that a
//! process that dies repeats what it sent last and leaves nothing out.

mod agents;
mod bus;
mod drift;
mod measures;
mod notification;
mod notifications;
mod place;
mod scaling;
mod sinks;
#[cfg(test)]
mod story;
mod traces;
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use notification::Notification;
pub use notifications::{Carrier, NotificationSettings, to_log};

use crate::actors::Engine;
use crate::clock::Clock;
use crate::events::log::{EventLog, LogError};
use crate::metrics::Measured;
use crate::model::DriftEvery;
use crate::projections::{ViewError, Views, WebhookRow};
use crate::traces::Tracer;
use measures::Measures;
use place::{Begin, Place};

/// The pause before an outlet that broke off starts over.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// What outlets are made of.
#[derive(Clone)]
pub struct OutletParts {
    pub engine: Engine,
    pub views: Views,
    pub log: Arc<dyn EventLog>,
    pub clock: Arc<dyn Clock>,
    /// `None` where notifications are switched off.
    pub notifications: Option<NotificationSettings>,
    pub tracer: Tracer,
    /// How often stacks are compared with the cloud whose tags say nothing of it.
    pub drift_every: DriftEvery,
}

/// Outlets at work.
pub struct Outlets {
    measures: Arc<Measures>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

/// Why an outlet broke off.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("the log could not be read or written")]
    Log(#[from] LogError),
    #[error("the views could not be read")]
    Views(#[from] ViewError),
}

impl Outlets {
    /// Starts to send, each outlet from where it was. Needs a running actix system.
    pub fn start(parts: &OutletParts) -> Outlets {
        let (stop, stopped) = watch::channel(false);
        // From here on trusts are kept until what is to be sent with them has left.
        parts.engine.told(crate::events::Position(0));
        let mut tasks = vec![actix::spawn(run(Outlet::Sinks, parts.clone(), stopped.clone()))];
        tasks.push(actix::spawn(run(Outlet::Agents, parts.clone(), stopped.clone())));
        let measures = Arc::new(Measures::new(Arc::clone(&parts.clock)));
        let webhooks = webhooks::keep(parts.clone(), Arc::clone(&measures), stopped.clone());
        tasks.push(actix::spawn(webhooks));
        tasks.push(actix::spawn(drift::keep(parts.clone(), stopped.clone())));
        if let Some(settings) = parts.notifications.clone() {
            let outlet = Outlet::Notifications(settings);
            tasks.push(actix::spawn(run(outlet, parts.clone(), stopped.clone())));
        }
        if parts.tracer.is_on() {
            tasks.push(actix::spawn(run(Outlet::Traces, parts.clone(), stopped)));
        }
        Outlets { measures, stop, tasks }
    }

    /// What is counted of them.
    pub fn measured(&self) -> Arc<dyn Measured> {
        Arc::clone(&self.measures) as Arc<dyn Measured>
    }

    /// Lets each note how far it has come, and stops.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            if task.await.is_err() {
                tracing::error!("an outlet did not stop cleanly");
            }
        }
    }
}

/// A way out.
enum Outlet {
    Agents,
    Notifications(NotificationSettings),
    Sinks,
    Traces,
    Webhook(Box<WebhookRow>, Arc<Measures>),
}

impl Outlet {
    async fn follow(&self, parts: &OutletParts, place: &mut Option<Place>) -> Result<(), Broken> {
        match self {
            Self::Agents => {
                let found = Place::find(parts, "agents", Begin::AtFirst);
                agents::follow(parts, place.insert(found.await?)).await
            }
            Self::Notifications(settings) => {
                // What happened before anybody wanted to hear of it is not told.
                let found = Place::find(parts, "notifications", Begin::AtNext);
                notifications::follow(parts, settings, place.insert(found.await?)).await
            }
            Self::Sinks => {
                let found = Place::find(parts, "event_sinks", Begin::AtFirst);
                sinks::follow(parts, place.insert(found.await?)).await
            }
            Self::Traces => traces::follow(parts).await,
            Self::Webhook(webhook, measures) => {
                let name = webhooks::place_name(webhook.id);
                let found = Place::find(parts, &name, Begin::After(webhook.position));
                webhooks::follow(parts, webhook, measures, place.insert(found.await?)).await
            }
        }
    }
}

/// Follows the log until it is told to stop, or the log is closed.
async fn run(outlet: Outlet, parts: OutletParts, mut stopped: watch::Receiver<bool>) {
    let mut place = None;
    loop {
        let ended = tokio::select! {
            ended = outlet.follow(&parts, &mut place) => ended,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        let Err(error) = ended else { break };
        tracing::warn!(%error, "an outlet broke off, and starts over");
        place = None;
        tokio::select! {
            () = tokio::time::sleep(RETRY_PAUSE) => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
    }
    if let Some(mut place) = place
        && let Err(error) = place.record().await
    {
        tracing::warn!(%error, "an outlet repeats what it sent last when it is started again");
    }
}
