//! OS::Heat::*: types of Heat's own, which need no cloud.

pub(super) mod access_policy;
mod checks;
pub(super) mod cw_lite_alarm;
pub(super) mod delay;
pub(super) mod deployed_server;
pub(super) mod ha_restarter;
pub(super) mod random_string;
pub(super) mod scaling_policy;
pub(crate) mod signal_queue;
pub(super) mod software_deployment;
pub(in crate::resource_types) mod swift_signal;
pub(crate) mod temp_url;
pub(super) mod template_resource;
pub(super) mod test_resource;
pub(in crate::resource_types) mod wait;
pub(in crate::resource_types) mod wait_handle;

pub(in crate::resource_types) use checks::check;
pub(in crate::resource_types) use template_resource::{TEMPLATE_RESOURCE, TEMPLATE_RESOURCE_FILE};

use crate::resource_types::job::{Learned, LocalOutcome, Subject};

/// The outcome of a creation that gives the resource its physical name as its id.
fn named(subject: &Subject) -> LocalOutcome {
    let physical_id = Some(subject.physical_name.clone());
    LocalOutcome { learned: Learned { physical_id, ..Learned::default() }, ..Default::default() }
}
