//! Networks: what they show of their subnets, and when they may go.

use serde_json::Value;

use super::super::answer::{self, Answer};
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::Doc;
use crate::model::JsonMap;

pub(super) fn create(row: &mut JsonMap) {
    // Only an external network can be the default one.
    if row.is("router:external") && !row.contains_key("is_default") {
        row.set("is_default", false);
    }
    if !row.contains_key("provider:network_type") {
        row.set("provider:network_type", "geneve");
    }
}

/// The ids of the network's subnets.
pub(super) fn complete(cloud: &Cloud, view: &mut JsonMap) {
    let subnets: Vec<Value> = cloud
        .neutron
        .subnets
        .values()
        .filter(|subnet| subnet.text("network_id") == view.text("id"))
        .map(|subnet| subnet.text("id").into())
        .collect();
    view.set("subnets", subnets);
}

pub(super) fn delete(cloud: &mut Cloud, row: &JsonMap) -> Result<(), Answer> {
    let id = row.text("id");
    let ports = cloud.neutron.ports.ids_where(|port| port.text("network_id") == id);
    if !ports.is_empty() {
        let text = format!(
            "Unable to complete operation on network {id}. There are one or more ports still in use on the network, id for these ports is: {}.",
            ports.join(",")
        );
        return Err(answer::neutron(409, "NetworkInUse", text));
    }
    for subnet in cloud.neutron.subnets.ids_where(|subnet| subnet.text("network_id") == id) {
        collections::part_with(cloud, "subnet", &subnet)?;
        cloud.neutron.subnets.remove(&subnet);
    }
    Ok(())
}
