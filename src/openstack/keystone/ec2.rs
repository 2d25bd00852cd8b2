//! Whose key signed a request: Keystone knows the secrets, so it is told of the request and says
//! whether the signature is good, and whose token stands for it. Its word is kept for a while, as
//! of tokens: an agent that polls with one signed address costs one question in
//! `token_cache_time`.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::token::Token;
use super::validate::{Identity, identity};
use super::validations::Fingerprint;
use crate::model::{Secret, hex};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::limits::SIGNATURE_WAIT_MAX;
use crate::openstack::request::{Body, Method};
use crate::openstack::service::Service;
use crate::openstack::transport::{Call, Repeatable};

/// What a signature was made of, as far as Keystone has to know it.
#[derive(Clone, Default, Serialize)]
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
    #[error("too many signatures wait for Keystone")]
    Busy,
    #[error(transparent)]
    Cloud(#[from] CloudError),
}

/// What Keystone is asked about a request, and what its answer is kept by.
pub(super) struct Question<'a> {
    body: Asked<'a>,
    key: Fingerprint,
}

/// As Keystone wants it.
#[derive(Serialize)]
struct Asked<'a> {
    #[serde(rename = "ec2Credentials")]
    credentials: &'a SignedRequest,
}

impl<'a> Question<'a> {
    pub(super) fn about(credentials: &'a SignedRequest) -> Result<Self, CloudError> {
        let (body, mut digest) = (Asked { credentials }, Hasher(Sha256::new()));
        serde_json::to_writer(&mut digest, &body).map_err(unsendable)?;
        Ok(Self { body, key: digest.0.finalize().into() })
    }
}

/// A digest of what is written.
struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unsendable(error: serde_json::Error) -> CloudError {
    CloudError::Unsendable(error.to_string())
}

/// Keystone's id of a key for signatures.
fn id_of(access: &str) -> String {
    hex(&Sha256::digest(access))
}

impl Cloud {
    /// Who signed the request, and a token of his, where this cloud has said so a while ago.
    pub(super) fn known_signer_of(
        &self,
        question: &Question<'_>,
    ) -> Option<(Identity, Secret<String>)> {
        let kept = self.kept_token(self.signatures(), &question.key, self.token_cache_time());
        kept.map(|token| (identity(&token), token.text.clone()))
    }

    /// Who signed the request, and a token of his, by the word of this cloud.
    pub(super) async fn own_signer_of(
        &self,
        question: &Question<'_>,
    ) -> Result<(Identity, Secret<String>), SignatureError> {
        if let Some(known) = self.known_signer_of(question) {
            return Ok(known);
        }
        let turn = timeout(SIGNATURE_WAIT_MAX, self.signature_gate().acquire());
        let _turn = turn.await.map_err(|_| SignatureError::Busy)?;
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

    /// Forgets what was said of the signatures of a user or of a key, by Keystone's id of either.
    pub(super) fn forget_signer(&self, id: &str) {
        let is_his =
            |token: &Token| token.caller.user_id == id || token.key_id.as_deref() == Some(id);
        self.signatures().forget_where(is_his);
    }

    async fn ask_for_signer(&self, body: &Asked<'_>) -> Result<Token, CloudError> {
        let service = self.service_login();
        let key_id = id_of(&body.credentials.access);
        let bytes = Bytes::from(serde_json::to_vec(body).map_err(unsendable)?);
        let mut renewed = false;
        loop {
            let own = service.token(self).await?;
            let url = self.auth_url("ec2tokens");
            let mut call = Call::new(Service::Identity, Method::Post, url);
            call.header("x-auth-token", own.text.reveal())?;
            let content_type = "application/json".to_owned();
            call.carry(Body::Bytes { content_type, bytes: bytes.clone() })?;
            // A second token does no harm; what Keystone breaks over, it would break over again.
            call.repeatable = Repeatable::Unbroken;
            let refused = match self.transport().send(&call).await {
                Ok(answer) => {
                    let Some(text) = answer.header("x-subject-token") else {
                        return Err(CloudError::Unreadable {
                            service: Service::Identity,
                            reason: "no X-Subject-Token".to_owned(),
                        });
                    };
                    let text = Secret::new(text.to_owned());
                    let token = Token::read(text, &answer.json()?, self.preference())?;
                    return Ok(Token { key_id: Some(key_id), ..token });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::openstack::cloud::CloudSettings;
    use crate::openstack::limits::{CLOUD_CALLS_IN_FLIGHT_MAX, SIGNATURES_IN_FLIGHT_MAX};

    const _: () = assert!(SIGNATURES_IN_FLIGHT_MAX < CLOUD_CALLS_IN_FLIGHT_MAX);

    #[tokio::test(start_paused = true)]
    async fn a_signature_waits_for_its_turn_and_not_for_ever() {
        let secret = Secret::new("s".to_owned());
        let settings = CloudSettings::new("http://127.0.0.1:1", "heat", secret, "service");
        let cloud = Cloud::new(settings, Arc::new(SystemClock)).unwrap();
        let all = u32::try_from(SIGNATURES_IN_FLIGHT_MAX).unwrap();
        let _others = cloud.signature_gate().acquire_many(all).await.unwrap();
        let signed = SignedRequest::default();
        let waited = timeout(SIGNATURE_WAIT_MAX * 2, cloud.signer_of(&signed)).await.unwrap();
        assert_eq!(waited.err(), Some(SignatureError::Busy));
    }
}
