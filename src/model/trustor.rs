//! In whose name work goes on once the request that asked for it is over.

use serde::{Deserialize, Serialize};

use super::caller::Caller;

/// By what Hearth goes on for a user when the token of his request is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeferredAuth {
    /// A trust, which it has Keystone make with the token.
    #[default]
    Trusts,
    /// The name and password that come with the request.
    Password,
}

/// A user, and those of his roles that he delegates for the work: what a trust is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Trustor {
    pub user_id: String,
    /// In the order of their names. None: the work is on record from before roles were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
}

impl Trustor {
    /// A user with roles.
    pub fn of(user_id: &str, mut roles: Vec<String>) -> Self {
        roles.sort_unstable();
        roles.dedup();
        Self { user_id: user_id.to_owned(), roles: Some(roles) }
    }

    /// Whether a caller may have work done in this name: it is himself, with no role that his token
    /// does not have.
    pub fn is_within(&self, caller: &Caller) -> bool {
        let held = |role: &String| caller.roles.contains(role);
        self.user_id == caller.user_id && self.roles.as_ref().is_some_and(|it| it.iter().all(held))
    }
}
