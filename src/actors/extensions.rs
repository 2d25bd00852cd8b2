//! What services have told of the extensions that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

/// How long a list of extensions holds, as in Heat, and how long that there was none.
const LISTS_HOLD: TimeDelta = TimeDelta::hours(1);
const SILENCE_HOLDS: TimeDelta = TimeDelta::minutes(1);

/// The aliases of a service's extensions; `None` where it does not say.
pub(super) type Aliases = Option<Arc<BTreeSet<String>>>;

/// A service: the Keystone of its cloud, and its type in the catalog.
type Of = (String, String);

/// What services have told of their extensions, and when.
#[derive(Debug, Default)]
pub(super) struct Extensions(Mutex<BTreeMap<Of, (DateTime<Utc>, Aliases)>>);

impl Extensions {
    /// What was told, while that holds.
    pub(super) fn known(&self, of: (&str, &str), now: DateTime<Utc>) -> Option<Aliases> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, list) = lists.get(&owned(of))?;
        let holds = if list.is_some() { LISTS_HOLD } else { SILENCE_HOLDS };
        (now - *at < holds).then(|| list.clone())
    }

    pub(super) fn keep(&self, of: (&str, &str), now: DateTime<Utc>, list: &Aliases) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.insert(owned(of), (now, list.clone()));
    }
}

fn owned((keystone, service): (&str, &str)) -> Of {
    (keystone.to_owned(), service.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_has_in_one_cloud_it_need_not_have_in_another() {
        let extensions = Extensions::default();
        let now = DateTime::UNIX_EPOCH;
        let here: Aliases = Some(Arc::new(["rays".to_owned()].into()));
        extensions.keep(("http://here/v3/", "network"), now, &here);
        assert_eq!(extensions.known(("http://here/v3/", "network"), now), Some(here));
        assert_eq!(extensions.known(("http://east/v3/", "network"), now), None);
    }
}
