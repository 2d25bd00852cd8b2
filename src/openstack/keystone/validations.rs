//! What Keystone has vouched for, kept for a while.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::token::Token;
use crate::model::Secret;
use crate::openstack::limits::VALIDATIONS_MAX;

/// The hash of a token or trust id: what it is known by in a cache.
pub(in crate::openstack) type Fingerprint = [u8; 32];

pub(in crate::openstack) fn fingerprint(secret: &Secret<String>) -> Fingerprint {
    Sha256::digest(secret.reveal().as_bytes()).into()
}

/// Tokens that Keystone has vouched for, the oldest first to go. Unknown tokens are not kept: a
/// flood of made-up ones must not push the real ones out.
#[derive(Default)]
pub(in crate::openstack) struct Validations {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    known: HashMap<Fingerprint, Known>,
    order: VecDeque<Fingerprint>,
    /// Questions on their way, so that each token is asked about once at a time.
    asked: HashMap<Fingerprint, Weak<tokio::sync::Mutex<()>>>,
}

struct Known {
    token: Arc<Token>,
    asked_at: DateTime<Utc>,
}

impl Validations {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was said of a token since then.
    pub(super) fn known(
        &self,
        key: &Fingerprint,
        since: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Option<Arc<Token>> {
        let inner = self.lock();
        let known = inner.known.get(key)?;
        let counts = since < known.asked_at && now < known.token.expires_at;
        counts.then(|| Arc::clone(&known.token))
    }

    /// Drops what was said of a token.
    pub(super) fn forget(&self, key: &Fingerprint) {
        let mut inner = self.lock();
        if inner.known.remove(key).is_some() {
            inner.order.retain(|kept| kept != key);
        }
    }

    /// Drops what was said of some tokens.
    pub(super) fn forget_where(&self, is_one: impl Fn(&Token) -> bool) {
        let Inner { known, order, .. } = &mut *self.lock();
        known.retain(|_, known| !is_one(&known.token));
        order.retain(|key| known.contains_key(key));
    }

    /// Keeps what was said of a token.
    pub(super) fn keep(&self, key: Fingerprint, token: Arc<Token>, now: DateTime<Utc>) {
        let mut inner = self.lock();
        if inner.known.insert(key, Known { token, asked_at: now }).is_none() {
            inner.order.push_back(key);
        }
        while inner.order.len() > VALIDATIONS_MAX {
            if let Some(oldest) = inner.order.pop_front() {
                inner.known.remove(&oldest);
            }
        }
    }

    /// The turn to ask about this token: whoever holds it asks, the others then find the answer.
    pub(super) fn turn(&self, key: Fingerprint) -> Arc<tokio::sync::Mutex<()>> {
        let mut inner = self.lock();
        if let Some(turn) = inner.asked.get(&key).and_then(Weak::upgrade) {
            return turn;
        }
        if inner.asked.len() >= VALIDATIONS_MAX {
            inner.asked.retain(|_, turn| turn.strong_count() > 0);
        }
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        inner.asked.insert(key, Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use super::*;
    use crate::openstack::catalog::Preference;

    #[test]
    fn what_is_said_again_of_a_token_that_was_forgotten_is_the_newest() {
        let now = DateTime::UNIX_EPOCH;
        let body = json!({ "token": {
            "expires_at": "2000-01-01T00:00:00Z",
            "user": { "id": "u" },
        } });
        let interface = "public".to_owned();
        let preference = Preference { interface, region: None, guests: None };
        let token = Token::read(Secret::new("t".to_owned()), &body, &preference).unwrap();
        let token = Arc::new(token);
        let forgets: [fn(&Validations); 2] =
            [|all| all.forget(&[1; 32]), |all| all.forget_where(|_| true)];
        for forget in forgets {
            let validations = Validations::default();
            validations.keep([1; 32], Arc::clone(&token), now);
            forget(&validations);
            validations.keep([1; 32], Arc::clone(&token), now);
            for number in 1..VALIDATIONS_MAX {
                let mut key = [0; 32];
                key[..8].copy_from_slice(&number.to_be_bytes());
                validations.keep(key, Arc::clone(&token), now);
            }
            let since = now - TimeDelta::seconds(1);
            assert!(validations.known(&[1; 32], since, now).is_some(), "there is room for all");
        }
    }
}
