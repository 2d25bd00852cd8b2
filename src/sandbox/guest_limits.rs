//! What the scripts of a guest may take.

use std::time::Duration;

/// What a script may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// How long a script runs.
    pub time: Duration,
    /// How much it says on each of its outputs, and in each value that it gives.
    pub output_bytes: usize,
    /// The address space of each of its processes.
    pub memory_bytes: u64,
    /// How many processes it has at once.
    pub processes: usize,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            output_bytes: 64 * 1024,
            memory_bytes: 1024 * 1024 * 1024,
            processes: 64,
        }
    }
}
