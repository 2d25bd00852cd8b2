//! What happens in a project's stream: names are taken and given back, trusts are granted, and
//! webhooks made.

use serde::{Deserialize, Serialize};

use crate::model::{CommandId, Selection, StackId, StackName, WebhookId};

events! {
    /// The facts of a project.
    ProjectEvent {
        NameReserved = 1,
        NameReleased = 1,
        TrustGranted = 1,
        TrustReturned = 1,
        WebhookMade = 1,
        WebhookDeleted = 1,
        KeyClaimed = 1,
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
    /// Keystone's trust id, sealed. Where the user's password does a trust's work, that, under a key
    /// of its own.
    pub trust_id: serde_json::Value,
    pub roles: Vec<String>,
}

/// A trust was given back to Keystone, or the key of the password that did its work destroyed: the
/// project's last stack is gone, or a newer trust has taken its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustReturned {
    pub user_id: String,
    /// Keystone's trust id, sealed, as it was granted.
    pub trust_id: serde_json::Value,
}

/// Somebody wants to have events told, from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookMade {
    pub id: WebhookId,
    /// Where that is, without what may be a secret.
    pub origin: String,
    /// The whole URL and the key that what is told is signed with, sealed.
    pub target: serde_json::Value,
    pub selection: Selection,
}

/// Nothing more is told there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebhookDeleted {
    pub id: WebhookId,
}

/// A request with an `Idempotency-Key` is about to be carried out. What comes of it is in the
/// stack's stream; the same request again gets the same answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyClaimed {
    pub key: String,
    /// A digest of what is asked for, made with the project's key.
    pub request: String,
    /// The stack that is created or changed.
    pub stack_id: StackId,
    /// By which the stack knows it again.
    pub command: CommandId,
}
