//! Being told to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Returns at Ctrl-C or SIGTERM.
pub(super) async fn until_told() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(error) => {
            tracing::warn!(%error, "SIGTERM cannot be heard; only Ctrl-C stops the server");
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}
