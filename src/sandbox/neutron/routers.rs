//! Routers: the gateway to an external network, and interfaces on subnets.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections::{self, Rules};
use super::super::doc::{Doc, uuid_like};
use super::super::keystone::Scope;
use super::addresses::Cidr;
use super::{FLOATING_IPS, NETWORKS, PORTS, ROUTERS, SUBNETS, owned, ports, quotas};
use crate::model::JsonMap;

const GATEWAY: &str = "network:router_gateway";
const INTERFACE: &str = "network:router_interface";

pub(super) struct Routers;

impl Rules for Routers {
    fn made(
        &self,
        cloud: &mut Cloud,
        (ask, scope): (&Ask, &Scope),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        quotas::allow_one_more(cloud, ROUTERS, row)?;
        set_gateway(cloud, ask, scope, row)
    }

    fn changed(
        &self,
        cloud: &mut Cloud,
        (ask, scope): (&Ask, &Scope),
        (before, change): (&JsonMap, &JsonMap),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        if !change.contains_key("external_gateway_info") {
            return Ok(());
        }
        let old = gateway_network(before);
        let new = gateway_network(row);
        if let (Some(old), Some(new)) = (&old, &new)
            && old == new
        {
            // The same network keeps its port unless other addresses are asked for.
            let mut info = before.object("external_gateway_info").cloned().unwrap_or_default();
            let asked = row.object("external_gateway_info").cloned().unwrap_or_default();
            if let Some(snat) = asked.get("enable_snat") {
                info.set("enable_snat", snat.clone());
            }
            if asked
                .list("external_fixed_ips")
                .iter()
                .all(|fixed| fixed.get("ip_address").is_none())
            {
                row.set("external_gateway_info", info);
                return Ok(());
            }
        }
        if let Some(old) = old {
            let router = before.text("id");
            let needed = cloud.collections.table(FLOATING_IPS).values().any(|floating| {
                floating.text("router_id") == router && floating.text("floating_network_id") == old
            });
            if needed && new.as_ref() != Some(&old) {
                let text = format!(
                    "Gateway cannot be updated for router {router}, since a gateway to external network {old} is required by one or more floating IPs."
                );
                return Err(answer::neutron(409, "RouterExternalGatewayInUseByFloatingIp", text));
            }
            drop_ports(cloud, router, GATEWAY);
        }
        set_gateway(cloud, ask, scope, row)
    }

    fn dropping(&self, cloud: &mut Cloud, _: DateTime<Utc>, row: &JsonMap) -> Result<(), Answer> {
        let id = row.text("id");
        let attached = port_ids(cloud, id, INTERFACE);
        if !attached.is_empty() {
            let text = format!("Router {id} has ports still attached: {}", attached.join(", "));
            return Err(answer::neutron(409, "RouterInUse", text));
        }
        drop_ports(cloud, id, GATEWAY);
        Ok(())
    }
}

/// Makes the gateway's port and shows its addresses.
fn set_gateway(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    row: &mut JsonMap,
) -> Result<(), Answer> {
    let Some(network_id) = gateway_network(row) else {
        row.set("external_gateway_info", Value::Null);
        return Ok(());
    };
    let network = collections::seen(cloud, scope, NETWORKS, &network_id)?;
    if !network.is("router:external") {
        return Err(bad_router(format!("Network {network_id} is not an external network")));
    }
    let info = row.object("external_gateway_info").cloned().unwrap_or_default();
    let mut given = JsonMap::new();
    given.set("network_id", network_id.as_str());
    given.set("device_id", row.text("id"));
    given.set("device_owner", GATEWAY);
    given.set("port_security_enabled", false);
    let asked = info.list("external_fixed_ips");
    if !asked.is_empty() {
        given.set("fixed_ips", asked.to_vec());
    }
    // The gateway's port belongs to no project, so that no tenant sees it.
    let port = make_port(cloud, ask, scope, given, "")?;
    let info = json!({
        "network_id": network_id,
        "external_fixed_ips": port.list("fixed_ips"),
        "enable_snat": info.get("enable_snat").and_then(Value::as_bool).unwrap_or(true),
    });
    row.set("external_gateway_info", info);
    Ok(())
}

fn gateway_network(row: &JsonMap) -> Option<String> {
    let id = row.object("external_gateway_info")?.text("network_id");
    (!id.is_empty()).then(|| id.to_owned())
}

pub(super) fn add_interface(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str) -> Reply {
    let router = collections::seen(cloud, scope, ROUTERS, id)?.clone();
    owned(scope, &router, "add_router_interface")?;
    let given = ask.object(|code, text| answer::neutron(code, "HTTPBadRequest", text))?;
    for key in ["subnet_id", "port_id"] {
        let asked = given.text(key);
        if !asked.is_empty() && !uuid_like(asked) {
            return Err(bad_router(format!("'{asked}' is not a valid UUID")));
        }
    }
    let port = match (given.text("subnet_id"), given.text("port_id")) {
        ("", "") => return Err(bad_router("Either subnet_id or port_id must be specified")),
        (subnet, "") => {
            let subnet = collections::seen(cloud, scope, SUBNETS, subnet)?.clone();
            if subnet.text("gateway_ip").is_empty() {
                return Err(bad_router("Subnet for router interface must have a gateway IP"));
            }
            refuse_overlap(cloud, id, &subnet)?;
            let fixed = json!([{
                "subnet_id": subnet.text("id"), "ip_address": subnet.text("gateway_ip"),
            }]);
            let mut port = JsonMap::new();
            port.set("network_id", subnet.text("network_id"));
            port.set("device_id", id);
            port.set("device_owner", INTERFACE);
            port.set("port_security_enabled", false);
            port.set("fixed_ips", fixed);
            make_port(cloud, ask, scope, port, router.text("project_id"))?
        }
        ("", port) => take_port(cloud, scope, id, port)?,
        _ => return Err(bad_router("Cannot specify both subnet-id and port-id")),
    };
    Ok(Answer::json(200, &interface_view(&router, &port)))
}

/// An existing port becomes the interface.
fn take_port(cloud: &mut Cloud, scope: &Scope, id: &str, port: &str) -> Result<JsonMap, Answer> {
    let row = collections::seen(cloud, scope, PORTS, port)?.clone();
    if !row.text("device_id").is_empty() {
        let text = format!(
            "Unable to complete operation on port {port} for network {}. Port already has an attached device {}.",
            row.text("network_id"),
            row.text("device_id")
        );
        return Err(answer::neutron(409, "PortInUse", text));
    }
    for subnet in subnet_ids(&row) {
        let subnet = cloud.collections.table(SUBNETS).get(&subnet).cloned().unwrap_or_default();
        refuse_overlap(cloud, id, &subnet)?;
    }
    if row.list("fixed_ips").is_empty() {
        return Err(bad_router("Router port must have at least one fixed IP"));
    }
    if let Some(row) = cloud.collections.table_mut(PORTS).edit(port) {
        row.set("device_id", id);
        row.set("device_owner", INTERFACE);
        row.set("status", "ACTIVE");
    }
    Ok(row)
}

pub(super) fn remove_interface(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str) -> Reply {
    let router = collections::seen(cloud, scope, ROUTERS, id)?.clone();
    owned(scope, &router, "remove_router_interface")?;
    let given = ask.object(|code, text| answer::neutron(code, "HTTPBadRequest", text))?;
    let (subnet, port) = (given.text("subnet_id"), given.text("port_id"));
    if subnet.is_empty() && port.is_empty() {
        return Err(bad_router("Either subnet_id or port_id must be specified"));
    }
    let found = port_ids(cloud, id, INTERFACE)
        .into_iter()
        .filter_map(|id| cloud.collections.table(PORTS).get(&id).cloned())
        .find(|row| {
            (port.is_empty() || row.text("id") == port)
                && (subnet.is_empty() || subnet_ids(row).iter().any(|id| id == subnet))
        });
    let Some(row) = found else {
        return Err(if port.is_empty() {
            let text = format!("Router {id} has no interface on subnet {subnet}");
            answer::neutron(404, "RouterInterfaceNotFoundForSubnet", text)
        } else {
            let text = format!("Router {id} does not have an interface with id {port}");
            answer::neutron(404, "RouterInterfaceNotFound", text)
        });
    };
    for subnet in subnet_ids(&row) {
        refuse_needed(cloud, id, &subnet)?;
    }
    cloud.collections.table_mut(PORTS).remove(row.text("id"));
    Ok(Answer::json(200, &interface_view(&router, &row)))
}

/// A floating IP needs the interface on its port's subnet.
fn refuse_needed(cloud: &Cloud, router: &str, subnet: &str) -> Result<(), Answer> {
    let needed = cloud
        .collections
        .table(FLOATING_IPS)
        .values()
        .filter(|floating| floating.text("router_id") == router)
        .filter_map(|floating| cloud.collections.table(PORTS).get(floating.text("port_id")))
        .any(|port| subnet_ids(port).iter().any(|id| id == subnet));
    if !needed {
        return Ok(());
    }
    let text = format!(
        "Router interface for subnet {subnet} on router {router} cannot be deleted, as it is required by one or more floating IPs."
    );
    Err(answer::neutron(409, "RouterInterfaceInUseByFloatingIP", text))
}

fn refuse_overlap(cloud: &Cloud, router: &str, subnet: &JsonMap) -> Result<(), Answer> {
    let id = subnet.text("id");
    let cidr = Cidr::parse(subnet.text("cidr"));
    for port in port_ids(cloud, router, INTERFACE) {
        let Some(port) = cloud.collections.table(PORTS).get(&port) else { continue };
        for other in subnet_ids(port) {
            if other == id {
                return Err(bad_router(format!("Router already has a port on subnet {id}")));
            }
            let Some(row) = cloud.collections.table(SUBNETS).get(&other) else { continue };
            let overlaps = match (&cidr, Cidr::parse(row.text("cidr"))) {
                (Some(cidr), Some(other)) => cidr.overlaps(&other),
                _ => false,
            };
            if overlaps {
                return Err(bad_router(format!(
                    "Cidr {} of subnet {id} overlaps with cidr {} of subnet {other}",
                    subnet.text("cidr"),
                    row.text("cidr")
                )));
            }
        }
    }
    Ok(())
}

fn make_port(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    given: JsonMap,
    project: &str,
) -> Result<JsonMap, Answer> {
    let mut row = collections::new_row(cloud, scope, PORTS, given)?;
    let id = ports::service_port(cloud, &mut row, project, ask.at);
    ports::create(cloud, scope, &mut row)?;
    row.set("status", "ACTIVE");
    cloud.collections.table_mut(PORTS).insert(&id, row.clone());
    Ok(row)
}

fn interface_view(router: &JsonMap, port: &JsonMap) -> Value {
    let subnets = subnet_ids(port);
    json!({
        "id": router.text("id"),
        "tenant_id": router.text("tenant_id"),
        "port_id": port.text("id"),
        "network_id": port.text("network_id"),
        "subnet_id": subnets.first(),
        "subnet_ids": subnets,
    })
}

/// The router between a subnet and an external network, if there is one.
pub(super) fn between(cloud: &Cloud, subnet: &str, external: &str) -> Option<String> {
    cloud
        .collections
        .table(PORTS)
        .values()
        .filter(|port| port.text("device_owner") == INTERFACE)
        .filter(|port| subnet_ids(port).iter().any(|id| id == subnet))
        .map(|port| port.text("device_id"))
        .find(|router| {
            let router = cloud.collections.table(ROUTERS).get(router);
            router.and_then(gateway_network).is_some_and(|network| network == external)
        })
        .map(str::to_owned)
}

fn subnet_ids(port: &JsonMap) -> Vec<String> {
    port.list("fixed_ips")
        .iter()
        .filter_map(Value::as_object)
        .map(|fixed| fixed.text("subnet_id").to_owned())
        .collect()
}

fn port_ids(cloud: &Cloud, router: &str, owner: &str) -> Vec<String> {
    cloud
        .collections
        .table(PORTS)
        .ids_where(|port| port.text("device_id") == router && port.text("device_owner") == owner)
}

fn drop_ports(cloud: &mut Cloud, router: &str, owner: &str) {
    for port in port_ids(cloud, router, owner) {
        cloud.collections.table_mut(PORTS).remove(&port);
    }
}

fn bad_router(text: impl AsRef<str>) -> Answer {
    answer::neutron(400, "BadRequest", format!("Bad router request: {}.", text.as_ref()))
}
