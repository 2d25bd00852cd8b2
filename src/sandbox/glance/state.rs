//! What Glance holds.

use serde::{Deserialize, Serialize};

use super::super::store::{Rows, Table};
use crate::model::JsonMap;

/// What Glance holds. An image is a flat object: its properties stand beside its own fields.
#[derive(Clone)]
pub(in crate::sandbox) struct Glance {
    pub(super) images: Table<JsonMap>,
    /// By image and project.
    pub(super) members: Table<Member>,
    /// The bytes of each image, in base64.
    pub(super) data: Table<String>,
}

impl Glance {
    pub(in crate::sandbox) fn new() -> Self {
        Self {
            images: Table::new("images"),
            members: Table::new("image_members"),
            data: Table::new("image_data"),
        }
    }

    pub(in crate::sandbox) fn tables(&mut self) -> [&mut dyn Rows; 3] {
        [&mut self.images, &mut self.members, &mut self.data]
    }
}

/// A project that an image is shared with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Member {
    pub(super) image_id: String,
    pub(super) member_id: String,
    /// pending, accepted, rejected
    pub(super) status: String,
    pub(super) created_at: String,
    pub(super) updated_at: String,
}
