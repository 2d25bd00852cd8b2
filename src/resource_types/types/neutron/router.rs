//! OS::Neutron::Router: how many agents it may have, and its way out as it is.

use serde_json::Value;

use super::fixed_ips;
use crate::model::{JsonMap, Refusal};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Declared, Special};
use crate::resource_types::driver::DriverError;
use crate::resource_types::rules::conflict;

pub(crate) struct Router;

impl Special for Router {
    fn live(
        &self,
        declared: &Declared,
        _cloud: &Asks<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, DriverError> {
        Ok(match name {
            "external_gateway_info" => Some(gateway(object, wanted)),
            _ => declared.plain_live(object, name, wanted),
        })
    }

    fn validate(&self, properties: &JsonMap) -> Result<(), Refusal> {
        let holds = |name| properties.get(name) == Some(&Value::Bool(true));
        let listed = properties.get("l3_agent_ids").and_then(Value::as_array).map_or(0, Vec::len);
        let single = properties.get("l3_agent_id").is_some_and(|agent| !agent.is_null());
        let agents = listed + usize::from(single);
        if holds("distributed") && agents > 0 {
            return Err(conflict(&["distributed", "l3_agent_id/l3_agent_ids"]));
        }
        if holds("ha") && holds("distributed") {
            return Err(conflict(&["distributed", "ha"]));
        }
        if !holds("ha") && agents > 1 {
            return Err(Refusal::validation("Non HA routers can only have one L3 agent."));
        }
        Ok(())
    }
}

/// The way out as the property has it, as far as that says anything.
fn gateway(object: &Value, wanted: &Value) -> Value {
    let live = &object["external_gateway_info"];
    let shown = [
        ("network", live["network_id"].clone()),
        ("enable_snat", live["enable_snat"].clone()),
        ("external_fixed_ips", fixed_ips(&live["external_fixed_ips"])),
    ];
    let is_said = |name: &str| wanted.get(name).is_some_and(|value| !value.is_null());
    if live.is_null() {
        return Value::Null;
    }
    shown.into_iter().filter(|(name, _)| is_said(name)).collect()
}
