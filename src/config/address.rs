//! Where something listens, as it is written on the command line and in files.

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// An address and a port; `localhost:8004` is one as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListenAddress(pub(super) SocketAddr);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        listen_address(text).map(Self)
    }
}

/// Reads an address and a port, or a name of this machine and a port. Of a name that has addresses
/// of both kinds the one of IPv4 is meant: that is where clients look first who are told nothing
/// else.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let found = text.to_socket_addrs().map_err(|error| {
        format!("neither an address and a port nor a known name and a port: {error}")
    })?;
    let found: Vec<SocketAddr> = found.collect();
    let chosen = found.iter().find(|address| address.is_ipv4()).or(found.first());
    chosen.copied().ok_or_else(|| "the name has no address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_this_machine_is_an_address() {
        assert_eq!(listen_address("localhost:8004").unwrap().to_string(), "127.0.0.1:8004");
        assert_eq!(listen_address("[::1]:0").unwrap().to_string(), "[::1]:0");
        for wrong in ["8004", "localhost", "127.0.0.1:99999", ""] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
    }
}
