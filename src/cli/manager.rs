//! What the service manager is told (`sd_notify`): that the server serves, that it stops, and now
//! and then that it is not stuck.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::config;

/// The service manager that started this process, if one did and listens.
pub(super) struct Manager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl Manager {
    /// The one that the environment names.
    pub(super) fn find() -> Self {
        let socket = config::notify_socket().and_then(|name| {
            let opened = UnixDatagram::unbound().and_then(|socket| Ok((socket, address(&name)?)));
            let failed =
                |error: &io::Error| tracing::warn!(%error, "the service manager is not told");
            opened.inspect_err(failed).ok()
        });
        Self { socket, watchdog: config::watchdog() }
    }

    /// Tells it something, such as `READY=1`.
    pub(super) fn tell(&self, what: &str) {
        let Some((socket, address)) = &self.socket else { return };
        if let Err(error) = socket.send_to_addr(what.as_bytes(), address) {
            tracing::warn!(%error, what, "the service manager was not told");
        }
    }

    /// Tells it for ever that all is well, twice as often as it wants to hear, while that is so.
    pub(super) async fn keep_watch(&self, is_well: impl Fn() -> bool) {
        let Some(interval) = self.watchdog else { return std::future::pending().await };
        let mut due = tokio::time::interval(interval / 2);
        loop {
            due.tick().await;
            if is_well() {
                self.tell("WATCHDOG=1");
            }
        }
    }
}

/// A path, or after an `@` a name that is in no directory.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    }
}
