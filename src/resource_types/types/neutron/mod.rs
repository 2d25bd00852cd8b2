//! OS::Neutron::*: what these types do otherwise than their files say.

pub(super) mod firewall_rule;
pub(super) mod floating_ip_association;
pub(super) mod net;
pub(super) mod network_gateway;
pub(super) mod port;
pub(super) mod router;
pub(super) mod router_interface;
pub(super) mod security_group;
pub(super) mod subnet;

use serde_json::{Value, json};

use crate::model::JsonMap;

/// A property's text, when it has one.
fn text<'a>(properties: &'a JsonMap, name: &str) -> Option<&'a str> {
    properties.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Neutron's fixed addresses as the properties of ports and gateways have them.
fn fixed_ips(addresses: &Value) -> Value {
    let addresses = addresses.as_array().into_iter().flatten();
    let of = |address: &Value| json!({ "subnet": address["subnet_id"], "ip_address": address["ip_address"] });
    addresses.map(of).collect()
}
