//! OS::Neutron::*: what these types do otherwise than their files say.

pub(super) mod extra_routes;
pub(super) mod port;
pub(in crate::resource_types::types) mod security_group;

use serde_json::Value;

use crate::model::JsonMap;

/// A property's text, when it has one.
fn text<'a>(properties: &'a JsonMap, name: &str) -> Option<&'a str> {
    properties.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}
