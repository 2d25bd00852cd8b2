//! What will have happened by a later moment: the cloud's slow work, without timers.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::cinder::state::VolumeEnd;
use super::nova::state::ServerEnd;

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
    Server { id: String, end: ServerEnd },
    /// A volume is attached to a server, or no longer.
    Attachment { server: String, volume: String, attached: bool },
    /// A volume has reached a status.
    Volume { id: String, end: VolumeEnd },
    /// A snapshot has reached a status; `None` is gone. An older sandbox planned it so.
    Snapshot { id: String, status: Option<String> },
    /// The same of a backup.
    Backup { id: String, status: Option<String> },
    /// A floating IP follows its association.
    FloatingIp { id: String },
    /// An object of a collection that is data (`service.wrap`) has reached a state; `None` is gone.
    Object { of: String, id: String, state: Option<String> },
    /// An image's import is done.
    Image { id: String },
}
