//! One incarnation of a resource: the single writer of its stream.

mod command;
mod decide;
mod fold;
mod phase;
mod recover;
mod report;
mod rerun;
mod state;
#[cfg(test)]
pub(super) mod story;
mod subject;
mod verdict;

pub use command::{
    Act, Adjust, Adjusted, Adopted, Answered, BeatCall, CleanUp, Converge, Due, Nesting, Outcome,
    Report, ResourceCommand, ResourceEffect, Signal, StackIdentity,
};
pub use phase::{AtWork, Call, Phase};
pub use rerun::Replayed;
pub use state::{Knowledge, Resource, Working};
pub(in crate::actors) use verdict::{Terms, Verdict, settings_changed};
