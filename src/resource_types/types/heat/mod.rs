//! OS::Heat::*: types of Heat's own, which need no cloud.

mod checks;
pub(super) mod cw_lite_alarm;
pub(super) mod delay;
pub(super) mod deployed_server;
pub(super) mod ha_restarter;
pub(crate) mod multipart;
pub(super) mod none;
pub(super) mod random_string;
pub(super) mod scaling_policy;
pub(crate) mod signal_queue;
pub(super) mod software_config;
pub(super) mod software_deployment;
pub(crate) mod stack;
pub(super) mod swift_signal;
pub(crate) mod temp_url;
pub(super) mod template_resource;
pub(super) mod test_resource;
pub(super) mod value;
mod wait;
pub(super) mod wait_condition;
pub(super) mod wait_handle;

pub(in crate::resource_types) use checks::{check, schema};
pub(in crate::resource_types) use template_resource::{TEMPLATE_RESOURCE, TEMPLATE_RESOURCE_FILE};

use crate::resource_types::job::{Learned, LocalOutcome, Subject};

/// The outcome of a creation that gives the resource its physical name as its id.
fn named(subject: &Subject) -> LocalOutcome {
    let physical_id = Some(subject.physical_name.clone());
    LocalOutcome { learned: Learned { physical_id, ..Learned::default() }, ..Default::default() }
}
