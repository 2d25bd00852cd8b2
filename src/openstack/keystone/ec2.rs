//! Whose key signed a request: Keystone knows the secrets, so it is told of the request and says
//! whether the signature is good, and whose token stands for it. Its word is kept for a while, as
//! of tokens: an agent that polls with one signed address costs one question in
//! `token_cache_time`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::token::Token;
use super::validate::{Identity, identity};
use super::validations::{Fingerprint, fingerprint};
use crate::model::Secret;
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::request::{Body, Method};
use crate::openstack::service::Service;
use crate::openstack::transport::Call;

/// What a signature was made of, as far as Keystone has to know it.
#[derive(Clone, Serialize)]
pub struct SignedRequest {
    pub access: String,
    pub signature: String,
    pub host: String,
    pub verb: String,
    /// Decoded.
    pub path: String,
    /// All but the signature.
    pub params: BTreeMap<String, String>,
    /// Those that are signed, and those that say how.
    pub headers: BTreeMap<String, String>,
    /// SHA-256 in hex.
    pub body_hash: String,
}

/// Why a signature opens nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("Keystone does not know the key")]
    UnknownKey,
    #[error("Keystone does not take the signature")]
    Refused,
    #[error(transparent)]
    Cloud(#[from] CloudError),
}

/// What Keystone is asked about a request, and what its answer is kept by.
pub(super) struct Question {
    body: Value,
    key: Fingerprint,
}

impl Question {
    pub(super) fn about(request: &SignedRequest) -> Self {
        let body = json!({ "ec2Credentials": request });
        let key = fingerprint(&Secret::new(body.to_string()));
        Self { body, key }
    }
}

impl Cloud {
    /// Who signed the request, and a token of his, where this cloud has said so a while ago.
    pub(super) fn known_signer_of(
        &self,
        question: &Question,
    ) -> Option<(Identity, Secret<String>)> {
        let kept = self.kept_token(self.signatures(), &question.key, self.token_cache_time());
        kept.map(|token| (identity(&token), token.text.clone()))
    }

    /// Who signed the request, and a token of his, by the word of this cloud.
    pub(super) async fn own_signer_of(
        &self,
        question: &Question,
    ) -> Result<(Identity, Secret<String>), SignatureError> {
        let ask = async || match self.ask_for_signer(&question.body).await {
            Ok(token) => Ok(token),
            Err(error) if error.is_not_found() => Err(SignatureError::UnknownKey),
            Err(error) if error.is_unauthorized() => Err(SignatureError::Refused),
            Err(error) => Err(error.into()),
        };
        let age_max = self.token_cache_time();
        let token: Arc<Token> = self.vouched(self.signatures(), question.key, age_max, ask).await?;
        Ok((identity(&token), token.text.clone()))
    }

    async fn ask_for_signer(&self, body: &Value) -> Result<Token, CloudError> {
        let service = self.service_login();
        let mut renewed = false;
        loop {
            let own = service.token(self).await?;
            let url = self.auth_url("ec2tokens");
            let mut call = Call::new(Service::Identity, Method::Post, url);
            call.header("x-auth-token", own.text.reveal())?;
            call.carry(Body::Json(body.clone()))?;
            // A second token does no harm.
            call.repeatable = true;
            let refused = match self.transport().send(&call).await {
                Ok(answer) => {
                    let Some(text) = answer.header("x-subject-token") else {
                        return Err(CloudError::Unreadable {
                            service: Service::Identity,
                            reason: "no X-Subject-Token".to_owned(),
                        });
                    };
                    let text = Secret::new(text.to_owned());
                    return Token::read(text, &answer.json()?, self.preference());
                }
                Err(error) if error.is_unauthorized() && !renewed => error,
                Err(error) => return Err(error),
            };
            // Keystone does not say whether it refuses the signature or who asks.
            match self.ask_keystone(&own.text).await {
                Ok(_) => return Err(refused),
                Err(CloudError::InvalidToken) => service.forget(&own).await,
                Err(error) => return Err(error),
            }
            renewed = true;
        }
    }
}
