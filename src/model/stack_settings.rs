//! How a stack is handled, beside its definition.

use serde::{Deserialize, Serialize};

/// The settings of a stack. In the log they stand among the fields of `RevisionAccepted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackSettings {
    pub tags: Vec<String>,
    /// How long an action may take, where that is not what the operator says.
    pub timeout_mins: Option<u32>,
    /// What fails stays as it is, and does not go back.
    pub disable_rollback: bool,
}

impl Default for StackSettings {
    /// As in Heat, nothing goes back unless that is asked for.
    fn default() -> Self {
        Self { tags: Vec::new(), timeout_mins: None, disable_rollback: true }
    }
}
