//! Types of the workflow service.

pub(super) mod cron_trigger;
