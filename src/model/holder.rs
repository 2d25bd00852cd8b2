//! Who has an object of the cloud.

use super::{ProjectId, ResourceId, StackId};

/// A resource that the log says to have an object of the cloud, or to have left it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub resource: ResourceId,
    pub stack: StackId,
    pub project: ProjectId,
    /// As the template says it.
    pub type_name: String,
    /// The resource is deleted; its object stays in the cloud.
    pub is_gone: bool,
}
