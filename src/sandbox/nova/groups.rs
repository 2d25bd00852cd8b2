//! Server groups.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, shown};
use super::super::keystone::Scope;
use super::state::{Server, ServerGroup};
use super::version::Version;
use super::{bad, limits, nowhere};
use crate::model::JsonMap;

const POLICIES: [&str; 4] = ["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"];

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    version: Version,
    path: &[&str],
) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", []) => {
            version.accept_only(ask, &["limit", "offset", "all_projects"])?;
            let everybody = ask.query("all_projects").is_some() && scope.is_admin;
            let groups: Vec<Value> = cloud
                .nova
                .server_groups
                .values()
                .filter(|group| everybody || group.project_id == scope.project_id)
                .map(|group| view(version, group))
                .collect();
            Ok(Answer::json(200, &json!({"server_groups": groups})))
        }
        ("GET", [id]) => {
            let group = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"server_group": view(version, group)})))
        }
        ("POST", []) => create(cloud, ask, scope, version),
        ("DELETE", [id]) => {
            find(cloud, scope, id)?;
            cloud.nova.server_groups.remove(id);
            Ok(Answer::empty(204))
        }
        _ => Err(nowhere()),
    }
}

fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a ServerGroup, Answer> {
    cloud
        .nova
        .server_groups
        .get(id)
        .filter(|group| scope.sees(&group.project_id))
        .ok_or_else(|| answer::nova(404, format!("Instance group {id} could not be found.")))
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope, version: Version) -> Reply {
    let given = ask.wrapped("server_group", answer::nova)?;
    let policy = match version >= Version(64) {
        true => given.text("policy").to_owned(),
        false => given.list("policies").first().map(shown).unwrap_or_default(),
    };
    if !POLICIES.contains(&policy.as_str()) || given.text("name").is_empty() {
        if version < Version(15) {
            return Err(bad(format!(
                "Invalid input for field/attribute 0. Value: {policy}. '{policy}' is not one of ['anti-affinity', 'affinity']"
            )));
        }
        return Err(bad(format!(
            "Invalid input for field/attribute policy. Value: {policy}. '{policy}' is not one of ['anti-affinity', 'affinity', 'soft-anti-affinity', 'soft-affinity']"
        )));
    }
    let rules = given.object("rules").cloned().unwrap_or_default();
    if !rules.is_empty() && policy != "anti-affinity" {
        return Err(bad("Only anti-affinity policy supports rules."));
    }
    limits::allow_server_group(cloud, &scope.project_id)?;
    let group = ServerGroup {
        id: cloud.fresh_id(),
        name: given.text("name").to_owned(),
        policy,
        rules,
        members: Vec::new(),
        project_id: scope.project_id.clone(),
        user_id: scope.user_id.clone(),
    };
    let view = view(version, &group);
    cloud.nova.server_groups.insert(&group.id.clone(), group);
    Ok(Answer::json(200, &json!({"server_group": view})))
}

/// The group that a server's hints name.
pub(super) fn chosen(
    cloud: &Cloud,
    scope: &Scope,
    hints: Option<&JsonMap>,
) -> Result<Option<String>, Answer> {
    let Some(id) = hints.and_then(|hints| hints.get("group")).map(shown) else { return Ok(None) };
    find(cloud, scope, &id)
        .map(|group| Some(group.id.clone()))
        .map_err(|_| bad(format!("Instance group {id} could not be found.")))
}

pub(super) fn join(cloud: &mut Cloud, server: &Server) {
    let Some(id) = &server.group_id else { return };
    if let Some(group) = cloud.nova.server_groups.edit(id) {
        group.members.push(server.id.clone());
    }
}

pub(super) fn leave(cloud: &mut Cloud, server: &Server) {
    let Some(id) = &server.group_id else { return };
    if let Some(group) = cloud.nova.server_groups.edit(id) {
        group.members.retain(|member| *member != server.id);
    }
}

fn view(version: Version, group: &ServerGroup) -> Value {
    let mut view = json!({"id": group.id, "name": group.name, "members": group.members});
    if version >= Version(13) {
        view["project_id"] = group.project_id.as_str().into();
        view["user_id"] = group.user_id.as_str().into();
    }
    if version >= Version(64) {
        view["policy"] = group.policy.as_str().into();
        view["rules"] = json!(group.rules);
    } else {
        view["policies"] = json!([group.policy]);
        view["metadata"] = json!({});
    }
    view
}
