//! OS::Neutron::Subnet: the words that stand for gateways.

use serde_json::Value;

use super::text;
use crate::model::{JsonMap, Refusal};
use crate::resource_types::declared::{Purpose, Special};
use crate::resource_types::driver::Subject;

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
        match text(properties, "gateway_ip") {
            None | Some("~" | "auto") => Ok(()),
            Some(address) if address.parse::<std::net::IpAddr>().is_ok() => Ok(()),
            Some(address) => Err(Refusal::validation(format!(
                "Gateway IP address \"{address}\" is in invalid format."
            ))),
        }
    }
}
