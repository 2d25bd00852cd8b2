//! What will have happened by a later moment: the cloud's slow work, without timers.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::cloud::Cloud;
use super::{cinder, collections, glance, neutron, nova};

/// A turn and its moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Later {
    pub(super) at: DateTime<Utc>,
    pub(super) turn: Turn,
}

/// A change of state that takes time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Turn {
    /// A server has reached the end of what it was doing.
    Server { id: String, end: nova::ServerEnd },
    /// A volume is attached to a server, or no longer.
    Attachment { server: String, volume: String, attached: bool },
    /// A volume has reached a status.
    Volume { id: String, end: cinder::VolumeEnd },
    /// A snapshot has reached a status; `None` is gone.
    Snapshot { id: String, status: Option<String> },
    /// A backup has reached a status; `None` is gone.
    Backup { id: String, status: Option<String> },
    /// A floating IP follows its association.
    FloatingIp { id: String },
    /// An object of a collection that is data (`service.wrap`) has reached a state; `None` is gone.
    Object { of: String, id: String, state: Option<String> },
    /// An image's import is done.
    Image { id: String },
}

/// Lets a turn happen. What it was about may be gone by then.
pub(super) fn carry_out(cloud: &mut Cloud, turn: &Turn, at: DateTime<Utc>) {
    match turn {
        Turn::Server { id, end } => nova::server_ends(cloud, id, end, at),
        Turn::Attachment { server, volume, attached } => {
            nova::attachment_ends(cloud, server, volume, *attached, at);
        }
        Turn::Volume { id, end } => cinder::volume_ends(cloud, id, end, at),
        Turn::Snapshot { id, status } => cinder::snapshot_ends(cloud, id, status.as_deref(), at),
        Turn::Backup { id, status } => cinder::backup_ends(cloud, id, status.as_deref(), at),
        Turn::FloatingIp { id } => neutron::floating_ip_ends(cloud, id, at),
        Turn::Object { of, id, state } => {
            collections::object_ends(cloud, of, id, state.as_deref());
        }
        Turn::Image { id } => glance::image_ends(cloud, id, at),
    }
}
