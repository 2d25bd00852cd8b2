//! Ports: their addresses, MAC and security groups, and how servers take and leave them.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer};
use super::super::ask::{Ask, stamp};
use super::super::cloud::Cloud;
use super::super::collections::{self, Rules};
use super::super::doc::{Doc, shown, uuid_like};
use super::super::keystone::Scope;
use super::addresses::{Cidr, free, number, used};
use super::{
    NETWORKS, PORTS, SECURITY_GROUPS, SUBNETS, associations, bad_request, invalid_input, quotas,
    security_groups,
};
use crate::model::JsonMap;

pub(super) struct Ports;

impl Rules for Ports {
    /// A network's owner sees every port on it.
    fn is_seen(&self, cloud: &Cloud, scope: &Scope, row: &JsonMap) -> bool {
        let network = cloud.collections.table(NETWORKS).get(row.text("network_id"));
        network.is_some_and(|network| network.text("project_id") == scope.project_id)
    }

    fn made(
        &self,
        cloud: &mut Cloud,
        (_, scope): (&Ask, &Scope),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        quotas::allow_one_more(cloud, PORTS, row)?;
        create(cloud, scope, row)
    }

    fn changed(
        &self,
        cloud: &mut Cloud,
        (_, scope): (&Ask, &Scope),
        (_, change): (&JsonMap, &JsonMap),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        well_formed(change)?;
        if let Some(Value::Array(asked)) = change.get("fixed_ips") {
            let fixed = asked_addresses(cloud, row.text("network_id"), asked, row.text("id"))?;
            row.set("fixed_ips", fixed);
        }
        if let Some(mac) = plain_mac(change.text("mac_address")) {
            row.set("mac_address", mac);
        }
        assign_names(row);
        if change.contains_key("security_groups") || change.contains_key("port_security_enabled") {
            groups(cloud, scope, row)?;
        }
        Ok(())
    }

    fn dropping(&self, cloud: &mut Cloud, at: DateTime<Utc>, row: &JsonMap) -> Result<(), Answer> {
        let owner = row.text("device_owner");
        if matches!(
            owner,
            "network:router_interface" | "network:router_gateway" | "network:floatingip"
        ) {
            let text = format!(
                "Port {} cannot be deleted directly via the port API: has device owner {owner}.",
                row.text("id")
            );
            return Err(answer::neutron(409, "ServicePortInUse", text));
        }
        associations::leave_port(cloud, row.text("id"), at);
        Ok(())
    }

    /// The trunk whose parent the port is, with what it has below.
    fn shown(&self, cloud: &Cloud, view: &mut JsonMap) {
        let is_parent = |trunk: &JsonMap| trunk.text("port_id") == view.text("id");
        let trunk = collections::row_where(cloud, ("network", "trunk"), is_parent);
        let Some(trunk) = trunk else { return };
        let below = trunk.list("sub_ports").iter().filter_map(Value::as_object);
        let below = below.map(|sub_port| {
            let port = cloud.collections.table(PORTS).get(sub_port.text("port_id"));
            let mut shown = sub_port.clone();
            shown.set("mac_address", port.map(|port| port.text("mac_address").to_owned()));
            Value::Object(shown)
        });
        let details =
            json!({ "trunk_id": trunk.text("id"), "sub_ports": below.collect::<Vec<_>>() });
        view.set("trunk_details", details);
    }
}

pub(super) fn create(cloud: &mut Cloud, scope: &Scope, row: &mut JsonMap) -> Result<(), Answer> {
    well_formed(row)?;
    let network = collections::seen(cloud, scope, NETWORKS, row.text("network_id"))?;
    let network_secured = network.is("port_security_enabled");
    let network_id = network.text("id").to_owned();
    if !row.contains_key("port_security_enabled") {
        row.set("port_security_enabled", network_secured);
    }
    let fixed = match row.get("fixed_ips") {
        Some(Value::Array(asked)) => {
            let asked = asked.clone();
            asked_addresses(cloud, &network_id, &asked, "")?
        }
        _ => any_addresses(cloud, &network_id)?,
    };
    row.set("fixed_ips", fixed);
    let mac = match row.text("mac_address") {
        "" => fresh_mac(cloud),
        mac => unused_mac(cloud, &network_id, mac)?,
    };
    row.set("mac_address", mac);
    assign_names(row);
    groups(cloud, scope, row)
}

/// Refuses addresses and ids that are none.
fn well_formed(given: &JsonMap) -> Result<(), Answer> {
    let invalid = |field: &str, value: &str, what: &str| {
        let text = format!("Invalid input for {field}. Reason: '{value}' is not a valid {what}.");
        Err(bad_request(text))
    };
    for fixed in given.list("fixed_ips").iter().filter_map(Value::as_object) {
        let address = fixed.text("ip_address");
        if !address.is_empty() && number(address).is_none() {
            return invalid("fixed_ips", address, "IP address");
        }
        let subnet = fixed.text("subnet_id");
        if !subnet.is_empty() && !uuid_like(subnet) {
            return invalid("fixed_ips", subnet, "UUID");
        }
    }
    for group in given.list("security_groups").iter().map(shown) {
        if !uuid_like(&group) {
            return invalid("security_groups", &group, "UUID");
        }
    }
    let mac = given.text("mac_address");
    if !mac.is_empty() && plain_mac(mac).is_none() {
        return invalid("mac_address", mac, "MAC address");
    }
    Ok(())
}

/// A MAC address, whose pairs may stand apart by hyphens, as Neutron keeps it.
fn plain_mac(given: &str) -> Option<String> {
    let pairs: Vec<&str> = given.split([':', '-']).collect();
    let hexadecimal = |pair: &&str| pair.len() == 2 && u8::from_str_radix(pair, 16).is_ok();
    let six = pairs.len() == 6 && pairs.iter().all(hexadecimal);
    six.then(|| pairs.join(":").to_ascii_lowercase())
}

/// The names by which the port's addresses are found.
fn assign_names(row: &mut JsonMap) {
    let own = row.text("dns_name").to_owned();
    let names: Vec<Value> = row
        .list("fixed_ips")
        .iter()
        .filter_map(Value::as_object)
        .map(|fixed| {
            let address = fixed.text("ip_address");
            let host = match own.as_str() {
                "" => format!("host-{}", address.replace(['.', ':'], "-")),
                name => name.to_owned(),
            };
            let full = format!("{host}.openstacklocal.");
            json!({"ip_address": address, "hostname": host, "fqdn": full})
        })
        .collect();
    row.set("dns_assignment", names);
}

/// Checks the security groups asked for, or takes the default one.
fn groups(cloud: &mut Cloud, scope: &Scope, row: &mut JsonMap) -> Result<(), Answer> {
    let secured = row.is("port_security_enabled");
    match row.get("security_groups") {
        Some(Value::Array(asked)) => {
            for id in asked.iter().map(shown) {
                collections::seen(cloud, scope, SECURITY_GROUPS, &id)?;
            }
            if !secured && !asked.is_empty() {
                let text = "Port security must be enabled and port must have an IP address in order to use security groups.";
                return Err(answer::neutron(
                    400,
                    "PortSecurityAndIPRequiredForSecurityGroups",
                    text,
                ));
            }
        }
        _ => {
            let project = row.text("project_id").to_owned();
            // What serves a network has no project and no groups.
            let own = row.text("device_owner").starts_with("network:") || project.is_empty();
            let ids = if own || !secured {
                Vec::new()
            } else {
                vec![security_groups::default_of(cloud, &project)]
            };
            row.set("security_groups", ids);
        }
    }
    Ok(())
}

/// One address of each IP version that the network has.
fn any_addresses(cloud: &Cloud, network: &str) -> Result<Vec<Value>, Answer> {
    let mut fixed = Vec::new();
    for version in [4, 6] {
        let subnets: Vec<&JsonMap> = cloud
            .collections
            .table(SUBNETS)
            .values()
            .filter(|subnet| subnet.text("network_id") == network)
            .filter(|subnet| subnet.int("ip_version") == Some(version))
            .filter(|subnet| subnet.list("service_types").is_empty())
            .collect();
        if subnets.is_empty() {
            continue;
        }
        let found = subnets.iter().find_map(|subnet| {
            let id = subnet.text("id");
            free(subnet, &used(cloud, id, "")).map(|address| pair(id, &address))
        });
        fixed.push(found.ok_or_else(|| exhausted(network))?);
    }
    Ok(fixed)
}

/// The addresses asked for. Those that the port itself has are free to it.
pub(super) fn asked_addresses(
    cloud: &Cloud,
    network: &str,
    asked: &[Value],
    port: &str,
) -> Result<Vec<Value>, Answer> {
    let mut fixed = Vec::new();
    let held: Vec<Value> = cloud
        .collections
        .table(PORTS)
        .get(port)
        .map(|row| row.list("fixed_ips").to_vec())
        .unwrap_or_default();
    for one in asked.iter().filter_map(Value::as_object) {
        let subnet = subnet_for(cloud, network, one)?;
        let id = subnet.text("id");
        let mut taken = used(cloud, id, port);
        taken.extend(
            fixed
                .iter()
                .filter_map(Value::as_object)
                .filter_map(|fixed| Some(number(fixed.text("ip_address"))?.1)),
        );
        let address = match one.text("ip_address") {
            "" => {
                let kept = held
                    .iter()
                    .filter_map(Value::as_object)
                    .find(|held| held.text("subnet_id") == id)
                    .map(|held| held.text("ip_address").to_owned());
                match kept.or_else(|| free(subnet, &taken)) {
                    Some(address) => address,
                    None => return Err(exhausted(network)),
                }
            }
            address => {
                let (_, number) = number(address).ok_or_else(|| not_in_network(address))?;
                if taken.contains(&number) {
                    let text = format!("IP address {address} already allocated in subnet {id}");
                    return Err(answer::neutron(409, "IpAddressAlreadyAllocated", text));
                }
                address.to_owned()
            }
        };
        fixed.push(pair(id, &address));
    }
    Ok(fixed)
}

fn subnet_for<'a>(cloud: &'a Cloud, network: &str, asked: &JsonMap) -> Result<&'a JsonMap, Answer> {
    let address = asked.text("ip_address");
    let holds = |subnet: &JsonMap| match number(address) {
        Some((version, number)) => {
            Cidr::parse(subnet.text("cidr")).is_some_and(|cidr| cidr.contains(version, number))
        }
        None => address.is_empty(),
    };
    match asked.text("subnet_id") {
        "" => cloud
            .collections
            .table(SUBNETS)
            .values()
            .find(|subnet| subnet.text("network_id") == network && holds(subnet))
            .ok_or_else(|| not_in_network(address)),
        id => {
            let subnet = cloud
                .collections
                .table(SUBNETS)
                .get(id)
                .ok_or_else(|| collections::missing(cloud, SUBNETS, id))?;
            if subnet.text("network_id") != network {
                return Err(invalid_input(format!(
                    "Failed to create port on network {network}, because fixed_ips included invalid subnet {id}"
                )));
            }
            if !holds(subnet) {
                let text =
                    format!("IP address {address} is not a valid IP for the specified subnet.");
                return Err(answer::neutron(400, "InvalidIpForSubnet", text));
            }
            Ok(subnet)
        }
    }
}

fn pair(subnet: &str, address: &str) -> Value {
    json!({"subnet_id": subnet, "ip_address": address})
}

fn exhausted(network: &str) -> Answer {
    let text = format!("No more IP addresses available on network {network}.");
    answer::neutron(409, "IpAddressGenerationFailure", text)
}

fn not_in_network(address: &str) -> Answer {
    let text = format!(
        "IP address {address} is not a valid IP for any of the subnets on the specified network."
    );
    answer::neutron(400, "InvalidIpForNetwork", text)
}

fn fresh_mac(cloud: &Cloud) -> String {
    let mut bytes = [0; 3];
    cloud.clock.fill(&mut bytes);
    let [a, b, c] = bytes;
    format!("fa:16:3e:{a:02x}:{b:02x}:{c:02x}")
}

fn unused_mac(cloud: &Cloud, network: &str, mac: &str) -> Result<String, Answer> {
    let mac = plain_mac(mac).unwrap_or_default();
    let taken = cloud
        .collections
        .table(PORTS)
        .values()
        .any(|port| port.text("network_id") == network && port.text("mac_address") == mac);
    if taken {
        let text = format!(
            "Unable to complete operation for network {network}. The mac address {mac} is in use."
        );
        return Err(answer::neutron(409, "MacAddressInUse", text));
    }
    Ok(mac)
}

/// What a server asks of a network when it brings no port.
#[derive(Clone, Debug, Default)]
pub(in crate::sandbox) struct Binding {
    pub(in crate::sandbox) network_id: String,
    pub(in crate::sandbox) fixed_ip: Option<String>,
    pub(in crate::sandbox) security_groups: Option<Vec<String>>,
}

/// Makes a port for a server, as Nova does; its id.
pub(in crate::sandbox) fn create_for_server(
    cloud: &mut Cloud,
    scope: &Scope,
    wish: &Binding,
    server_id: &str,
    at: DateTime<Utc>,
) -> Result<String, Answer> {
    let mut given = JsonMap::new();
    given.set("network_id", wish.network_id.as_str());
    if let Some(address) = &wish.fixed_ip {
        given.set("fixed_ips", json!([{"ip_address": address}]));
    }
    if let Some(groups) = &wish.security_groups {
        given.set("security_groups", json!(groups));
    }
    let mut row = collections::new_row(cloud, scope, PORTS, given)?;
    quotas::allow_one_more(cloud, PORTS, &row)?;
    let id = service_port(cloud, &mut row, &scope.project_id, at);
    create(cloud, scope, &mut row)?;
    cloud.collections.table_mut(PORTS).insert(&id, row);
    bind(cloud, &id, server_id, at);
    Ok(id)
}

/// Completes the row of a port that a service makes; its id. The caller inserts it.
pub(super) fn service_port(
    cloud: &Cloud,
    row: &mut JsonMap,
    project: &str,
    at: DateTime<Utc>,
) -> String {
    let id = cloud.fresh_id();
    row.set("id", id.as_str());
    row.set("tenant_id", project);
    row.set("project_id", project);
    row.set("created_at", stamp(at));
    row.set("updated_at", stamp(at));
    row.set("revision_number", 1);
    row.set("tags", Vec::<Value>::new());
    id
}

/// Gives a port to a server.
pub(in crate::sandbox) fn bind(cloud: &mut Cloud, port: &str, server_id: &str, at: DateTime<Utc>) {
    if let Some(row) = cloud.collections.table_mut(PORTS).edit(port) {
        row.set("device_id", server_id);
        row.set("device_owner", "compute:nova");
        row.set("binding:host_id", "sandbox-1");
        row.set("binding:vif_type", "ovs");
        row.set("status", "ACTIVE");
        row.set("updated_at", stamp(at));
    }
}

/// Takes a port from its server: one that Nova made goes, the user's own stays.
pub(in crate::sandbox) fn unbind(cloud: &mut Cloud, port: &str, delete: bool, at: DateTime<Utc>) {
    if delete {
        associations::leave_port(cloud, port, at);
        // Nova asks nobody what else the port is for.
        collections::part(cloud, "network", "port", port).ok();
        cloud.collections.table_mut(PORTS).remove(port);
        return;
    }
    if let Some(row) = cloud.collections.table_mut(PORTS).edit(port) {
        row.set("device_id", "");
        row.set("device_owner", "");
        row.set("binding:host_id", "");
        row.set("binding:vif_type", "unbound");
        row.set("status", "DOWN");
        row.set("updated_at", stamp(at));
    }
}
