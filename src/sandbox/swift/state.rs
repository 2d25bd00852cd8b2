//! What Swift holds.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::super::store::{Rows, Table};

/// What Swift holds.
#[derive(Clone)]
pub(in crate::sandbox) struct Swift {
    /// By project: the metadata of its account.
    pub(super) accounts: Table<Account>,
    /// By project and name.
    pub(super) containers: Table<Container>,
    /// By project, container and name.
    pub(super) objects: Table<Object>,
}

/// The metadata of a project's account.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::sandbox) struct Account {
    pub(super) project_id: String,
    pub(super) headers: Headers,
}

/// Headers that are kept and given back.
pub(in crate::sandbox) type Headers = BTreeMap<String, String>;

impl Swift {
    pub(in crate::sandbox) fn new() -> Self {
        Self {
            accounts: Table::new("accounts"),
            containers: Table::new("containers"),
            objects: Table::new("objects"),
        }
    }

    pub(in crate::sandbox) fn tables(&mut self) -> [&mut dyn Rows; 3] {
        [&mut self.accounts, &mut self.containers, &mut self.objects]
    }
}

/// A container.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Container {
    pub(super) project_id: String,
    pub(super) name: String,
    pub(super) headers: Headers,
    pub(super) created_at: DateTime<Utc>,
}

/// An object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Object {
    pub(super) project_id: String,
    pub(super) container: String,
    pub(super) name: String,
    pub(super) content_type: String,
    pub(super) etag: String,
    pub(super) bytes: u64,
    /// In base64.
    pub(super) data: String,
    pub(super) headers: Headers,
    pub(super) modified_at: DateTime<Utc>,
}
