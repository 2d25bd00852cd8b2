//! Types of the workflow service.

pub(super) mod cron_trigger;
mod execution;
pub(super) mod external_resource;
pub(super) mod workflow;
