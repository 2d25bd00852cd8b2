//! A token and what Keystone says of it.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::model::{Caller, ProjectId, Scope, Secret};
use crate::openstack::catalog::{Catalog, Preference};
use crate::openstack::error::CloudError;
use crate::openstack::limits::TOKEN_RENEW_BEFORE_SECS;
use crate::openstack::service::Service;

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
    /// Keystone's id of the key by whose signature it was got.
    pub(in crate::openstack) key_id: Option<String>,
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
            key_id: None,
        })
    }

    /// Whether it holds for a while yet.
    pub(super) fn fresh_enough(&self, now: DateTime<Utc>) -> bool {
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
