//! Smaller parts of servers: metadata, tags, addresses, consoles, security groups, history.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, shown};
use super::super::keystone::Scope;
use super::super::neutron::{PORTS, SECURITY_GROUPS};
use super::nowhere;
use super::server::{addresses, find};
use super::state::Server;

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    id: &str,
    path: &[&str],
) -> Reply {
    let server = find(cloud, scope, id)?.clone();
    let action = match (ask.method.as_str(), path) {
        ("PUT" | "POST", ["metadata", ..]) => Some("update metadata"),
        ("DELETE", ["metadata", ..]) => Some("delete metadata"),
        ("PUT", ["tags"]) => Some("update tags"),
        ("PUT", ["tags", _]) => Some("update tag"),
        ("DELETE", ["tags"]) => Some("delete tags"),
        ("DELETE", ["tags", _]) => Some("delete tag"),
        _ => None,
    };
    if let Some(action) = action {
        changeable(&server, action)?;
    }
    match (ask.method.as_str(), path) {
        (_, ["metadata", rest @ ..]) => metadata(cloud, ask, &server, rest),
        (_, ["tags", rest @ ..]) => tags(cloud, ask, &server, rest),
        ("GET", ["ips"]) => Ok(Answer::json(200, &json!({"addresses": addresses(cloud, &server)}))),
        ("GET", ["os-security-groups"]) => {
            Ok(Answer::json(200, &json!({"security_groups": security_groups(cloud, &server)})))
        }
        ("POST", ["remote-consoles"]) => {
            let given = ask.wrapped("remote_console", answer::nova)?;
            let mut console = console(cloud, ask, &server, given.text("type"));
            console["protocol"] = given.text("protocol").into();
            Ok(Answer::json(200, &json!({"remote_console": console})))
        }
        ("GET", ["os-instance-actions"]) => Ok(Answer::json(200, &json!({"instanceActions": []}))),
        ("GET", ["diagnostics"]) => Ok(Answer::json(200, &json!({"state": "running"}))),
        _ => Err(nowhere()),
    }
}

/// Refuses in states in which Nova lets nobody change them, whatever the server is at.
fn changeable(server: &Server, action: &str) -> Result<(), Answer> {
    let (id, state) = (&server.id, server.vm_state());
    if matches!(state, "active" | "paused" | "suspended" | "stopped") {
        return Ok(());
    }
    let text = format!("Cannot '{action}' instance {id} while it is in vm_state {state}");
    Err(answer::nova(409, text))
}

fn metadata(cloud: &mut Cloud, ask: &Ask, server: &Server, path: &[&str]) -> Reply {
    let mut metadata = server.metadata.clone();
    let answer = match (ask.method.as_str(), path) {
        ("GET", []) => return Ok(Answer::json(200, &json!({"metadata": metadata}))),
        ("GET", [key]) => {
            let value = metadata.get(*key).ok_or_else(missing_item)?;
            return Ok(Answer::json(200, &json!({"meta": {*key: value}})));
        }
        ("PUT", []) => {
            metadata = ask.wrapped("metadata", answer::nova)?;
            Answer::json(200, &json!({"metadata": metadata}))
        }
        ("POST", []) => {
            metadata.extend(ask.wrapped("metadata", answer::nova)?);
            Answer::json(200, &json!({"metadata": metadata}))
        }
        ("PUT", [key]) => {
            let given = ask.wrapped("meta", answer::nova)?;
            metadata.set(key, given.get(*key).cloned().unwrap_or_default());
            Answer::json(200, &json!({"meta": given}))
        }
        ("DELETE", [key]) => {
            metadata.remove(*key).ok_or_else(missing_item)?;
            Answer::empty(204)
        }
        _ => return Err(nowhere()),
    };
    let limit = usize::try_from(cloud.config.quotas.metadata_items).unwrap_or(usize::MAX);
    if metadata.len() > limit {
        return Err(answer::nova(403, "Maximum number of metadata items exceeds the quota"));
    }
    if let Some(server) = cloud.nova.servers.edit(&server.id) {
        server.metadata = metadata;
        server.updated_at = ask.at;
    }
    Ok(answer)
}

fn missing_item() -> Answer {
    answer::nova(404, "Metadata item was not found")
}

fn tags(cloud: &mut Cloud, ask: &Ask, server: &Server, path: &[&str]) -> Reply {
    let mut tags = server.tags.clone();
    let known = |tag: &str| server.tags.iter().any(|found| found == tag);
    let missing = |tag: &str| answer::nova(404, format!("Server {} has no tag '{tag}'", server.id));
    let answer = match (ask.method.as_str(), path) {
        ("GET", []) => return Ok(Answer::json(200, &json!({"tags": tags}))),
        ("GET", [tag]) if known(tag) => return Ok(Answer::empty(204)),
        ("PUT", []) => {
            let body = ask.object(answer::nova)?;
            tags = body.list("tags").iter().map(shown).collect();
            Answer::json(200, &json!({"tags": tags}))
        }
        ("PUT", [tag]) => {
            if known(tag) {
                return Ok(Answer::empty(204));
            }
            tags.push((*tag).to_owned());
            Answer::empty(201)
        }
        ("DELETE", []) => {
            tags.clear();
            Answer::empty(204)
        }
        ("DELETE", [tag]) if known(tag) => {
            tags.retain(|found| found != tag);
            Answer::empty(204)
        }
        ("GET" | "DELETE", [tag]) => return Err(missing(tag)),
        _ => return Err(nowhere()),
    };
    if let Some(server) = cloud.nova.servers.edit(&server.id) {
        server.tags = tags;
    }
    Ok(answer)
}

fn security_groups(cloud: &Cloud, server: &Server) -> Vec<Value> {
    let mut groups = Vec::new();
    for port in
        server.ports.iter().filter_map(|nic| cloud.collections.table(PORTS).get(&nic.port_id))
    {
        for id in port.list("security_groups").iter().filter_map(Value::as_str) {
            let Some(group) = cloud.collections.table(SECURITY_GROUPS).get(id) else { continue };
            groups.push(json!({
                "id": id,
                "name": group.text("name"),
                "description": group.text("description"),
                "tenant_id": group.text("project_id"),
                "rules": [],
            }));
        }
    }
    groups
}

/// The address of a console that shows nothing.
pub(super) fn console(cloud: &Cloud, ask: &Ask, server: &Server, kind: &str) -> Value {
    let token = cloud.fresh_id();
    json!({"type": kind, "url": format!("{}/console/{}?token={token}", ask.base, server.id)})
}
