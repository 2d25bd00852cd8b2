//! Rules of security groups.

use serde_json::Value;

use super::super::answer::{self, Answer};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections::Rules;
use super::super::doc::{Doc, shown, whole};
use super::super::keystone::Scope;
use super::addresses::{Cidr, number};
use super::{SECURITY_RULES, bad_request, quotas};
use crate::model::JsonMap;

/// What makes two rules of a group the same.
const IDENTITY: [&str; 8] = [
    "security_group_id",
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_group_id",
    "remote_ip_prefix",
];

const PROTOCOLS: [&str; 24] = [
    "ah",
    "dccp",
    "egp",
    "esp",
    "gre",
    "hopopt",
    "icmp",
    "igmp",
    "ip",
    "ipip",
    "ipv6-encap",
    "ipv6-frag",
    "ipv6-icmp",
    "icmpv6",
    "ipv6-nonxt",
    "ipv6-opts",
    "ipv6-route",
    "ospf",
    "pgm",
    "rsvp",
    "sctp",
    "tcp",
    "udp",
    "udplite",
];

pub(super) struct SecurityRules;

impl Rules for SecurityRules {
    fn made(&self, cloud: &mut Cloud, _: (&Ask, &Scope), row: &mut JsonMap) -> Result<(), Answer> {
        quotas::allow_one_more(cloud, SECURITY_RULES, row)?;
        choice(row, "direction", &["ingress", "egress"])?;
        let ethertype = row.text("ethertype").replace("ipv", "IPv");
        row.set("ethertype", ethertype);
        choice(row, "ethertype", &["IPv4", "IPv6"])?;
        let protocol = protocol(row)?;
        row.set("protocol", protocol.clone());
        ports(row, protocol.as_deref())?;
        prefix(row)?;
        if let Some(same) = cloud.collections.table(SECURITY_RULES).values().find(|other| {
            IDENTITY
                .iter()
                .all(|key| empty_is_null(other.get(*key)) == empty_is_null(row.get(*key)))
        }) {
            let text =
                format!("Security group rule already exists. Rule id is {}.", same.text("id"));
            return Err(answer::neutron(409, "SecurityGroupRuleExists", text));
        }
        Ok(())
    }
}

fn choice(row: &JsonMap, key: &str, allowed: &[&str]) -> Result<(), Answer> {
    if allowed.contains(&row.text(key)) {
        return Ok(());
    }
    let value = row.text(key);
    Err(bad_request(format!("Invalid input for {key}. Reason: {value} is not in valid_values.")))
}

fn protocol(row: &JsonMap) -> Result<Option<String>, Answer> {
    let text = match row.get("protocol") {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => shown(value).to_ascii_lowercase(),
    };
    match text.as_str() {
        "" | "any" => return Ok(None),
        known if PROTOCOLS.contains(&known) => return Ok(Some(text)),
        _ => {}
    }
    if text.parse::<u8>().is_ok() {
        return Ok(Some(text));
    }
    let message = format!(
        "Security group rule protocol {text} not supported. Only protocol values [None, {}] and integer representations [0 to 255] are supported.",
        PROTOCOLS.map(|name| format!("'{name}'")).join(", ")
    );
    Err(answer::neutron(400, "SecurityGroupRuleInvalidProtocol", message))
}

fn ports(row: &mut JsonMap, protocol: Option<&str>) -> Result<(), Answer> {
    let mut range = [None, None];
    for (at, key) in ["port_range_min", "port_range_max"].into_iter().enumerate() {
        let value = match row.get(key) {
            None | Some(Value::Null) => continue,
            Some(value) => value,
        };
        let port = whole(value).filter(|port| (0..=65535).contains(port)).ok_or_else(|| {
            let text = format!("Invalid value for port {}", shown(value));
            answer::neutron(400, "SecurityGroupInvalidPortValue", text)
        })?;
        row.set(key, port);
        range[at] = Some(port);
    }
    let icmp = matches!(protocol, Some("icmp" | "icmpv6" | "ipv6-icmp" | "1" | "58"));
    match (range, protocol) {
        ([None, None], _) => Ok(()),
        (_, None) => Err(answer::neutron(
            400,
            "SecurityGroupProtocolRequiredWithPorts",
            "Must also specify protocol if port range is given.",
        )),
        ([min, max], Some(_)) if icmp => icmp_values(min, max),
        ([Some(min), Some(max)], Some(_)) if min > max => Err(answer::neutron(
            400,
            "SecurityGroupInvalidPortRange",
            "For TCP/UDP protocols, port_range_min must be <= port_range_max",
        )),
        _ => Ok(()),
    }
}

/// What stands for ports is the type and the code of the message.
fn icmp_values(kind: Option<i64>, code: Option<i64>) -> Result<(), Answer> {
    for (field, name, value) in [("port_range_min", "type", kind), ("port_range_max", "code", code)]
    {
        if let Some(value) = value.filter(|value| *value > 255) {
            let text =
                format!("Invalid value for ICMP {name} ({field}) {value}. It must be 0 to 255.");
            return Err(answer::neutron(400, "SecurityGroupInvalidIcmpValue", text));
        }
    }
    Ok(())
}

fn prefix(row: &mut JsonMap) -> Result<(), Answer> {
    let given = row.text("remote_ip_prefix").to_owned();
    if given.is_empty() {
        row.set("remote_ip_prefix", Value::Null);
        return Ok(());
    }
    if !row.text("remote_group_id").is_empty() {
        return Err(answer::neutron(
            400,
            "SecurityGroupMultipleRemoteEntites",
            "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.",
        ));
    }
    let whole = match number(&given) {
        Some((4, _)) => format!("{given}/32"),
        Some(_) => format!("{given}/128"),
        None => given.clone(),
    };
    let cidr = Cidr::parse(&whole).ok_or_else(|| {
        let text = format!("Invalid CIDR {given} given as IP prefix.");
        answer::neutron(400, "InvalidCIDR", text)
    })?;
    let ethertype = row.text("ethertype").to_owned();
    if ethertype != format!("IPv{}", cidr.version) {
        let text = format!("Conflicting value ethertype {ethertype} for CIDR {whole}");
        return Err(answer::neutron(400, "SecurityGroupRuleParameterConflict", text));
    }
    row.set("remote_ip_prefix", whole);
    row.set("normalized_cidr", cidr.text());
    Ok(())
}

fn empty_is_null(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null() && *value != "")
}
