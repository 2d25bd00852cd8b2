//! What a few collections do beside what their files say.

use serde_json::json;

use super::super::answer::Answer;
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::super::{barbican, neutron};
use super::Place;
use super::definition::Hook;
use crate::model::JsonMap;

/// A new object is about to be kept.
pub(super) fn made(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    row: &mut JsonMap,
) -> Result<(), Answer> {
    match place.collection.hook {
        Some(Hook::Vip) => vip(cloud, place, row),
        Some(Hook::Order) => {
            order(cloud, ask, scope, row);
            Ok(())
        }
        None => Ok(()),
    }
}

/// An object goes.
pub(super) fn dropped(cloud: &mut Cloud, place: &Place, id: &str) {
    if place.collection.hook == Some(Hook::Vip) {
        let row = cloud.collections.rows(place).get(id);
        let port = row.map(|row| row.text("_port").to_owned()).unwrap_or_default();
        neutron::unbind(cloud, &port, true, cloud.clock.now());
    }
}

/// The port of a load balancer's address, which others give floating addresses to.
fn vip(cloud: &mut Cloud, place: &Place, row: &mut JsonMap) -> Result<(), Answer> {
    let collection = &place.collection;
    let subnet = row.text("vip_subnet_id").to_owned();
    let mut network = row.text("vip_network_id").to_owned();
    if network.is_empty() && !subnet.is_empty() {
        let row = cloud.neutron.subnets.get(&subnet);
        network = row.map(|row| row.text("network_id").to_owned()).unwrap_or_default();
    }
    if !row.text("vip_port_id").is_empty() {
        return Ok(());
    }
    if network.is_empty() {
        let text = "Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.";
        return Err(collection.bad_request(text));
    }
    let mut fixed = JsonMap::new();
    for (theirs, ours) in [("subnet_id", "vip_subnet_id"), ("ip_address", "vip_address")] {
        if !row.text(ours).is_empty() {
            fixed.set(theirs, row.text(ours));
        }
    }
    let id = row.text("id").to_owned();
    let mut given = json!({
        "network_id": network,
        "name": format!("octavia-lb-{id}"),
        "device_id": format!("lb-{id}"),
        "device_owner": "Octavia",
    });
    if !fixed.is_empty() {
        given["fixed_ips"] = json!([fixed]);
    }
    let project = row.text("project_id").to_owned();
    let port = neutron::plant(cloud, neutron::Kind::Port, &project, given);
    let port = port.ok_or_else(|| collection.bad_request("The VIP cannot be had."))?;
    row.set("vip_network_id", network);
    row.set("vip_port_id", port.text("id"));
    if let Some(fixed) = port.list("fixed_ips").first().and_then(|it| it.as_object()) {
        row.set("vip_address", fixed.text("ip_address"));
        row.set("vip_subnet_id", fixed.text("subnet_id"));
    }
    row.set("_port", port.text("id"));
    Ok(())
}

/// What an order asks for is made: a key, or a pair of keys in a container.
fn order(cloud: &mut Cloud, ask: &Ask, scope: &Scope, row: &mut JsonMap) {
    let meta = row.object("meta").cloned().unwrap_or_default();
    let secret = |cloud: &mut Cloud, kind: &str| {
        let mut said = meta.clone();
        said.set("secret_type", kind);
        barbican::generate(cloud, ask, scope, said)
    };
    if row.text("type") == "key" {
        let made = secret(cloud, "symmetric");
        row.set("secret_ref", made);
        return;
    }
    let refs: Vec<_> = ["public_key", "private_key"]
        .map(|name| {
            let kind = name.split('_').next().unwrap_or_default();
            json!({"name": name, "secret_ref": secret(cloud, kind)})
        })
        .into();
    let Some(place) = cloud.collections.named("key-manager", "container") else { return };
    let kind = if meta.text("algorithm") == "rsa" { "rsa" } else { "generic" };
    let id = cloud.fresh_id();
    let container = json!({
        "id": id, "name": meta.get("name"), "type": kind, "secret_refs": refs, "status": "ACTIVE",
        "project_id": scope.project_id, "created": ask.moment(), "updated": ask.moment(),
        "consumers": [], "creator_id": scope.user_id,
    });
    if let serde_json::Value::Object(container) = container {
        cloud.collections.rows_mut(&place).insert(&id, container);
    }
    row.set("container_ref", format!("{}/key-manager/v1/containers/{id}", ask.base));
}
