//! Read models: what the log says, arranged for the questions that the API asks.
//!
//! A runner follows the log and writes `views.db`, a batch and its checkpoint in one transaction.
//! The file is disposable: missing, of another schema, of another log or damaged, it is filled
//! anew. No secret enters it: sealed leaves stay sealed.

mod alarms;
mod batch;
mod columns;
mod differences;
mod error;
mod event_list;
mod known;
mod landmarks;
mod metrics;
mod outputs;
mod owners;
mod past;
mod purged;
mod refold;
mod resources;
mod revisions;
mod runner;
mod scope;
mod shown;
mod snapshots;
mod software;
mod stack_query;
mod stacks;
mod store;
mod tally;
mod told;
mod views;
mod webhooks;
mod written;

pub use alarms::{AlarmChange, AlarmRow, HistoryQuery};
pub use differences::{DIFFERENCES_MAX, differences};
pub use error::ViewError;
pub use event_list::{EventQuery, EventRow, EventSort, STACK_TYPE, event_id};
pub use landmarks::{Landmark, Search, Told};
pub use metrics::{MetricQuery, MetricRow, ValueRow};
pub use outputs::OutputShown;
pub use refold::{Refolded, refold};
pub use resources::ResourceRow;
pub use revisions::RevisionRow;
pub use scope::TOLD_KINDS;
pub use shown::event_shown;
pub use snapshots::SnapshotRow;
pub use software::{ConfigQuery, ConfigRow, DeploymentRow};
pub use stack_query::{StackField, StackQuery, StackSort, TagFilter};
pub use stacks::{StackRow, StackShown, Within};
pub use store::views_stand_at;
pub use told::{EventDue, StackThen};
pub use views::Views;
pub use webhooks::WebhookRow;
