//! Which events somebody wants of the log. Empty filters take all.

use serde::{Deserialize, Serialize};

use super::{ProjectId, StackId};

/// Which events are wanted; a filter that is empty takes all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// `None` is every project.
    pub project: Option<ProjectId>,
    /// Events of these stacks.
    pub stacks: Vec<NamedStack>,
    /// All that is within them is taken, too.
    pub with_nested: bool,
    pub resources: Vec<String>,
    /// Types of events.
    pub types: Vec<String>,
    pub actions: Vec<String>,
    /// `COMPLETE`, or the action with it: `CREATE_COMPLETE`.
    pub statuses: Vec<String>,
    /// Users, by name or id.
    pub callers: Vec<String>,
}

/// A stack, and the outermost one of its tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedStack {
    pub id: StackId,
    pub root: StackId,
}
