//! What goes out to others as it happens: notifications, and events to the sinks that environments
//! name.
//!
//! An outlet follows what is durable, sends, and keeps in the log how far it has come, so that a
//! process that dies repeats what it sent last and leaves nothing out.

mod bus;
mod notifications;
mod place;
mod scaling;
mod sinks;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use notifications::{Carrier, Notification, NotificationSettings, to_log};

use crate::actors::Engine;
use crate::clock::Clock;
use crate::events::log::{EventLog, LogError};
use crate::projections::{ViewError, Views};
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
}

/// Outlets at work.
pub struct Outlets {
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
        if let Some(settings) = parts.notifications.clone() {
            let outlet = Outlet::Notifications(settings);
            tasks.push(actix::spawn(run(outlet, parts.clone(), stopped)));
        }
        Outlets { stop, tasks }
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
    Notifications(NotificationSettings),
    Sinks,
}

impl Outlet {
    async fn follow(&self, parts: &OutletParts, place: &mut Option<Place>) -> Result<(), Broken> {
        match self {
            Self::Notifications(settings) => {
                // What happened before anybody wanted to hear of it is not told.
                let found = Place::find(parts, "notifications", Begin::AtNext);
                notifications::follow(parts, settings, place.insert(found.await?)).await
            }
            Self::Sinks => {
                let found = Place::find(parts, "event_sinks", Begin::AtFirst);
                sinks::follow(parts, place.insert(found.await?)).await
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
