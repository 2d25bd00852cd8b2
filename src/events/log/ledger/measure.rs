//! What the ledger counts.

use super::Ledger;
use crate::metrics::{Counter, Histogram, Page};

#[derive(Default)]
pub(super) struct Measures {
    /// From an append's place to the disk.
    pub(super) append_time: Histogram,
    pub(super) failures: Counter,
}

impl Ledger {
    /// Writes it.
    pub(in crate::events::log) fn measure(&self, page: &mut Page) {
        let waiting = self.lock().queued_events;
        let is_writable = self.is_writable();
        let position = *self.durable.borrow();
        page.gauge("hearth_log_position", "The newest durable position.", position);
        page.gauge("hearth_log_waiting_events", "Events that wait for the disk.", waiting);
        let help = "Whether the log can be written.";
        page.gauge("hearth_log_writable", help, u8::from(is_writable));
        let help = "From the place of an append in the log until it is durable.";
        page.metric("hearth_log_append_duration_seconds", help, &self.measures.append_time);
        let help = "Groups of events that could not be written.";
        page.metric("hearth_log_failures_total", help, &self.measures.failures);
    }
}
