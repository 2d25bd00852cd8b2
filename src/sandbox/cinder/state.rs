//! What Cinder holds.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::super::store::{Rows, Table};
use crate::model::JsonMap;

/// What is copied of volumes, in `services/volume.yaml`.
pub(super) const SNAPSHOTS: (&str, &str) = ("volumev3", "snapshot");
pub(super) const BACKUPS: (&str, &str) = ("volumev3", "backup");

/// What Cinder holds beside its collections that are data.
#[derive(Clone)]
pub(in crate::sandbox) struct Cinder {
    pub(in crate::sandbox) volumes: Table<Volume>,
}

impl Cinder {
    pub(in crate::sandbox) fn new() -> Self {
        Self { volumes: Table::new("volumes") }
    }

    pub(in crate::sandbox) fn tables(&mut self) -> [&mut dyn Rows; 1] {
        [&mut self.volumes]
    }
}

/// A volume.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Volume {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(in crate::sandbox) project_id: String,
    pub(super) user_id: String,
    /// GiB.
    pub(super) size: i64,
    /// creating, available, in-use, …
    pub(in crate::sandbox) status: String,
    pub(super) availability_zone: String,
    pub(super) volume_type: String,
    pub(super) snapshot_id: Option<String>,
    pub(super) source_volid: Option<String>,
    /// What is known of the image it was made from.
    pub(super) image: Option<JsonMap>,
    pub(super) metadata: JsonMap,
    pub(super) bootable: bool,
    pub(in crate::sandbox) multiattach: bool,
    pub(super) attachments: Vec<Attachment>,
    pub(super) created_at: DateTime<Utc>,
    pub(super) updated_at: Option<DateTime<Utc>>,
}

/// A server that has a volume.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Attachment {
    pub(in crate::sandbox) attachment_id: String,
    pub(in crate::sandbox) server_id: String,
    pub(in crate::sandbox) device: String,
    pub(in crate::sandbox) attached_at: DateTime<Utc>,
}

/// The end of something that happens to a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum VolumeEnd {
    Status(String),
    Gone,
}
