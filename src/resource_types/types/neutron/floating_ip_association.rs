//! OS::Neutron::FloatingIPAssociation: points a floating IP at a port; the tie is a field of the
//! floating IP, so that setting it again does no harm.

use serde_json::{Value, json};

use super::text;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::declared::{Beating, Declared, Special, done, next};
use crate::resource_types::driver::{Beat, DriverError, Learned, Subject, Work};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct FloatingIpAssociation;

/// Sets fields of a floating IP.
fn put(floating_ip: &str, fields: Value) -> Request {
    let path = format!("/v2.0/floatingips/{}", path_segment(floating_ip));
    Request::put(Service::Network, path).json(json!({ "floatingip": fields }))
}

fn associate(properties: &JsonMap, nulls: bool) -> Request {
    let mut fields = JsonMap::new();
    for name in ["port_id", "fixed_ip_address"] {
        let value = properties.get(name).cloned().unwrap_or_default();
        if nulls || !value.is_null() {
            fields.insert(name.into(), value);
        }
    }
    put(text(properties, "floatingip_id").unwrap_or_default(), fields.into())
}

stages! {
    /// What an association goes through.
    enum Stage {
        Create = "create" Changes,
        Release = "release" Changes,
        Update = "update" Changes,
        Delete = "delete" Changes,
        Check = "check" Looks,
    }
}

impl Special for FloatingIpAssociation {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create => Stage::Create.step(),
            Work::Update { changed, .. } if changed.contains("floatingip_id") => {
                Stage::Release.step()
            }
            Work::Update { .. } => Stage::Update.step(),
            Work::Delete => Stage::Delete.step(),
            Work::Act(_) => Stage::Check.step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        match Stage::of(step) {
            Some(Stage::Create) => {
                cloud.send(associate(&subject.properties, false))?;
                let id = subject.resource_id.map(|id| id.to_string());
                let physical_id = Some(id.unwrap_or_else(|| subject.physical_name.clone()));
                Ok(Beat::Done { learned: Learned { physical_id, ..Learned::default() } })
            }
            Some(Stage::Release) => {
                if let Work::Update { before, .. } = work
                    && let Some(former) = text(before, "floatingip_id")
                {
                    release(beating, former)?;
                }
                Ok(next(Learned::default(), Stage::Update.step()))
            }
            Some(Stage::Update) => {
                cloud.send(associate(&subject.properties, true))?;
                Ok(done())
            }
            Some(Stage::Delete) => {
                // Without a physical id the association may have been made and its answer lost.
                if let Some(id) = text(&subject.properties, "floatingip_id") {
                    release(beating, id)?;
                }
                Ok(done())
            }
            Some(Stage::Check) => Ok(done()),
            _ => declared.plain_beat(beating),
        }
    }
}

/// Frees the floating IP; one that is gone is free.
fn release(beating: &Beating<'_>, floating_ip: &str) -> Result<(), DriverError> {
    match beating.cloud.send(put(floating_ip, json!({ "port_id": null }))) {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
