//! Subnets: ranges, gateways and pools.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections::{self, Rules};
use super::super::doc::{Doc, shown};
use super::super::keystone::Scope;
use super::addresses::{Cidr, number, pools, text, used};
use super::{NETWORKS, PORTS, SUBNETS, bad_request, forbidden, invalid_input, quotas};
use crate::model::JsonMap;

pub(super) struct Subnets;

impl Rules for Subnets {
    /// Those of a network that is shared.
    fn is_seen(&self, cloud: &Cloud, _: &Scope, row: &JsonMap) -> bool {
        let network = cloud.collections.table(NETWORKS).get(row.text("network_id"));
        network.is_some_and(|network| network.is("shared"))
    }

    fn made(
        &self,
        cloud: &mut Cloud,
        (_, scope): (&Ask, &Scope),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        quotas::allow_one_more(cloud, SUBNETS, row)?;
        row.remove("use_default_subnetpool");
        row.remove("prefixlen");
        let network = collections::seen(cloud, scope, NETWORKS, row.text("network_id"))?;
        if !scope.sees(network.text("project_id")) {
            return Err(forbidden("create_subnet"));
        }
        let cidr = range(row)?;
        row.set("cidr", cidr.text());
        row.set("revision_number", 0);
        let (first, last) = cidr.hosts();
        let gateway = match row.get("gateway_ip") {
            None => Some(first),
            Some(Value::Null) => None,
            Some(given) => Some(gateway_address(&cidr, given)?),
        };
        let pools = match row.get("allocation_pools") {
            // An empty list is taken as none given.
            Some(Value::Array(given)) if !given.is_empty() => checked_pools(given, &cidr, gateway)?,
            _ => around(first, last, gateway),
        };
        refuse_overlap(cloud, row, &cidr)?;
        row.set("gateway_ip", gateway.map(|number| text(cidr.version, number)));
        row.set("allocation_pools", shown_pools(&pools, cidr.version));
        Ok(())
    }

    fn changed(
        &self,
        cloud: &mut Cloud,
        _: (&Ask, &Scope),
        (before, change): (&JsonMap, &JsonMap),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        let Some(cidr) = Cidr::parse(before.text("cidr")) else { return Ok(()) };
        let gateway = match row.get("gateway_ip") {
            None | Some(Value::Null) => None,
            Some(given) => Some(gateway_address(&cidr, given)?),
        };
        if change.contains_key("allocation_pools") {
            let pools = checked_pools(change.list("allocation_pools"), &cidr, gateway)?;
            row.set("allocation_pools", shown_pools(&pools, cidr.version));
        } else if change.contains_key("gateway_ip") {
            refuse_within(&pools(before), &cidr, gateway)?;
        }
        if change.contains_key("gateway_ip") && before.get("gateway_ip") != row.get("gateway_ip") {
            let old = number(before.text("gateway_ip")).map(|(_, number)| number);
            let id = before.text("id");
            if old.is_some_and(|old| used(cloud, id, "").contains(&old)) {
                let text = format!(
                    "Current gateway ip {} already in use by port {}. Unable to update.",
                    before.text("gateway_ip"),
                    port_with(cloud, id, before.text("gateway_ip"))
                );
                return Err(answer::neutron(409, "GatewayIpInUse", text));
            }
        }
        Ok(())
    }

    fn dropping(&self, cloud: &mut Cloud, _: DateTime<Utc>, row: &JsonMap) -> Result<(), Answer> {
        let id = row.text("id");
        if used(cloud, id, "").is_empty() {
            return Ok(());
        }
        let text = format!(
            "Unable to complete operation on subnet {id}: One or more ports have an IP allocation from this subnet."
        );
        Err(answer::neutron(409, "SubnetInUse", text))
    }
}

/// The subnet's range.
fn range(row: &JsonMap) -> Result<Cidr, Answer> {
    let given = row.get("cidr").map(shown).unwrap_or_default();
    if given.is_empty() {
        return Err(answer::neutron(
            400,
            "BadRequest",
            "Bad subnets request: a subnetpool must be specified in the absence of a cidr.",
        ));
    }
    let cidr = Cidr::parse(&given)
        .ok_or_else(|| invalid_input(format!("{given} is not in a CIDR format")))?;
    if row.int("ip_version") != Some(cidr.version) {
        let version = row.int("ip_version").unwrap_or_default();
        return Err(invalid_input(format!(
            "cidr '{given}' does not match the ip_version '{version}'"
        )));
    }
    Ok(cidr)
}

/// No other subnet of the network may overlap.
fn refuse_overlap(cloud: &Cloud, row: &JsonMap, cidr: &Cidr) -> Result<(), Answer> {
    let network = row.text("network_id");
    let given = row.text("cidr");
    let overlapping = cloud
        .collections
        .table(SUBNETS)
        .values()
        .filter(|subnet| subnet.text("network_id") == network)
        .filter_map(|subnet| Cidr::parse(subnet.text("cidr")))
        .any(|other| other.overlaps(cidr));
    if overlapping {
        return Err(invalid_input(format!(
            "Requested subnet with cidr: {given} for network: {network} overlaps with another subnet"
        )));
    }
    Ok(())
}

fn inside(cidr: &Cidr, given: &Value) -> Option<u128> {
    let (version, number) = number(given.as_str()?)?;
    cidr.contains(version, number).then_some(number)
}

/// A gateway may lie outside the subnet, as long as it is an address of the same version.
fn gateway_address(cidr: &Cidr, given: &Value) -> Result<u128, Answer> {
    match given.as_str().and_then(number) {
        Some((version, number)) if version == cidr.version => Ok(number),
        _ => Err(bad_request(format!(
            "Invalid input for gateway_ip. Reason: '{}' is not a valid IP address.",
            shown(given)
        ))),
    }
}

fn checked_pools(
    given: &[Value],
    cidr: &Cidr,
    gateway: Option<u128>,
) -> Result<Vec<(u128, u128)>, Answer> {
    let mut pools = Vec::new();
    for pool in given {
        let start = inside(cidr, pool.get("start").unwrap_or(&Value::Null));
        let end = inside(cidr, pool.get("end").unwrap_or(&Value::Null));
        let shown = format!(
            "{}-{}",
            pool.get("start").map(shown).unwrap_or_default(),
            pool.get("end").map(shown).unwrap_or_default()
        );
        match (start, end) {
            (Some(start), Some(end)) if start <= end => pools.push((start, end)),
            (Some(_), Some(_)) => {
                let text = format!("The allocation pool {shown} is not valid.");
                return Err(answer::neutron(400, "InvalidAllocationPool", text));
            }
            _ => {
                let text = format!(
                    "The allocation pool {shown} spans beyond the subnet cidr {}.",
                    cidr.text()
                );
                return Err(answer::neutron(400, "OutOfBoundsAllocationPool", text));
            }
        }
    }
    pools.sort_unstable();
    if let Some(pair) = pools.windows(2).find(|pair| pair[1].0 <= pair[0].1) {
        let shown = |pool: (u128, u128)| {
            format!("{}-{}", text(cidr.version, pool.0), text(cidr.version, pool.1))
        };
        let text = format!(
            "Found overlapping allocation pools: {} {} for subnet {}.",
            shown(pair[0]),
            shown(pair[1]),
            cidr.text()
        );
        return Err(answer::neutron(409, "OverlappingAllocationPools", text));
    }
    refuse_within(&pools, cidr, gateway)?;
    Ok(pools)
}

fn refuse_within(pools: &[(u128, u128)], cidr: &Cidr, gateway: Option<u128>) -> Result<(), Answer> {
    let Some(gateway) = gateway else { return Ok(()) };
    let Some((start, end)) = pools.iter().find(|(start, end)| (*start..=*end).contains(&gateway))
    else {
        return Ok(());
    };
    let text = format!(
        "Gateway ip {} conflicts with allocation pool {}-{}.",
        text(cidr.version, gateway),
        text(cidr.version, *start),
        text(cidr.version, *end)
    );
    Err(answer::neutron(409, "GatewayConflictWithAllocationPools", text))
}

/// Everything but the gateway.
fn around(first: u128, last: u128, gateway: Option<u128>) -> Vec<(u128, u128)> {
    let Some(gateway) = gateway.filter(|gateway| (first..=last).contains(gateway)) else {
        return vec![(first, last)];
    };
    let mut pools = Vec::new();
    if gateway > first {
        pools.push((first, gateway - 1));
    }
    if gateway < last {
        pools.push((gateway + 1, last));
    }
    pools
}

fn shown_pools(pools: &[(u128, u128)], version: i64) -> Vec<Value> {
    pools
        .iter()
        .map(|(start, end)| json!({"start": text(version, *start), "end": text(version, *end)}))
        .collect()
}

fn port_with(cloud: &Cloud, subnet: &str, address: &str) -> String {
    cloud
        .collections
        .table(PORTS)
        .values()
        .find(|port| {
            port.list("fixed_ips").iter().filter_map(Value::as_object).any(|fixed| {
                fixed.text("subnet_id") == subnet && fixed.text("ip_address") == address
            })
        })
        .map(|port| port.text("id").to_owned())
        .unwrap_or_default()
}
