//! Whose a token is: Keystone's word on it, kept for a while, so that a busy client costs one
//! question in `token_cache_time`.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::token::Token;
use super::validations::{Fingerprint, Validations, fingerprint};
use crate::model::{Caller, Secret};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::limits::TOKEN_LENGTH_MAX;
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

    /// The same of a request that was let in already, by the word, no older than this, of the
    /// Keystone that let it in.
    pub async fn validate_token_anew(
        &self,
        token: &Secret<String>,
        age_max: Duration,
    ) -> Result<Identity, CloudError> {
        let home = self.home_of(token);
        let age_max = age_max.min(self.token_cache_time());
        home.cloud.look_up(&home.secret, age_max).await.map(|token| identity(&token))
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
        if let Some(token) = self.kept_token(known, &key, age_max) {
            return Ok(token);
        }
        let turn = known.turn(key);
        let _mine = turn.lock().await;
        if let Some(token) = self.kept_token(known, &key, age_max) {
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

    /// The token that Keystone gave for something no longer ago than this, if it is kept.
    pub(super) fn kept_token(
        &self,
        known: &Validations,
        key: &Fingerprint,
        age_max: Duration,
    ) -> Option<Arc<Token>> {
        let since = self.now() - TimeDelta::from_std(age_max).unwrap_or_default();
        known.known(key, since, self.now())
    }

    pub(super) async fn ask_keystone(&self, subject: &Secret<String>) -> Result<Token, CloudError> {
        if !self.has_user() {
            // Keystone lets a token ask about itself, and about nothing if it is none.
            return self.ask_with(subject, subject).await.map_err(|error| match error.status() {
                Some(401) => CloudError::InvalidToken,
                _ => error,
            });
        }
        let service = self.service_login();
        let mut own = service.token(self).await?;
        let mut renewed = false;
        loop {
            match self.ask_with(&own.text, subject).await {
                Err(CloudError::InvalidToken) => return Err(CloudError::InvalidToken),
                Err(error) if error.is_unauthorized() && !renewed => {
                    service.forget(&own).await;
                    own = service.token(self).await?;
                    renewed = true;
                }
                // Where Hearth's own credentials are wrong, that is not the client's fault, nor its
                // 401.
                outcome => return outcome,
            }
        }
    }

    /// Asks with one token about another; `CloudError::InvalidToken` where the other is nobody's.
    async fn ask_with(
        &self,
        own: &Secret<String>,
        subject: &Secret<String>,
    ) -> Result<Token, CloudError> {
        let mut call = Call::new(Service::Identity, Method::Get, self.auth_url("auth/tokens"));
        call.header("x-auth-token", own.reveal())?;
        call.header("x-subject-token", subject.reveal())?;
        match self.transport().send(&call).await {
            Ok(answer) => Token::read(subject.clone(), &answer.json()?, self.preference()),
            Err(error) if error.is_not_found() => Err(CloudError::InvalidToken),
            Err(error) => Err(error),
        }
    }
}
