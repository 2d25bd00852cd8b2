//! What Barbican holds.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::super::store::{Rows, Table};
use crate::model::JsonMap;

/// What Barbican holds.
#[derive(Clone)]
pub(in crate::sandbox) struct Barbican {
    pub(super) secrets: Table<Stored>,
}

/// A secret. What it holds may come later.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Stored {
    pub(super) project_id: String,
    pub(super) creator_id: String,
    /// What a client says of it: name, algorithm, …
    pub(super) said: JsonMap,
    pub(super) held: Option<Held>,
    pub(super) created_at: DateTime<Utc>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Held {
    pub(super) kind: String,
    pub(super) payload: Vec<u8>,
}

impl Barbican {
    pub(in crate::sandbox) fn new() -> Self {
        Self { secrets: Table::new("secrets") }
    }

    pub(in crate::sandbox) fn tables(&mut self) -> [&mut dyn Rows; 1] {
        [&mut self.secrets]
    }
}
