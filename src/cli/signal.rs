//! Being told to stop, or to read anew what is read at the start.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that a server heeds, heard from the moment that this is made.
pub(super) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Signals {
    /// Those that stop it, and SIGHUP.
    pub(super) fn hear() -> Self {
        Self { hangup: hear(SignalKind::hangup(), "SIGHUP"), ..Self::hear_stops() }
    }

    /// Those that stop it.
    pub(super) fn hear_stops() -> Self {
        Self {
            interrupt: hear(SignalKind::interrupt(), "SIGINT"),
            terminate: hear(SignalKind::terminate(), "SIGTERM"),
            hangup: None,
        }
    }

    /// Returns at Ctrl-C or SIGTERM; at each SIGHUP it reloads.
    pub(super) async fn until_told(mut self, reload: impl Fn()) {
        loop {
            tokio::select! {
                () = next(&mut self.interrupt) => return,
                () = next(&mut self.terminate) => return,
                () = next(&mut self.hangup) => reload(),
            }
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
