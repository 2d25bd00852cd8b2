//! Groups: resources whose members are the resources of a stack that the group makes of its
//! properties. Here is decided who the members are, and in which batches they change; the stack
//! itself is carried out as any nested stack.

mod batches;
mod capacity;
mod chain;
mod checks;
pub(crate) mod cooldown;
mod deployments;
mod instance;
mod member_stack;
mod members;
mod nested;
mod outputs;
mod pace;
mod resource_group;
mod scaling_group;
mod validate;

pub use capacity::{Adjustment, Kind as CapacityKind};
pub(super) use checks::{check, check_before_schema};
pub(super) use instance::{from_instance, names_instance};
pub(super) use nested::{DeploymentGroup, ResourceChain, ResourceGroup, ScalingGroup};
pub(super) use scaling_group::Scaled;
