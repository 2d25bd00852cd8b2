//! Alarms, and the metric data that they watch: a small machine for each alarm, and the keeper that
//! runs a project's machines one command at a time, looks when a period is over, and signals those
//! who are to be told.

mod alarm;
mod data;
mod keeper;
mod kept;
mod telling;

pub use keeper::AlarmKeeper;

pub(super) use kept::Alarms;
