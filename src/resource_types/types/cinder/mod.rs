//! OS::Cinder::*: what these types do otherwise than their files say.

mod backup;
mod holders;
mod pair;
pub(super) mod quota;
pub(super) mod volume;
pub(super) mod volume_attachment;
mod volume_stage;

use std::borrow::Cow;

use serde_json::Value;

use crate::model::JsonMap;
use crate::openstack::{Collection, Service};

/// All volumes, for those who wait for one.
const VOLUMES: Collection = Collection {
    service: Service::Volume,
    list: Cow::Borrowed("/volumes/detail"),
    items: Cow::Borrowed("/volumes"),
    member: Some(Cow::Borrowed("volume")),
    id: Cow::Borrowed("id"),
    members: Cow::Borrowed("volumes"),
};

/// A property's text, when it has one.
fn text<'a>(properties: &'a JsonMap, name: &str) -> Option<&'a str> {
    properties.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}
