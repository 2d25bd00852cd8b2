//! What the operating system knows of this process, under the names that Prometheus has for it.

use std::fs;

use crate::cli::VERSION;
use crate::metrics::{Measured, Page};

/// This process.
pub(super) struct Process;

impl Measured for Process {
    fn measure(&self, page: &mut Page) {
        page.info("hearth_build_info", "The version that runs.", &[("version", VERSION)]);
        if let Some(bytes) =
            fs::read_to_string("/proc/self/status").ok().as_deref().and_then(resident)
        {
            page.gauge("process_resident_memory_bytes", "Memory that is held.", bytes);
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            // The directory that is read is one of them.
            let open = files.count().saturating_sub(1);
            page.gauge("process_open_fds", "Files that are open.", open);
        }
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        if let Some(max) = super::front::open_files(&limits) {
            page.gauge("process_max_fds", "Files that may be open.", max);
        }
    }
}

/// Bytes, of what Linux shows of a process.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_in_its_status() {
        assert_eq!(resident("Name:\thearth\nVmRSS:\t  2048 kB\n"), Some(2_097_152));
        assert_eq!(resident("Name:\tkthreadd\n"), None);
    }
}
