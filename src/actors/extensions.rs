//! What services have told of the extensions that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

/// How long a list of extensions holds, as in Heat, and how long that there was none.
const LISTS_HOLD: TimeDelta = TimeDelta::hours(1);
const SILENCE_HOLDS: TimeDelta = TimeDelta::minutes(1);

/// The aliases of a service's extensions; `None` where it does not say.
pub(super) type Aliases = Option<Arc<BTreeSet<String>>>;

/// What services have told of their extensions, and when.
#[derive(Debug, Default)]
pub(super) struct Extensions(Mutex<BTreeMap<String, (DateTime<Utc>, Aliases)>>);

impl Extensions {
    /// What was told, while that holds.
    pub(super) fn known(&self, service: &str, now: DateTime<Utc>) -> Option<Aliases> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, list) = lists.get(service)?;
        let holds = if list.is_some() { LISTS_HOLD } else { SILENCE_HOLDS };
        (now - *at < holds).then(|| list.clone())
    }

    pub(super) fn keep(&self, service: &str, now: DateTime<Utc>, list: &Aliases) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.insert(service.to_owned(), (now, list.clone()));
    }
}
