//! A stack: the single writer of its stream. It holds the revisions and runs one traversal at a
//! time towards the newest; progress is derived from its resources, never written twice.

mod command;
mod decide;
mod known;
mod recover;
mod state;
mod values;

pub use command::{Create, Revise, StackCommand, StackEffect};
pub(super) use decide::refuse_resting;
pub use known::Known;
pub use state::{Knowledge, Stack, Traversal};
