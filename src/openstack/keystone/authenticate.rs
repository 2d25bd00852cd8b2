//! How a token is got.

use std::sync::Arc;

use serde_json::Value;

use super::credentials::{Credentials, Proof};
use super::given;
use super::login::Login;
use super::token::Token;
use crate::model::Secret;
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::request::{Body, Method};
use crate::openstack::service::Service;
use crate::openstack::transport::{Call, Repeatable};

impl Login {
    /// A token that holds; a new one where the last is about to expire. One caller gets it, the
    /// others wait for it.
    pub(in crate::openstack) async fn token(
        &self,
        cloud: &Cloud,
    ) -> Result<Arc<Token>, CloudError> {
        let mut held = self.held.lock().await;
        if let Some(token) = &*held
            && (token.fresh_enough(cloud.now()) || !self.credentials.renewable())
        {
            return Ok(Arc::clone(token));
        }
        let token = match &self.credentials {
            // Boxed, because looking a token up needs a token of our own.
            Credentials::Token { token, .. } => {
                let age_max = cloud.token_cache_time();
                Box::pin(cloud.look_up(token, age_max)).await?
            }
            Credentials::Nothing => return Err(no_user(cloud)),
            Credentials::Password { .. }
            | Credentials::Given { .. }
            | Credentials::Domain { .. }
            | Credentials::User { .. }
            | Credentials::Trust { .. } => Arc::new(authenticate(cloud, &self.credentials).await?),
        };
        *held = Some(Arc::clone(&token));
        Ok(token)
    }
}

async fn authenticate(cloud: &Cloud, credentials: &Credentials) -> Result<Token, CloudError> {
    if let Credentials::Given { .. } = credentials {
        let asked = ask(cloud, credentials, Proof::Credentials(credentials)).await;
        return asked.map_err(|error| {
            // What is no Keystone is not told from what does not answer.
            let error = match error {
                CloudError::Unreadable { .. } => {
                    CloudError::NoCloud { url: cloud.auth_url("auth/tokens"), sent: true }
                }
                other => other,
            };
            given::refused(&error.to_string(), error.is_transient())
        });
    }
    if let Credentials::Trust { .. } = credentials {
        // Boxed, because this asks for a token on the way to a token.
        let own = Box::pin(cloud.service_login().token(cloud)).await?;
        match ask(cloud, credentials, Proof::Token(&own.text)).await {
            // Keystone may have been told not to trade tokens (`allow_rescope_scoped_token`).
            Err(error) if error.status().is_some_and(|status| status < 500) => {}
            outcome => return outcome,
        }
    }
    let own = Proof::Credentials(&cloud.service_login().credentials);
    match (ask(cloud, credentials, own).await, credentials) {
        (Err(error), Credentials::Trust { .. }) => Err(error.with_note(BY_TRUST)),
        (outcome, _) => outcome,
    }
}

/// Why nothing is asked of a cloud but with what callers bring.
fn no_user(cloud: &Cloud) -> CloudError {
    CloudError::Credential {
        class: "MissingCredentialError".into(),
        message: format!(
            "Hearth has no user at {} to whom a trust could be given: work there goes on by \
             passwords alone (deferred_auth_method), unless [ec2authtoken] clouds names one.",
            cloud.keystone().trim_end_matches('/'),
        ),
        is_transient: false,
    }
}

/// What Keystone's 403 does not say.
const BY_TRUST: &str = "(by the user's trust, which lends roles that he may no longer have)";

async fn ask(
    cloud: &Cloud,
    credentials: &Credentials,
    own: Proof<'_>,
) -> Result<Token, CloudError> {
    let Some(body) = credentials.auth_request(own) else { return Err(CloudError::InvalidToken) };
    token_for(cloud, body).await
}

/// The token that Keystone gives for a body of `POST /v3/auth/tokens`.
pub(super) async fn token_for(cloud: &Cloud, body: Value) -> Result<Token, CloudError> {
    let mut call = Call::new(Service::Identity, Method::Post, cloud.auth_url("auth/tokens"));
    call.carry(Body::Json(body))?;
    // A second token does no harm.
    call.repeatable = Repeatable::Yes;
    let answer = cloud.transport().send(&call).await?;
    let Some(text) = answer.header("x-subject-token") else {
        return Err(CloudError::Unreadable {
            service: Service::Identity,
            reason: "no X-Subject-Token".to_owned(),
        });
    };
    Token::read(Secret::new(text.to_owned()), &answer.json()?, cloud.preference())
}
