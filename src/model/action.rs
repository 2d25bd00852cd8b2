//! Heat's actions and statuses, written as its API writes them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a stack or a resource does or did last.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Action {
    /// Named by a template, nothing done yet (resources alone).
    #[default]
    Init,
    Create,
    Delete,
    Update,
    Rollback,
    Suspend,
    Resume,
    Adopt,
    Snapshot,
    Check,
    /// Of a stack to one of its snapshots (stacks alone).
    Restore,
}

/// How far the action is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    InProgress,
    #[default]
    Complete,
    Failed,
}

impl Action {
    /// Whether it changes what there is, and is no look or pause.
    pub fn changes(self) -> bool {
        !matches!(self, Action::Suspend | Action::Resume | Action::Check | Action::Snapshot)
    }

    /// The word in the API: `CREATE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Init => "INIT",
            Action::Create => "CREATE",
            Action::Delete => "DELETE",
            Action::Update => "UPDATE",
            Action::Rollback => "ROLLBACK",
            Action::Suspend => "SUSPEND",
            Action::Resume => "RESUME",
            Action::Adopt => "ADOPT",
            Action::Snapshot => "SNAPSHOT",
            Action::Check => "CHECK",
            Action::Restore => "RESTORE",
        }
    }
}

impl Status {
    /// The word in the API: `IN_PROGRESS`.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::InProgress => "IN_PROGRESS",
            Status::Complete => "COMPLETE",
            Status::Failed => "FAILED",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
