//! The extensions that are really there, and the one availability zone.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::cloud::Cloud;

/// Aliases and names.
const EXTENSIONS: [(&str, &str); 29] = [
    ("allowed-address-pairs", "Allowed Address Pairs"),
    ("availability_zone", "Availability Zone"),
    ("binding", "Port Binding"),
    ("dns-integration", "DNS Integration"),
    ("ext-gw-mode", "Neutron L3 Configurable external gateway mode"),
    ("external-net", "Neutron external network"),
    ("extra_dhcp_opt", "Neutron Extra DHCP options"),
    ("extraroute", "Neutron Extra Route"),
    ("extraroute-atomic", "Atomically add/remove extra routes"),
    ("fip-port-details", "Floating IP Port Details Extension"),
    ("net-mtu", "Network MTU"),
    ("net-mtu-writable", "Network MTU (writable)"),
    ("network_availability_zone", "Network Availability Zone"),
    ("pagination", "Pagination support"),
    ("port-security", "Port Security"),
    ("project-id", "project_id field enabled"),
    ("provider", "Provider Network"),
    ("quota_details", "Quota details management support"),
    ("quotas", "Quota management support"),
    ("router", "Neutron L3 Router"),
    ("router_availability_zone", "Router Availability Zone"),
    ("security-group", "security-group"),
    ("security-groups-normalized-cidr", "Normalized CIDR field for security group rules"),
    ("sorting", "Sorting support"),
    ("standard-attr-description", "standard-attr-description"),
    ("standard-attr-revisions", "Resource revision numbers"),
    ("standard-attr-tag", "Tag support for resources with standard attribute"),
    ("standard-attr-timestamp", "Resource timestamps"),
    ("stateful-security-group", "Stateful security group"),
];

pub(super) fn list(cloud: &Cloud) -> Answer {
    let extensions: Vec<Value> = all(cloud).map(|(alias, name)| view(alias, name)).collect();
    Answer::json(200, &json!({"extensions": extensions}))
}

pub(super) fn show(cloud: &Cloud, alias: &str) -> Reply {
    match all(cloud).find(|(known, _)| *known == alias) {
        Some((alias, name)) => Ok(Answer::json(200, &json!({"extension": view(alias, name)}))),
        None => {
            let text = format!("Extension with alias {alias} does not exist");
            Err(answer::neutron(404, "HTTPNotFound", text))
        }
    }
}

/// Also those that collections of `services/network.yaml` come with.
fn all(cloud: &Cloud) -> impl Iterator<Item = (&str, &str)> {
    let further = cloud.collections.services().filter(|service| service.kind == "network");
    let further = further.flat_map(|service| &service.extensions);
    EXTENSIONS.into_iter().chain(further.map(|(alias, name)| (alias.as_str(), name.as_str())))
}

pub(super) fn zones() -> Answer {
    let zone = |resource: &str| json!({"name": "nova", "resource": resource, "state": "available"});
    Answer::json(200, &json!({"availability_zones": [zone("network"), zone("router")]}))
}

fn view(alias: &str, name: &str) -> Value {
    json!({
        "alias": alias,
        "name": name,
        "description": name,
        "updated": "2020-01-01T00:00:00-00:00",
        "links": [],
    })
}
