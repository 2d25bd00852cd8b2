//! Networks, and what of them an operator lists as allowed.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// A block of IP addresses, as CIDR writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// How many leading bits an address shares with the block's: 32 or 128 at most.
    prefix: u8,
}

impl Network {
    pub const fn new(address: IpAddr, prefix: u8) -> Self {
        Self { address, prefix }
    }

    /// Whether an address of the same family is one of the block's.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differ = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros()
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros()
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        differ >= u32::from(self.prefix)
    }
}

impl FromStr for Network {
    type Err = NotAllowable;

    /// `10.0.0.0/8`, or one address.
    fn from_str(text: &str) -> Result<Self, NotAllowable> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NotAllowable)?;
        let widest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| NotAllowable)?,
            None => widest,
        };
        if prefix > widest { Err(NotAllowable) } else { Ok(Self { address, prefix }) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// A line of an allow-list: a network, or a host under the name that URLs give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedTarget {
    Network(Network),
    /// Whatever the name resolves to. `None`: any port.
    Host {
        name: String,
        port: Option<u16>,
    },
}

/// The text is neither a network nor a host with or without a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAllowable;

impl AllowedTarget {
    /// Whether it is the host of a URL, by its name; `host` has no brackets.
    pub fn is_host(&self, host: &str, on: Option<u16>) -> bool {
        match self {
            AllowedTarget::Network(_) => false,
            AllowedTarget::Host { name, port } => {
                name.eq_ignore_ascii_case(host.trim_end_matches('.'))
                    && (port.is_none() || *port == on)
            }
        }
    }
}

impl FromStr for AllowedTarget {
    type Err = NotAllowable;

    /// `10.0.0.0/8`, `10.1.2.3`, `10.1.2.3:80`, `[fd00::1]:80`, `host.example.org`, `host:8080`.
    fn from_str(text: &str) -> Result<Self, NotAllowable> {
        if let Ok(network) = text.parse() {
            return Ok(AllowedTarget::Network(network));
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            let (name, port) = (address.ip().to_string(), Some(address.port()));
            return Ok(AllowedTarget::Host { name, port });
        }
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port.parse().map_err(|_| NotAllowable)?)),
            None => (text, None),
        };
        let name = name.trim_end_matches('.');
        let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
        match is_name {
            true => Ok(AllowedTarget::Host { name: name.to_owned(), port }),
            false => Err(NotAllowable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_an_allow_list_is_a_network_or_a_host() {
        let host = |name: &str, port| AllowedTarget::Host { name: name.to_owned(), port };
        let network = |text: &str| AllowedTarget::Network(text.parse().unwrap());
        for (text, read) in [
            ("10.0.0.0/8", network("10.0.0.0/8")),
            ("10.1.2.3", network("10.1.2.3/32")),
            ("fd00::/8", network("fd00::/8")),
            ("10.1.2.3:80", host("10.1.2.3", Some(80))),
            ("[fd00::1]:80", host("fd00::1", Some(80))),
            ("templates.example.org", host("templates.example.org", None)),
            ("templates.example.org.:8443", host("templates.example.org", Some(8443))),
        ] {
            assert_eq!(text.parse(), Ok(read), "{text}");
        }
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0.0/x", "http://h", "h:port", "h/8", "*"] {
            assert_eq!(text.parse::<AllowedTarget>(), Err(NotAllowable), "{text}");
        }
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_as_it_does() {
        let contains = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.255.0.1"));
        assert!(contains("10.1.2.3/8", "10.255.0.1"), "what follows the prefix does not count");
        assert!(!contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("0.0.0.0/0", "255.1.1.1") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("fe80::/10", "febf::1") && !contains("fe80::/10", "fec0::1"));
        assert!(contains("10.1.2.3", "10.1.2.3") && !contains("10.1.2.3", "10.1.2.4"));
    }
}
