//! What a resource is: property and attribute schemas, and the drivers that turn its actions into
//! cloud calls. Most types are data, run by one interpreter (`declared`).

mod advice;
pub(crate) mod agent;
pub mod asks;
#[cfg(test)]
#[path = "../../tests/it/support/case.rs"]
pub(crate) mod case;
pub mod child;
pub mod constraints;
mod convert;
pub mod declared;
mod early;
pub(crate) mod environment_dir;
pub mod failure;
mod finders;
mod groups;
mod implicit;
pub mod job;
pub(crate) mod kept;
mod looked;
mod mime;
mod nested;
mod plugins;
mod presigned;
pub(crate) mod python;
mod reading;
pub mod recorded;
pub mod registry;
mod remote;
pub mod resource_type;
mod rules;
pub mod schema;
mod show;
pub mod signal_entries;
pub mod software;
pub mod stack_user;
pub(crate) mod stage;
pub mod type_files;
mod types;
mod unusable;
pub mod user_domain;
mod validate;
mod within;

pub use declared::reader::Mistake;
pub use declared::{Declaration, Declared};
pub use failure::{Failure, Waiter};
pub(crate) use groups::cooldown;
pub use groups::{Adjustment, CapacityKind};
pub use job::{
    Attempt, Beat, ChildSignaled, Learned, LocalOutcome, ObservedSignals, Reality, Said,
    SignalOutcome, Signaled, Signals, Subject, UpdateKind, Work,
};
#[doc(hidden)]
pub use mime::rewritten;
pub use nested::TreeBounds;
pub(crate) use nested::{Budget, too_many_resources};
pub use plugins::Reread;
pub use reading::Problem;
pub use registry::{PluginChecks, Registry};
pub use show::{TemplateKind, TypeFilter};
pub use signal_entries::SignalEntries;
pub use unusable::RegistryError;
pub use validate::CloudCheck;
