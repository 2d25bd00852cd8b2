//! What Keystone holds.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::super::store::{Rows, Table};
use crate::model::JsonMap;

/// What Keystone holds.
#[derive(Clone)]
pub(in crate::sandbox) struct Keystone {
    pub(in crate::sandbox) domains: Table<Domain>,
    pub(in crate::sandbox) projects: Table<Project>,
    pub(in crate::sandbox) users: Table<User>,
    pub(in crate::sandbox) roles: Table<Role>,
    pub(in crate::sandbox) grants: Table<Grant>,
    pub(in crate::sandbox) trusts: Table<Trust>,
    pub(in crate::sandbox) tokens: Table<Token>,
    pub(in crate::sandbox) app_credentials: Table<AppCredential>,
    pub(in crate::sandbox) credentials: Table<Credential>,
    pub(in crate::sandbox) memberships: Table<Membership>,
    pub(in crate::sandbox) vouching: Table<Vouching>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Domain {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) description: String,
    #[serde(default = "yes")]
    pub(in crate::sandbox) enabled: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Project {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) domain_id: String,
    pub(in crate::sandbox) description: String,
    pub(in crate::sandbox) enabled: bool,
    /// `None` is its domain.
    #[serde(default)]
    pub(in crate::sandbox) parent_id: Option<String>,
    #[serde(default)]
    pub(in crate::sandbox) tags: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct User {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) domain_id: String,
    pub(in crate::sandbox) password: String,
    pub(in crate::sandbox) email: Option<String>,
    pub(in crate::sandbox) description: String,
    pub(in crate::sandbox) default_project_id: Option<String>,
    pub(in crate::sandbox) enabled: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Role {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) name: String,
    #[serde(default)]
    pub(in crate::sandbox) domain_id: Option<String>,
    #[serde(default)]
    pub(in crate::sandbox) description: Option<String>,
}

fn yes() -> bool {
    true
}

/// What grants on the whole system are kept under.
pub(in crate::sandbox) const SYSTEM: &str = "system";

/// A user's or a group's role on a project, on a domain by its id, or on the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sandbox) struct Grant {
    /// Empty where it is a group's.
    pub(in crate::sandbox) user_id: String,
    #[serde(default)]
    pub(in crate::sandbox) group_id: Option<String>,
    pub(in crate::sandbox) project_id: String,
    pub(in crate::sandbox) role_id: String,
}

/// That a user is in a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Membership {
    pub(in crate::sandbox) group_id: String,
    pub(in crate::sandbox) user_id: String,
    /// `None` is for good.
    #[serde(default)]
    pub(in crate::sandbox) vouched: Option<Vouched>,
}

/// Who said so, and when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Vouched {
    pub(in crate::sandbox) provider: String,
    pub(in crate::sandbox) at: DateTime<Utc>,
}

/// What is said of an identity provider, of a protocol of one, or of a mapping.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Vouching {
    pub(in crate::sandbox) path: String,
    pub(in crate::sandbox) said: JsonMap,
}

/// By whose word a user is let in, and into which groups for as long as the token lives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Federated {
    pub(in crate::sandbox) provider: String,
    pub(in crate::sandbox) protocol: String,
    pub(in crate::sandbox) group_ids: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Trust {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) trustor_user_id: String,
    pub(in crate::sandbox) trustee_user_id: String,
    pub(in crate::sandbox) project_id: String,
    pub(in crate::sandbox) impersonation: bool,
    pub(in crate::sandbox) role_ids: Vec<String>,
    pub(in crate::sandbox) expires_at: Option<String>,
    pub(in crate::sandbox) remaining_uses: Option<u64>,
    pub(in crate::sandbox) allow_redelegation: bool,
}

/// A user's leave for a program to act for him in one project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct AppCredential {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) secret: String,
    pub(in crate::sandbox) user_id: String,
    pub(in crate::sandbox) project_id: String,
    pub(in crate::sandbox) role_ids: Vec<String>,
    /// What its maker said of it.
    pub(in crate::sandbox) said: JsonMap,
}

/// A secret of a user's in a project: a key to sign requests with, where it is one of EC2's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Credential {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) kind: String,
    /// JSON text.
    pub(in crate::sandbox) blob: String,
    pub(in crate::sandbox) user_id: String,
    pub(in crate::sandbox) project_id: Option<String>,
}

/// A token that was given out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Token {
    pub(in crate::sandbox) user_id: String,
    /// `None` is unscoped, a domain's or the system's.
    pub(in crate::sandbox) project_id: Option<String>,
    #[serde(default)]
    pub(in crate::sandbox) domain_id: Option<String>,
    #[serde(default)]
    pub(in crate::sandbox) is_system: bool,
    pub(in crate::sandbox) role_ids: Vec<String>,
    pub(in crate::sandbox) methods: Vec<String>,
    pub(in crate::sandbox) audit_ids: Vec<String>,
    pub(in crate::sandbox) trust_id: Option<String>,
    #[serde(default)]
    pub(in crate::sandbox) app_credential_id: Option<String>,
    #[serde(default)]
    pub(in crate::sandbox) federated: Option<Federated>,
    pub(in crate::sandbox) issued_at: DateTime<Utc>,
    pub(in crate::sandbox) expires_at: DateTime<Utc>,
}

impl Keystone {
    pub(in crate::sandbox) fn new() -> Self {
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
            vouching: Table::new("vouching"),
        }
    }

    pub(in crate::sandbox) fn is_empty(&self) -> bool {
        self.users.len() == 0
    }

    pub(in crate::sandbox) fn tables(&mut self) -> [&mut dyn Rows; 11] {
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
            &mut self.vouching,
        ]
    }

    /// The roles that a user has on a project, be it in a group.
    pub(in crate::sandbox) fn role_ids(&self, user_id: &str, project_id: &str) -> Vec<String> {
        self.role_ids_with(user_id, &[], project_id)
    }

    /// The same for a user whom his token puts into more groups.
    pub(in crate::sandbox) fn role_ids_with(
        &self,
        user_id: &str,
        more: &[String],
        project_id: &str,
    ) -> Vec<String> {
        let is_theirs = |grant: &Grant| match &grant.group_id {
            Some(group) => {
                more.contains(group) || self.memberships.contains(&format!("{group} {user_id}"))
            }
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
    pub(in crate::sandbox) fn with_implied(&self, mut role_ids: Vec<String>) -> Vec<String> {
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
