//! How much may be open at a time: connections, requests at work and feeds, each counted by whose
//! it is.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::Caller;
use crate::model::front::OpenLimits;

/// A network of which somebody with one IPv6 address has all others, too.
const IPV6_NETWORK_BITS: u32 = 64;

/// How many are told over TLS, at a time, why they are turned away.
const FAREWELLS_MAX: usize = 16;

/// The counters of a server.
pub(in crate::api) struct Bounds {
    pub(in crate::api) connections: Counter<()>,
    /// Those that are turned away over TLS.
    pub(super) farewells: Counter<()>,
    pub(super) addresses: Counter<IpAddr>,
    pub(super) owned: PerOwner,
    pub(in crate::api) requests: PerOwner,
    pub(in crate::api) feeds: PerOwner,
}

impl Bounds {
    pub(in crate::api) fn new(limits: &OpenLimits) -> Self {
        Self {
            connections: Counter::new(limits.connections),
            farewells: Counter::new(Some(FAREWELLS_MAX)),
            addresses: Counter::new(limits.connections_per_address),
            owned: PerOwner::new(limits.connections_per_user, limits.connections_per_project),
            requests: PerOwner::new(limits.requests_per_user, limits.requests_per_project),
            feeds: PerOwner::new(limits.feeds_per_user, limits.feeds_per_project),
        }
    }
}

/// Whose something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api) struct Owner {
    user: String,
    project: String,
}

impl Owner {
    pub(in crate::api) fn of(caller: &Caller) -> Self {
        Self { user: caller.user_id.to_string(), project: caller.project_id.to_string() }
    }
}

/// Counts by user and by project.
pub(in crate::api) struct PerOwner {
    users: Counter<String>,
    projects: Counter<String>,
}

/// One that is counted with its user and his project, until it is dropped.
pub(in crate::api) struct OwnedPlace {
    _user: Place<String>,
    _project: Place<String>,
}

impl PerOwner {
    fn new(per_user: Option<usize>, per_project: Option<usize>) -> Self {
        Self { users: Counter::new(per_user), projects: Counter::new(per_project) }
    }

    /// How many there are.
    pub(in crate::api) fn open(&self) -> usize {
        self.users.open()
    }

    /// Counts one more; `None` where the user or the project has as many as it may.
    pub(in crate::api) fn take(&self, owner: &Owner) -> Option<OwnedPlace> {
        let user = self.users.take(owner.user.clone())?;
        let project = self.projects.take(owner.project.clone())?;
        Some(OwnedPlace { _user: user, _project: project })
    }
}

/// How many of something each key has.
pub(in crate::api) struct Counter<K: Eq + Hash> {
    max: Option<usize>,
    open: Arc<Mutex<HashMap<K, usize>>>,
}

/// One that is counted, until it is dropped.
pub(in crate::api) struct Place<K: Eq + Hash> {
    key: K,
    open: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Clone> Counter<K> {
    fn new(max: Option<usize>) -> Self {
        Self { max, open: Arc::default() }
    }

    /// How many there are of all keys together.
    pub(in crate::api) fn open(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// Counts one more; `None` where the key has as many as it may.
    pub(super) fn take(&self, key: K) -> Option<Place<K>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let held = open.get(&key).copied().unwrap_or(0);
        if self.max.is_some_and(|max| held >= max) {
            return None;
        }
        open.insert(key.clone(), held + 1);
        Some(Place { key, open: Arc::clone(&self.open) })
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = open.get_mut(&self.key) {
            *held -= 1;
            if *held == 0 {
                open.remove(&self.key);
            }
        }
    }
}

/// Which addresses count as one: an IPv4 address in either spelling, and all of the network that
/// an IPv6 address comes with.
pub(super) fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let host = u128::MAX >> IPV6_NETWORK_BITS;
            Ipv6Addr::from_bits(address.to_bits() & !host).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(user: &str, project: &str) -> Owner {
        Owner { user: user.to_owned(), project: project.to_owned() }
    }

    #[test]
    fn a_user_has_a_bound_of_his_own_and_one_with_his_project() {
        let places = PerOwner::new(Some(2), Some(3));
        let held: Vec<_> = (0..2).map(|_| places.take(&owner("a", "p")).unwrap()).collect();
        assert!(places.take(&owner("a", "p")).is_none());
        let other = places.take(&owner("b", "p")).unwrap();
        assert!(places.take(&owner("b", "p")).is_none(), "the project's bound");
        drop((held, other));
        assert!(places.take(&owner("a", "p")).is_some());
        assert!(places.users.open.lock().unwrap().is_empty(), "nobody is remembered for ever");
    }

    #[test]
    fn one_who_has_a_whole_network_counts_once() {
        let counted = |text: &str| counted_as(text.parse().unwrap()).to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(counted("::ffff:192.0.2.7"), "192.0.2.7");
    }
}
