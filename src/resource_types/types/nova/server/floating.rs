//! The floating IPs that a server's networks name: each points at the port of its entry.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Stage;
use super::entries::{entries, get};
use super::interfaces;
use super::networks::{key, made};
use crate::model::JsonMap;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, Progress, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject};

/// Points the floating IP of an entry at its port.
pub(super) fn associate(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let index = beating.progress().index as usize;
    let given = declared.properties(&subject.properties);
    let properties = declared.declaration().resolved(cloud, given.clone())?;
    if let (Some(entry), Some(written)) =
        (entries(&properties).get(index), entries(&given).get(index))
    {
        let port = port_for(&made(subject), index, written, entry);
        if let (Some(floating_ip), Some(port)) = (get(entry, "floating_ip"), port) {
            put(cloud, floating_ip, to(entry, port))?;
        }
    }
    let further = entries(&given).iter().enumerate().skip(index + 1);
    let mut further = further.filter(|(_, entry)| get(entry, "floating_ip").is_some());
    Ok(next(
        Learned::default(),
        match further.next() {
            Some((index, _)) => {
                Progress { index: index as u32, ..Progress::default() }.to(Stage::Float)
            }
            None => declared.creation(subject),
        },
    ))
}

/// Whether any of these networks names one.
pub(super) fn are_named(networks: [&JsonMap; 2]) -> bool {
    let mut named = networks.into_iter().flat_map(entries);
    named.any(|entry| get(entry, "floating_ip").is_some())
}

/// Takes those that no entry names any more from the server's ports, and points the others at the
/// ports of their entries. What points there already is left alone.
pub(super) fn refloat(
    cloud: &Asks<'_>,
    subject: &Subject,
    before: &JsonMap,
    given: &JsonMap,
    resolved: &JsonMap,
) -> Result<(), Failure> {
    let named: BTreeSet<&str> =
        entries(resolved).iter().filter_map(|entry| get(entry, "floating_ip")).collect();
    let live = interfaces::live(cloud, subject)?;
    for entry in entries(before) {
        let Some(floating_ip) = get(entry, "floating_ip").filter(|it| !named.contains(it)) else {
            continue;
        };
        let Some(at) = port_of(cloud, floating_ip)? else { continue };
        let is_ours =
            live.iter().any(|it| it["port_id"] == at.as_str()) || get(entry, "port") == Some(&at);
        if is_ours {
            put(cloud, floating_ip, json!({ "port_id": null }))?;
        }
    }
    let made = made(subject);
    for (index, (entry, written)) in entries(resolved).iter().zip(entries(given)).enumerate() {
        let port = port_for(&made, index, written, entry);
        if let (Some(floating_ip), Some(port)) = (get(entry, "floating_ip"), port)
            && port_of(cloud, floating_ip)?.as_ref() != Some(&port)
        {
            put(cloud, floating_ip, to(entry, port))?;
        }
    }
    Ok(())
}

/// The port of an entry: one that it names, or that was made for it as it is written.
fn port_for(
    made: &BTreeMap<String, String>,
    index: usize,
    written: &Value,
    entry: &Value,
) -> Option<String> {
    get(entry, "port").map(str::to_owned).or_else(|| made.get(&key(index, written)).cloned())
}

/// The fields that point a floating IP at the port of an entry.
fn to(entry: &Value, port: String) -> Value {
    let mut fields = json!({ "port_id": port });
    if let Some(ip) = get(entry, "fixed_ip") {
        fields["fixed_ip_address"] = ip.into();
    }
    fields
}

fn place(floating_ip: &str) -> String {
    format!("/v2.0/floatingips/{}", path_segment(floating_ip))
}

fn put(cloud: &Asks<'_>, floating_ip: &str, fields: Value) -> Result<(), Failure> {
    let body = json!({ "floatingip": fields });
    cloud.send(Request::put(Service::Network, place(floating_ip)).json(body))?;
    Ok(())
}

/// The port at which a floating IP points; none where it points nowhere or is gone.
fn port_of(cloud: &Asks<'_>, floating_ip: &str) -> Result<Option<String>, Failure> {
    match cloud.send(Request::get(Service::Network, place(floating_ip))) {
        Ok(answer) => Ok(answer.json()?["floatingip"]["port_id"].as_str().map(str::to_owned)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
