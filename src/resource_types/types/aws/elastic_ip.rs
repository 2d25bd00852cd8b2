//! AWS::EC2::EIP: a floating IP of the only network outside, for the first interface of a server.

use serde_json::Value;

use super::text;
use crate::events::resource::Step;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};
use crate::resource_types::types::nova::floating::{first_interface, made_outside, put, release};

pub(crate) struct ElasticIp;

/// Resource data: the address, by which others refer to it.
const ADDRESS: &str = "address";

stages! {
    /// What an address does besides being there.
    enum Stage {
        Associate = "associate" Changes,
        Release = "release" Changes,
    }
}

impl ResourceType for ElasticIp {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        let has_instance = text(&subject.properties, "InstanceId").is_some();
        match work {
            Work::Update { .. } if has_instance => Stage::Associate.step(),
            Work::Update { .. } => Stage::Release.step(),
            Work::Delete if has_instance && subject.physical_id.is_some() => Stage::Release.step(),
            Work::Create | Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let instance = text(&subject.properties, "InstanceId");
        match Stage::of(step) {
            Some(Stage::Associate) => {
                let id = subject.physical_id.as_deref().unwrap_or_default();
                put(cloud, id, first_interface(cloud, instance.unwrap_or_default())?)?;
                Ok(done())
            }
            Some(Stage::Release) => {
                release(cloud, subject.physical_id.as_deref())?;
                Ok(match work {
                    Work::Delete => next(Learned::default(), PlainStage::Delete.step()),
                    Work::Create | Work::Update { .. } | Work::Act(_) => done(),
                })
            }
            None if PlainStage::of(step) == Some(PlainStage::Create) => {
                let made = made_outside(declared, beating, "floating_network_id")?;
                let address = made["floating_ip_address"].clone();
                Ok(match declared.created(beating, &made)? {
                    Beat::Done { mut learned } => {
                        learned.data.insert(ADDRESS.to_owned(), address);
                        match instance {
                            Some(_) => next(learned, Stage::Associate.step()),
                            None => Beat::Done { learned },
                        }
                    }
                    other => other,
                })
            }
            None => declared.plain_beat(beating),
        }
    }

    fn reference(&self, _declared: &Declared, subject: &Subject) -> Value {
        let name = || subject.name.as_ref().map(ToString::to_string).unwrap_or_default().into();
        subject
            .data
            .get(ADDRESS)
            .filter(|address| address.is_string())
            .cloned()
            .unwrap_or_else(name)
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let id = || at.subject.physical_id.as_deref().into();
        Ok((name == "AllocationId").then(id))
    }

    /// The server whose port the address has.
    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        _wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let port = match object["port_id"].as_str() {
            _ if name != "InstanceId" => return Ok(None),
            None => return Ok(Some(Value::Null)),
            Some(port) => format!("/v2.0/ports/{}", path_segment(port)),
        };
        let shown = at.cloud.send(Request::get(Service::Network, port))?.json()?;
        Ok(Some(shown["port"]["device_id"].clone()))
    }
}
