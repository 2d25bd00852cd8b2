//! A server of the operator's that says whose a request is, as a proxy with Keystone's middleware
//! would (`[paste_deploy] flavor = custombackend`): it is sent what a request shows, and answers with
//! the headers by which that middleware tells who was let in. What it says is kept for a while, as
//! Keystone's word on tokens is.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use reqwest::header::HeaderMap;
use reqwest::redirect;
use tokio::sync::Semaphore;
use url::Url;

use super::catalog::Catalog;
use super::cloud::Cloud;
use super::error::CloudError;
use super::fetch::without_url;
use super::keystone::token::Token;
use super::keystone::validate::{Identity, identity};
use super::keystone::validations::fingerprint;
use super::limits::TOKEN_LENGTH_MAX;
use super::service::Service;
use crate::model::{Caller, ProjectId, Scope, Secret, header_text};

/// How long the server may take to be connected to, and to answer.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How many requests it is asked about at once.
const ASKED_AT_ONCE: usize = 64;
/// The longest name or id that it may tell, and the longest list of roles, in bytes.
const NAME_MAX_BYTES: usize = 255;
const ROLES_MAX_BYTES: usize = 4_096;
/// How long its word holds at most.
const HOLDS: TimeDelta = TimeDelta::hours(1);

/// The headers of a request that it is sent. Beside them is `X-Project-Id`, the project of the URL.
pub const SENT_TO_BACKEND: [&str; 5] =
    ["x-auth-token", "x-auth-user", "x-auth-key", "x-user-domain-id", "authorization"];

/// The server.
#[derive(Clone, Debug)]
pub struct AuthBackend {
    url: Url,
    client: reqwest::Client,
    turns: Arc<Semaphore>,
}

impl AuthBackend {
    /// The error says why there can be no client.
    pub fn new(url: Url) -> Result<Self, String> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("hearth/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_WITHIN)
            .timeout(ANSWER_WITHIN)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { url, client, turns: Arc::new(Semaphore::new(ASKED_AT_ONCE)) })
    }

    /// What it says of a request; the body of its answer is not read.
    async fn ask(&self, sent: &[(&str, Secret<String>)]) -> Result<HeaderMap, CloudError> {
        // Nobody closes the turns.
        let _turn = self.turns.acquire().await;
        let asked = self.client.get(self.url.clone());
        let asked =
            sent.iter().fold(asked, |asked, (name, value)| asked.header(*name, value.reveal()));
        let answer = asked.send().await.map_err(|error| CloudError::Unanswered {
            url: "auth_backend_url".to_owned(),
            reason: without_url(&error),
        })?;
        match answer.status().as_u16() {
            200..=299 => Ok(answer.headers().clone()),
            401 | 403 => Err(CloudError::InvalidToken),
            status => Err(unusable(format!("it answers {status}"))),
        }
    }
}

impl Cloud {
    /// Who is let in with these headers of a request, and the token that he has;
    /// [`CloudError::InvalidToken`] where nobody is.
    pub async fn let_in(
        &self,
        backend: &AuthBackend,
        sent: &[(&str, Secret<String>)],
    ) -> Result<(Identity, Secret<String>), CloudError> {
        let mut all = String::from("backend");
        for (name, value) in sent {
            all.push_str(&format!("\n{name}: {}", value.reveal()));
        }
        let ask = async || {
            let told = backend.ask(sent).await?;
            self.read(&told, sent)
        };
        let key = fingerprint(&Secret::new(all));
        let token = self.vouched(self.passwords(), key, self.token_cache_time(), ask).await?;
        Ok((identity(&token), token.text.clone()))
    }

    fn read(&self, told: &HeaderMap, sent: &[(&str, Secret<String>)]) -> Result<Token, CloudError> {
        let text = |name: &str| told.get(name).map(|value| header_text(value.as_bytes()));
        if text("x-identity-status").as_deref() != Some("Confirmed") {
            return Err(CloudError::InvalidToken);
        }
        let bounded = |name: &'static str, max: usize| match text(name) {
            Some(text) if text.len() > max => Err(unusable(format!("its {name} is too long"))),
            found => Ok(found.map(Cow::into_owned)),
        };
        let name = |name| bounded(name, NAME_MAX_BYTES);
        let missing = |name: &str| unusable(format!("it tells no {name}"));
        let user_id = name("x-user-id")?.ok_or_else(|| missing("x-user-id"))?;
        let project_id = name("x-project-id")?.ok_or_else(|| missing("x-project-id"))?;
        let roles = bounded("x-roles", ROLES_MAX_BYTES)?.unwrap_or_default();
        let scope = Scope {
            user_domain_id: name("x-user-domain-id")?,
            project_domain_id: name("x-project-domain-id")?,
            is_admin_project: text("x-is-admin-project").map(|it| it.eq_ignore_ascii_case("true")),
            ..Scope::default()
        };
        let own = sent.iter().find(|(name, _)| *name == "x-auth-token");
        let token = match bounded("x-auth-token", TOKEN_LENGTH_MAX)? {
            Some(token) => Secret::new(token),
            None => {
                let none =
                    || unusable("it tells no x-auth-token, and the request has none".to_owned());
                own.map(|(_, token)| token.clone()).ok_or_else(none)?
            }
        };
        Ok(Token {
            text: token,
            expires_at: self.now() + HOLDS,
            user_domain_id: scope.user_domain_id.clone().unwrap_or_default(),
            caller: Arc::new(Caller {
                user_name: name("x-user-name")?.unwrap_or_default(),
                user_id,
                project_name: name("x-project-name")?.unwrap_or_default(),
                project_id: ProjectId(project_id),
                roles: roles
                    .split(',')
                    .map(|role| role.trim().to_owned())
                    .filter(|role| !role.is_empty())
                    .collect(),
                scope,
                admin: false,
            }),
            domain_id: None,
            catalog: Catalog::default(),
            trust_id: None,
            key_id: None,
        })
    }
}

/// The server says nothing that could be used.
fn unusable(reason: String) -> CloudError {
    CloudError::Unreadable { service: Service::Identity, reason }
}
