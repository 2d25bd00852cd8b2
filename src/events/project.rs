//! What happens in a project's stream: names are taken and given back.

use serde::{Deserialize, Serialize};

use crate::model::{StackId, StackName};

events! {
    /// The facts of a project.
    ProjectEvent {
        NameReserved = 1,
        NameReleased = 1,
        TrustGranted = 1,
        TrustReturned = 1,
    }
}

/// A name is taken by a stack, before the stack itself is created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NameReserved {
    pub name: StackName,
    pub stack_id: StackId,
}

/// The stack is deleted, or was never created; its name is free again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NameReleased {
    pub name: StackName,
    pub stack_id: StackId,
}

/// A user's trust in Hearth's service user for this project, with just these roles, used when the
/// user's token is gone. A newer one of the same user with the same roles takes its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustGranted {
    pub user_id: String,
    /// Keystone's trust id, sealed.
    pub trust_id: serde_json::Value,
    pub roles: Vec<String>,
}

/// A trust was given back to Keystone: the project's last stack is gone, or a newer trust has taken
/// its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustReturned {
    pub user_id: String,
    /// Keystone's trust id, sealed, as it was granted.
    pub trust_id: serde_json::Value,
}
