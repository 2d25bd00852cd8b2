//! Credentials with the token that they brought, and with who waits by it.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::credentials::Credentials;
use super::token::Token;
use crate::openstack::waiting::Polls;

/// Credentials and the token that they last brought.
pub(in crate::openstack) struct Login {
    pub(in crate::openstack) credentials: Credentials,
    pub(in crate::openstack) polls: Polls,
    pub(super) held: Mutex<Option<Arc<Token>>>,
}

impl Login {
    /// No token yet: it is got by the first call that needs it.
    pub(in crate::openstack) fn new(credentials: Credentials) -> Self {
        Self { credentials, polls: Polls::default(), held: Mutex::default() }
    }

    /// Drops a token that a service refused, unless it has been replaced already.
    pub(in crate::openstack) async fn forget(&self, refused: &Arc<Token>) {
        let mut held = self.held.lock().await;
        if held.as_ref().is_some_and(|token| Arc::ptr_eq(token, refused)) {
            *held = None;
        }
    }
}
