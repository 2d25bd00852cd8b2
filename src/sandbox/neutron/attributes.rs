//! Which attributes each collection has, who may set them when, and what they are when unset.

use serde_json::{Value, json};

use super::super::answer;
use super::super::answer::Answer;
use super::super::collections::values::{self, Shape};
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::{Kind, bad_request, invalid_input};
use crate::model::JsonMap;

/// One attribute of a collection.
struct Attribute {
    name: &'static str,
    /// Whether a POST, a PUT may set it.
    post: bool,
    put: bool,
    unset: Unset,
    shape: Shape,
}

/// What an attribute is when a POST leaves it out.
#[derive(Clone, Copy)]
enum Unset {
    Required,
    /// The collection's own code finds a value.
    Open,
    Null,
    Text(&'static str),
    Flag(bool),
    Whole(i64),
    List,
    Object,
}

const fn both(name: &'static str, unset: Unset, shape: Shape) -> Attribute {
    Attribute { name, post: true, put: true, unset, shape }
}

const fn once(name: &'static str, unset: Unset, shape: Shape) -> Attribute {
    Attribute { name, post: true, put: false, unset, shape }
}

const fn shown_only(name: &'static str, unset: Unset) -> Attribute {
    Attribute { name, post: false, put: false, unset, shape: Shape::Any }
}

/// Attributes that every collection has and nobody sets.
const COMMON: [&str; 5] = ["id", "created_at", "updated_at", "revision_number", "tags"];

/// Attributes that only administrators see.
const ADMIN_ONLY: [&str; 9] = [
    "provider:network_type",
    "provider:physical_network",
    "provider:segmentation_id",
    "binding:host_id",
    "binding:profile",
    "binding:vif_type",
    "binding:vif_details",
    "distributed",
    "ha",
];

/// Attributes that only administrators set, unless to what they are anyway.
const ADMIN_SETS: [&str; 9] = [
    "shared",
    "router:external",
    "is_default",
    "provider:network_type",
    "provider:physical_network",
    "provider:segmentation_id",
    "binding:host_id",
    "distributed",
    "ha",
];

const NETWORK: [Attribute; 21] = [
    both("name", Unset::Text(""), Shape::Text),
    both("description", Unset::Text(""), Shape::Text),
    both("admin_state_up", Unset::Flag(true), Shape::Flag),
    both("shared", Unset::Flag(false), Shape::Flag),
    both("router:external", Unset::Flag(false), Shape::Flag),
    both("is_default", Unset::Open, Shape::Flag),
    both("mtu", Unset::Whole(1450), Shape::Whole),
    both("port_security_enabled", Unset::Flag(true), Shape::Flag),
    both("dns_domain", Unset::Text(""), Shape::Text),
    both("qos_policy_id", Unset::Null, Shape::Any),
    once("availability_zone_hints", Unset::List, Shape::List),
    once("provider:network_type", Unset::Open, Shape::Text),
    once("provider:physical_network", Unset::Null, Shape::Any),
    once("provider:segmentation_id", Unset::Null, Shape::Any),
    shown_only("status", Unset::Text("ACTIVE")),
    shown_only("availability_zones", Unset::List),
    shown_only("ipv4_address_scope", Unset::Null),
    shown_only("ipv6_address_scope", Unset::Null),
    shown_only("l2_adjacency", Unset::Flag(true)),
    shown_only("vlan_transparent", Unset::Flag(false)),
    shown_only("subnets", Unset::List),
];

const SUBNET: [Attribute; 16] = [
    both("name", Unset::Text(""), Shape::Text),
    both("description", Unset::Text(""), Shape::Text),
    once("network_id", Unset::Required, Shape::Id),
    once("ip_version", Unset::Required, Shape::Whole),
    once("cidr", Unset::Open, Shape::Any),
    both("gateway_ip", Unset::Open, Shape::Any),
    both("allocation_pools", Unset::Open, Shape::List),
    both("dns_nameservers", Unset::List, Shape::List),
    both("host_routes", Unset::List, Shape::List),
    both("enable_dhcp", Unset::Flag(true), Shape::Flag),
    both("service_types", Unset::List, Shape::List),
    once("ipv6_ra_mode", Unset::Null, Shape::Any),
    once("ipv6_address_mode", Unset::Null, Shape::Any),
    once("subnetpool_id", Unset::Null, Shape::Any),
    once("use_default_subnetpool", Unset::Open, Shape::Flag),
    once("prefixlen", Unset::Open, Shape::Whole),
];

const PORT: [Attribute; 27] = [
    both("name", Unset::Text(""), Shape::Text),
    both("description", Unset::Text(""), Shape::Text),
    once("network_id", Unset::Required, Shape::Id),
    both("admin_state_up", Unset::Flag(true), Shape::Flag),
    both("mac_address", Unset::Open, Shape::Text),
    both("fixed_ips", Unset::Open, Shape::List),
    both("device_id", Unset::Text(""), Shape::Text),
    both("device_owner", Unset::Text(""), Shape::Text),
    both("security_groups", Unset::Open, Shape::List),
    both("allowed_address_pairs", Unset::List, Shape::List),
    both("extra_dhcp_opts", Unset::List, Shape::List),
    both("port_security_enabled", Unset::Open, Shape::Flag),
    both("dns_name", Unset::Text(""), Shape::Text),
    both("dns_domain", Unset::Text(""), Shape::Text),
    both("qos_policy_id", Unset::Null, Shape::Any),
    both("propagate_uplink_status", Unset::Flag(true), Shape::Flag),
    both("binding:vnic_type", Unset::Text("normal"), Shape::Text),
    both("binding:profile", Unset::Object, Shape::Object),
    both("binding:host_id", Unset::Text(""), Shape::Text),
    shown_only("binding:vif_type", Unset::Text("unbound")),
    shown_only("binding:vif_details", Unset::Object),
    shown_only("status", Unset::Text("DOWN")),
    shown_only("dns_assignment", Unset::List),
    shown_only("ip_allocation", Unset::Text("immediate")),
    shown_only("data_plane_status", Unset::Null),
    shown_only("numa_affinity_policy", Unset::Null),
    shown_only("qos_network_policy_id", Unset::Null),
];

const ROUTER: [Attribute; 12] = [
    both("name", Unset::Text(""), Shape::Text),
    both("description", Unset::Text(""), Shape::Text),
    both("admin_state_up", Unset::Flag(true), Shape::Flag),
    both("external_gateway_info", Unset::Null, Shape::Any),
    both("distributed", Unset::Flag(false), Shape::Flag),
    both("ha", Unset::Flag(false), Shape::Flag),
    both("routes", Unset::List, Shape::List),
    once("availability_zone_hints", Unset::List, Shape::List),
    once("flavor_id", Unset::Null, Shape::Any),
    shown_only("status", Unset::Text("ACTIVE")),
    shown_only("availability_zones", Unset::List),
    shown_only("conntrack_helpers", Unset::List),
];

const FLOATING_IP: [Attribute; 13] = [
    both("description", Unset::Text(""), Shape::Text),
    once("floating_network_id", Unset::Required, Shape::Id),
    both("port_id", Unset::Null, Shape::Any),
    both("fixed_ip_address", Unset::Null, Shape::Any),
    once("floating_ip_address", Unset::Null, Shape::Any),
    once("subnet_id", Unset::Open, Shape::Any),
    once("dns_domain", Unset::Text(""), Shape::Text),
    once("dns_name", Unset::Text(""), Shape::Text),
    both("qos_policy_id", Unset::Null, Shape::Any),
    shown_only("router_id", Unset::Null),
    shown_only("status", Unset::Text("DOWN")),
    shown_only("port_details", Unset::Null),
    shown_only("port_forwardings", Unset::List),
];

const SECURITY_GROUP: [Attribute; 5] = [
    both("name", Unset::Text(""), Shape::Text),
    both("description", Unset::Text(""), Shape::Text),
    both("stateful", Unset::Flag(true), Shape::Flag),
    shown_only("shared", Unset::Flag(false)),
    shown_only("security_group_rules", Unset::List),
];

const SECURITY_RULE: [Attribute; 11] = [
    both("description", Unset::Text(""), Shape::Text),
    once("security_group_id", Unset::Required, Shape::Id),
    once("direction", Unset::Required, Shape::Text),
    once("ethertype", Unset::Text("IPv4"), Shape::Text),
    once("protocol", Unset::Null, Shape::Any),
    once("port_range_min", Unset::Null, Shape::Any),
    once("port_range_max", Unset::Null, Shape::Any),
    once("remote_group_id", Unset::Null, Shape::Any),
    once("remote_address_group_id", Unset::Null, Shape::Any),
    once("remote_ip_prefix", Unset::Null, Shape::Any),
    shown_only("normalized_cidr", Unset::Null),
];

fn of(kind: Kind) -> &'static [Attribute] {
    match kind {
        Kind::Network => &NETWORK,
        Kind::Subnet => &SUBNET,
        Kind::Port => &PORT,
        Kind::Router => &ROUTER,
        Kind::FloatingIp => &FLOATING_IP,
        Kind::SecurityGroup => &SECURITY_GROUP,
        Kind::SecurityRule => &SECURITY_RULE,
    }
}

/// Whether only administrators see an attribute.
pub(super) fn admin_only(name: &str) -> bool {
    ADMIN_ONLY.contains(&name)
}

/// Whom a new object belongs to.
pub(in crate::sandbox) fn project(scope: &Scope, given: &JsonMap) -> Result<String, Answer> {
    let named = given.get("project_id").or(given.get("tenant_id")).and_then(Value::as_str);
    match named.filter(|project| !project.is_empty()) {
        Some(project) if scope.sees(project) => Ok(project.to_owned()),
        Some(_) => Err(bad_request(
            "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges",
        )),
        None => Ok(scope.project_id.clone()),
    }
}

/// A new object: what was given, checked, and the defaults of the rest.
pub(super) fn accept_new(kind: Kind, scope: &Scope, mut given: JsonMap) -> Result<JsonMap, Answer> {
    given.remove("project_id");
    given.remove("tenant_id");
    let mut row = JsonMap::new();
    row.set("id", "");
    for attribute in of(kind) {
        let value = match given.remove(attribute.name) {
            Some(_) if !attribute.post => {
                return Err(bad_request(format!(
                    "Attribute '{}' not allowed in POST",
                    attribute.name
                )));
            }
            Some(value) => {
                let value = shaped(attribute, value)?;
                administrators_only(kind, "create", scope, attribute, &value)?;
                value
            }
            None => match unset(attribute)? {
                Some(value) => value,
                None => continue,
            },
        };
        row.insert(attribute.name.to_owned(), value);
    }
    unrecognized(&given)?;
    Ok(row)
}

/// A change: what was given, checked.
pub(super) fn accept_change(
    kind: Kind,
    scope: &Scope,
    mut given: JsonMap,
) -> Result<JsonMap, Answer> {
    let mut change = JsonMap::new();
    for attribute in of(kind) {
        let Some(value) = given.remove(attribute.name) else { continue };
        if !attribute.put {
            return Err(read_only(attribute.name));
        }
        let value = shaped(attribute, value)?;
        administrators_only(kind, "update", scope, attribute, &value)?;
        change.insert(attribute.name.to_owned(), value);
    }
    if let Some(name) =
        COMMON.iter().chain(&["project_id", "tenant_id"]).find(|name| given.contains_key(**name))
    {
        return Err(read_only(name));
    }
    unrecognized(&given)?;
    Ok(change)
}

fn read_only(name: &str) -> Answer {
    bad_request(format!("Cannot update read-only attribute {name}"))
}

fn unrecognized(left: &JsonMap) -> Result<(), Answer> {
    if left.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = left.keys().map(String::as_str).collect();
    Err(bad_request(format!("Unrecognized attribute(s) '{}'", names.join(", "))))
}

fn unset(attribute: &Attribute) -> Result<Option<Value>, Answer> {
    Ok(Some(match attribute.unset {
        Unset::Required => {
            return Err(bad_request(format!(
                "Failed to parse request. Required attribute '{}' not specified",
                attribute.name
            )));
        }
        Unset::Open => return Ok(None),
        Unset::Null => Value::Null,
        Unset::Text(text) => text.into(),
        Unset::Flag(flag) => flag.into(),
        Unset::Whole(number) => number.into(),
        Unset::List => json!([]),
        Unset::Object => json!({}),
    }))
}

fn shaped(attribute: &Attribute, value: Value) -> Result<Value, Answer> {
    values::shaped(attribute.shape, value).map_err(|reason| match attribute.shape {
        Shape::Flag => invalid_input(reason),
        _ => bad_request(format!("Invalid input for {}. Reason: {reason}", attribute.name)),
    })
}

fn administrators_only(
    kind: Kind,
    verb: &str,
    scope: &Scope,
    attribute: &Attribute,
    value: &Value,
) -> Result<(), Answer> {
    let harmless = matches!(attribute.unset, Unset::Flag(flag) if *value == flag);
    if scope.is_admin || harmless || !ADMIN_SETS.contains(&attribute.name) {
        return Ok(());
    }
    let rule = format!("rule:{verb}_{}", kind.singular());
    let text = format!("({rule} and {rule}:{}) is disallowed by policy", attribute.name);
    Err(answer::neutron(403, "PolicyNotAuthorized", text))
}
