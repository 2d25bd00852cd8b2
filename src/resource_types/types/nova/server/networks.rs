//! The networks of a server: ports that are made for it, and the list that Nova gets.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Stage;
use super::claim;
use super::entries::{entries, get};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, Progress, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::finders;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::stage::Stages;

/// Resource data: the ports made for the server, by the key of their entry.
pub(super) const PORTS: &str = "internal_ports";

/// `auto` or `none`, where the cloud is to see to the networks.
pub(super) fn word(properties: &JsonMap) -> Option<&str> {
    entries(properties).iter().find_map(|entry| get(entry, "allocate_network"))
}

/// Whether a port is made for the entry.
pub(super) fn wants_port(entry: &Value) -> bool {
    get(entry, "port").is_none()
        && (get(entry, "subnet").is_some()
            || entry["port_extra_properties"].as_object().is_some_and(|it| !it.is_empty()))
}

/// Names an entry by its place and content, so that a changed one has another port.
pub(super) fn key(index: usize, entry: &Value) -> String {
    // FNV-1a: stable over versions of the program, which std's hasher is not.
    let hash = entry.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{index}-{:08x}", hash & 0xffff_ffff)
}

/// The ports made so far.
pub(super) fn made(subject: &Subject) -> BTreeMap<String, String> {
    let ports = subject.data.get(PORTS).and_then(Value::as_object);
    ports
        .into_iter()
        .flatten()
        .filter_map(|(key, id)| Some((key.clone(), id.as_str()?.to_owned())))
        .collect()
}

/// Resource data with these ports.
pub(super) fn remembered(ports: &BTreeMap<String, String>) -> Learned {
    let ports = if ports.is_empty() { Value::Null } else { json!(ports) };
    Learned { data: BTreeMap::from([(PORTS.to_owned(), ports)]), ..Learned::default() }
}

/// The next port or floating IP from this entry on, or the creation.
pub(super) fn next_preparation(declared: &Declared, subject: &Subject, from: u32) -> Step {
    let properties = declared.properties(&subject.properties);
    let made = made(subject);
    for (index, entry) in entries(&properties).iter().enumerate().skip(from as usize) {
        let at = Progress { index: index as u32, ..Progress::default() };
        if wants_port(entry) && !made.contains_key(&key(index, entry)) {
            return at.to(Stage::Port);
        }
    }
    for (index, entry) in entries(&properties).iter().enumerate() {
        if get(entry, "floating_ip").is_some() {
            return Progress { index: index as u32, ..Progress::default() }.to(Stage::Float);
        }
    }
    declared.creation(subject)
}

/// What marks a port as made for this entry of this server.
fn token(subject: &Subject, key: &str) -> String {
    format!("{}-port-{key}", subject.physical_name)
}

/// Makes the port of an entry.
pub(super) fn make_port(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, work, .. } = *beating;
    let index = beating.progress().index as usize;
    let given = declared.properties(&subject.properties);
    let key = match entries(&given).get(index) {
        Some(entry) => key(index, entry),
        None => return Ok(next(Learned::default(), declared.creation(subject))),
    };
    let token = token(subject, &key);
    let found = if beating.is_unanswered() { find_port(cloud, &token)? } else { None };
    let id = match found {
        Some(id) => id,
        None => {
            let properties = declared.declaration().resolved(cloud, given)?;
            let entry = entries(&properties).get(index).cloned().unwrap_or_default();
            let body = port_body(cloud, subject, &properties, &entry, index, &token)?;
            let request = Request::post(Service::Network, "/v2.0/ports").json(body);
            let port = cloud.send(request)?.json()?;
            port["port"]["id"].as_str().unwrap_or_default().to_owned()
        }
    };
    let mut ports = made(subject);
    ports.insert(key, id);
    let learned = remembered(&ports);
    let following = match work {
        // The port just made is not in the subject yet; the next beat sees it.
        Work::Create => Stage::Prepare.step(),
        Work::Update { .. } | Work::Delete | Work::Act(_) => Stage::Networks.step(),
    };
    Ok(next(learned, following))
}

fn find_port(cloud: &Asks<'_>, token: &str) -> Result<Option<String>, Failure> {
    let request = Request::get(Service::Network, "/v2.0/ports").query("description", token);
    let body = cloud.send(request)?.json()?;
    let mut ports = body["ports"].as_array().into_iter().flatten();
    let port = ports.find(|port| port["description"] == token);
    Ok(port.and_then(|port| port["id"].as_str()).map(str::to_owned))
}

fn port_body(
    cloud: &Asks<'_>,
    subject: &Subject,
    properties: &JsonMap,
    entry: &Value,
    index: usize,
    token: &str,
) -> Result<Value, Failure> {
    let mut port = JsonMap::new();
    if let Some(network) = network_of(cloud, entry)? {
        port.insert("network_id".into(), network.into());
    }
    let mut address = JsonMap::new();
    if let Some(ip) = get(entry, "fixed_ip") {
        address.insert("ip_address".into(), ip.into());
    }
    if let Some(subnet) = get(entry, "subnet") {
        address.insert("subnet_id".into(), subnet.into());
    }
    if !address.is_empty() {
        port.insert("fixed_ips".into(), json!([address]));
    }
    let groups = groups(cloud, properties)?;
    if !groups.is_empty() {
        port.insert("security_groups".into(), json!(groups));
    }
    port.extend(extra_fields(&entry["port_extra_properties"]));
    let name = subject.name.as_ref().map_or("", |name| name.as_str());
    port.insert("name".into(), format!("{name}-port-{index}").into());
    port.insert("description".into(), token.into());
    Ok(json!({ "port": port }))
}

/// The ids of the security groups that the server's ports are to have.
pub(super) fn groups(cloud: &Asks<'_>, properties: &JsonMap) -> Result<Vec<String>, Failure> {
    let groups = properties.get("security_groups").and_then(Value::as_array);
    let names = groups.into_iter().flatten().filter_map(Value::as_str);
    names.map(|name| finders::find(cloud, "neutron.own_security_group", name)).collect()
}

/// `port_extra_properties` as fields of a port.
pub(super) fn extra_fields(extra: &Value) -> JsonMap {
    let mut fields = JsonMap::new();
    for (name, value) in extra.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            (_, Value::Null) => {}
            ("value_specs", Value::Object(specs)) => fields.extend(specs.clone()),
            ("no_fixed_ips", Value::Bool(true)) => {
                fields.insert("fixed_ips".into(), json!([]));
            }
            ("no_fixed_ips" | "value_specs", _) => {}
            ("qos_policy", policy) => {
                fields.insert("qos_policy_id".into(), policy.clone());
            }
            (name, value) => {
                fields.insert(name.into(), value.clone());
            }
        }
    }
    fields
}

/// The network of an entry: its own, or that of its subnet.
pub(super) fn network_of(cloud: &Asks<'_>, entry: &Value) -> Result<Option<String>, Failure> {
    if let Some(network) = get(entry, "network") {
        return Ok(Some(network.to_owned()));
    }
    let Some(subnet) = get(entry, "subnet") else { return Ok(None) };
    let path = format!("/v2.0/subnets/{}", path_segment(subnet));
    let body = cloud.send(Request::get(Service::Network, path))?.json()?;
    Ok(body["subnet"]["network_id"].as_str().map(str::to_owned))
}

/// The list that Nova gets.
pub(super) fn nics(
    cloud: &Asks<'_>,
    subject: &Subject,
    resolved: &JsonMap,
) -> Result<Value, Failure> {
    let entries = entries(resolved);
    if entries.is_empty() {
        return Ok("auto".into());
    }
    if let Some(word) = word(resolved) {
        return Ok(word.into());
    }
    let ports = made(subject);
    let mut nics = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let prefix = format!("{index}-");
        let own = ports.iter().find(|(key, _)| key.starts_with(&prefix)).map(|(_, id)| id.as_str());
        let mut nic = JsonMap::new();
        match get(entry, "port").or(own.filter(|_| wants_port(entry))) {
            Some(port) => {
                nic.insert("port".into(), port.into());
            }
            None => {
                if let Some(network) = network_of(cloud, entry)? {
                    nic.insert("uuid".into(), network.into());
                }
                if let Some(ip) = get(entry, "fixed_ip") {
                    nic.insert("fixed_ip".into(), ip.into());
                }
            }
        }
        if let Some(tag) = get(entry, "tag") {
            nic.insert("tag".into(), tag.into());
        }
        nics.push(Value::Object(nic));
    }
    Ok(nics.into())
}

/// Looks for ports of a server that was never made.
pub(super) fn find_lost(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let properties = declared.properties(&subject.properties);
    let mut ports = made(subject);
    for (index, entry) in entries(&properties).iter().enumerate() {
        let key = key(index, entry);
        if wants_port(entry)
            && !ports.contains_key(&key)
            && let Some(id) = find_port(cloud, &token(subject, &key))?
        {
            ports.insert(key, id);
        }
    }
    if ports.is_empty() {
        return Ok(claim::then_give_back(subject, Learned::default()));
    }
    Ok(next(remembered(&ports), Stage::DropPort.step()))
}

/// What follows when the server is gone.
pub(super) fn drop_ports(subject: &Subject) -> Beat {
    if made(subject).is_empty() {
        return claim::then_give_back(subject, Learned::default());
    }
    next(Learned::default(), Stage::DropPort.step())
}

/// Deletes one port that was made for the server.
pub(super) fn drop_port(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let mut ports = made(subject);
    let Some((_, id)) = ports.pop_first() else {
        return Ok(claim::then_give_back(subject, Learned::default()));
    };
    delete_port(cloud, &id)?;
    let learned = remembered(&ports);
    Ok(match ports.is_empty() {
        true => claim::then_give_back(subject, learned),
        false => next(learned, Stage::DropPort.step()),
    })
}

pub(super) fn delete_port(cloud: &Asks<'_>, id: &str) -> Result<(), Failure> {
    let path = format!("/v2.0/ports/{}", path_segment(id));
    match cloud.send(Request::delete(Service::Network, path)) {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
