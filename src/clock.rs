//! Time, fresh ids and chance: the one door through which they enter.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

/// Where time and randomness come from: the machine, or a test that moves them by hand.
pub trait Clock: Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> DateTime<Utc>;

    /// Fills a buffer with random bytes.
    fn fill(&self, buffer: &mut [u8]);

    /// A fresh version 4 UUID.
    fn fresh_id(&self) -> Uuid {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

/// The machine's own clock and randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the room that reads the clock")]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn fill(&self, buffer: &mut [u8]) {
        if let Err(error) = getrandom::fill(buffer) {
            // Ids and keys from a broken generator would collide silently.
            tracing::error!(%error, "the system gives no randomness");
            std::process::abort();
        }
    }
}

/// A clock for tests and the simulator: seeded, and moved by hand.
#[derive(Debug)]
pub struct SimulatedClock {
    micros: AtomicI64,
    seed: Mutex<u64>,
}

impl SimulatedClock {
    /// Starts at 2026-01-01T00:00:00Z with the given seed.
    pub fn new(seed: u64) -> Self {
        Self { micros: AtomicI64::new(1_767_225_600_000_000), seed: Mutex::new(seed) }
    }

    /// Moves time forwards.
    pub fn advance(&self, by: TimeDelta) {
        self.micros.fetch_add(by.num_microseconds().unwrap_or(0), Ordering::SeqCst);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.micros.load(Ordering::SeqCst)).unwrap_or_default()
    }

    fn fill(&self, buffer: &mut [u8]) {
        let mut seed = self.seed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for chunk in buffer.chunks_mut(8) {
            // SplitMix64: small, seeded and good enough for distinct ids.
            *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = *seed;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

/// What a decision is handed of the outside world: one moment and a source of fresh ids.
pub struct Moment<'a> {
    /// When the decision is taken.
    pub now: DateTime<Utc>,
    clock: &'a dyn Clock,
}

impl<'a> Moment<'a> {
    /// The clock's present moment.
    pub fn of(clock: &'a dyn Clock) -> Self {
        Self { now: clock.now(), clock }
    }

    /// A fresh id.
    pub fn fresh_id(&self) -> Uuid {
        self.clock.fresh_id()
    }

    /// Random bytes, for generated passwords.
    pub fn fill(&self, buffer: &mut [u8]) {
        self.clock.fill(buffer);
    }
}
