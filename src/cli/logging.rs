//! Where log lines go: standard error, so that standard output stays what was asked for.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts the process's log; a filter that cannot be read falls back to warnings.
pub(super) fn start(filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("warn"));
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .try_init();
    if started.is_err() {
        tracing::debug!("the log was started before");
    }
}
