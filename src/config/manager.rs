//! What systemd says in the environment of a service that it starts.

use std::ffi::OsString;
use std::time::Duration;

/// The socket on which the service manager hears how its service does.
pub fn notify_socket() -> Option<OsString> {
    std::env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty())
}

/// How often at least it wants to hear from this process.
pub fn watchdog() -> Option<Duration> {
    let number = |name: &str| std::env::var_os(name)?.to_str()?.parse::<u64>().ok();
    let is_meant = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    let micros = number("WATCHDOG_USEC").filter(|micros| is_meant && *micros > 0)?;
    Some(Duration::from_micros(micros))
}
