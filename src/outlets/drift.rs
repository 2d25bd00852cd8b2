//! Looks at stacks whose schedule says that they are due. When a stack was looked at last is on
//! record, so a process that dies leaves no look out and repeats at most those that it was at.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::StreamExt;
use tokio::sync::watch;

use super::OutletParts;
use crate::model::StackId;
use crate::projections::ViewError;

/// How often it is asked which are due.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// How many stacks are looked at together, and how many are taken on at a time.
const AT_ONCE: usize = 4;
const TAKEN_MAX: usize = 64;
/// How long a look may take.
const LOOK_MAX: Duration = Duration::from_secs(600);
/// How long a stack rests that could not be looked at, in seconds.
const REST_SECS: i64 = 300;

/// Keeps the schedules until it is told to stop.
pub(super) async fn keep(parts: OutletParts, mut stopped: watch::Receiver<bool>) {
    let mut resting = HashMap::new();
    loop {
        let looks = async {
            if let Err(error) = look_at_due(&parts, &mut resting).await {
                tracing::warn!(%error, "which stacks are to be compared with the cloud is unknown");
            }
            tokio::time::sleep(ASK_EVERY).await;
        };
        tokio::select! {
            () = looks => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
    }
}

/// Looks at the stacks that are due, the longest due first.
async fn look_at_due(
    parts: &OutletParts,
    resting: &mut HashMap<StackId, DateTime<Utc>>,
) -> Result<(), ViewError> {
    let now = parts.clock.now();
    resting.retain(|_, until| *until > now);
    let mut due = parts.views.drift_due(parts.drift_every.time(), now).await?;
    due.retain(|id| !resting.contains_key(id));
    due.truncate(TAKEN_MAX);
    let looks = due.into_iter().map(|id| async move {
        let look = parts.engine.look_for_drift(id);
        match tokio::time::timeout(LOOK_MAX, look).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => {
                tracing::warn!(stack.id = %id, %error, "a stack could not be compared with the cloud");
                Some(id)
            }
            Err(_) => {
                tracing::warn!(stack.id = %id, "a comparison with the cloud took too long");
                Some(id)
            }
        }
    });
    let failed: Vec<_> = futures::stream::iter(looks).buffer_unordered(AT_ONCE).collect().await;
    let until = now + TimeDelta::seconds(REST_SECS);
    resting.extend(failed.into_iter().flatten().map(|id| (id, until)));
    // The next question is to see what was found.
    parts.views.after(parts.log.durable_position()).await
}
