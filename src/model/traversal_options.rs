//! What a traversal does in another way than usual.

use serde::{Deserialize, Serialize};

/// The options of a traversal: whoever asks for one sets them, and they are handed on as a whole.
/// In the log they stand among the fields of `TraversalStarted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraversalOptions {
    /// Resources are compared with what there is in the cloud, and not with what is on record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observes: bool,
    /// Nested stacks that a create made are updated even where nothing changes for them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revisits: bool,
    /// What is deleted stays in the cloud: the stack is abandoned, or was not yet adopted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retains: bool,
    /// What the update settles that is otherwise in the cloud, where it was asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<Settling>,
}

/// What is done about what differs in the cloud: it is brought back (`repair`), or made the
/// definition (`accept`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Settling {
    Repair,
    Accept,
}
