//! Custom constraints on properties and parameters, looked up by name.

mod cron;
pub(crate) mod custom;
mod local;

pub(super) use local::time;
