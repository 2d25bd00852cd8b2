//! Calls to where a user said, by a URL or by a catalog of his: they reach the internet, and of
//! other networks what the operator allows. What is judged is the address that is connected to,
//! so that no spelling and no change of a name's addresses leads around it.

mod ranges;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, Url};
use tracing::warn;
use url::Host;

use crate::model::AllowedTarget;

/// Under what an operator allows more.
const OPTION: &str = "[hearth] fetch_allow";

/// Which addresses may be connected to. Clones are the same.
#[derive(Clone)]
pub(super) struct Egress {
    allowed: Arc<[AllowedTarget]>,
    names: Arc<dyn Names>,
}

/// Where names are resolved.
#[async_trait]
pub(super) trait Names: Send + Sync {
    /// The addresses of a host, with any port.
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>>;
}

struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.collect())
    }
}

/// The URL leads where no call may go; the log has the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused;

impl Egress {
    pub(super) fn new(allowed: &[AllowedTarget]) -> Self {
        Self::with_names(allowed, Arc::new(SystemNames))
    }

    pub(super) fn with_names(allowed: &[AllowedTarget], names: Arc<dyn Names>) -> Self {
        Self { allowed: allowed.into(), names }
    }

    /// Whether the operator allows the host by its name.
    fn allows_host(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        self.allowed.iter().any(|allowed| allowed.is_host(host, url.port_or_known_default()))
    }

    /// What an address is that may not be connected to.
    fn reserved(&self, address: IpAddr) -> Option<&'static str> {
        let address = translated(address);
        let is_allowed = self.allowed.iter().any(
            |allowed| matches!(allowed, AllowedTarget::Network(network) if network.contains(address)),
        );
        let reserved = ranges::RESERVED.iter().find(|(network, _)| network.contains(address));
        reserved.filter(|_| !is_allowed).map(|(_, what)| *what)
    }

    /// Refuses an address, and tells the operator how it would be allowed.
    fn check(&self, host: &str, address: IpAddr) -> Result<(), Refused> {
        match self.reserved(address) {
            None => Ok(()),
            Some(what) => {
                warn!(host, %address, what, option = OPTION, "an address that is not allowed was not called");
                Err(Refused)
            }
        }
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Egress").field(&self.allowed).finish()
    }
}

/// The IPv4 address that an IPv6 one stands for, where it does.
fn translated(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    match v6.to_ipv4_mapped() {
        Some(v4) => v4.into(),
        None if ranges::NAT64.contains(address) => {
            let [.., a, b, c, d] = v6.octets();
            Ipv4Addr::new(a, b, c, d).into()
        }
        None => address,
    }
}

/// Whoever asks connects to what is given here, and asks no more.
struct Resolver {
    egress: Egress,
    /// Not so for a host that is allowed by its name, which may have any address.
    judges: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (egress, judges) = (self.egress.clone(), self.judges);
        Box::pin(async move {
            let host = name.as_str();
            let mut found = egress.names.addresses(host).await?;
            found.retain(|address| !judges || egress.check(host, address.ip()).is_ok());
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Clients for URLs that users gave: by HTTP alone, along no redirections and through no proxies.
pub(super) struct Guarded {
    egress: Egress,
    builder: Box<dyn Fn() -> ClientBuilder + Send + Sync>,
    judged: OnceLock<Option<Client>>,
    unjudged: OnceLock<Option<Client>>,
}

impl Guarded {
    /// Clients are made when they are needed; `builder` says what else they are.
    pub(super) fn new(
        egress: Egress,
        builder: impl Fn() -> ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        let builder = Box::new(builder);
        Self { egress, builder, judged: OnceLock::new(), unjudged: OnceLock::new() }
    }

    /// The client to call a URL with.
    pub(super) fn client(&self, url: &Url) -> Result<&Client, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused);
        }
        let egress = self.egress.clone();
        let client = if egress.allows_host(url) {
            self.unjudged.get_or_init(|| self.build(Resolver { egress, judges: false }))
        } else {
            // The resolver is not asked of what is an address already.
            match url.host() {
                Some(Host::Ipv4(address)) => egress.check(&address.to_string(), address.into())?,
                Some(Host::Ipv6(address)) => egress.check(&address.to_string(), address.into())?,
                Some(Host::Domain(_)) => {}
                None => return Err(Refused),
            }
            self.judged.get_or_init(|| self.build(Resolver { egress, judges: true }))
        };
        client.as_ref().ok_or(Refused)
    }

    fn build(&self, resolver: Resolver) -> Option<Client> {
        let builder = (self.builder)().redirect(reqwest::redirect::Policy::none()).no_proxy();
        let built = builder.dns_resolver(Arc::new(resolver)).build();
        built.inspect_err(|error| warn!(%error, "a client could not be made")).ok()
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guarded").field(&self.egress).finish()
    }
}

#[cfg(test)]
mod tests;
