//! Whose a token is: Keystone's word on it, kept for a while, so that a busy client costs one
//! question in `token_cache_time`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};

use super::token::Token;
use crate::model::{Caller, Secret};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::limits::{TOKEN_LENGTH_MAX, VALIDATIONS_MAX};
use crate::openstack::request::Method;
use crate::openstack::service::Service;
use crate::openstack::transport::Call;

/// Who is behind a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub caller: Arc<Caller>,
    pub user_domain_id: String,
    pub expires_at: DateTime<Utc>,
    /// The trust by which the token was got; Keystone lets no such token make a further trust.
    pub trust_id: Option<Secret<String>>,
}

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
    fn known(
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

    fn forget(&self, key: &Fingerprint) {
        self.lock().known.remove(key);
    }

    fn keep(&self, key: Fingerprint, token: Arc<Token>, now: DateTime<Utc>) {
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
    fn turn(&self, key: Fingerprint) -> Arc<tokio::sync::Mutex<()>> {
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

pub(in crate::openstack) fn identity(token: &Token) -> Identity {
    Identity {
        caller: Arc::clone(&token.caller),
        user_domain_id: token.user_domain_id.clone(),
        expires_at: token.expires_at,
        trust_id: token.trust_id.clone(),
    }
}

impl Cloud {
    /// Whose the token is. `CloudError::InvalidToken` where it is nobody's.
    pub async fn validate_token(&self, token: &Secret<String>) -> Result<Identity, CloudError> {
        self.look_up(token, self.token_cache_time()).await.map(|token| identity(&token))
    }

    /// The same by Keystone's word that is no older than this.
    pub async fn validate_token_anew(
        &self,
        token: &Secret<String>,
        age_max: Duration,
    ) -> Result<Identity, CloudError> {
        let age_max = age_max.min(self.token_cache_time());
        self.look_up(token, age_max).await.map(|token| identity(&token))
    }

    /// The token with its catalog, from the cache or from Keystone.
    pub(in crate::openstack) async fn look_up(
        &self,
        token: &Secret<String>,
        age_max: Duration,
    ) -> Result<Arc<Token>, CloudError> {
        let text = token.reveal();
        let can_be_one = !text.is_empty()
            && text.len() <= TOKEN_LENGTH_MAX
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !can_be_one {
            return Err(CloudError::InvalidToken);
        }
        let (known, key) = (self.validations(), fingerprint(token));
        let ask = async || {
            let asked = self.ask_keystone(token).await;
            asked.inspect_err(|error| {
                if *error == CloudError::InvalidToken {
                    known.forget(&key);
                }
            })
        };
        self.vouched(known, key, age_max, ask).await
    }

    /// The token that Keystone gave for something no longer ago than this, or gives now: of many
    /// who want it at once one asks.
    pub(in crate::openstack) async fn vouched<E: From<CloudError>>(
        &self,
        known: &Validations,
        key: Fingerprint,
        age_max: Duration,
        ask: impl AsyncFnOnce() -> Result<Token, E>,
    ) -> Result<Arc<Token>, E> {
        let since = self.now() - TimeDelta::from_std(age_max).unwrap_or_default();
        if let Some(token) = known.known(&key, since, self.now()) {
            return Ok(token);
        }
        let turn = known.turn(key);
        let _mine = turn.lock().await;
        if let Some(token) = known.known(&key, since, self.now()) {
            return Ok(token);
        }
        let asked_at = self.now();
        let found = match ask().await {
            Ok(found) if asked_at < found.expires_at => Arc::new(found),
            Ok(_) => return Err(CloudError::InvalidToken.into()),
            Err(error) => return Err(error),
        };
        known.keep(key, Arc::clone(&found), asked_at);
        Ok(found)
    }

    pub(super) async fn ask_keystone(&self, subject: &Secret<String>) -> Result<Token, CloudError> {
        let service = self.service_login();
        let mut own = service.token(self).await?;
        let mut renewed = false;
        loop {
            let url = self.auth_url("auth/tokens");
            let mut call = Call::new(Service::Identity, Method::Get, url);
            call.header("x-auth-token", own.text.reveal())?;
            call.header("x-subject-token", subject.reveal())?;
            match self.transport().send(&call).await {
                Ok(answer) => {
                    return Token::read(subject.clone(), &answer.json()?, self.preference());
                }
                Err(error) if error.is_not_found() => return Err(CloudError::InvalidToken),
                Err(error) if error.is_unauthorized() && !renewed => {
                    service.forget(&own).await;
                    own = service.token(self).await?;
                    renewed = true;
                }
                // Hearth's own credentials are wrong: not the client's fault, nor its 401.
                Err(error) => return Err(error),
            }
        }
    }
}
