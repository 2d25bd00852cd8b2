//! A token and what Keystone says of it, and how one is got.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use tokio::sync::Mutex;

use super::credentials::{Credentials, Proof};
use super::given;
use crate::model::{Caller, ProjectId, Scope, Secret};
use crate::openstack::catalog::{Catalog, Preference};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::limits::TOKEN_RENEW_BEFORE_SECS;
use crate::openstack::poll::Polls;
use crate::openstack::request::{Body, Method};
use crate::openstack::service::Service;
use crate::openstack::transport::Call;

/// A token with what it allows.
pub(in crate::openstack) struct Token {
    pub(in crate::openstack) text: Secret<String>,
    pub(in crate::openstack) expires_at: DateTime<Utc>,
    pub(in crate::openstack) caller: Arc<Caller>,
    pub(in crate::openstack) user_domain_id: String,
    /// The domain that the token is for, where it is for one.
    pub(in crate::openstack) domain_id: Option<String>,
    pub(in crate::openstack) catalog: Catalog,
    /// The trust by which it was got.
    pub(in crate::openstack) trust_id: Option<Secret<String>>,
}

impl Token {
    /// Reads the body of an answer to authentication or validation.
    pub(in crate::openstack) fn read(
        text: Secret<String>,
        body: &Value,
        preference: &Preference,
    ) -> Result<Self, CloudError> {
        let token = &body["token"];
        let missing = |field: &str| CloudError::Unreadable {
            service: Service::Identity,
            reason: format!("the token has no {field}"),
        };
        let text_of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let expires_at = token["expires_at"]
            .as_str()
            .and_then(|at| DateTime::parse_from_rfc3339(at).ok())
            .ok_or_else(|| missing("expires_at"))?
            .with_timezone(&Utc);
        let user_id = token["user"]["id"].as_str().ok_or_else(|| missing("user"))?;
        let roles = token["roles"].as_array().into_iter().flatten();
        Ok(Self {
            text,
            expires_at,
            caller: Arc::new(Caller {
                user_id: user_id.to_owned(),
                user_name: text_of(&token["user"]["name"]),
                // A token without a project is no project's: no route of ours is open to it.
                project_id: ProjectId(text_of(&token["project"]["id"])),
                project_name: text_of(&token["project"]["name"]),
                roles: roles.filter_map(|role| role["name"].as_str().map(str::to_owned)).collect(),
                scope: scope(token),
                admin: false,
            }),
            user_domain_id: text_of(&token["user"]["domain"]["id"]),
            domain_id: token["domain"]["id"].as_str().map(str::to_owned),
            catalog: Catalog::read(&token["catalog"], preference),
            trust_id: token["OS-TRUST:trust"]["id"].as_str().map(|id| Secret::new(id.to_owned())),
        })
    }

    fn fresh_enough(&self, now: DateTime<Utc>) -> bool {
        self.expires_at - now > TimeDelta::seconds(TOKEN_RENEW_BEFORE_SECS)
    }
}

/// What a token is for. A system's is always for all of it.
fn scope(token: &Value) -> Scope {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Scope {
        domain_id: text(&token["domain"]["id"]),
        is_system: token["system"]["all"] == true,
        is_admin_project: token["is_admin_project"].as_bool(),
        user_domain_id: text(&token["user"]["domain"]["id"]),
        project_domain_id: text(&token["project"]["domain"]["id"]),
    }
}

/// Credentials and the token that they last brought.
pub(in crate::openstack) struct Login {
    pub(in crate::openstack) credentials: Credentials,
    pub(in crate::openstack) polls: Polls,
    held: Mutex<Option<Arc<Token>>>,
}

impl Login {
    /// No token yet: it is got by the first call that needs it.
    pub(in crate::openstack) fn new(credentials: Credentials) -> Self {
        Self { credentials, polls: Polls::default(), held: Mutex::default() }
    }

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
            Credentials::Password { .. }
            | Credentials::Given { .. }
            | Credentials::Domain { .. }
            | Credentials::User { .. }
            | Credentials::Trust { .. } => Arc::new(authenticate(cloud, &self.credentials).await?),
        };
        *held = Some(Arc::clone(&token));
        Ok(token)
    }

    /// Drops a token that a service refused, unless it has been replaced already.
    pub(in crate::openstack) async fn forget(&self, refused: &Arc<Token>) {
        let mut held = self.held.lock().await;
        if held.as_ref().is_some_and(|token| Arc::ptr_eq(token, refused)) {
            *held = None;
        }
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
    ask(cloud, credentials, Proof::Credentials(&cloud.service_login().credentials)).await
}

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
    call.repeatable = true;
    let answer = cloud.transport().send(&call).await?;
    let Some(text) = answer.header("x-subject-token") else {
        return Err(CloudError::Unreadable {
            service: Service::Identity,
            reason: "no X-Subject-Token".to_owned(),
        });
    };
    Token::read(Secret::new(text.to_owned()), &answer.json()?, cloud.preference())
}
