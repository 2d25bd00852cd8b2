//! Who asks: the identity behind a token, as it is kept with every event.

use serde::{Deserialize, Serialize};

use super::id::ProjectId;

/// The identity that Keystone gives for a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub user_id: String,
    pub user_name: String,
    pub project_id: ProjectId,
    pub project_name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

impl Caller {
    /// An administrator of the cloud: Heat's `context_is_admin` default rule.
    pub fn is_admin(&self) -> bool {
        self.roles.iter().any(|role| role == "admin")
    }
}
