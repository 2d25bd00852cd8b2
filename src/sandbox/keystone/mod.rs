//! Identity v3: tokens, trusts, the catalog, and the users and projects there are.

mod app_credentials;
mod catalog;
mod directory;
mod ec2;
mod entries;
mod grants;
mod signature;
mod tokens;
mod trusts;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::collections;
use super::doc::Doc;
use super::store::{Rows, Table};
use crate::model::JsonMap;

pub(super) use tokens::scope;

/// What Keystone holds.
#[derive(Clone)]
pub(super) struct Keystone {
    pub(super) domains: Table<Domain>,
    pub(super) projects: Table<Project>,
    pub(super) users: Table<User>,
    pub(super) roles: Table<Role>,
    pub(super) grants: Table<Grant>,
    pub(super) trusts: Table<Trust>,
    pub(super) tokens: Table<Token>,
    pub(super) app_credentials: Table<AppCredential>,
    credentials: Table<Credential>,
    memberships: Table<Membership>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Domain {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    #[serde(default = "yes")]
    pub(super) enabled: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Project {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) domain_id: String,
    pub(super) description: String,
    pub(super) enabled: bool,
    /// `None` is its domain.
    #[serde(default)]
    pub(super) parent_id: Option<String>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct User {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) domain_id: String,
    pub(super) password: String,
    pub(super) email: Option<String>,
    pub(super) description: String,
    pub(super) default_project_id: Option<String>,
    pub(super) enabled: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Role {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) domain_id: Option<String>,
    #[serde(default)]
    pub(super) description: Option<String>,
}

fn yes() -> bool {
    true
}

/// What grants on the whole system are kept under.
pub(super) const SYSTEM: &str = "system";

/// A user's or a group's role on a project, on a domain by its id, or on the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    /// Empty where it is a group's.
    pub(super) user_id: String,
    #[serde(default)]
    pub(super) group_id: Option<String>,
    pub(super) project_id: String,
    pub(super) role_id: String,
}

/// That a user is in a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Membership {
    group_id: String,
    user_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Trust {
    pub(super) id: String,
    pub(super) trustor_user_id: String,
    pub(super) trustee_user_id: String,
    pub(super) project_id: String,
    pub(super) impersonation: bool,
    pub(super) role_ids: Vec<String>,
    pub(super) expires_at: Option<String>,
    pub(super) remaining_uses: Option<u64>,
    pub(super) allow_redelegation: bool,
}

/// A user's leave for a program to act for him in one project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AppCredential {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) secret: String,
    pub(super) user_id: String,
    pub(super) project_id: String,
    pub(super) role_ids: Vec<String>,
    /// What its maker said of it.
    pub(super) said: JsonMap,
}

/// A secret of a user's in a project: a key to sign requests with, where it is one of EC2's.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Credential {
    id: String,
    kind: String,
    /// JSON text.
    blob: String,
    user_id: String,
    project_id: Option<String>,
}

/// A token that was given out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) user_id: String,
    /// `None` is unscoped, a domain's or the system's.
    pub(super) project_id: Option<String>,
    #[serde(default)]
    pub(super) domain_id: Option<String>,
    #[serde(default)]
    pub(super) is_system: bool,
    pub(super) role_ids: Vec<String>,
    pub(super) methods: Vec<String>,
    pub(super) audit_ids: Vec<String>,
    pub(super) trust_id: Option<String>,
    #[serde(default)]
    pub(super) app_credential_id: Option<String>,
    pub(super) issued_at: DateTime<Utc>,
    pub(super) expires_at: DateTime<Utc>,
}

/// Who asks, in which project, with which rights.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) user_id: String,
    pub(super) project_id: String,
    pub(super) is_admin: bool,
    /// By an application credential that may make no further ways in.
    pub(super) is_restricted: bool,
}

impl Scope {
    /// A service's own, in a project.
    pub(super) fn of_service(project_id: &str) -> Self {
        Self {
            user_id: String::new(),
            project_id: project_id.to_owned(),
            is_admin: true,
            is_restricted: false,
        }
    }

    /// Whether something of this project may be seen.
    pub(super) fn sees(&self, project_id: &str) -> bool {
        self.is_admin || self.project_id == project_id
    }
}

impl Keystone {
    pub(super) fn new() -> Self {
        Self {
            domains: Table::new("domains"),
            projects: Table::new("projects"),
            users: Table::new("users"),
            roles: Table::new("roles"),
            grants: Table::new("grants"),
            trusts: Table::new("trusts"),
            tokens: Table::new("tokens"),
            app_credentials: Table::new("application_credentials"),
            credentials: Table::new("credentials"),
            memberships: Table::new("memberships"),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.users.len() == 0
    }

    pub(super) fn tables(&mut self) -> [&mut dyn Rows; 10] {
        [
            &mut self.domains,
            &mut self.projects,
            &mut self.users,
            &mut self.roles,
            &mut self.grants,
            &mut self.trusts,
            &mut self.tokens,
            &mut self.app_credentials,
            &mut self.credentials,
            &mut self.memberships,
        ]
    }

    /// The roles that a user has on a project, be it in a group.
    fn role_ids(&self, user_id: &str, project_id: &str) -> Vec<String> {
        let is_theirs = |grant: &Grant| match &grant.group_id {
            Some(group) => self.memberships.contains(&format!("{group} {user_id}")),
            None => grant.user_id == user_id,
        };
        let grants = self.grants.values().filter(|grant| grant.project_id == project_id);
        let mut held: Vec<String> = Vec::new();
        for grant in grants.filter(|grant| is_theirs(grant)) {
            if !held.contains(&grant.role_id) {
                held.push(grant.role_id.clone());
            }
        }
        self.with_implied(held)
    }

    /// The roles, and those that they imply: an admin is a member, a member a reader.
    fn with_implied(&self, mut role_ids: Vec<String>) -> Vec<String> {
        for (role, implied) in [("admin", "member"), ("member", "reader")] {
            let id = |name: &str| self.roles.values().find(|r| r.name == name).map(|r| &r.id);
            if let (Some(role), Some(implied)) = (id(role), id(implied))
                && role_ids.contains(role)
                && !role_ids.contains(implied)
            {
                role_ids.push(implied.clone());
            }
        }
        role_ids
    }
}

/// Whether there are objects of this name here.
pub(super) fn has_kind(singular: &str) -> bool {
    matches!(singular, "domain" | "project" | "user" | "role")
}

/// Refuses a reference to what is not there.
pub(super) fn refer(cloud: &Cloud, singular: &str, id: &str) -> Result<(), Answer> {
    let keystone = &cloud.keystone;
    let is_there = match singular {
        "domain" => keystone.domains.contains(id),
        "project" => keystone.projects.contains(id),
        "user" => keystone.users.contains(id),
        "role" => keystone.roles.contains(id),
        "region" => cloud.config.region == id,
        "service" => directory::has_service(cloud, id),
        "group" => {
            collections::row_where(cloud, ("identity", "group"), |it| it.text("id") == id).is_some()
        }
        _ => false,
    };
    if is_there { Ok(()) } else { Err(not_found(singular, id)) }
}

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    route(cloud, ask, path).map_err(|refusal| match refusal.status {
        401 => refusal.header("www-authenticate", format!("Keystone uri=\"{}/v3\"", ask.base)),
        _ => refusal,
    })
}

fn route(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET" | "HEAD", []) => Ok(Answer::json(200, &json!({"version": version(ask)}))),
        (_, ["auth", rest @ ..]) => tokens::answer(cloud, ask, rest),
        (_, ["OS-TRUST", "trusts", rest @ ..]) => {
            let scope = checked(cloud, ask)?;
            trusts::answer(cloud, ask, &scope, rest)
        }
        (_, ["users", user, "application_credentials", rest @ ..]) => {
            let scope = checked(cloud, ask)?;
            app_credentials::answer(cloud, ask, &scope, (user, rest))
        }
        (_, ["users", user, "credentials", "OS-EC2", rest @ ..]) => {
            let scope = checked(cloud, ask)?;
            ec2::of_user(cloud, ask, &scope, (user, rest))
        }
        (_, ["credentials", rest @ ..]) => {
            let scope = checked(cloud, ask)?;
            ec2::credentials(cloud, ask, &scope, rest)
        }
        ("POST", ["ec2tokens"]) => {
            checked(cloud, ask)?;
            ec2::token(cloud, ask)
        }
        _ => {
            let scope = checked(cloud, ask)?;
            directory::answer(cloud, ask, &scope, path)
        }
    }
}

/// The choice of versions, which is what an address without a version gives.
pub(super) fn versions(ask: &Ask) -> Answer {
    Answer::json(300, &json!({"versions": {"values": [version(ask)]}}))
        .header("location", format!("{}/v3/", ask.base))
}

fn version(ask: &Ask) -> serde_json::Value {
    json!({
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{}/v3/", ask.base)}],
        "media-types": [{
            "base": "application/json",
            "type": "application/vnd.openstack.identity-v3+json",
        }],
    })
}

/// The scope of the token, or Keystone's own refusal.
fn checked(cloud: &Cloud, ask: &Ask) -> Result<Scope, Answer> {
    tokens::find_scope(cloud, ask).ok_or_else(unauthorized)
}

fn unauthorized() -> Answer {
    answer::keystone(401, "The request you have made requires authentication.")
}

fn forbidden(action: &str) -> Answer {
    answer::keystone(
        403,
        format!("You are not authorized to perform the requested action: {action}."),
    )
}

fn not_found(kind: &str, id: &str) -> Answer {
    answer::keystone(404, format!("Could not find {kind}: {id}."))
}
