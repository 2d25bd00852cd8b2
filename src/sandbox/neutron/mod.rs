//! Networking v2.0: what behaves. The collections are data in `services/network_base.yaml` and
//! `services/network.yaml`; the rules of the former, one file each, are here.

mod addresses;
mod associations;
mod extensions;
mod floating_ips;
mod networks;
mod ports;
mod quotas;
mod routers;
mod security_groups;
mod security_rules;
mod subnets;

use serde_json::{Value, json};

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::collections::{self, Rules};
use super::doc::Doc;
use super::keystone::{self, Scope};
use crate::model::JsonMap;

pub(super) use associations::ends as floating_ip_ends;
pub(super) use ports::{Binding, bind, create_for_server, unbind};
pub(super) use security_groups::find_by_name as find_security_group;

pub(super) const NETWORKS: (&str, &str) = ("network", "network");
pub(super) const SUBNETS: (&str, &str) = ("network", "subnet");
pub(super) const PORTS: (&str, &str) = ("network", "port");
pub(super) const ROUTERS: (&str, &str) = ("network", "router");
pub(super) const FLOATING_IPS: (&str, &str) = ("network", "floatingip");
pub(super) const SECURITY_GROUPS: (&str, &str) = ("network", "security_group");
pub(super) const SECURITY_RULES: (&str, &str) = ("network", "security_group_rule");

/// The rules of the collections, by the names that their file has for them.
pub(super) const RULES: [(&str, &dyn Rules); 7] = [
    (NETWORKS.1, &networks::Networks),
    (SUBNETS.1, &subnets::Subnets),
    (PORTS.1, &ports::Ports),
    (ROUTERS.1, &routers::Routers),
    (FLOATING_IPS.1, &floating_ips::FloatingIps),
    (SECURITY_GROUPS.1, &security_groups::SecurityGroups),
    (SECURITY_RULES.1, &security_rules::SecurityRules),
];

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
    match (ask.method.as_str(), path.as_slice()) {
        ("GET", ["extensions"]) => Ok(extensions::list(cloud)),
        ("GET", ["extensions", alias]) => extensions::show(cloud, alias),
        ("GET", ["availability_zones"]) => Ok(extensions::zones()),
        ("GET", ["quotas", project, "details"]) => quotas::details(cloud, &scope, project),
        ("GET", ["quotas", project, "default"]) => quotas::defaults(cloud, &scope, project),
        ("PUT", ["routers", id, "add_router_interface"]) => {
            routers::add_interface(cloud, ask, &scope, id)
        }
        ("PUT", ["routers", id, "remove_router_interface"]) => {
            routers::remove_interface(cloud, ask, &scope, id)
        }
        _ => {
            let whole: Vec<&str> = [&["v2.0"], path.as_slice()].concat();
            collections::answer(cloud, ask, &scope, "network", &whole)
                .unwrap_or_else(|| Err(nowhere()))
        }
    }
}

/// Makes an object as an administrator of its project would; nothing if it is not acceptable.
pub(super) fn plant(
    cloud: &mut Cloud,
    of: (&str, &str),
    project_id: &str,
    given: Value,
) -> Option<JsonMap> {
    let Value::Object(given) = given else { return None };
    let (ask, scope) = gardener(cloud, project_id);
    let made = collections::make(cloud, (&ask, &scope), of, given);
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

/// Refuses to change what is only seen.
fn owned(scope: &Scope, row: &JsonMap, rule: &str) -> Result<(), Answer> {
    if scope.sees(row.text("project_id")) { Ok(()) } else { Err(forbidden(rule)) }
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
