//! `transport_url` of oslo.messaging: `rabbit://USER:PASSWORD@HOST:PORT,…/VIRTUAL_HOST`.

use percent_encoding::percent_decode_str;

use crate::model::Secret;
use crate::model::bus::BusNode;

const PORT: u16 = 5672;
/// Of RabbitMQ, where nobody is named.
const USER: &str = "guest";
/// Bytes of a short string of AMQP, as which names are sent.
const SHORT_MAX: usize = 255;

/// The nodes of a broker, and the virtual host there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TransportUrl {
    pub(super) nodes: Vec<BusNode>,
    pub(super) virtual_host: String,
}

/// What is wrong with a URL, in words that complete "must be …". They show nothing of it: it has a
/// password in it.
pub(super) const WANTED: &str = "rabbit://USER:PASSWORD@HOST:PORT/VIRTUAL_HOST";

impl std::str::FromStr for TransportUrl {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let rest = text.trim().strip_prefix("rabbit://").ok_or(())?;
        // Options may follow, all of which concern RPC.
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        let (nodes, virtual_host) = rest.split_once('/').unwrap_or((rest, ""));
        let nodes = nodes.split(',').map(node).collect::<Result<_, ()>>()?;
        let virtual_host = match decoded(virtual_host)? {
            none if none.is_empty() => "/".to_owned(),
            named => named,
        };
        Ok(Self { nodes, virtual_host })
    }
}

fn node(text: &str) -> Result<BusNode, ()> {
    let (who, place) = text.trim().rsplit_once('@').unwrap_or(("", text.trim()));
    let (user, password) = match who {
        "" => (USER.to_owned(), USER.to_owned()),
        who => {
            let (user, password) = who.split_once(':').unwrap_or((who, ""));
            (decoded(user)?, decoded(password)?)
        }
    };
    let after_address = place.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match place[after_address..].find(':') {
        Some(at) => {
            let (host, port) = place.split_at(after_address + at);
            (host, port[1..].parse().map_err(|_| ())?)
        }
        None => (place, PORT),
    };
    let is_host = !host.is_empty() && host.len() <= SHORT_MAX;
    let host = is_host.then(|| host.to_owned()).ok_or(())?;
    Ok(BusNode { host, port, user, password: Secret::new(password) })
}

fn decoded(text: &str) -> Result<String, ()> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| ())?;
    if text.len() <= SHORT_MAX { Ok(text.into_owned()) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        let TransportUrl { nodes, virtual_host } = text.parse().ok()?;
        let shown = |node: &BusNode| {
            let BusNode { host, port, user, password } = node;
            format!("{user}|{}|{host}|{port}", password.reveal())
        };
        let nodes: Vec<String> = nodes.iter().map(shown).collect();
        Some(format!("{} in {virtual_host}", nodes.join(" ")))
    }

    #[test]
    fn nodes_are_read_with_their_users_and_one_virtual_host() {
        let of = |text: &str| read(text).unwrap();
        assert_eq!(of("rabbit://u:p@a:5673/"), "u|p|a|5673 in /");
        assert_eq!(of("rabbit://u:p%40%2F:q@a:1,u2:p2@b/v%20h"), "u|p@/:q|a|1 u2|p2|b|5672 in v h");
        assert_eq!(of("rabbit://[::1]:5671//?ssl=1"), "guest|guest|[::1]|5671 in /");
        assert_eq!(of("rabbit://u@[::1]"), "u||[::1]|5672 in /");
    }

    #[test]
    fn what_is_none_is_refused() {
        let long = format!("rabbit://u:p@a/{}", "v".repeat(256));
        for text in
            ["", "rabbit://", "kafka://a/", "fake:/", "rabbit://a:port/", "rabbit://a,/", &long]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
