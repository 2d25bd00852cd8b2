//! What is copied of a volume, a snapshot or a backup: it takes its time to be there, and to go.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::cloud::Cloud;
use super::super::later::{Later, Turn};
use super::super::store::Table;

/// A copy that reaches a status, or goes.
pub(super) trait VolumeCopy: Clone + Serialize + DeserializeOwned {
    /// What comes to pass later, by the copy's id: a status, or none where it goes.
    const TURN: fn(String, Option<String>) -> Turn;

    fn reach(&mut self, status: &str, at: DateTime<Utc>);
}

/// Plans the end of what is asked for.
pub(super) fn plan<C: VolumeCopy>(
    cloud: &mut Cloud,
    id: &str,
    status: Option<&str>,
    at: DateTime<Utc>,
) {
    let takes = TimeDelta::from_std(cloud.config.latencies.volume).unwrap_or_default();
    let turn = C::TURN(id.to_owned(), status.map(str::to_owned));
    cloud.plan(Later { at: at + takes, turn });
}

/// The copy has reached a status, or is gone.
pub(super) fn ends<C: VolumeCopy>(
    copies: &mut Table<C>,
    id: &str,
    status: Option<&str>,
    at: DateTime<Utc>,
) {
    match status {
        None => {
            copies.remove(id);
        }
        Some(status) => {
            if let Some(copy) = copies.edit(id) {
                copy.reach(status, at);
            }
        }
    }
}
