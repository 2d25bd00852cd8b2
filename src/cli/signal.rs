//! Being told to stop, or to read anew what is read at the start.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Returns at Ctrl-C or SIGTERM; at each SIGHUP it reloads.
pub(super) async fn until_told(reload: impl Fn()) {
    let mut terminate = hear(SignalKind::terminate(), "SIGTERM");
    let mut hangup = hear(SignalKind::hangup(), "SIGHUP");
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return,
            () = next(&mut terminate) => return,
            () = next(&mut hangup) => reload(),
        }
    }
}

fn hear(kind: SignalKind, name: &str) -> Option<Signal> {
    let heard = signal(kind);
    heard.inspect_err(|error| tracing::warn!(%error, name, "a signal cannot be heard")).ok()
}

/// Returns when the signal comes, if it can.
async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
