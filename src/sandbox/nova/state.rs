//! What Nova holds.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::super::store::{Rows, Table};
use crate::model::JsonMap;

/// What Nova holds.
#[derive(Clone)]
pub(in crate::sandbox) struct Nova {
    pub(super) servers: Table<Server>,
    pub(super) flavors: Table<Flavor>,
    /// By user and name.
    pub(super) key_pairs: Table<KeyPair>,
    pub(super) server_groups: Table<ServerGroup>,
}

impl Nova {
    pub(in crate::sandbox) fn new() -> Self {
        Self {
            servers: Table::new("servers"),
            flavors: Table::new("flavors"),
            key_pairs: Table::new("keypairs"),
            server_groups: Table::new("server_groups"),
        }
    }

    pub(in crate::sandbox) fn tables(&mut self) -> [&mut dyn Rows; 4] {
        [&mut self.servers, &mut self.flavors, &mut self.key_pairs, &mut self.server_groups]
    }
}

/// A server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Server {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) project_id: String,
    pub(super) user_id: String,
    /// ACTIVE, BUILD, SHUTOFF, …
    pub(super) status: String,
    /// What it is doing: `spawning`, `powering-off`, …
    pub(super) task: Option<String>,
    /// As it was when the server was made or resized.
    pub(super) flavor: Flavor,
    /// What a resize that is under way leads to. Nova shows the former one until its last task.
    pub(super) flavor_next: Option<Flavor>,
    /// What a resize can be taken back to.
    pub(super) flavor_before: Option<Flavor>,
    pub(super) image_id: Option<String>,
    pub(super) key_name: Option<String>,
    pub(super) availability_zone: String,
    pub(super) metadata: JsonMap,
    pub(super) user_data: Option<String>,
    pub(super) config_drive: bool,
    pub(super) disk_config: String,
    pub(super) tags: Vec<String>,
    pub(super) group_id: Option<String>,
    pub(super) locked: bool,
    pub(super) ports: Vec<Nic>,
    pub(super) volumes: Vec<Disk>,
    pub(super) created_at: DateTime<Utc>,
    pub(super) updated_at: DateTime<Utc>,
    pub(super) launched_at: Option<DateTime<Utc>>,
    pub(super) fault: Option<String>,
}

/// A port of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Nic {
    pub(super) port_id: String,
    /// Whether Nova made it, and so deletes it.
    pub(super) ours: bool,
    pub(super) tag: Option<String>,
}

/// A volume of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Disk {
    pub(super) volume_id: String,
    pub(super) attachment_id: String,
    pub(super) device: String,
    pub(super) delete_on_termination: bool,
    pub(super) tag: Option<String>,
    /// Whether it is the one that the server starts from.
    pub(super) boot: bool,
}

/// A size of servers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Flavor {
    pub(super) id: String,
    pub(super) name: String,
    /// MiB.
    pub(super) ram: i64,
    /// GiB.
    pub(super) disk: i64,
    pub(super) ephemeral: i64,
    /// MiB.
    pub(super) swap: i64,
    pub(super) vcpus: i64,
    pub(super) rxtx_factor: f64,
    pub(super) is_public: bool,
    pub(super) description: Option<String>,
    pub(super) extra_specs: JsonMap,
    /// The projects that may use it when it is not public.
    pub(super) access: Vec<String>,
}

/// Servers that are to be near to, or far from, each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct ServerGroup {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) policy: String,
    pub(super) rules: JsonMap,
    pub(super) members: Vec<String>,
    pub(super) project_id: String,
    pub(super) user_id: String,
}

/// A key pair. Its private half is shown once and never kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct KeyPair {
    pub(super) name: String,
    pub(super) user_id: String,
    pub(super) project_id: String,
    pub(super) kind: String,
    pub(super) public_key: String,
    pub(super) fingerprint: String,
    pub(super) created_at: String,
}

/// The end of something that a server does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum ServerEnd {
    /// It is in this status, and does nothing further.
    Status(String),
    /// It cannot be built.
    Failed(String),
    Gone,
}
