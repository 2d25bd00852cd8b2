//! Updates of a server: each stage that a changed property asks for, one after the other.
//!
//! ```text
//! (finish ─▶ finished) ─▶ metadata ─▶ tags ─▶ name ─▶ networks (detach*, port*, attach*)
//!   ─▶ resize ─▶ resized ─▶ confirm ─▶ confirmed ─▶ rebuild ─▶ rebuilt ─▶ password ─▶ done
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::text;
use super::Stage;
use super::networks::{delete_port, entries, get, interfaces, key, made, remembered, wants_port};
use super::{action, config, networks, poll, server_request, status, user_data};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, Progress, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::stage::Stages;

/// The stages in Heat's order, and the properties that ask for them.
const STAGES: [(Stage, &[&str]); 7] = [
    (Stage::Metadata, &["metadata"]),
    (Stage::Tags, &["tags"]),
    (Stage::Name, &["name"]),
    (Stage::Networks, &["networks"]),
    (Stage::Resize, &["flavor"]),
    (Stage::Rebuild, &["image", "user_data"]),
    (Stage::Password, &["admin_pass"]),
];

/// Before the first stage.
pub(super) fn first() -> Step {
    Stage::Stages.step()
}

/// What follows a stage.
pub(super) fn after(stage: Stage, changed: &BTreeSet<String>) -> Beat {
    let passed = STAGES.iter().position(|(passed, _)| *passed == stage);
    let mut left = STAGES.iter().skip(passed.map_or(0, |index| index + 1));
    let is_due = |stage: Stage, asks: &[&str]| {
        // A rebuild with a new image sets the password as well.
        let is_done = stage == Stage::Password && changed.contains("image");
        !is_done && asks.iter().any(|name| changed.contains(*name))
    };
    match left.find(|(stage, asks)| is_due(*stage, asks)) {
        Some((stage, _)) => next(Learned::default(), stage.step()),
        None => done(),
    }
}

/// The values of a server's metadata are texts; others become JSON.
pub(super) fn metadata_texts(metadata: &Value) -> Value {
    let pairs = metadata.as_object().into_iter().flatten().map(|(key, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (key.clone(), Value::from(text))
    });
    Value::Object(pairs.collect())
}

/// One beat of an update.
pub(super) fn beat(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, step, .. } = *beating;
    let Work::Update { before, changed } = work else {
        return declared.plain_beat(beating);
    };
    let given = declared.properties(&subject.properties);
    let done_with = |stage: Stage| after(stage, changed);
    match Stage::of(step) {
        // A resize that somebody began, such as an update that ran out of time, comes first: until
        // its end Nova shows a flavor that is not to last, and then allows little.
        Some(Stage::Stages) if changed.contains("flavor") => match poll(cloud, subject)? {
            Some(server) if status(&server) == "VERIFY_RESIZE" => {
                Ok(next(Learned::default(), Stage::Finish.step()))
            }
            Some(server) if status(&server) != "RESIZE" => Ok(after(Stage::Stages, changed)),
            _ => Ok(Beat::Wait { after: None }),
        },
        Some(Stage::Stages) => Ok(after(Stage::Stages, changed)),
        Some(Stage::Metadata) => {
            metadata(declared, beating, &given)?;
            Ok(done_with(Stage::Metadata))
        }
        Some(Stage::Name) => {
            let name = text(&given, "name").unwrap_or(&subject.physical_name);
            let body = json!({ "server": { "name": name } });
            cloud.send(server_request(Method::Put, subject, "").json(body))?;
            Ok(done_with(Stage::Name))
        }
        Some(Stage::Networks) => {
            let resolved = declared.declaration().resolved(cloud, given.clone())?;
            let plan = plan(cloud, subject, [before, &given], &resolved)?;
            Ok(match plan {
                Plan::Detach { .. } => next(Learned::default(), Stage::Detach.step()),
                Plan::MakePort { index } => next(
                    Learned::default(),
                    Progress { index: index as u32, ..Progress::default() }.to(Stage::Port),
                ),
                Plan::Attach { .. } => next(Learned::default(), Stage::Attach.step()),
                Plan::Nothing => done_with(Stage::Networks),
            })
        }
        Some(Stage::Detach | Stage::Attach) => {
            // The plan is made from what is live, so that a repetition does what is left to do.
            let resolved = declared.declaration().resolved(cloud, given.clone())?;
            if beating.is_unanswered() && Stage::of(step) == Some(Stage::Attach) {
                // What was attached and never heard of may have the default groups.
                let interfaces = interfaces(cloud, subject)?;
                secure(cloud, subject, &resolved, &interfaces)?;
            }
            let plan = plan(cloud, subject, [before, &given], &resolved)?;
            let learned = carry_out(cloud, subject, &resolved, plan)?;
            Ok(next(learned, Stage::Settling.step()))
        }
        // Nova detaches and attaches behind its answer; a short wait saves a wrong look.
        Some(Stage::Settling) => match poll(cloud, subject)? {
            Some(server) if server["OS-EXT-STS:task_state"].is_null() => {
                Ok(next(Learned::default(), Stage::Networks.step()))
            }
            _ => Ok(Beat::Wait { after: None }),
        },
        Some(Stage::Resize) => {
            if beating.is_unanswered() {
                let server = declared.show(cloud, subject)?;
                if matches!(status(&server), "RESIZE" | "VERIFY_RESIZE") {
                    return Ok(next(Learned::default(), Stage::Resized.step()));
                }
            }
            let is_doubtful = was_given(before, &given, "flavor");
            if is_doubtful
                && let Some(server) = poll(cloud, subject)?
                && has_flavor(declared, cloud, given.clone(), &server)?
            {
                return Ok(done_with(Stage::Resize));
            }
            let resolved = declared.declaration().resolved(cloud, given.clone())?;
            let body = json!({ "resize": { "flavorRef": resolved.get("flavor") } });
            match cloud.send(action(subject, body)) {
                Ok(_) => {}
                // Nova's word for a server that has the flavor by now.
                Err(error) if beating.is_unanswered() && error.status() == Some(400) => {}
                Err(error) if error.status() == Some(400) => {
                    let server = declared.show(cloud, subject)?;
                    if !has_flavor(declared, cloud, given, &server)? {
                        return Err(error.into());
                    }
                    return Ok(done_with(Stage::Resize));
                }
                Err(error) => return Err(error.into()),
            }
            Ok(next(Learned::default(), Stage::Resized.step()))
        }
        Some(Stage::Resized) => {
            let Some(server) = poll(cloud, subject)? else {
                return Ok(Beat::Wait { after: None });
            };
            match status(&server) {
                "VERIFY_RESIZE" => Ok(next(Learned::default(), Stage::Confirm.step())),
                "RESIZE" => Ok(Beat::Wait { after: None }),
                // It may not have begun, or may have confirmed itself.
                "ACTIVE" if has_flavor(declared, cloud, given.clone(), &server)? => {
                    Ok(done_with(Stage::Resize))
                }
                "ACTIVE" => Ok(Beat::Wait { after: None }),
                other => {
                    let flavor = text(&given, "flavor").unwrap_or_default();
                    let text = format!("Resizing to '{flavor}' failed, status '{other}'");
                    Err(Failure::Failed(text))
                }
            }
        }
        Some(Stage::Confirm | Stage::Finish) => {
            match cloud.send(action(subject, json!({ "confirmResize": null }))) {
                Ok(_) => {}
                // It is being confirmed, which does not show.
                Err(error) if error.status() == Some(400) => {}
                Err(error) if beating.is_unanswered() && error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
            let finishes = Stage::of(step) == Some(Stage::Finish);
            let ends = if finishes { Stage::Finished } else { Stage::Confirmed };
            Ok(next(Learned::default(), ends.step()))
        }
        Some(Stage::Confirmed | Stage::Finished) => {
            let Some(server) = poll(cloud, subject)? else {
                return Ok(Beat::Wait { after: None });
            };
            let task = server["OS-EXT-STS:task_state"].as_str().unwrap_or_default();
            match status(&server) {
                "VERIFY_RESIZE" => Ok(Beat::Wait { after: None }),
                _ if task.contains("resize") => Ok(Beat::Wait { after: None }),
                _ if Stage::of(step) == Some(Stage::Finished) => {
                    Ok(next(Learned::default(), first()))
                }
                "ACTIVE" => Ok(done_with(Stage::Resize)),
                other => {
                    let id = subject.physical_id.as_deref().unwrap_or_default();
                    Err(Failure::unknown_status(
                        format!("Confirm resize for server {id} failed"),
                        other,
                    ))
                }
            }
        }
        Some(Stage::Rebuild) => rebuild(declared, beating, given, before, changed),
        Some(Stage::Rebuilt) => match poll(cloud, subject)? {
            None => Ok(Beat::Wait { after: None }),
            Some(server) => match status(&server) {
                "REBUILD" => Ok(Beat::Wait { after: None }),
                "ERROR" => {
                    let text = "Rebuilding server failed, status 'ERROR'";
                    Err(Failure::Failed(text.to_owned()))
                }
                _ => Ok(done_with(Stage::Rebuild)),
            },
        },
        Some(Stage::Password) => {
            let password = given.get("admin_pass").cloned().unwrap_or("".into());
            let body = json!({ "changePassword": { "adminPass": password } });
            cloud.send(action(subject, body))?;
            Ok(done())
        }
        _ => declared.plain_beat(beating),
    }
}

/// Whether a property is as it was when an update was last through: then a later one, which failed,
/// may have changed it, and may not have come to it.
fn was_given(before: &JsonMap, given: &JsonMap, name: &str) -> bool {
    before.get(name) == given.get(name)
}

/// Removes the keys that are no longer wanted and sets the others.
fn metadata(
    declared: &Declared,
    beating: &Beating<'_>,
    properties: &JsonMap,
) -> Result<(), Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let wanted = metadata_texts(properties.get("metadata").unwrap_or(&Value::Null));
    let server = declared.show(cloud, subject)?;
    for key in server["metadata"].as_object().into_iter().flat_map(JsonMap::keys) {
        if wanted.get(key).is_none() {
            let path = format!("/metadata/{}", path_segment(key));
            match cloud.send(server_request(Method::Delete, subject, &path)) {
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let body = json!({ "metadata": wanted });
    cloud.send(server_request(Method::Post, subject, "/metadata").json(body))?;
    Ok(())
}

/// Whether the server has the wanted flavor. Nova shows a flavor by its name.
fn has_flavor(
    declared: &Declared,
    cloud: &Asks<'_>,
    given: JsonMap,
    server: &Value,
) -> Result<bool, Failure> {
    let resolved = declared.declaration().resolved(cloud, given)?;
    let id = text(&resolved, "flavor").unwrap_or_default();
    if server["flavor"]["id"] == id {
        return Ok(true);
    }
    let request = Request::get(Service::Compute, format!("/flavors/{}", path_segment(id)));
    let flavor = cloud.send(request)?.json()?;
    Ok(flavor["flavor"]["name"] == server["flavor"]["original_name"])
}

fn rebuild(
    declared: &Declared,
    beating: &Beating<'_>,
    given: JsonMap,
    before: &JsonMap,
    changed: &BTreeSet<String>,
) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let is_doubtful = changed.contains("image") && was_given(before, &given, "image");
    let renews_data =
        changed.contains("user_data") && text(&given, "user_data_update_policy") == Some("REBUILD");
    if !changed.contains("image") && !renews_data {
        return Ok(after(Stage::Rebuild, changed));
    }
    let data = config::user_data(cloud, subject, &given)?;
    let metadata = config::metadata(cloud, subject, &given)?;
    let encoded = user_data::encoded(&given, &data, &metadata);
    let resolved = declared.declaration().resolved(cloud, given)?;
    // A rebuild of what has the image already would only wipe it.
    if is_doubtful
        && let Some(server) = poll(cloud, subject)?
        && server["image"].get("id") == resolved.get("image")
    {
        return Ok(after(Stage::Rebuild, changed));
    }
    let mut body = json!({ "imageRef": resolved.get("image") });
    if changed.contains("image") {
        let policy = text(&resolved, "image_update_policy");
        body["preserve_ephemeral"] = (policy == Some("REBUILD_PRESERVE_EPHEMERAL")).into();
        if let Some(password) = text(&resolved, "admin_pass") {
            body["adminPass"] = password.into();
        }
        body["metadata"] = metadata_texts(resolved.get("metadata").unwrap_or(&Value::Null));
    }
    if renews_data {
        body["user_data"] = encoded.map_or(Value::Null, Value::from);
    }
    match cloud.send(action(subject, json!({ "rebuild": body }))) {
        Ok(_) => {}
        // It is at it already.
        Err(error) if beating.is_unanswered() && error.is_conflict() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(next(Learned::default(), Stage::Rebuilt.step()))
}

/// The next thing to do about a server's interfaces.
enum Plan {
    Detach { port: String, made_for: Option<String> },
    MakePort { index: usize },
    Attach { body: Value },
    Nothing,
}

/// Compares the interfaces with the wanted networks. Each wanted entry takes one interface that
/// fits, whatever that was made for; what is left over goes, what is missing comes.
fn plan(
    cloud: &Asks<'_>,
    subject: &Subject,
    [before, given]: [&JsonMap; 2],
    resolved: &JsonMap,
) -> Result<Plan, Failure> {
    let mut live = interfaces(cloud, subject)?;
    let made = made(subject);
    let left_behind = left_behind(&made, given, &live);
    let entries = entries(resolved);
    let port_of = |(index, entry): (usize, &Value)| made.get(&key(index, entry)).cloned();
    let own: Vec<_> = networks::entries(given).iter().enumerate().map(port_of).collect();
    let own = |index: usize| own.get(index).cloned().flatten();
    // The ports that differ in more than their addresses serve their own entries alone.
    let before = networks::entries(before).iter().enumerate();
    let special: Vec<String> =
        before.filter(|(_, entry)| is_special(entry)).filter_map(port_of).collect();
    // First the ports that are named or were made for an entry: no other entry takes them.
    let mut missing = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let port = get(entry, "port").map(str::to_owned).or_else(|| own(index));
        let place =
            live.iter().position(|it| port.as_deref().is_some_and(|id| it["port_id"] == id));
        match place {
            Some(place) => drop(live.remove(place)),
            None => missing.push((index, entry, port)),
        }
    }
    let mut left = Vec::new();
    for (index, entry, port) in missing {
        let network = networks::network_of(cloud, entry)?;
        let is_special_port =
            |interface: &Value| special.iter().any(|port| interface["port_id"] == port.as_str());
        let fits = |interface: &Value| {
            let has = |key: &str, wanted: Option<&str>| {
                let addresses = interface["fixed_ips"].as_array().into_iter().flatten();
                wanted.is_none_or(|wanted| addresses.clone().any(|it| it[key] == wanted))
            };
            port.is_none()
                && !is_special(entry)
                && !is_special_port(interface)
                && has("ip_address", get(entry, "fixed_ip"))
                && has("subnet_id", get(entry, "subnet"))
                && network.as_deref().is_none_or(|network| interface["net_id"] == network)
        };
        match live.iter().position(fits) {
            Some(place) => drop(live.remove(place)),
            None => left.push((index, network, port)),
        }
    }
    let missing = left;
    // An empty list asks for one network of the cloud's choice, which any interface is.
    if entries.is_empty() && !live.is_empty() {
        return Ok(Plan::Nothing);
    }
    if let Some(surplus) = live.first() {
        let port = surplus["port_id"].as_str().unwrap_or_default().to_owned();
        let made_for = made.into_iter().find(|(_, id)| *id == port).map(|(key, _)| key);
        return Ok(Plan::Detach { port, made_for });
    }
    if let Some((key, port)) = left_behind {
        return Ok(Plan::Detach { port, made_for: Some(key) });
    }
    let Some((index, network, port)) = missing.into_iter().next() else {
        return Ok(match entries.is_empty() {
            true => Plan::Attach { body: json!({}) },
            false => Plan::Nothing,
        });
    };
    let entry = entries.get(index).unwrap_or(&Value::Null);
    Ok(match port {
        Some(port) => Plan::Attach { body: json!({ "port_id": port }) },
        None if wants_port(entry) => Plan::MakePort { index },
        None => {
            let mut body = json!({ "net_id": network });
            if let Some(ip) = get(entry, "fixed_ip") {
                body["fixed_ips"] = json!([{ "ip_address": ip }]);
            }
            Plan::Attach { body }
        }
    })
}

/// Gives the interfaces whose ports Nova made the server's security groups: where it attaches one
/// later on it does not do so itself.
fn secure(
    cloud: &Asks<'_>,
    subject: &Subject,
    resolved: &JsonMap,
    interfaces: &[Value],
) -> Result<(), Failure> {
    let made = made(subject);
    let named: Vec<&str> =
        entries(resolved).iter().filter_map(|entry| get(entry, "port")).collect();
    let ports = interfaces.iter().filter_map(|interface| interface["port_id"].as_str());
    let ports: Vec<&str> =
        ports.filter(|port| !named.contains(port) && !made.values().any(|id| id == port)).collect();
    if ports.is_empty() {
        return Ok(());
    }
    let groups = networks::groups(cloud, resolved)?;
    if groups.is_empty() {
        return Ok(());
    }
    for port in ports {
        let body = json!({ "port": { "security_groups": groups } });
        let path = format!("/v2.0/ports/{}", path_segment(port));
        cloud.send(Request::put(Service::Network, path).json(body))?;
    }
    Ok(())
}

/// A port made for an entry that there no longer is, and not at the server: its detaching broke off
/// before it was deleted.
fn left_behind(
    made: &BTreeMap<String, String>,
    given: &JsonMap,
    live: &[Value],
) -> Option<(String, String)> {
    let entries = networks::entries(given).iter().enumerate();
    let wanted: BTreeSet<String> = entries.map(|(index, entry)| key(index, entry)).collect();
    let mut left = made.iter().filter(|(key, id)| {
        !wanted.contains(*key) && !live.iter().any(|it| it["port_id"] == id.as_str())
    });
    left.next().map(|(key, id)| (key.clone(), id.clone()))
}

/// Whether the entry says more of its port than where it is.
fn is_special(entry: &Value) -> bool {
    entry["port_extra_properties"].as_object().is_some_and(|it| !it.is_empty())
}

fn carry_out(
    cloud: &Asks<'_>,
    subject: &Subject,
    resolved: &JsonMap,
    plan: Plan,
) -> Result<Learned, Failure> {
    match plan {
        Plan::Detach { port, made_for } => {
            let path = format!("/os-interface/{}", path_segment(&port));
            match cloud.send(server_request(Method::Delete, subject, &path)) {
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
            let Some(key) = made_for else { return Ok(Learned::default()) };
            delete_port(cloud, &port)?;
            let mut ports: BTreeMap<String, String> = made(subject);
            ports.remove(&key);
            Ok(remembered(&ports))
        }
        Plan::Attach { body } => {
            let body = json!({ "interfaceAttachment": body });
            let request = server_request(Method::Post, subject, "/os-interface").json(body);
            let attached = cloud.send(request)?.json()?["interfaceAttachment"].take();
            // A look at what is attached finds the interface from now on: all is done again.
            secure(cloud, subject, resolved, &[attached])
                .map_err(|failure| Failure::InDoubt(Box::new(failure)))?;
            Ok(Learned::default())
        }
        Plan::MakePort { .. } | Plan::Nothing => Ok(Learned::default()),
    }
}
