//! Sessions on users' behalf that are kept for who works for them next.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::Value;

use super::turns::Turns;
use crate::model::{ProjectId, Trustor};
use crate::openstack::Session;

/// A user, with roles, in a project.
pub(super) type Key = (ProjectId, Trustor);

/// Sessions by project and whose they are.
#[derive(Default)]
pub struct Credentials {
    sessions: Mutex<HashMap<Key, Known>>,
    /// Held by who looks for a user's trust or makes one.
    pub(super) making: Turns<Key>,
}

/// A session and the trust, sealed, that it works with.
pub(super) struct Known {
    pub(super) trust: Value,
    pub(super) session: Session,
}

impl Credentials {
    /// Forgets the session of a trust that Keystone no longer honors: the user's next command
    /// makes a new one.
    pub fn forget(&self, project: &ProjectId, trustor: &Trustor) {
        self.sessions().remove(&(project.clone(), trustor.clone()));
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        self.sessions.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
