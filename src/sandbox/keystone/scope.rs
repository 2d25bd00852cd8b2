//! Who asks: the scope of a request's token.

use chrono::{DateTime, Utc};

use super::super::answer::{self, Answer};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::state::Token;

/// Who asks, in which project, with which rights.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Scope {
    pub(in crate::sandbox) user_id: String,
    pub(in crate::sandbox) project_id: String,
    pub(in crate::sandbox) is_admin: bool,
    /// By an application credential that may make no further ways in.
    pub(in crate::sandbox) is_restricted: bool,
}

impl Scope {
    /// A service's own, in a project.
    pub(in crate::sandbox) fn of_service(project_id: &str) -> Self {
        Self {
            user_id: String::new(),
            project_id: project_id.to_owned(),
            is_admin: true,
            is_restricted: false,
        }
    }

    /// Whether something of this project may be seen.
    pub(in crate::sandbox) fn sees(&self, project_id: &str) -> bool {
        self.is_admin || self.project_id == project_id
    }
}

/// The scope of the request's token, or the refusal of the check in front of a service.
pub(in crate::sandbox) fn scope(cloud: &Cloud, ask: &Ask) -> Result<Scope, Answer> {
    let token = ask.header("x-auth-token").and_then(|id| live(cloud, id, ask.at));
    if token.is_some_and(|token| !is_held(cloud, token)) {
        // The check in front of a service hears neither yes nor no of Keystone.
        return Err(answer::keystone(503, "The Keystone service is temporarily unavailable."));
    }
    find_scope(cloud, ask)
        .filter(|scope| !scope.project_id.is_empty())
        .ok_or_else(|| answer::no_token(&ask.base))
}

/// Whether a trustor still has what his trust delegates.
fn is_held(cloud: &Cloud, token: &Token) -> bool {
    let trust = token.trust_id.as_ref().and_then(|id| cloud.keystone.trusts.get(id));
    trust.is_none_or(|trust| {
        let held = cloud.keystone.role_ids(&trust.trustor_user_id, &trust.project_id);
        trust.role_ids.iter().all(|role| held.contains(role))
    })
}

/// The scope of the request's token, also of an unscoped one.
pub(super) fn find_scope(cloud: &Cloud, ask: &Ask) -> Option<Scope> {
    let token = live(cloud, ask.header("x-auth-token")?, ask.at)?;
    let is_admin = token
        .role_ids
        .iter()
        .any(|role| cloud.keystone.roles.get(role).is_some_and(|role| role.name == "admin"));
    let credential = token.app_credential_id.as_ref();
    let credential = credential.and_then(|id| cloud.keystone.app_credentials.get(id));
    Some(Scope {
        user_id: token.user_id.clone(),
        project_id: token.project_id.clone().unwrap_or_default(),
        is_admin,
        is_restricted: credential.is_some_and(|it| !it.said.is("unrestricted")),
    })
}

/// The token of this id, if it still counts.
pub(super) fn live<'a>(cloud: &'a Cloud, id: &str, now: DateTime<Utc>) -> Option<&'a Token> {
    let token = cloud.keystone.tokens.get(id).filter(|token| token.expires_at > now)?;
    // A trust or credential that is deleted takes its tokens with it, and so does a user who is
    // kept out.
    let trusted = token.trust_id.as_ref().is_none_or(|id| cloud.keystone.trusts.contains(id));
    let allowed = token.app_credential_id.as_ref();
    let allowed = allowed.is_none_or(|id| cloud.keystone.app_credentials.contains(id));
    let trusted = trusted && allowed;
    let user = cloud.keystone.users.get(&token.user_id);
    (trusted && user.is_some_and(|user| user.enabled)).then_some(token)
}
