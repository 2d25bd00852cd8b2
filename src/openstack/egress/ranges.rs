//! The addresses that nobody on the internet has, or that lead to somebody else than they seem to:
//! IANA's special-purpose registries, and where clouds keep the metadata of their machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::model::Network;

const fn v4(bytes: [u8; 4], prefix: u8) -> Network {
    let [a, b, c, d] = bytes;
    Network::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix)
}

const fn v6(first: [u16; 4], prefix: u8) -> Network {
    let [a, b, c, d] = first;
    Network::new(IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)), prefix)
}

/// IPv6 addresses that stand for IPv4 ones behind a translator (RFC 6052).
pub(super) const NAT64: Network = v6([0x64, 0xff9b, 0, 0], 96);

/// Networks and what each is; the first that has an address names it.
pub(super) const RESERVED: [(Network, &str); 33] = [
    (v4([0, 0, 0, 0], 8), "unspecified"),
    (v4([10, 0, 0, 0], 8), "private"),
    // Within it Alibaba's metadata, 100.100.100.200.
    (v4([100, 64, 0, 0], 10), "shared by carriers"),
    (v4([127, 0, 0, 0], 8), "loopback"),
    (v4([168, 63, 129, 16], 32), "metadata of Azure"),
    (v4([169, 254, 0, 0], 16), "link-local"),
    (v4([172, 16, 0, 0], 12), "private"),
    // Within it Oracle's metadata, 192.0.0.192.
    (v4([192, 0, 0, 0], 24), "of protocols"),
    (v4([192, 0, 2, 0], 24), "documentation"),
    (v4([192, 88, 99, 0], 24), "6to4 relay"),
    (v4([192, 168, 0, 0], 16), "private"),
    (v4([198, 18, 0, 0], 15), "benchmarks"),
    (v4([198, 51, 100, 0], 24), "documentation"),
    (v4([203, 0, 113, 0], 24), "documentation"),
    (v4([224, 0, 0, 0], 4), "multicast"),
    (v4([255, 255, 255, 255], 32), "broadcast"),
    (v4([240, 0, 0, 0], 4), "reserved"),
    (Network::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 128), "unspecified"),
    (Network::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128), "loopback"),
    (Network::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 96), "IPv4-compatible"),
    (v6([0x64, 0xff9b, 1, 0], 48), "local NAT64"),
    (v6([0x100, 0, 0, 0], 64), "discarded"),
    (v6([0x2001, 0, 0, 0], 32), "Teredo"),
    (v6([0x2001, 0, 0, 0], 23), "of protocols"),
    (v6([0x2001, 0xdb8, 0, 0], 32), "documentation"),
    (v6([0x2002, 0, 0, 0], 16), "6to4"),
    (v6([0x3fff, 0, 0, 0], 20), "documentation"),
    (v6([0xfc00, 0, 0, 0], 7), "unique-local"),
    (v6([0xfe80, 0, 0, 0], 10), "link-local"),
    (v6([0xff00, 0, 0, 0], 8), "multicast"),
    // Global unicast addresses are those of 2000::/3.
    (v6([0, 0, 0, 0], 3), "reserved"),
    (v6([0x4000, 0, 0, 0], 2), "reserved"),
    (v6([0x8000, 0, 0, 0], 1), "reserved"),
];
