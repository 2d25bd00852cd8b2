//! OS::Nova::ServerGroup: since microversion 2.64 a group has one policy, and rules to it.

use serde_json::Value;

use crate::model::JsonMap;
use crate::resource_types::declared::{Purpose, Special};
use crate::resource_types::driver::Subject;

pub(crate) struct ServerGroup;

impl Special for ServerGroup {
    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        let policies = body.shift_remove("policies");
        if let Some(policy) = policies.as_ref().and_then(|policies| policies.get(0)) {
            body.insert("policy".into(), policy.clone());
        }
        if body.get("rules").and_then(Value::as_object).is_some_and(|rules| rules.is_empty()) {
            body.shift_remove("rules");
        }
    }
}
