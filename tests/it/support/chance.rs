//! Seeded choices.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use hearth::clock::{Clock, SimulatedClock};

/// A source of choices that a seed repeats.
pub(crate) struct Chance(SimulatedClock);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SimulatedClock::new(seed))
    }

    /// Another source, for a task of its own.
    pub(crate) fn fork(&mut self) -> Self {
        Self::new(self.next())
    }

    fn next(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// One of some things, if there are any.
    pub(crate) fn one_of<T: Clone>(&mut self, things: &[T]) -> Option<T> {
        let at = (!things.is_empty()).then(|| self.below(things.len() as u64) as usize);
        at.map(|at| things[at].clone())
    }

    pub(crate) fn millis(&mut self, range: Range<u64>) -> Duration {
        // Micros, so that no two runs cut at the same beat of a timer.
        let micros = (range.end - range.start) * 1_000;
        Duration::from_micros(range.start * 1_000 + self.below(micros))
    }
}

/// A seed for a run that repeats no other.
pub(crate) fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |since| since.as_micros() as u64)
}
