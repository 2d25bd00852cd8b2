//! Types of the key manager.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::model::JsonMap;
use crate::openstack::{Request, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::constraints;
use crate::resource_types::failure::Failure;

pub(super) mod order;
pub(super) mod secret;

/// Writes the time at which something expires as Heat's client library does, with its zone.
fn write_expiration(fields: &mut JsonMap) {
    let Some(expiration) = fields.get_mut("expiration") else { return };
    if let Some(time) = expiration.as_str().and_then(|text| constraints::time(text.trim())) {
        let form = match time.timestamp_subsec_micros() {
            0 => "%Y-%m-%dT%H:%M:%S%:z",
            _ => "%Y-%m-%dT%H:%M:%S%.6f%:z",
        };
        *expiration = time.format(form).to_string().into();
    }
}

/// What a secret holds: text as it is, other bytes in base64. Null where it holds nothing.
fn payload(cloud: &Asks<'_>, secret: &Value, reference: &str) -> Result<Value, Failure> {
    let Some(kind) = secret["content_types"]["default"].as_str() else { return Ok(Value::Null) };
    let path = format!("/v1/secrets/{}/payload", last_part(reference));
    let request = Request::get(keys(), path).header("accept", kind);
    let bytes = cloud.send(request)?.bytes().to_vec();
    let text = String::from_utf8(bytes);
    Ok(text.unwrap_or_else(|error| STANDARD.encode(error.as_bytes())).into())
}

fn keys() -> Service {
    Service::of_type("key-manager")
}

/// The id in the address of a secret, an order or a container.
fn last_part(reference: &str) -> &str {
    reference.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}
