//! AWS::EC2::NetworkInterface: a port in the network of its subnet.

use serde_json::{Value, json};

use super::super::text;
use super::router;
use crate::model::JsonMap;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::declared::{Beating, Declared, PlainStage, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Beat;
use crate::resource_types::resource_type::{Purpose, ResourceType};
use crate::resource_types::stage::Stages;

pub(crate) struct NetworkInterface;

/// The group that a port without any said to it is in.
const DEFAULT_GROUP: &str = "default";

impl ResourceType for NetworkInterface {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let groups = subject.properties.get("GroupSet").filter(|groups| !groups.is_null());
        match PlainStage::of(step) {
            Some(PlainStage::Create) => create(declared, beating),
            Some(PlainStage::Update) if groups.is_none() => {
                let groups = json!([DEFAULT_GROUP]);
                let properties = JsonMap::from_iter([("GroupSet".to_owned(), groups)]);
                let properties = declared.declaration().resolved(cloud, properties)?;
                let body = declared.body(Purpose::Update, subject, properties);
                let id = path_segment(subject.physical_id.as_deref().unwrap_or_default());
                let path = format!("/v2.0/ports/{id}");
                cloud.send(Request::put(Service::Network, path).json(body))?;
                Ok(done())
            }
            _ => declared.plain_beat(beating),
        }
    }
}

fn create(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    if beating.is_unanswered()
        && let Some(made) = declared.find(cloud, subject)?
    {
        return declared.created(beating, &made);
    }
    let given = declared.properties(&subject.properties);
    let mut properties = declared.declaration().resolved(cloud, given)?;
    let subnet = text(&subject.properties, "SubnetId").unwrap_or_default();
    let mut address = json!({ "subnet_id": subnet });
    if let Some(ip) = text(&subject.properties, "PrivateIpAddress") {
        address["ip_address"] = ip.into();
    }
    properties.retain(|_, value| !value.is_null());
    properties.insert("admin_state_up".to_owned(), Value::Bool(true));
    properties.insert("network_id".to_owned(), router::network_of(cloud, subnet)?.into());
    properties.insert("fixed_ips".to_owned(), json!([address]));
    let body = declared.body(Purpose::Create, subject, properties);
    let made = cloud.send(Request::post(Service::Network, "/v2.0/ports").json(body))?.json()?;
    declared.created(beating, &made["port"])
}
