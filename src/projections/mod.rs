//! Read models: what the log says, arranged for the questions that the API asks.
//!
//! A runner follows the log and writes `views.db`, a batch and its checkpoint in one transaction.
//! The file is disposable: missing, of another schema, of another log or damaged, it is filled
//! anew. No secret enters it: sealed leaves stay sealed.

mod columns;
mod event_list;
mod outputs;
mod purged;
mod resources;
mod revisions;
mod runner;
mod snapshots;
mod software;
mod stack_query;
mod stacks;
mod store;
mod tally;
mod told;
mod views;
mod written;

pub use event_list::{EventQuery, EventRow, EventSort, event_id};
pub use outputs::OutputShown;
pub use resources::ResourceRow;
pub use revisions::RevisionRow;
pub use snapshots::SnapshotRow;
pub use software::{ConfigQuery, ConfigRow, DeploymentRow};
pub use stack_query::{StackField, StackQuery, StackSort, TagFilter};
pub use stacks::{StackRow, StackShown, Within};
pub use store::views_stand_at;
pub use told::{EventDue, StackThen};
pub use views::{ViewError, Views};
