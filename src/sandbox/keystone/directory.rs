//! Reading users, projects, domains, roles, services, endpoints and regions; and making the
//! users, projects and grants that a test of several tenants needs.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, flag_text, shown};
use super::{Domain, Grant, Project, Role, SYSTEM, Scope, User, catalog, forbidden, not_found};
use crate::model::JsonMap;

/// Collections that only administrators list.
const ADMINISTRATORS_LIST: [&str; 8] = [
    "users",
    "projects",
    "domains",
    "roles",
    "services",
    "endpoints",
    "groups",
    "role_assignments",
];

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", [collection]) => {
            if !scope.is_admin && ADMINISTRATORS_LIST.contains(collection) {
                return Err(forbidden(&format!("identity:list_{collection}")));
            }
            let rows = rows(cloud, ask, scope, collection)
                .ok_or_else(|| answer::keystone(404, "The resource could not be found."))?;
            let rows: Vec<Value> = rows.into_iter().filter(|row| asked_for(row, ask)).collect();
            let links = json!({
                "self": format!("{}/v3/{collection}", ask.base), "next": null, "previous": null,
            });
            Ok(Answer::json(200, &json!({*collection: rows, "links": links})))
        }
        ("GET", [collection, id]) => {
            let row = rows(cloud, ask, scope, collection)
                .ok_or_else(|| answer::keystone(404, "The resource could not be found."))?
                .into_iter()
                .find(|row| row.get("id").is_some_and(|found| found == id));
            let singular = singular(collection);
            match row {
                Some(row) => Ok(Answer::json(200, &json!({singular: row}))),
                None => Err(not_found(singular, id)),
            }
        }
        ("GET", ["users", user, "projects"]) => {
            let projects: Vec<Value> = cloud
                .keystone
                .projects
                .values()
                .filter(|project| !cloud.keystone.role_ids(user, &project.id).is_empty())
                .map(|project| project_view(ask, project))
                .collect();
            Ok(Answer::json(200, &json!({"projects": projects, "links": {}})))
        }
        _ if !scope.is_admin => Err(forbidden(&action(ask, path))),
        ("POST", ["projects"]) => create_project(cloud, ask),
        ("POST", ["users"]) => create_user(cloud, ask),
        ("PATCH", ["users", id]) => change_user(cloud, ask, id),
        ("DELETE", ["projects", id]) => match cloud.keystone.projects.remove(id) {
            Some(_) => {
                drop_grants(cloud, |grant| grant.project_id == *id);
                Ok(Answer::empty(204))
            }
            None => Err(not_found("project", id)),
        },
        ("DELETE", ["users", id]) => match cloud.keystone.users.remove(id) {
            Some(_) => {
                drop_grants(cloud, |grant| grant.user_id == *id);
                Ok(Answer::empty(204))
            }
            None => Err(not_found("user", id)),
        },
        (
            method @ ("PUT" | "DELETE"),
            [kind @ ("projects" | "domains"), place, "users", user, "roles", role],
        )
        | (method @ ("PUT" | "DELETE"), [kind @ place @ "system", "users", user, "roles", role]) => {
            let is_there = match *kind {
                "projects" => cloud.keystone.projects.contains(place),
                "domains" => cloud.keystone.domains.contains(place),
                _ => true,
            };
            if !is_there {
                return Err(not_found(singular(kind), place));
            }
            if !cloud.keystone.users.contains(user) {
                return Err(not_found("user", user));
            }
            if !cloud.keystone.roles.contains(role) {
                return Err(not_found("role", role));
            }
            let id = format!("{user} {place} {role}");
            if method == "PUT" {
                let grant = Grant {
                    user_id: (*user).to_owned(),
                    project_id: (*place).to_owned(),
                    role_id: (*role).to_owned(),
                };
                cloud.keystone.grants.insert(&id, grant);
            } else {
                cloud.keystone.grants.remove(&id);
            }
            Ok(Answer::empty(204))
        }
        _ => Err(answer::keystone(404, "The resource could not be found.")),
    }
}

fn drop_grants(cloud: &mut Cloud, which: impl Fn(&Grant) -> bool) {
    for id in cloud.keystone.grants.ids_where(which) {
        cloud.keystone.grants.remove(&id);
    }
}

/// The rows of a collection that the caller may see; `None` when there is no such collection.
fn rows(cloud: &Cloud, ask: &Ask, scope: &Scope, collection: &str) -> Option<Vec<Value>> {
    let keystone = &cloud.keystone;
    let rows = match collection {
        "users" => keystone
            .users
            .values()
            .filter(|user| scope.is_admin || user.id == scope.user_id)
            .map(|user| user_view(ask, user))
            .collect(),
        "projects" => keystone
            .projects
            .values()
            .filter(|project| scope.sees(&project.id))
            .map(|project| project_view(ask, project))
            .collect(),
        "domains" => keystone.domains.values().map(|domain| domain_view(ask, domain)).collect(),
        "roles" => keystone.roles.values().map(|role| role_view(ask, role)).collect(),
        "regions" => vec![json!({
            "id": cloud.config.region,
            "description": "",
            "parent_region_id": null,
            "links": {"self": format!("{}/v3/regions/{}", ask.base, cloud.config.region)},
        })],
        "services" => catalog::services(cloud, &ask.base, "%(project_id)s")
            .into_iter()
            .map(|service| {
                json!({
                    "id": catalog::service_id(&service.kind),
                    "type": service.kind,
                    "name": service.name,
                    "enabled": true,
                    "links": {},
                })
            })
            .collect(),
        "endpoints" => endpoints(cloud, ask),
        "role_assignments" => keystone
            .grants
            .values()
            .map(|grant| {
                let place = grant.project_id.as_str();
                let scope = match place {
                    SYSTEM => json!({"system": {"all": true}}),
                    id if keystone.domains.contains(id) => json!({"domain": {"id": id}}),
                    id => json!({"project": {"id": id}}),
                };
                json!({
                    "role": {"id": grant.role_id},
                    "user": {"id": grant.user_id},
                    "scope": scope,
                })
            })
            .collect(),
        "groups" => Vec::new(),
        _ => return None,
    };
    Some(rows)
}

fn endpoints(cloud: &Cloud, ask: &Ask) -> Vec<Value> {
    let services = catalog::services(cloud, &ask.base, "%(project_id)s");
    let mut endpoints = Vec::new();
    for service in &services {
        for interface in ["admin", "internal", "public"] {
            endpoints.push(json!({
                "id": catalog::endpoint_id(&service.kind, interface),
                "service_id": catalog::service_id(&service.kind),
                "interface": interface,
                "region": cloud.config.region,
                "region_id": cloud.config.region,
                "url": service.url,
                "enabled": true,
                "links": {},
            }));
        }
    }
    endpoints
}

fn asked_for(row: &Value, ask: &Ask) -> bool {
    let scoped = row.pointer("/scope/project/id").map(shown);
    let user = row.pointer("/user/id").map(shown);
    ask.query.iter().all(|(key, asked)| match key.as_str() {
        "scope.project.id" => scoped.as_ref() == Some(asked),
        "user.id" => user.as_ref() == Some(asked),
        _ => match row.get(key) {
            Some(Value::Bool(value)) => flag_text(asked) == Some(*value),
            Some(value) => shown(value) == *asked,
            None => true,
        },
    })
}

fn create_project(cloud: &mut Cloud, ask: &Ask) -> Reply {
    let given = ask.wrapped("project", answer::keystone)?;
    let (name, domain_id) = (given.text("name"), domain_of(&given));
    let is_same = |project: &Project| project.name == name && project.domain_id == domain_id;
    if cloud.keystone.projects.values().any(is_same) {
        return Err(conflict("project", name));
    }
    let project = Project {
        id: cloud.fresh_hex(),
        name: name.to_owned(),
        domain_id,
        description: given.text("description").to_owned(),
        enabled: true,
    };
    cloud.keystone.projects.insert(&project.id, project.clone());
    Ok(Answer::json(201, &json!({"project": project_view(ask, &project)})))
}

fn create_user(cloud: &mut Cloud, ask: &Ask) -> Reply {
    let given = ask.wrapped("user", answer::keystone)?;
    let (name, domain_id) = (given.text("name"), domain_of(&given));
    let is_same = |user: &User| user.name == name && user.domain_id == domain_id;
    if cloud.keystone.users.values().any(is_same) {
        return Err(conflict("user", name));
    }
    let text = |key: &str| given.get(key).and_then(Value::as_str).map(str::to_owned);
    let user = User {
        id: cloud.fresh_hex(),
        name: name.to_owned(),
        domain_id,
        password: given.text("password").to_owned(),
        email: text("email"),
        description: given.text("description").to_owned(),
        default_project_id: text("default_project_id"),
        enabled: true,
    };
    cloud.keystone.users.insert(&user.id, user.clone());
    Ok(Answer::json(201, &json!({"user": user_view(ask, &user)})))
}

fn change_user(cloud: &mut Cloud, ask: &Ask, id: &str) -> Reply {
    let given = ask.wrapped("user", answer::keystone)?;
    let user = cloud.keystone.users.edit(id).ok_or_else(|| not_found("user", id))?;
    if let Some(enabled) = given.get("enabled").and_then(Value::as_bool) {
        user.enabled = enabled;
    }
    if let Some(password) = given.get("password").and_then(Value::as_str) {
        password.clone_into(&mut user.password);
    }
    let user = user.clone();
    Ok(Answer::json(200, &json!({"user": user_view(ask, &user)})))
}

fn domain_of(given: &JsonMap) -> String {
    match given.text("domain_id") {
        "" => "default".to_owned(),
        id => id.to_owned(),
    }
}

fn conflict(kind: &str, name: &str) -> Answer {
    answer::keystone(
        409,
        format!(
            "Conflict occurred attempting to store {kind} - Duplicate entry found with name {name}."
        ),
    )
}

fn action(ask: &Ask, path: &[&str]) -> String {
    let verb = match ask.method.as_str() {
        "POST" => "create",
        "PATCH" => "update",
        "DELETE" => "delete",
        _ => "list",
    };
    format!("identity:{verb}_{}", path.first().map(|name| singular(name)).unwrap_or_default())
}

fn singular(collection: &str) -> &str {
    collection.strip_suffix('s').unwrap_or(collection)
}

fn link(ask: &Ask, collection: &str, id: &str) -> Value {
    json!({"self": format!("{}/v3/{collection}/{id}", ask.base)})
}

fn user_view(ask: &Ask, user: &User) -> Value {
    json!({
        "id": user.id,
        "name": user.name,
        "domain_id": user.domain_id,
        "email": user.email,
        "description": user.description,
        "default_project_id": user.default_project_id,
        "enabled": user.enabled,
        "password_expires_at": null,
        "options": {},
        "links": link(ask, "users", &user.id),
    })
}

pub(super) fn project_view(ask: &Ask, project: &Project) -> Value {
    json!({
        "id": project.id,
        "name": project.name,
        "domain_id": project.domain_id,
        "parent_id": project.domain_id,
        "description": project.description,
        "enabled": project.enabled,
        "is_domain": false,
        "tags": [],
        "options": {},
        "links": link(ask, "projects", &project.id),
    })
}

pub(super) fn domain_view(ask: &Ask, domain: &Domain) -> Value {
    json!({
        "id": domain.id,
        "name": domain.name,
        "description": domain.description,
        "enabled": true,
        "tags": [],
        "options": {},
        "links": link(ask, "domains", &domain.id),
    })
}

pub(super) fn role_view(ask: &Ask, role: &Role) -> Value {
    json!({
        "id": role.id,
        "name": role.name,
        "domain_id": null,
        "description": null,
        "options": {},
        "links": link(ask, "roles", &role.id),
    })
}
