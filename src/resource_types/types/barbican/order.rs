//! OS::Barbican::Order: what it was for is said within its `meta`, and keys and certificates are
//! payloads of secrets that a container refers to.

use serde_json::Value;

use super::{keys, last_part, payload, write_expiration};
use crate::model::{JsonMap, Refusal};
use crate::openstack::{Request, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, Purpose, ResourceType};
use crate::resource_types::stage::Stages;

pub(in crate::resource_types::types) struct Order;

/// The properties of each type of order, by their names.
const KEY: [&str; 6] =
    ["algorithm", "bit_length", "expiration", "mode", "name", "payload_content_type"];
const ASYMMETRIC: [&str; 7] = [
    "algorithm",
    "bit_length",
    "expiration",
    "mode",
    "name",
    "pass_phrase",
    "payload_content_type",
];
const CERTIFICATE: [&str; 7] = [
    "ca_id",
    "name",
    "profile",
    "request_data",
    "request_type",
    "source_container_ref",
    "subject_dn",
];
/// The attributes that are payloads of the container's secrets.
const PAYLOADS: [&str; 4] = ["certificate", "intermediates", "private_key", "public_key"];

impl ResourceType for Order {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if PlainStage::of(beating.step) == Some(PlainStage::Ready) {
            let Beating { cloud, subject, .. } = *beating;
            let order = declared.show(cloud, subject)?;
            if order["status"] == "ERROR" {
                // It is not made again: what failed would fail again.
                let name = subject.name.as_ref().map(ToString::to_string).unwrap_or_default();
                let code = python::text(&order["error_status_code"]);
                let reason = python::text(&order["error_reason"]);
                return Err(Failure::Failed(format!("Order '{name}' failed: {code} - {reason}")));
            }
        }
        declared.plain_beat(beating)
    }

    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        if let Some(Value::Object(meta)) = body.get_mut("meta") {
            write_expiration(meta);
        }
    }

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        let kind = properties.get("type").and_then(Value::as_str).unwrap_or_default();
        let allowed: &[&str] = match kind {
            "key" => &KEY,
            "asymmetric" => &ASYMMETRIC,
            "certificate" => &CERTIFICATE,
            _ => return Ok(()),
        };
        let is_set = |name: &str| properties.get(name).is_some_and(|value| !value.is_null());
        let mut unexpected: Vec<&str> = properties.keys().map(String::as_str).collect();
        unexpected.retain(|name| *name != "type" && is_set(name) && !allowed.contains(name));
        unexpected.sort_unstable();
        if unexpected.is_empty() {
            return Ok(());
        }
        Err(Refusal::validation(format!(
            "Unexpected properties: {}. Only these properties are allowed for {kind} type of \
             order: {}.",
            unexpected.join(", "),
            allowed.join(", "),
        )))
    }

    fn attribute(&self, at: At<'_>, object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let Some(container) = object["container_ref"].as_str().filter(|_| PAYLOADS.contains(&name))
        else {
            return Ok(None);
        };
        let container = shown(at.cloud, "containers", container)?;
        let references = container["secret_refs"].as_array().into_iter().flatten();
        let mut named = references.filter(|reference| reference["name"] == name);
        let Some(reference) = named.find_map(|reference| reference["secret_ref"].as_str()) else {
            return Ok(Some(Value::Null));
        };
        let secret = shown(at.cloud, "secrets", reference)?;
        payload(at.cloud, &secret, reference).map(Some)
    }
}

/// What an address refers to.
fn shown(cloud: &Asks<'_>, collection: &str, reference: &str) -> Result<Value, Failure> {
    let id = path_segment(last_part(reference));
    Ok(cloud.send(Request::get(keys(), format!("/v1/{collection}/{id}")))?.json()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_order_has_the_properties_of_its_type() {
        let mut properties = JsonMap::from_iter([
            ("type".to_owned(), json!("key")),
            ("algorithm".to_owned(), json!("aes")),
            ("profile".to_owned(), json!(null)),
        ]);
        assert!(Order.validate("r", &properties).is_ok());
        properties.insert("pass_phrase".to_owned(), json!("p"));
        properties.insert("ca_id".to_owned(), json!("c"));
        let refused = Order.validate("r", &properties).unwrap_err().message;
        let wanted = "Unexpected properties: ca_id, pass_phrase. Only these properties are allowed \
                      for key type of order: algorithm, bit_length, expiration, mode, name, \
                      payload_content_type.";
        assert_eq!(refused, wanted);
    }
}
