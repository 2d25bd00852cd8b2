//! One incarnation of a resource: the single writer of its stream.

mod command;
mod decide;
mod fold;
mod recover;
mod report;
mod state;
#[cfg(test)]
mod story;
mod subject;

pub use command::{
    Act, Adjust, Adjusted, Adopted, Answered, BeatCall, CleanUp, Converge, Nesting, Outcome,
    Report, Resize, ResourceCommand, ResourceEffect, Signal, StackIdentity,
};
pub use state::{Call, Knowledge, Resource};
