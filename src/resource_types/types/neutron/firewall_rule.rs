//! OS::Neutron::FirewallRule: a protocol of `any` is none.

use serde_json::Value;

use crate::model::JsonMap;
use crate::resource_types::declared::{Purpose, Special};
use crate::resource_types::driver::Subject;

pub(crate) struct FirewallRule;

impl Special for FirewallRule {
    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        if let Some(protocol) = body.get_mut("protocol").filter(|protocol| *protocol == "any") {
            *protocol = Value::Null;
        }
    }
}
