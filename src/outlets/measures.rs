//! What is counted of the webhooks: how often they were told something, how often that failed, and
//! how far they are behind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};

use crate::clock::Clock;
use crate::metrics::{Counter, Measured, Page};

/// See the module.
pub(super) struct Measures {
    clock: Arc<dyn Clock>,
    delivered: Counter,
    failed: Counter,
    /// When the events happened that are being told, and how many of each moment.
    waiting: Mutex<BTreeMap<DateTime<Utc>, usize>>,
}

/// An event that is being told, until it is dropped.
pub(super) struct Waits<'a> {
    measures: &'a Measures,
    since: DateTime<Utc>,
}

impl Measures {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let (delivered, failed) = (Counter::default(), Counter::default());
        Self { clock, delivered, failed, waiting: Mutex::default() }
    }

    /// A receiver has taken an event.
    pub(super) fn delivered(&self) {
        self.delivered.add(1);
    }

    /// A receiver was not reached, or has not taken an event.
    pub(super) fn failed(&self) {
        self.failed.add(1);
    }

    /// An event of this moment is being told.
    pub(super) fn waits(&self, since: DateTime<Utc>) -> Waits<'_> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting.entry(since).or_default() += 1;
        Waits { measures: self, since }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut waiting = self.measures.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = waiting.get_mut(&self.since) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.since);
            }
        }
    }
}

impl Measured for Measures {
    fn measure(&self, page: &mut Page) {
        let help = "Events that receivers of webhooks have taken.";
        page.metric("hearth_webhook_deliveries_total", help, &self.delivered);
        let help = "Times that a receiver of a webhook was not reached or did not take an event.";
        page.metric("hearth_webhook_failures_total", help, &self.failed);
        let help = "How old the oldest event is that a webhook is being told.";
        let oldest = {
            let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.keys().next().copied()
        };
        let age = oldest.map_or(0, |since| (self.clock.now() - since).num_seconds().max(0));
        page.gauge("hearth_webhook_lag_seconds", help, age);
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::clock::SimulatedClock;

    #[test]
    fn the_oldest_event_that_is_being_told_says_how_far_webhooks_are_behind() {
        let clock = Arc::new(SimulatedClock::new(7));
        let measures = Measures::new(clock.clone());
        let lag = || {
            let page = Page::of([&measures as &dyn Measured]);
            page.lines().last().unwrap().rsplit_once(' ').unwrap().1.to_owned()
        };
        assert_eq!(lag(), "0");
        let start = clock.now();
        let first = measures.waits(start);
        let same = measures.waits(start);
        clock.advance(TimeDelta::seconds(7));
        let second = measures.waits(clock.now());
        assert_eq!(lag(), "7");
        drop(first);
        assert_eq!(lag(), "7");
        drop(same);
        assert_eq!(lag(), "0");
        drop(second);
        assert!(measures.waiting.into_inner().unwrap().is_empty());
    }
}
