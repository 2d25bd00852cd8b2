//! Networking v2.0: the collections and what is common to them. Each collection's own rules are
//! in its file; which attributes it has is data, in `attributes`.

mod addresses;
mod associations;
mod attributes;
mod extensions;
mod floating_ips;
mod kind;
mod networks;
mod ports;
mod quotas;
mod routers;
mod security_groups;
mod security_rules;
pub(super) mod state;
mod subnets;
mod tags;

use serde_json::{Value, json};

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::doc::Doc;
use super::keystone::Scope;
use super::{collections, keystone, listing};
use crate::model::JsonMap;

pub(super) use associations::ends as floating_ip_ends;
pub(super) use attributes::project;
pub(super) use kind::Kind;
pub(super) use ports::{Binding, bind, create_for_server, unbind};
pub(super) use security_groups::find_by_name as find_security_group;
pub(super) use tags::{change as change_tags, fit as tags_fit};

/// Longest page of a list.
const PAGE_MAX: usize = 100_000;

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    match path {
        [] => return Ok(versions(ask)),
        ["v2.0"] => return Ok(resources(ask)),
        _ => {}
    }
    let ["v2.0", path @ ..] = path else { return Err(nowhere()) };
    let scope = keystone::scope(cloud, ask)?;
    if !matches!(path, ["extensions", ..]) {
        // Every project has a default group from its first request for its own on.
        security_groups::ensure_default(cloud, &scope.project_id, ask.at);
    }
    let path: Vec<&str> = path.iter().map(|part| part.trim_end_matches(".json")).collect();
    let whole: Vec<&str> = [&["v2.0"], path.as_slice()].concat();
    let described = |cloud: &mut Cloud| {
        collections::answer(cloud, ask, &scope, "network", &whole).unwrap_or_else(|| Err(nowhere()))
    };
    match (ask.method.as_str(), path.as_slice()) {
        ("GET", ["extensions"]) => Ok(extensions::list(cloud)),
        ("GET", ["extensions", alias]) => extensions::show(cloud, alias),
        ("GET", ["availability_zones"]) => Ok(extensions::zones()),
        ("GET", ["quotas", project, "details"]) => quotas::details(cloud, &scope, project),
        ("GET", ["quotas", project, "default"]) => quotas::defaults(cloud, &scope, project),
        (method, [collection, rest @ ..]) => {
            let Some(kind) = Kind::of(collection) else { return described(cloud) };
            match (method, rest) {
                ("GET", []) => list(cloud, ask, &scope, kind),
                ("POST", []) => create(cloud, ask, &scope, kind),
                ("GET", [id]) => show(cloud, ask, &scope, kind, id),
                ("PUT", [id]) => update(cloud, ask, &scope, kind, id),
                ("DELETE", [id]) => {
                    let row = find(cloud, &scope, kind, id)?.clone();
                    owned(&scope, &row, &format!("delete_{}", kind.singular()))?;
                    delete(cloud, ask, kind, &row)?;
                    Ok(Answer::empty(204))
                }
                ("PUT", [id, "add_router_interface"]) if kind == Kind::Router => {
                    routers::add_interface(cloud, ask, &scope, id)
                }
                ("PUT", [id, "remove_router_interface"]) if kind == Kind::Router => {
                    routers::remove_interface(cloud, ask, &scope, id)
                }
                ("PUT", [id, change @ ("add_extraroutes" | "remove_extraroutes")])
                    if kind == Kind::Router =>
                {
                    let is_more = *change == "add_extraroutes";
                    routers::extra_routes(cloud, ask, &scope, id, is_more)
                }
                (_, [id, "tags", rest @ ..]) => tags::answer(cloud, ask, &scope, kind, id, rest),
                _ => described(cloud),
            }
        }
        _ => Err(nowhere()),
    }
}

fn list(cloud: &mut Cloud, ask: &Ask, scope: &Scope, kind: Kind) -> Reply {
    let cloud = &*cloud;
    let rows = cloud
        .neutron
        .table(kind)
        .values()
        .filter(|row| visible(cloud, scope, kind, row) && listing::fits(row, ask))
        .filter(|row| tags::fit(row, ask))
        .map(|row| view(cloud, scope, kind, row))
        .collect();
    listing::answer(rows, ask, &kind.plural(), PAGE_MAX)
        .ok_or_else(|| kind.missing(ask.query("marker").unwrap_or_default()))
}

fn show(cloud: &mut Cloud, ask: &Ask, scope: &Scope, kind: Kind, id: &str) -> Reply {
    let row = find(cloud, scope, kind, id)?;
    let mut view = view(cloud, scope, kind, row);
    listing::only_fields(&mut view, ask);
    Ok(Answer::json(200, &json!({kind.singular(): view})))
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope, kind: Kind) -> Reply {
    let mut body = ask.object(|code, text| answer::neutron(code, "HTTPBadRequest", text))?;
    if let Some(Value::Array(many)) = body.remove(&kind.plural()) {
        let mut views = Vec::new();
        for one in many {
            let Value::Object(given) = one else { return Err(malformed(kind)) };
            views.push(Value::Object(create_one(cloud, ask, scope, kind, given)?));
        }
        return Ok(Answer::json(201, &json!({kind.plural(): views})));
    }
    let Some(Value::Object(given)) = body.remove(kind.singular()) else {
        return Err(malformed(kind));
    };
    let view = create_one(cloud, ask, scope, kind, given)?;
    Ok(Answer::json(201, &json!({kind.singular(): view})))
}

fn create_one(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    kind: Kind,
    given: JsonMap,
) -> Result<JsonMap, Answer> {
    let project = attributes::project(scope, &given)?;
    let mut row = attributes::accept_new(kind, scope, given)?;
    quotas::allow_one_more(cloud, kind, &project)?;
    stamp_new(cloud, ask, &mut row, &project);
    policy_is_there(cloud, scope, &row)?;
    match kind {
        Kind::Network => networks::create(&mut row),
        Kind::Subnet => subnets::create(cloud, scope, &mut row)?,
        Kind::Port => ports::create(cloud, scope, &mut row)?,
        Kind::Router => routers::create(cloud, ask, scope, &mut row)?,
        Kind::FloatingIp => floating_ips::create(cloud, ask, scope, &mut row)?,
        Kind::SecurityGroup => security_groups::create(cloud, ask.at, &mut row)?,
        Kind::SecurityRule => security_rules::create(cloud, scope, &mut row)?,
    }
    let id = row.text("id").to_owned();
    cloud.neutron.table_mut(kind).insert(&id, row.clone());
    Ok(view(cloud, scope, kind, &row))
}

/// Refuses a quality of service policy that the caller does not see.
fn policy_is_there(cloud: &Cloud, scope: &Scope, given: &JsonMap) -> Result<(), Answer> {
    match given.text("qos_policy_id") {
        "" => Ok(()),
        id => collections::is_there(cloud, scope, "network", "policy", id),
    }
}

fn update(cloud: &mut Cloud, ask: &Ask, scope: &Scope, kind: Kind, id: &str) -> Reply {
    let given =
        ask.wrapped(kind.singular(), |code, text| answer::neutron(code, "HTTPBadRequest", text))?;
    let before = find(cloud, scope, kind, id)?.clone();
    owned(scope, &before, &format!("update_{}", kind.singular()))?;
    let change = attributes::accept_change(kind, scope, given)?;
    policy_is_there(cloud, scope, &change)?;
    let mut row = before.clone();
    for (key, value) in &change {
        row.insert(key.clone(), value.clone());
    }
    match kind {
        Kind::Network | Kind::SecurityRule => {}
        Kind::Subnet => subnets::update(cloud, &before, &change, &mut row)?,
        Kind::Port => ports::update(cloud, scope, &change, &mut row)?,
        Kind::Router => routers::update(cloud, ask, scope, &before, &change, &mut row)?,
        Kind::FloatingIp => floating_ips::update(cloud, ask, scope, &before, &change, &mut row)?,
        Kind::SecurityGroup => security_groups::update(&before, &change)?,
    }
    let revision = row.int("revision_number").unwrap_or_default();
    row.set("revision_number", revision + 1);
    row.set("updated_at", ask.moment());
    cloud.neutron.table_mut(kind).insert(id, row.clone());
    let view = view(cloud, scope, kind, &row);
    Ok(Answer::json(200, &json!({kind.singular(): view})))
}

fn delete(cloud: &mut Cloud, ask: &Ask, kind: Kind, row: &JsonMap) -> Result<(), Answer> {
    collections::part_with(cloud, kind.singular(), row.text("id"))?;
    match kind {
        Kind::Network => networks::delete(cloud, row)?,
        Kind::Subnet => subnets::delete(cloud, row)?,
        Kind::Port => ports::delete(cloud, ask.at, row)?,
        Kind::Router => routers::delete(cloud, row)?,
        Kind::FloatingIp => floating_ips::delete(cloud, row),
        Kind::SecurityGroup => security_groups::delete(cloud, row)?,
        Kind::SecurityRule => {}
    }
    cloud.neutron.table_mut(kind).remove(row.text("id"));
    Ok(())
}

/// Makes an object as an administrator of its project would; nothing if it is not acceptable.
pub(super) fn plant(
    cloud: &mut Cloud,
    kind: Kind,
    project_id: &str,
    given: Value,
) -> Option<JsonMap> {
    let Value::Object(given) = given else { return None };
    let (ask, scope) = gardener(cloud, project_id);
    let made = create_one(cloud, &ask, &scope, kind, given);
    if let Err(refusal) = &made {
        tracing::error!(body = ?refusal.body, "the sandbox refuses its own seed");
    }
    made.ok()
}

/// Gives a router an interface on a subnet.
pub(super) fn plant_interface(cloud: &mut Cloud, project_id: &str, router: &str, subnet: &str) {
    let (mut ask, scope) = gardener(cloud, project_id);
    ask.body = json!({"subnet_id": subnet}).to_string().into();
    if let Err(refusal) = routers::add_interface(cloud, &ask, &scope, router) {
        tracing::error!(body = ?refusal.body, "the sandbox refuses its own seed");
    }
}

fn gardener(cloud: &Cloud, project_id: &str) -> (Ask, Scope) {
    let ask = Ask::internal(cloud.clock.now());
    let scope = Scope::of_service(project_id);
    (ask, scope)
}

/// What every new object has: an id, an owner, times and a revision.
fn stamp_new(cloud: &Cloud, ask: &Ask, row: &mut JsonMap, project: &str) {
    row.set("id", cloud.fresh_id());
    row.set("tenant_id", project);
    row.set("project_id", project);
    row.set("created_at", ask.moment());
    row.set("updated_at", ask.moment());
    row.set("revision_number", 1);
    row.set("tags", Vec::<Value>::new());
}

/// The object of this id, if the caller may see it.
pub(super) fn find<'a>(
    cloud: &'a Cloud,
    scope: &Scope,
    kind: Kind,
    id: &str,
) -> Result<&'a JsonMap, Answer> {
    cloud
        .neutron
        .table(kind)
        .get(id)
        .filter(|row| visible(cloud, scope, kind, row))
        .ok_or_else(|| kind.missing(id))
}

/// Whether there is a collection whose objects are called so.
pub(super) fn has_kind(singular: &str) -> bool {
    Kind::named(singular).is_some()
}

/// Refuses a reference to what the caller does not see.
pub(super) fn refer(cloud: &Cloud, scope: &Scope, singular: &str, id: &str) -> Result<(), Answer> {
    match Kind::named(singular) {
        Some(kind) => find(cloud, scope, kind, id).map(|_| ()),
        None => Ok(()),
    }
}

/// Whether an object of the collection has this value in a field.
pub(super) fn holds(cloud: &Cloud, singular: &str, field: &str, value: &str) -> bool {
    let rows = Kind::named(singular).map(|kind| cloud.neutron.table(kind).values());
    rows.is_some_and(|mut rows| rows.any(|row| row.text(field) == value))
}

fn visible(cloud: &Cloud, scope: &Scope, kind: Kind, row: &JsonMap) -> bool {
    if scope.sees(row.text("project_id")) {
        return true;
    }
    match kind {
        Kind::Network => row.is("shared") || row.is("router:external"),
        Kind::Subnet => cloud
            .neutron
            .networks
            .get(row.text("network_id"))
            .is_some_and(|network| network.is("shared")),
        // A network's owner sees every port on it.
        Kind::Port => cloud
            .neutron
            .networks
            .get(row.text("network_id"))
            .is_some_and(|network| network.text("project_id") == scope.project_id),
        Kind::Router | Kind::FloatingIp | Kind::SecurityGroup | Kind::SecurityRule => false,
    }
}

/// Refuses to change what is only seen.
fn owned(scope: &Scope, row: &JsonMap, rule: &str) -> Result<(), Answer> {
    if scope.sees(row.text("project_id")) { Ok(()) } else { Err(forbidden(rule)) }
}

fn view(cloud: &Cloud, scope: &Scope, kind: Kind, row: &JsonMap) -> JsonMap {
    let mut view = row.clone();
    match kind {
        Kind::Network => networks::complete(cloud, &mut view),
        Kind::SecurityGroup => security_groups::complete(cloud, &mut view),
        Kind::FloatingIp => floating_ips::complete(cloud, &mut view),
        Kind::Port => ports::complete(cloud, &mut view),
        Kind::Subnet | Kind::Router | Kind::SecurityRule => {}
    }
    if !scope.is_admin {
        view.retain(|key, _| !attributes::admin_only(key));
    }
    view
}

fn forbidden(rule: &str) -> Answer {
    answer::neutron(403, "PolicyNotAuthorized", format!("rule:{rule} is disallowed by policy"))
}

fn bad_request(text: impl Into<String>) -> Answer {
    answer::neutron(400, "HTTPBadRequest", text)
}

fn invalid_input(text: impl AsRef<str>) -> Answer {
    let text = format!("Invalid input for operation: {}.", text.as_ref());
    answer::neutron(400, "InvalidInput", text)
}

fn malformed(kind: Kind) -> Answer {
    bad_request(format!("Unable to find '{}' in request body", kind.singular()))
}

fn nowhere() -> Answer {
    answer::neutron(404, "HTTPNotFound", "The resource could not be found.")
}

fn versions(ask: &Ask) -> Answer {
    let link = json!([{"rel": "self", "href": format!("{}/network/v2.0/", ask.base)}]);
    Answer::json(200, &json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": link}]}))
}

fn resources(ask: &Ask) -> Answer {
    let resources: Vec<Value> = ["network", "subnet", "port", "router", "floatingip"]
        .into_iter()
        .map(|name| {
            let href = format!("{}/network/v2.0/{name}s", ask.base);
            json!({
                "name": name,
                "collection": format!("{name}s"),
                "links": [{"rel": "self", "href": href}],
            })
        })
        .collect();
    Answer::json(200, &json!({"resources": resources}))
}
