//! OS::Keystone::Project: with it goes the security group that Neutron made for it, which nobody
//! else could delete afterwards.

use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Beat;
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::Stages;

pub(crate) struct Project;

impl ResourceType for Project {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if PlainStage::of(beating.step) == Some(PlainStage::Delete)
            && let Some(id) = &beating.subject.physical_id
        {
            delete_default_group(beating.cloud, id)?;
        }
        declared.plain_beat(beating)
    }
}

fn delete_default_group(cloud: &Asks<'_>, project: &str) -> Result<(), Failure> {
    let request = Request::get(Service::Network, "/v2.0/security-groups")
        .query("project_id", project)
        .query("name", "default");
    let listed = match cloud.send(request) {
        Ok(response) => response.json()?,
        // A cloud without networks has no such groups.
        Err(error) if !error.is_transient() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for group in listed["security_groups"].as_array().into_iter().flatten() {
        let path = path_segment(group["id"].as_str().unwrap_or_default());
        let path = format!("/v2.0/security-groups/{path}");
        match cloud.send(Request::delete(Service::Network, path)) {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
