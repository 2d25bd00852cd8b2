//! OS::Neutron::Port: addresses that are explicitly none, names of security groups, and a policy
//! that replaces the port with every update.

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::text;
use crate::model::JsonMap;
use crate::openstack::{Request, Service, Session, path_segment};
use crate::resource_types::declared::{Declared, Purpose, Special};
use crate::resource_types::driver::{DriverError, Subject, UpdateKind};

pub(crate) struct Port;

#[async_trait]
impl Special for Port {
    fn body(&self, purpose: Purpose, subject: &Subject, body: &mut JsonMap) {
        if subject.properties.get("no_fixed_ips") == Some(&Value::Bool(true)) {
            body.insert("fixed_ips".into(), json!([]));
        }
        if let Some(pairs @ Value::Null) = body.get_mut("allowed_address_pairs") {
            *pairs = json!([]);
        }
        if purpose == Purpose::Update && body.get("fixed_ips") == Some(&Value::Null) {
            body.shift_remove("fixed_ips");
        }
    }

    fn on_change(
        &self,
        declared: &Declared,
        subject: &Subject,
        _before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> UpdateKind {
        if text(&subject.properties, "replacement_policy") == Some("REPLACE_ALWAYS") {
            return declared.replaced_by_class(subject);
        }
        declared.plain_on_change(subject, changed)
    }

    /// The device is whoever uses the port, unless the template says it.
    fn observes(&self, subject: &Subject, name: &str, update_allowed: bool) -> bool {
        let by_default =
            matches!(name, "device_id" | "device_owner") && !subject.properties.contains_key(name);
        update_allowed && !by_default
    }

    async fn live(
        &self,
        declared: &Declared,
        _cloud: &Session,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, DriverError> {
        if name != "fixed_ips" {
            return Ok(declared.plain_live(object, name, wanted));
        }
        let addresses = object["fixed_ips"].as_array().into_iter().flatten();
        let of = |address: &Value| json!({ "subnet": address["subnet_id"], "ip_address": address["ip_address"] });
        Ok(Some(addresses.map(of).collect()))
    }

    async fn attribute(
        &self,
        _declared: &Declared,
        cloud: &Session,
        _subject: &Subject,
        object: &Value,
        name: &str,
    ) -> Result<Option<Value>, DriverError> {
        match name {
            "network" => {
                let id = object["network_id"].as_str().unwrap_or_default();
                Ok(Some(shown(cloud, "/v2.0/networks", id, "network").await?))
            }
            "subnets" => {
                let mut subnets = Vec::new();
                for address in object["fixed_ips"].as_array().into_iter().flatten() {
                    if let Some(id) = address["subnet_id"].as_str() {
                        subnets.push(shown(cloud, "/v2.0/subnets", id, "subnet").await?);
                    }
                }
                Ok(Some(subnets.into()))
            }
            _ => Ok(None),
        }
    }
}

async fn shown(cloud: &Session, path: &str, id: &str, wrap: &str) -> Result<Value, DriverError> {
    let request = Request::get(Service::Network, format!("{path}/{}", path_segment(id)));
    Ok(cloud.send(request).await?.json()?[wrap].take())
}
