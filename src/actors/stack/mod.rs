//! A stack: the single writer of its stream. It holds the revisions and runs one traversal at a
//! time towards the newest; progress is derived from its resources, never written twice.

mod command;
mod decide;
mod known;
mod recover;
mod reports;
mod seen;
mod state;
#[cfg(test)]
pub(super) mod story;
mod values;
mod view;

pub use command::{Create, Revise, StackCommand, StackEffect, TakeSnapshot};
pub(super) use decide::{refuse_going_back, refuse_resting, snapshot_not_found};
pub use known::Known;
pub use seen::ChildEnd;
pub use state::{Knowledge, Snapshot, Stack, Traversal, Working};
pub(super) use values::{SeenNow, attribute_of};
pub use view::StackView;
