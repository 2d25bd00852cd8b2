//! The collections of identity: those in Rust, and those of `services/identity.yaml`, before which
//! stand the services and endpoints that the sandbox itself has.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::{flag_text, shown};
use super::entries::{self, Entry, singular};
use super::{Domain, Project, Role, Scope, User, catalog, forbidden, grants, not_found};

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
            let rows = rows(cloud, ask, scope, collection).ok_or_else(nowhere)?;
            Ok(list(ask, collection, rows))
        }
        ("GET", [collection, id]) => {
            let rows = rows(cloud, ask, scope, collection).ok_or_else(nowhere)?;
            let row = rows.into_iter().find(|row| row.get("id").is_some_and(|found| found == id));
            let singular = singular(collection);
            match row {
                Some(row) => Ok(Answer::json(200, &json!({singular: row}))),
                None => Err(not_found(singular, id)),
            }
        }
        ("GET", ["users", user, "projects"]) => {
            let keystone = &cloud.keystone;
            let projects = keystone.projects.values();
            let theirs = projects.filter(|it| !keystone.role_ids(user, &it.id).is_empty());
            Ok(list(ask, "projects", theirs.map(|project| project.view(ask)).collect()))
        }
        ("GET", ["users", user, "groups"]) => {
            let all = rows(cloud, ask, scope, "groups").unwrap_or_default();
            let has = |group: &str| cloud.keystone.memberships.contains(&format!("{group} {user}"));
            let theirs = all.into_iter().filter(|group| group["id"].as_str().is_some_and(has));
            Ok(list(ask, "groups", theirs.collect()))
        }
        _ if !scope.is_admin => Err(forbidden(&action(ask, path))),
        ("GET", ["groups", group, "users"]) => {
            let users = cloud.keystone.users.values();
            let has =
                |user: &User| cloud.keystone.memberships.contains(&format!("{group} {}", user.id));
            Ok(list(ask, "users", users.filter(|it| has(it)).map(|it| it.view(ask)).collect()))
        }
        ("POST", ["domains"]) => entries::create::<Domain>(cloud, ask),
        ("POST", ["projects"]) => entries::create::<Project>(cloud, ask),
        ("POST", ["users"]) => entries::create::<User>(cloud, ask),
        ("POST", ["roles"]) => entries::create::<Role>(cloud, ask),
        ("PATCH", ["domains", id]) => entries::change::<Domain>(cloud, ask, id),
        ("PATCH", ["projects", id]) => entries::change::<Project>(cloud, ask, id),
        ("PATCH", ["users", id]) => entries::change::<User>(cloud, ask, id),
        ("PATCH", ["roles", id]) => entries::change::<Role>(cloud, ask, id),
        ("DELETE", ["domains", id]) => drop_domain(cloud, id),
        ("DELETE", ["projects", id]) => drop_entry::<Project>(cloud, id),
        ("DELETE", ["users", id]) => drop_entry::<User>(cloud, id),
        ("DELETE", ["roles", id]) => drop_entry::<Role>(cloud, id),
        (_, ["groups", group, "users", user]) => grants::membership(cloud, ask, group, user),
        (
            _,
            [
                "projects" | "domains",
                place,
                actors @ ("users" | "groups"),
                actor,
                "roles",
                role @ ..,
            ],
        )
        | (_, [place @ "system", actors @ ("users" | "groups"), actor, "roles", role @ ..]) => {
            grants::answer(cloud, ask, (place, actors, actor), role.first().copied())
        }
        ("DELETE", ["groups", id]) => {
            let answer = described(cloud, ask, scope, path)?;
            grants::forget(cloud, id);
            Ok(answer)
        }
        _ => described(cloud, ask, scope, path),
    }
}

fn described(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    collections::answer(cloud, ask, scope, "identity", path).unwrap_or_else(|| Err(nowhere()))
}

fn nowhere() -> Answer {
    answer::keystone(404, "The resource could not be found.")
}

fn list(ask: &Ask, collection: &str, rows: Vec<Value>) -> Answer {
    let rows: Vec<Value> = rows.into_iter().filter(|row| asked_for(row, ask)).collect();
    let links = json!({
        "self": format!("{}/v3/{}", ask.base, ask.path.join("/")), "next": null, "previous": null,
    });
    Answer::json(200, &json!({collection: rows, "links": links}))
}

fn drop_entry<T: Entry>(cloud: &mut Cloud, id: &str) -> Reply {
    T::table(&mut cloud.keystone).remove(id).ok_or_else(|| not_found(T::SINGULAR, id))?;
    grants::forget(cloud, id);
    Ok(Answer::empty(204))
}

/// A domain goes with all that is in it.
fn drop_domain(cloud: &mut Cloud, id: &str) -> Reply {
    let domain = cloud.keystone.domains.get(id).ok_or_else(|| not_found("domain", id))?;
    if domain.enabled {
        let text = "Cannot delete a domain that is enabled, please disable it first.";
        return Err(answer::keystone(403, text));
    }
    for project in cloud.keystone.projects.ids_where(|project| project.domain_id == id) {
        drop_entry::<Project>(cloud, &project)?;
    }
    for user in cloud.keystone.users.ids_where(|user| user.domain_id == id) {
        drop_entry::<User>(cloud, &user)?;
    }
    collections::drop_where(cloud, ("identity", "group"), "domain_id", id);
    drop_entry::<Domain>(cloud, id)
}

/// The rows of a collection that the caller may see; `None` when there is no such collection.
fn rows(cloud: &Cloud, ask: &Ask, scope: &Scope, collection: &str) -> Option<Vec<Value>> {
    let keystone = &cloud.keystone;
    let mut rows = match collection {
        "users" => keystone
            .users
            .values()
            .filter(|user| scope.is_admin || user.id == scope.user_id)
            .map(|user| user.view(ask))
            .collect(),
        "projects" => keystone
            .projects
            .values()
            .filter(|project| scope.sees(&project.id))
            .map(|project| project.view(ask))
            .collect(),
        "domains" => keystone.domains.values().map(|domain| domain.view(ask)).collect(),
        "roles" => keystone.roles.values().map(|role| role.view(ask)).collect(),
        "regions" => vec![json!({
            "id": cloud.config.region,
            "description": "",
            "parent_region_id": null,
            "links": entries::link(ask, "regions", &cloud.config.region),
        })],
        "services" => services(cloud, ask),
        "endpoints" => endpoints(cloud, ask),
        "role_assignments" => grants::assignments(cloud),
        "groups" => Vec::new(),
        _ => return None,
    };
    rows.extend(collections::views(cloud, ask, scope, ("identity", singular(collection))));
    Some(rows)
}

fn services(cloud: &Cloud, ask: &Ask) -> Vec<Value> {
    let services = catalog::services(cloud, &ask.base, "%(project_id)s").into_iter();
    let view = |service: catalog::Service| {
        json!({
            "id": catalog::service_id(&service.kind),
            "type": service.kind,
            "name": service.name,
            "enabled": true,
            "links": {},
        })
    };
    services.map(view).collect()
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
    ask.query.iter().all(|(key, asked)| match key.as_str() {
        "scope.project.id" | "scope.domain.id" | "user.id" | "group.id" | "role.id" => {
            let pointer = format!("/{}", key.replace('.', "/"));
            row.pointer(&pointer).map(shown).as_ref() == Some(asked)
        }
        _ => match row.get(key) {
            Some(Value::Bool(value)) => flag_text(asked) == Some(*value),
            Some(value) => shown(value) == *asked,
            None => true,
        },
    })
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
