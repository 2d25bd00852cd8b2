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

/// The stacks that could not be looked at, and until when each rests: those after them in the order
/// have their turn before.
#[derive(Default)]
struct Resting(HashMap<StackId, DateTime<Utc>>);

impl Resting {
    /// Those of the stacks that are due that are looked at now, in their order.
    fn taken(&mut self, mut due: Vec<StackId>, now: DateTime<Utc>) -> Vec<StackId> {
        self.0.retain(|_, until| *until > now);
        due.retain(|id| !self.0.contains_key(id));
        due.truncate(TAKEN_MAX);
        due
    }

    /// The rest of those that could not be looked at begins.
    fn rest(&mut self, failed: impl IntoIterator<Item = StackId>, now: DateTime<Utc>) {
        let until = now + TimeDelta::seconds(REST_SECS);
        self.0.extend(failed.into_iter().map(|id| (id, until)));
    }
}

/// Keeps the schedules until it is told to stop.
pub(super) async fn keep(parts: OutletParts, mut stopped: watch::Receiver<bool>) {
    let mut resting = Resting::default();
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
async fn look_at_due(parts: &OutletParts, resting: &mut Resting) -> Result<(), ViewError> {
    let now = parts.clock.now();
    let due = parts.views.drift_due(parts.drift_every.time(), now).await?;
    let looks = resting.taken(due, now).into_iter().map(|id| async move {
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
    resting.rest(failed.into_iter().flatten(), now);
    // The next question is to see what was found.
    parts.views.after(parts.log.durable_position()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(count: u128) -> Vec<StackId> {
        (0..count).map(|number| StackId(uuid::Uuid::from_u128(number))).collect()
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn the_longest_due_are_looked_at_and_no_more_at_a_time_than_may_be() {
        let due = stacks(TAKEN_MAX as u128 + 1);
        let taken = Resting::default().taken(due.clone(), at(0));
        assert_eq!(taken, due[..TAKEN_MAX]);
    }

    #[test]
    fn stacks_that_cannot_be_looked_at_hold_up_none_of_those_after_them() {
        let (mut resting, due) = (Resting::default(), stacks(TAKEN_MAX as u128 + 1));
        let taken = resting.taken(due.clone(), at(0));
        resting.rest(taken, at(0));
        assert_eq!(resting.taken(due.clone(), at(REST_SECS - 1)), due[TAKEN_MAX..]);
    }

    #[test]
    fn a_stack_is_looked_at_again_after_its_rest() {
        let (mut resting, due) = (Resting::default(), stacks(1));
        resting.rest(due.clone(), at(0));
        assert!(resting.taken(due.clone(), at(REST_SECS - 1)).is_empty());
        assert_eq!(resting.taken(due.clone(), at(REST_SECS)), due);
        assert!(resting.0.is_empty());
    }
}
