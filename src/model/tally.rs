//! How much there is of what is limited.

use super::{ProjectId, StackId};

/// What the views know of it when a process starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Living stacks: the outermost one of each, itself, and how many resources it has.
    pub stacks: Vec<(StackId, StackId, usize)>,
    /// Software configurations of each project.
    pub configs: Vec<(ProjectId, usize)>,
    /// Software deployments of each project.
    pub deployments: Vec<(ProjectId, usize)>,
}
