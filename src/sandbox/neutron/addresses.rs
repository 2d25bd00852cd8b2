//! Addresses and ranges of either IP version as plain numbers, and the search for a free one.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::PORTS;
use crate::model::JsonMap;

/// A range in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cidr {
    pub(super) version: i64,
    pub(super) first: u128,
    pub(super) last: u128,
    prefix: u32,
}

impl Cidr {
    /// Reads `10.0.0.0/24`; bits beyond the prefix are cut off.
    pub(super) fn parse(text: &str) -> Option<Cidr> {
        let (address, prefix) = text.split_once('/')?;
        let prefix: u32 = prefix.parse().ok()?;
        let (version, number) = number(address)?;
        let bits = if version == 4 { 32 } else { 128 };
        if prefix > bits {
            return None;
        }
        let size = (u128::MAX >> (128 - bits)).checked_shr(prefix).unwrap_or(0);
        let first = number & !size;
        Some(Cidr { version, first, last: first | size, prefix })
    }

    pub(super) fn contains(&self, version: i64, number: u128) -> bool {
        version == self.version && (self.first..=self.last).contains(&number)
    }

    pub(super) fn overlaps(&self, other: &Cidr) -> bool {
        self.version == other.version && self.first <= other.last && other.first <= self.last
    }

    /// The addresses that hosts may have: without those of the network and of broadcast.
    pub(super) fn hosts(&self) -> (u128, u128) {
        let whole = self.last - self.first < 3;
        match (self.version, whole) {
            (_, true) => (self.first, self.last),
            (4, false) => (self.first + 1, self.last - 1),
            (_, false) => (self.first + 1, self.last),
        }
    }

    pub(super) fn text(&self) -> String {
        format!("{}/{}", text(self.version, self.first), self.prefix)
    }
}

/// The version and the number of an address.
pub(super) fn number(address: &str) -> Option<(i64, u128)> {
    match address.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => Some((4, u128::from(u32::from(address)))),
        IpAddr::V6(address) => Some((6, u128::from(address))),
    }
}

/// An address in its usual notation.
pub(super) fn text(version: i64, number: u128) -> String {
    match u32::try_from(number) {
        Ok(number) if version == 4 => Ipv4Addr::from(number).to_string(),
        _ => Ipv6Addr::from(number).to_string(),
    }
}

/// The pools of a subnet as numbers.
pub(super) fn pools(subnet: &JsonMap) -> Vec<(u128, u128)> {
    subnet
        .list("allocation_pools")
        .iter()
        .filter_map(Value::as_object)
        .filter_map(|pool| Some((number(pool.text("start"))?.1, number(pool.text("end"))?.1)))
        .collect()
}

/// The addresses in use on a subnet. A port of `except` does not count.
pub(super) fn used(cloud: &Cloud, subnet_id: &str, except: &str) -> HashSet<u128> {
    cloud
        .collections
        .table(PORTS)
        .values()
        .filter(|port| port.text("id") != except)
        .flat_map(|port| port.list("fixed_ips"))
        .filter_map(Value::as_object)
        .filter(|fixed| fixed.text("subnet_id") == subnet_id)
        .filter_map(|fixed| Some(number(fixed.text("ip_address"))?.1))
        .collect()
}

/// The first free address of a subnet's pools.
pub(super) fn free(subnet: &JsonMap, used: &HashSet<u128>) -> Option<String> {
    let version = subnet.int("ip_version").unwrap_or(4);
    let number = pools(subnet)
        .into_iter()
        .find_map(|(start, end)| (start..=end).find(|number| !used.contains(number)))?;
    Some(text(version, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_knows_its_hosts() {
        let cidr = Cidr::parse("10.0.0.77/24").unwrap();
        assert_eq!(cidr.text(), "10.0.0.0/24");
        let (first, last) = cidr.hosts();
        assert_eq!((text(4, first), text(4, last)), ("10.0.0.1".into(), "10.0.0.254".into()));
        assert!(Cidr::parse("10.0.0.0/33").is_none());
        assert_eq!(Cidr::parse("fd00::/64").unwrap().text(), "fd00::/64");
        assert_eq!(Cidr::parse("0.0.0.0/0").unwrap().last, u128::from(u32::MAX));
    }
}
