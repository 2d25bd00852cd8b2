//! OS::Neutron::SecurityGroupRule: ports in order.

use serde_json::Value;

use super::text;
use crate::model::{JsonMap, Refusal};
use crate::resource_types::declared::Special;

pub(crate) struct SecurityGroupRule;

impl Special for SecurityGroupRule {
    fn validate(&self, properties: &JsonMap) -> Result<(), Refusal> {
        let port = |name| properties.get(name).and_then(Value::as_i64);
        let is_icmp = matches!(text(properties, "protocol"), Some("icmp" | "icmpv6" | "ipv6-icmp"));
        match (port("port_range_min"), port("port_range_max")) {
            (Some(min), Some(max)) if min > max && !is_icmp => Err(Refusal::validation(
                "The minimum port number must be less than or equal to the maximum port number.",
            )),
            _ => Ok(()),
        }
    }
}
