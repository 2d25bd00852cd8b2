//! OS::Blazar::Lease: each kind of reservation has fields of its own, and there must be a host.

use serde_json::Value;

use crate::model::{JsonMap, Refusal};
use crate::openstack::{Request, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::job::Subject;
use crate::resource_types::resource_type::{Purpose, ResourceType};

pub(in crate::resource_types::types) struct Lease;

/// What is said of a reservation of hosts, and of one of instances; what is unset is null.
const HOSTS: [&str; 6] =
    ["resource_type", "min", "max", "hypervisor_properties", "resource_properties", "before_end"];
const INSTANCES: [&str; 7] =
    ["resource_type", "resource_properties", "amount", "vcpus", "memory_mb", "disk_gb", "affinity"];

impl ResourceType for Lease {
    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        body.entry("before_end_date".to_owned()).or_insert(Value::Null);
        let Some(Value::Array(reservations)) = body.get_mut("reservations") else { return };
        for reservation in reservations {
            let names: &[&str] = match reservation["resource_type"].as_str() {
                Some("physical:host") => &HOSTS,
                _ => &INSTANCES,
            };
            let said = |name: &&str| reservation.get(name).cloned().unwrap_or_default();
            let fields = names.iter().map(|name| ((*name).to_owned(), said(name)));
            *reservation = fields.collect::<JsonMap>().into();
        }
    }

    fn asked_of_cloud(&self, _properties: &JsonMap) -> Option<JsonMap> {
        Some(JsonMap::new())
    }

    fn validate_in_cloud(&self, cloud: &Asks<'_>, _asked: &JsonMap) -> Result<(), Refusal> {
        let hosts = Request::get(Service::of_type("reservation"), "/v1/os-hosts");
        let hosts = match cloud.send(hosts).and_then(|answer| answer.json()) {
            Ok(hosts) => hosts,
            Err(error) if error.is_transient() => {
                return Err(Refusal::unavailable(error.to_string()));
            }
            Err(error) => return Err(Refusal::validation(error.to_string())),
        };
        match hosts["hosts"].as_array().is_some_and(|hosts| !hosts.is_empty()) {
            true => Ok(()),
            false => Err(Refusal::validation(
                "Couldn't find any host in Blazar. You must create a host before creating a \
                 lease."
                    .to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reservation_says_what_its_kind_has() {
        let reservations = json!([
            { "resource_type": "physical:host", "min": 1, "vcpus": 2, "before_end": "default" },
            { "resource_type": "virtual:instance", "vcpus": 2, "before_end": "default" },
        ]);
        let mut body = JsonMap::from_iter([("reservations".to_owned(), reservations)]);
        Lease.body(Purpose::Create, &Subject::default(), &mut body);
        let wanted = json!([
            {
                "resource_type": "physical:host", "min": 1, "max": null,
                "hypervisor_properties": null, "resource_properties": null,
                "before_end": "default",
            },
            {
                "resource_type": "virtual:instance", "resource_properties": null, "amount": null,
                "vcpus": 2, "memory_mb": null, "disk_gb": null, "affinity": null,
            },
        ]);
        assert_eq!(body["reservations"], wanted);
    }
}
