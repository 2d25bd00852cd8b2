//! What can be chosen about a sandbox: where it listens, what it remembers, how slow it is.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::faults::FaultRule;
use super::guest_limits::GuestLimits;
use crate::model::Secret;

/// The users' password where nobody chose one: good enough on loopback, and nowhere else.
pub const PASSWORD: &str = "secret";

/// Everything a sandbox is started with.
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// Port 0 takes a free one; `RunningSandbox::address` says which.
    pub listen: SocketAddr,
    /// Where the state is kept; without it the cloud is forgotten with the process.
    pub data: Option<PathBuf>,
    /// A directory of files like `src/sandbox/services/*.yaml`: further services and collections.
    pub services: Option<PathBuf>,
    /// The types of services that the catalog leaves out.
    pub without: Vec<String>,
    pub latencies: Latencies,
    pub quotas: Quotas,
    /// Hearth's own address (`http://127.0.0.1:8004`), named in the catalog.
    pub hearth_url: Option<String>,
    /// The CFN API's address (`http://127.0.0.1:8000`), named in the catalog.
    pub cfn_url: Option<String>,
    /// Further regions, which have nothing but a Heat: their names, and its addresses.
    pub other_regions: Vec<(String, String)>,
    /// The password of every user who is there from the start.
    pub password: Secret<String>,
    pub region: String,
    /// How long a token lives.
    pub token_life: Duration,
    /// Whether servers run what they are told, and within which limits.
    pub guests: Option<GuestLimits>,
    /// Fault rules in force from the start.
    pub faults: Vec<FaultRule>,
    /// How many of the newest requests `/admin/requests` remembers.
    pub requests_remembered: usize,
}

/// As a secret.
pub fn usual_password() -> Secret<String> {
    Secret::new(PASSWORD.to_owned())
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 5000)),
            data: None,
            services: None,
            without: Vec::new(),
            latencies: Latencies::default(),
            quotas: Quotas::default(),
            hearth_url: Some("http://127.0.0.1:8004".to_owned()),
            cfn_url: Some("http://127.0.0.1:8000".to_owned()),
            other_regions: Vec::new(),
            password: usual_password(),
            region: "RegionOne".to_owned(),
            token_life: Duration::from_secs(3600),
            guests: None,
            faults: Vec::new(),
            requests_remembered: 10_000,
        }
    }
}

impl SandboxConfig {
    /// Whether others than this machine's users reach it.
    pub(super) fn is_exposed(&self) -> bool {
        !self.listen.ip().is_loopback()
    }

    /// Whether anybody could guess the password.
    pub(super) fn has_usual_password(&self) -> bool {
        matches!(self.password.reveal().as_str(), "" | PASSWORD)
    }

    /// For tests: a free port, nothing kept, no waiting.
    pub fn instant() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            latencies: Latencies::none(),
            ..Self::default()
        }
    }
}

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// Every request, before it is carried out.
    pub request: Duration,
    /// A server from BUILD to ACTIVE.
    pub server: Duration,
    /// A server's resize, reboot, rebuild, stop, …
    pub server_action: Duration,
    /// A server's disappearance.
    pub server_delete: Duration,
    /// A volume from creating to available; also extending, retyping and deleting it.
    pub volume: Duration,
    /// A volume's attaching and detaching.
    pub attachment: Duration,
    /// A floating IP from its association to ACTIVE.
    pub floating_ip: Duration,
    /// An image from importing to active.
    pub image: Duration,
    /// Any other object that takes time to come and to go.
    pub object: Duration,
}

impl Latencies {
    /// Nothing takes time.
    pub const fn none() -> Self {
        Self::all(Duration::ZERO)
    }

    /// Everything but the requests themselves takes the same time.
    pub const fn all(each: Duration) -> Self {
        Self {
            request: Duration::ZERO,
            server: each,
            server_action: each,
            server_delete: each,
            volume: each,
            attachment: each,
            floating_ip: each,
            image: each,
            object: each,
        }
    }
}

impl Default for Latencies {
    /// Long enough to be seen, short enough to be pleasant.
    fn default() -> Self {
        Self {
            request: Duration::ZERO,
            server: Duration::from_millis(1500),
            server_action: Duration::from_millis(500),
            server_delete: Duration::from_millis(300),
            volume: Duration::from_millis(500),
            attachment: Duration::from_millis(300),
            floating_ip: Duration::from_millis(200),
            image: Duration::from_millis(500),
            object: Duration::from_millis(300),
        }
    }
}

/// How much each project may have; −1 is unlimited. The defaults are those of the real services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    pub networks: i64,
    pub subnets: i64,
    pub ports: i64,
    pub routers: i64,
    pub floating_ips: i64,
    pub security_groups: i64,
    pub security_group_rules: i64,
    pub instances: i64,
    pub cores: i64,
    pub ram_mib: i64,
    pub key_pairs: i64,
    pub server_groups: i64,
    pub server_group_members: i64,
    pub metadata_items: i64,
    pub volumes: i64,
    pub snapshots: i64,
    pub gigabytes: i64,
    pub per_volume_gigabytes: i64,
}

impl Quotas {
    /// A limit by a service's own name for it.
    pub(super) fn of(&self, service: &str, name: &str) -> Option<i64> {
        Some(match (service, name) {
            ("network", "network") => self.networks,
            ("network", "subnet") => self.subnets,
            ("network", "port") => self.ports,
            ("network", "router") => self.routers,
            ("network", "floatingip") => self.floating_ips,
            ("network", "security_group") => self.security_groups,
            ("network", "security_group_rule") => self.security_group_rules,
            ("compute", "instances") => self.instances,
            ("compute", "cores") => self.cores,
            ("compute", "ram") => self.ram_mib,
            ("compute", "key_pairs") => self.key_pairs,
            ("compute", "server_groups") => self.server_groups,
            ("compute", "server_group_members") => self.server_group_members,
            ("compute", "metadata_items") => self.metadata_items,
            ("volumev3", "volumes") => self.volumes,
            ("volumev3", "snapshots") => self.snapshots,
            ("volumev3", "gigabytes") => self.gigabytes,
            ("volumev3", "per_volume_gigabytes") => self.per_volume_gigabytes,
            _ => return None,
        })
    }

    /// No limit on anything.
    pub const fn unlimited() -> Self {
        Self {
            networks: -1,
            subnets: -1,
            ports: -1,
            routers: -1,
            floating_ips: -1,
            security_groups: -1,
            security_group_rules: -1,
            instances: -1,
            cores: -1,
            ram_mib: -1,
            key_pairs: -1,
            server_groups: -1,
            server_group_members: -1,
            metadata_items: 128,
            volumes: -1,
            snapshots: -1,
            gigabytes: -1,
            per_volume_gigabytes: -1,
        }
    }
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            networks: 100,
            subnets: 100,
            ports: 500,
            routers: 10,
            floating_ips: 50,
            security_groups: 10,
            security_group_rules: 100,
            instances: 10,
            cores: 20,
            ram_mib: 51_200,
            key_pairs: 100,
            server_groups: 10,
            server_group_members: 10,
            metadata_items: 128,
            volumes: 10,
            snapshots: 10,
            gigabytes: 1000,
            per_volume_gigabytes: -1,
        }
    }
}
