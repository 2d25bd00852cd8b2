//! The attributes of a server that are more than a field of it.

use serde_json::{Value, json};

use super::super::text;
use super::server_request;
use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::agent;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;

/// The kinds of consoles, and the protocol that each is asked for with.
const CONSOLES: [(&str, &str); 8] = [
    ("novnc", "vnc"),
    ("xvpvnc", "vnc"),
    ("spice-html5", "spice"),
    ("spice-direct", "spice"),
    ("rdp-html5", "rdp"),
    ("serial", "serial"),
    ("webmks", "mks"),
    ("mks", "mks"),
];

/// The attribute; none where it is a field.
pub(super) fn attribute(
    cloud: &Asks<'_>,
    subject: &Subject,
    server: &Value,
    name: &str,
) -> Result<Option<Value>, Failure> {
    Ok(Some(match name {
        "name" => text(&subject.properties, "name").unwrap_or(&subject.physical_name).into(),
        "instance_name" => server["OS-EXT-SRV-ATTR:instance_name"].clone(),
        "networks" => networks(cloud, subject, server)?,
        "addresses" => addresses(cloud, subject)?,
        "first_address" => {
            let mut networks: Vec<_> =
                server["addresses"].as_object().into_iter().flatten().collect();
            networks.sort_by(|left, right| right.0.cmp(left.0));
            let first = networks.first().and_then(|(_, list)| list[0]["addr"].as_str());
            first.unwrap_or_default().into()
        }
        "os_collect_config" => agent::known(subject),
        "console_urls" => consoles(cloud, subject)?,
        _ => return Ok(None),
    }))
}

fn ports(cloud: &Asks<'_>, subject: &Subject) -> Result<Vec<Value>, Failure> {
    let id = subject.physical_id.as_deref().unwrap_or_default();
    let request = Request::get(Service::Network, "/v2.0/ports").query("device_id", id);
    let mut body = cloud.send(request)?.json()?;
    match body["ports"].take() {
        Value::Array(ports) => Ok(ports),
        _ => Ok(Vec::new()),
    }
}

/// Addresses by the name of their network, and again by its id.
fn networks(cloud: &Asks<'_>, subject: &Subject, server: &Value) -> Result<Value, Failure> {
    let ports = ports(cloud, subject)?;
    let mut networks = JsonMap::new();
    let mut by_id = JsonMap::new();
    for (name, list) in server["addresses"].as_object().into_iter().flatten() {
        let list = list.as_array().map_or(&[][..], Vec::as_slice);
        let addresses: Vec<Value> = list.iter().map(|address| address["addr"].clone()).collect();
        let has_one = |port: &&Value| {
            let fixed = port["fixed_ips"].as_array().map_or(&[][..], Vec::as_slice);
            fixed.iter().any(|fixed| addresses.contains(&fixed["ip_address"]))
        };
        if let Some(id) = ports.iter().find(has_one).and_then(|port| port["network_id"].as_str()) {
            by_id.insert(id.to_owned(), addresses.clone().into());
        }
        networks.insert(name.clone(), addresses.into());
    }
    networks.extend(by_id);
    Ok(networks.into())
}

/// Ports with their addresses, networks and subnets, by network name and again by its id.
fn addresses(cloud: &Asks<'_>, subject: &Subject) -> Result<Value, Failure> {
    let mut by_name: JsonMap = JsonMap::new();
    let mut ids = Vec::new();
    for port in ports(cloud, subject)? {
        let network = shown(cloud, "networks", "network", &port["network_id"])?;
        let name = network["name"].as_str().unwrap_or_default().to_owned();
        ids.push((name.clone(), port["network_id"].as_str().unwrap_or_default().to_owned()));
        let mut subnets = Vec::new();
        let mut found = Vec::new();
        for fixed in port["fixed_ips"].as_array().into_iter().flatten() {
            subnets.push(shown(cloud, "subnets", "subnet", &fixed["subnet_id"])?);
            found.push((fixed["ip_address"].clone(), "fixed"));
        }
        let id = port["id"].as_str().unwrap_or_default();
        let request = Request::get(Service::Network, "/v2.0/floatingips").query("port_id", id);
        let floating = cloud.send(request)?.json()?;
        for ip in floating["floatingips"].as_array().into_iter().flatten() {
            found.push((ip["floating_ip_address"].clone(), "floating"));
        }
        let list = by_name.entry(name).or_insert_with(|| json!([]));
        for (address, kind) in found {
            let is_v6 = address.as_str().is_some_and(|text| text.contains(':'));
            let entry = json!({
                "addr": address,
                "version": if is_v6 { 6 } else { 4 },
                "OS-EXT-IPS:type": kind,
                "OS-EXT-IPS-MAC:mac_addr": port["mac_address"],
                "port": port["id"],
                "network": network,
                "subnets": subnets,
            });
            if let Value::Array(list) = list {
                list.push(entry);
            }
        }
    }
    for (name, id) in ids {
        if let Some(list) = by_name.get(&name).cloned() {
            by_name.insert(id, list);
        }
    }
    Ok(by_name.into())
}

fn shown(cloud: &Asks<'_>, collection: &str, wrap: &str, id: &Value) -> Result<Value, Failure> {
    let id = path_segment(id.as_str().unwrap_or_default());
    let request = Request::get(Service::Network, format!("/v2.0/{collection}/{id}"));
    Ok(cloud.send(request)?.json()?[wrap].take())
}

/// The address of every kind of console, or why there is none.
fn consoles(cloud: &Asks<'_>, subject: &Subject) -> Result<Value, Failure> {
    let mut urls = JsonMap::new();
    for (kind, protocol) in CONSOLES {
        let body = json!({ "remote_console": { "protocol": protocol, "type": kind } });
        let request = server_request(Method::Post, subject, "/remote-consoles").json(body);
        let request = request.only_asking();
        let url = match cloud.send(request) {
            Ok(response) => response.json()?["remote_console"]["url"].take(),
            Err(error) => format!("Cannot get console url: {error}").into(),
        };
        urls.insert(kind.into(), url);
    }
    Ok(urls.into())
}
