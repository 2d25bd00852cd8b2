//! The servers' own routes: list, show, change, delete, and the way to their parts.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, flag_text};
use super::super::keystone::Scope;
use super::super::listing;
use super::server::{brief, find, full};
use super::state::Server;
use super::version::Version;
use super::{actions, attachments, bad, create, ends, interfaces, nowhere, parts};
use crate::model::JsonMap;

/// Longest page of a list.
const PAGE_MAX: usize = 1000;

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    version: Version,
    path: &[&str],
) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", []) => list(cloud, ask, scope, version, false),
        ("GET", ["detail"]) => list(cloud, ask, scope, version, true),
        ("POST", []) => create::create(cloud, ask, scope, version),
        ("GET", [id]) => {
            let server = find(cloud, scope, id)?;
            let view = full(cloud, ask, scope, version, server);
            Ok(Answer::json(200, &json!({"server": view})))
        }
        ("PUT", [id]) => update(cloud, ask, scope, version, id),
        ("DELETE", [id]) => {
            let id = find(cloud, scope, id)?.id.clone();
            ends::begin_delete(cloud, &id, ask.at);
            Ok(Answer::empty(204))
        }
        ("POST", [id, "action"]) => actions::act(cloud, ask, scope, version, id),
        (_, [id, "os-interface", rest @ ..]) => interfaces::answer(cloud, ask, scope, id, rest),
        (_, [id, "os-volume_attachments", rest @ ..]) => {
            attachments::answer(cloud, ask, scope, version, id, rest)
        }
        (_, [id, rest @ ..]) => parts::answer(cloud, ask, scope, id, rest),
        _ => Err(nowhere()),
    }
}

fn list(cloud: &Cloud, ask: &Ask, scope: &Scope, version: Version, detail: bool) -> Reply {
    let everybody = ask.query("all_tenants").is_some_and(|all| flag_text(all) != Some(false));
    if everybody && !scope.is_admin {
        return Err(super::policy("servers:index:get_all_tenants"));
    }
    let rows = cloud
        .nova
        .servers
        .values()
        // Nova gives the newest first.
        .rev()
        .filter(|server| everybody || server.project_id == scope.project_id)
        .filter(|server| wanted(cloud, server, ask))
        .map(
            |server| {
                if detail { full(cloud, ask, scope, version, server) } else { brief(ask, server) }
            },
        )
        .collect();
    let page = listing::page(rows, ask, PAGE_MAX).ok_or_else(|| {
        bad(format!("marker [{}] not found", ask.query("marker").unwrap_or_default()))
    })?;
    let mut body = JsonMap::new();
    let next = page
        .rows
        .last()
        .filter(|_| page.more)
        .map(|last| listing::next_link(ask, &format!("/{}", ask.path.join("/")), last));
    body.set("servers", page.rows.into_iter().map(Value::Object).collect::<Vec<_>>());
    if let Some(next) = next {
        body.set("servers_links", json!([{"rel": "next", "href": next}]));
    }
    Ok(Answer::json(200, &Value::Object(body)))
}

fn wanted(cloud: &Cloud, server: &Server, ask: &Ask) -> bool {
    ask.query.iter().all(|(key, asked)| match key.as_str() {
        // Nova reads it as a pattern; without special characters that is "contains".
        "name" => contains(&server.name, asked),
        "status" => server.status.eq_ignore_ascii_case(asked),
        "id" | "uuid" => server.id == *asked,
        "flavor" => server.flavor.id == *asked,
        "image" => server.image_id.as_deref() == Some(asked),
        "key_name" => server.key_name.as_deref() == Some(asked),
        "user_id" => server.user_id == *asked,
        "project_id" | "tenant_id" => server.project_id == *asked,
        "availability_zone" => server.availability_zone == *asked,
        "tags" => asked.split(',').all(|tag| server.tags.iter().any(|found| found == tag)),
        "tags-any" => asked.split(',').any(|tag| server.tags.iter().any(|found| found == tag)),
        "changes-since" => chrono::DateTime::parse_from_rfc3339(asked)
            .is_ok_and(|since| server.updated_at >= since),
        "ip" => super::server::addresses(cloud, server).values().any(|list| {
            list.as_array().is_some_and(|list| {
                list.iter().filter_map(Value::as_object).any(|a| contains(a.text("addr"), asked))
            })
        }),
        _ => true,
    })
}

fn contains(text: &str, pattern: &str) -> bool {
    match fancy_regex::Regex::new(pattern) {
        Ok(pattern) => pattern.is_match(text).unwrap_or(false),
        Err(_) => text.contains(pattern),
    }
}

fn update(cloud: &mut Cloud, ask: &Ask, scope: &Scope, version: Version, id: &str) -> Reply {
    let given = ask.wrapped("server", answer::nova)?;
    let id = find(cloud, scope, id)?.id.clone();
    if let Some(server) = cloud.nova.servers.edit(&id) {
        if let Some(Value::String(name)) = given.get("name") {
            if name.is_empty() || name.len() > 255 {
                return Err(bad("Invalid input for field/attribute name."));
            }
            server.name.clone_from(name);
        }
        if let Some(description) = given.get("description").filter(|_| version >= Version(19)) {
            server.description = description.as_str().map(str::to_owned);
        }
        if let Some(Value::String(config)) = given.get("OS-DCF:diskConfig") {
            server.disk_config.clone_from(config);
        }
        server.updated_at = ask.at;
    }
    let server = find(cloud, scope, &id)?;
    let view = full(cloud, ask, scope, version, server);
    Ok(Answer::json(200, &json!({"server": view})))
}
