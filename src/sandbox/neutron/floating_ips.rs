//! Floating IPs: an address of an external network, and the port that it leads to.

use serde_json::{Value, json};

use super::super::answer::{self, Answer};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections::{self, Rules};
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::addresses::number;
use super::associations::plan_status;
use super::{FLOATING_IPS, NETWORKS, PORTS, ports, quotas, routers};
use crate::model::JsonMap;

pub(super) struct FloatingIps;

impl Rules for FloatingIps {
    fn made(
        &self,
        cloud: &mut Cloud,
        (ask, scope): (&Ask, &Scope),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        quotas::allow_one_more(cloud, FLOATING_IPS, row)?;
        let network_id = row.text("floating_network_id").to_owned();
        let network = collections::seen(cloud, scope, NETWORKS, &network_id)?;
        if !network.is("router:external") {
            return Err(bad_floating_ip(format!(
                "Network {network_id} is not a valid external network"
            )));
        }
        let mut fixed = JsonMap::new();
        for (from, to) in [("subnet_id", "subnet_id"), ("floating_ip_address", "ip_address")] {
            if let Some(Value::String(value)) = row.get(from) {
                fixed.set(to, value.as_str());
            }
        }
        row.remove("subnet_id");
        let mut given = JsonMap::new();
        given.set("network_id", network_id.as_str());
        given.set("device_id", row.text("id"));
        given.set("device_owner", "network:floatingip");
        if !fixed.is_empty() {
            given.set("fixed_ips", json!([fixed]));
        }
        let mut port = collections::new_row(cloud, scope, PORTS, given)?;
        let id = ports::service_port(cloud, &mut port, "", ask.at);
        ports::create(cloud, scope, &mut port)?;
        let address = port
            .list("fixed_ips")
            .iter()
            .filter_map(Value::as_object)
            .map(|fixed| fixed.text("ip_address"))
            .find(|address| number(address).is_some_and(|(version, _)| version == 4))
            .map(str::to_owned);
        let Some(address) = address else {
            let text = format!("Unable to find any IP address on external network {network_id}.");
            return Err(answer::neutron(400, "ExternalIpAddressExhausted", text));
        };
        port.set("status", "N/A");
        cloud.collections.table_mut(PORTS).insert(&id, port);
        row.set("floating_ip_address", address);
        row.set("status", "DOWN");
        associate(cloud, ask, scope, row)
    }

    fn changed(
        &self,
        cloud: &mut Cloud,
        (ask, scope): (&Ask, &Scope),
        (before, change): (&JsonMap, &JsonMap),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        let about_port = change.contains_key("port_id") || change.contains_key("fixed_ip_address");
        if !about_port {
            return Ok(());
        }
        if change.contains_key("port_id") && !change.contains_key("fixed_ip_address") {
            row.set("fixed_ip_address", Value::Null);
        }
        let same = before.get("port_id") == row.get("port_id")
            && change
                .get("fixed_ip_address")
                .is_none_or(|ip| Some(ip) == before.get("fixed_ip_address"));
        if same {
            row.set(
                "fixed_ip_address",
                before.get("fixed_ip_address").cloned().unwrap_or_default(),
            );
            return Ok(());
        }
        associate(cloud, ask, scope, row)
    }

    fn dropped(&self, cloud: &mut Cloud, row: &JsonMap) {
        let id = row.text("id");
        for port in cloud.collections.table(PORTS).ids_where(|port| {
            port.text("device_id") == id && port.text("device_owner") == "network:floatingip"
        }) {
            cloud.collections.table_mut(PORTS).remove(&port);
        }
    }

    /// Some of the port that it leads to.
    fn shown(&self, cloud: &Cloud, view: &mut JsonMap) {
        if let Some(port) = cloud.collections.table(PORTS).get(view.text("port_id")) {
            let details = json!({
                "name": port.text("name"),
                "network_id": port.text("network_id"),
                "mac_address": port.text("mac_address"),
                "admin_state_up": port.is("admin_state_up"),
                "status": port.text("status"),
                "device_id": port.text("device_id"),
                "device_owner": port.text("device_owner"),
            });
            view.set("port_details", details);
        }
    }
}

/// Leads the address to the port that the row names, or to none.
fn associate(cloud: &mut Cloud, ask: &Ask, scope: &Scope, row: &mut JsonMap) -> Result<(), Answer> {
    let id = row.text("id").to_owned();
    let port_id = row.text("port_id").to_owned();
    if port_id.is_empty() {
        row.set("port_id", Value::Null);
        row.set("fixed_ip_address", Value::Null);
        row.set("router_id", Value::Null);
    } else {
        let port = collections::seen(cloud, scope, PORTS, &port_id)?;
        let (subnet, address) = internal_address(port, row.text("fixed_ip_address"))?;
        let external = row.text("floating_network_id").to_owned();
        let Some(router) = routers::between(cloud, &subnet, &external) else {
            let text = format!(
                "External network {external} is not reachable from subnet {subnet}.  Therefore, cannot associate Port {port_id} with a Floating IP."
            );
            return Err(answer::neutron(404, "ExternalGatewayForFloatingIPNotFound", text));
        };
        let rival = cloud.collections.table(FLOATING_IPS).values().find(|other| {
            other.text("id") != id
                && other.text("port_id") == port_id
                && other.text("fixed_ip_address") == address
                && other.text("floating_network_id") == external
        });
        if rival.is_some() {
            let text = format!(
                "Cannot associate floating IP {} ({id}) with port {port_id} using fixed IP {address}, as that fixed IP already has a floating IP on external network {external}.",
                row.text("floating_ip_address")
            );
            return Err(answer::neutron(409, "FloatingIPPortAlreadyAssociated", text));
        }
        row.set("port_id", port_id);
        row.set("fixed_ip_address", address);
        row.set("router_id", router);
    }
    plan_status(cloud, &id, ask.at);
    Ok(())
}

fn internal_address(port: &JsonMap, asked: &str) -> Result<(String, String), Answer> {
    let id = port.text("id");
    let addresses: Vec<(&str, &str)> = port
        .list("fixed_ips")
        .iter()
        .filter_map(Value::as_object)
        .map(|fixed| (fixed.text("subnet_id"), fixed.text("ip_address")))
        .filter(|(_, address)| number(address).is_some_and(|(version, _)| version == 4))
        .collect();
    let found = match (asked, addresses.as_slice()) {
        ("", [one]) => Some(*one),
        ("", []) => {
            return Err(bad_floating_ip(format!(
                "Cannot add floating IP to port {id} that has no fixed IPv4 addresses"
            )));
        }
        ("", _) => {
            return Err(bad_floating_ip(format!(
                "Port {id} has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP"
            )));
        }
        (asked, all) => all.iter().find(|(_, address)| *address == asked).copied(),
    };
    found
        .map(|(subnet, address)| (subnet.to_owned(), address.to_owned()))
        .ok_or_else(|| bad_floating_ip(format!("Port {id} does not have fixed ip {asked}")))
}

fn bad_floating_ip(text: impl AsRef<str>) -> Answer {
    answer::neutron(400, "BadRequest", format!("Bad floatingip request: {}.", text.as_ref()))
}
