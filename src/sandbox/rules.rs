//! Which rules the collections of `services/*.yaml` may name, and those of services that are nothing
//! but such collections.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::ask::Ask;
use super::barbican;
use super::cinder::{Backups, Snapshots};
use super::cloud::Cloud;
use super::collections::state::Collections;
use super::collections::{self, Rules};
use super::doc::Doc;
use super::keystone::Scope;
use super::neutron::{self, PORTS, SUBNETS};
use super::trove::Cluster;
use crate::model::JsonMap;

/// The collections that there are, and what their files may name as their `hook`.
pub(super) fn collections(directory: Option<&Path>) -> io::Result<Collections> {
    let mut all: Vec<(&str, &dyn Rules)> =
        vec![("vip", &Vip), ("order", &Order), ("snapshot", &Snapshots), ("backup", &Backups)];
    all.push(("container", &Container));
    all.push(("cluster", &Cluster));
    all.extend(neutron::RULES);
    collections::rules::provide(all);
    Collections::open(directory)
}

/// A port for the address of a load balancer.
struct Vip;

/// A key or a pair of keys that an order asks for.
struct Order;

/// The networks that a container is in, each by a port.
struct Container;

impl Rules for Container {
    fn made(&self, cloud: &mut Cloud, _: (&Ask, &Scope), row: &mut JsonMap) -> Result<(), Answer> {
        let nets = row.list("nets").iter().map(|net| {
            json!({
                "net_id": net["network"], "port_id": net["port"],
                "fixed_ips": [{"ip_address": net["v4-fixed-ip"]}],
            })
        });
        let nets: Vec<Value> = nets.collect();
        row.set("_networks", nets);
        self.acted(cloud, row);
        Ok(())
    }

    fn acted(&self, cloud: &mut Cloud, row: &mut JsonMap) {
        let mut networks = row.list("_networks").to_vec();
        let mut addresses = JsonMap::new();
        for network in &mut networks {
            if !network["port_id"].is_string() {
                network["port_id"] = cloud.fresh_uuid().to_string().into();
            }
            if let Some(net) = network["net_id"].as_str() {
                let address = json!({
                    "addr": network["fixed_ips"][0]["ip_address"], "port": network["port_id"],
                });
                addresses.set(net, json!([address]));
            }
        }
        row.set("_networks", networks);
        row.set("addresses", addresses);
    }
}

impl Rules for Vip {
    fn made(&self, cloud: &mut Cloud, _: (&Ask, &Scope), row: &mut JsonMap) -> Result<(), Answer> {
        vip(cloud, row)
    }

    fn dropped(&self, cloud: &mut Cloud, row: &JsonMap) {
        neutron::unbind(cloud, row.text("_port"), true, cloud.clock.now());
    }
}

impl Rules for Order {
    fn made(
        &self,
        cloud: &mut Cloud,
        (ask, scope): (&Ask, &Scope),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        order(cloud, ask, scope, row);
        Ok(())
    }
}

/// The port of a load balancer's address, which others give floating addresses to.
fn vip(cloud: &mut Cloud, row: &mut JsonMap) -> Result<(), Answer> {
    let subnet = row.text("vip_subnet_id").to_owned();
    let mut network = row.text("vip_network_id").to_owned();
    if network.is_empty() && !subnet.is_empty() {
        let row = cloud.collections.table(SUBNETS).get(&subnet);
        network = row.map(|row| row.text("network_id").to_owned()).unwrap_or_default();
    }
    if !row.text("vip_port_id").is_empty() {
        return Ok(());
    }
    if network.is_empty() {
        let text = "Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.";
        return Err(answer::octavia(400, text));
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
    let port = neutron::plant(cloud, PORTS, &project, given);
    let port = port.ok_or_else(|| answer::octavia(400, "The VIP cannot be had."))?;
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
    let kind = if meta.text("algorithm") == "rsa" { "rsa" } else { "generic" };
    let id = cloud.fresh_id();
    let container = json!({
        "id": id, "name": meta.get("name"), "type": kind, "secret_refs": refs, "status": "ACTIVE",
        "project_id": scope.project_id, "created": ask.moment(), "updated": ask.moment(),
        "consumers": [], "creator_id": scope.user_id,
    });
    if let serde_json::Value::Object(container) = container {
        collections::plant(cloud, ("key-manager", "container"), container);
    }
    row.set("container_ref", format!("{}/key-manager/v1/containers/{id}", ask.base));
}
