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
        self.lock().known.remove(key);
    }

    /// Drops what was said of some tokens.
    pub(super) fn forget_where(&self, is_one: impl Fn(&Token) -> bool) {
        self.lock().known.retain(|_, known| !is_one(&known.token));
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
