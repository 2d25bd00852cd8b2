//! OS::Neutron::Subnet: the two words that stand for gateways, and the rules of IPv6.

use serde_json::Value;

use super::text;
use crate::model::{JsonMap, Refusal};
use crate::resource_types::declared::{Purpose, Special};
use crate::resource_types::driver::Subject;
use crate::resource_types::rules::conflict;

pub(crate) struct Subnet;

impl Special for Subnet {
    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        match body.get("gateway_ip").and_then(Value::as_str) {
            Some("" | "~") => {
                body.insert("gateway_ip".into(), Value::Null);
            }
            Some("auto") => {
                body.shift_remove("gateway_ip");
            }
            _ => {}
        }
    }

    fn validate(&self, properties: &JsonMap) -> Result<(), Refusal> {
        let get = |name| text(properties, name);
        let is_set = |name| properties.get(name).is_some_and(|value| !value.is_null());
        // Zero counts as not given, as in Heat.
        if is_set("prefixlen") && properties["prefixlen"] != 0 && get("cidr").is_some() {
            return Err(conflict(&["prefixlen", "cidr"]));
        }
        let modes = (get("ipv6_ra_mode"), get("ipv6_address_mode"));
        let is_v4 = properties.get("ip_version").and_then(Value::as_i64) == Some(4);
        if is_v4 && (modes.0.is_some() || modes.1.is_some()) {
            return Err(Refusal::validation(
                "ipv6_ra_mode and ipv6_address_mode are not supported for ipv4.",
            ));
        }
        if let (Some(announced), Some(given)) = modes
            && announced != given
        {
            return Err(Refusal::validation(
                "When both ipv6_ra_mode and ipv6_address_mode are set, they must be equal.",
            ));
        }
        match get("gateway_ip") {
            None | Some("~" | "auto") => Ok(()),
            Some(address) if address.parse::<std::net::IpAddr>().is_ok() => Ok(()),
            Some(address) => Err(Refusal::validation(format!(
                "Gateway IP address \"{address}\" is in invalid format."
            ))),
        }
    }
}
