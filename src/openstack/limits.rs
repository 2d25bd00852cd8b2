//! The limits of talking to a cloud: how many calls, how long, how often.

use std::time::Duration;

/// Calls in flight to one service at a time. More only queue up in its workers.
pub(super) const CLOUD_CALLS_IN_FLIGHT_MAX: usize = 64;
/// How long a connection may take to stand.
pub(super) const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long one call may take, from the first byte sent to the last received.
pub(super) const CALL_TIME_MAX: Duration = Duration::from_secs(60);
/// Connections kept open to one service while nothing is asked.
pub(super) const IDLE_CONNECTIONS_MAX: usize = 32;
/// How long they are kept. A service under Apache closes its own after 5 s, and a call sent into a
/// closing connection goes unanswered: so the client is the first to close.
pub(super) const IDLE_CONNECTION_KEPT: Duration = Duration::from_secs(4);
/// How often a call that may be repeated is made, all in all.
pub(super) const CALL_ATTEMPTS_MAX: u32 = 5;
/// The first pause before a repetition; each further one is up to twice as long.
pub(super) const RETRY_PAUSE_FIRST: Duration = Duration::from_millis(200);
/// The longest pause of our own choosing.
pub(super) const RETRY_PAUSE_MAX: Duration = Duration::from_secs(5);
/// The longest `Retry-After` that is sat out here; a longer one is the caller's to wait for.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// The longest answer that is read.
pub(super) const ANSWER_SIZE_MAX_BYTES: usize = 32 * 1024 * 1024;
/// The longest token that is looked at. Fernet tokens have 200 to 300 characters.
pub(super) const TOKEN_LENGTH_MAX: usize = 8 * 1024;
/// A token is renewed when less than this is left of it.
pub(super) const TOKEN_RENEW_BEFORE_SECS: i64 = 120;
/// How long Keystone's word on a token counts.
pub(super) const VALIDATION_KEPT: Duration = Duration::from_secs(300);
/// Signatures that one Keystone is asked about at a time, by whoever sends them: fewer than calls, so
/// that questions about tokens always find room.
pub(super) const SIGNATURES_IN_FLIGHT_MAX: usize = 16;
/// How long a signature waits for its turn.
pub(super) const SIGNATURE_WAIT_MAX: Duration = Duration::from_secs(5);
/// How many tokens are known by their validation at a time; the oldest go first.
pub(super) const VALIDATIONS_MAX: usize = 4096;
/// How many sessions of trusts are kept with their tokens; the oldest go first.
pub(super) const TRUST_SESSIONS_MAX: usize = 4096;
/// How many other regions and clouds are known at a time.
pub(super) const PLACES_MAX: usize = 64;
/// How long a service's version document counts.
pub(super) const VERSIONS_KEPT_SECS: i64 = 3600;
/// From how many waiters on a list calls are shared among them.
pub(super) const SHARED_POLL_FROM: usize = 3;
/// How long a shared list call waits for others to join.
pub(super) const SHARED_POLL_GATHER: Duration = Duration::from_millis(15);
/// How long a waiter counts as one after it asked.
pub(super) const WAITER_KEPT: Duration = Duration::from_secs(2);
/// How many pages of a list a shared poll reads before each waiter asks for its own.
pub(super) const SHARED_POLL_PAGES_MAX: usize = 10;
/// How many requests one request of ours may make to URLs in it, redirections with them.
pub(super) const FETCHES_MAX: usize = 200;
/// How much it may fetch from them.
pub(super) const FETCHED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many redirections are followed from one URL.
pub(super) const FETCH_REDIRECTS_MAX: usize = 5;

/// The limits that an operator may set.
#[derive(Clone, Debug)]
pub struct CloudLimits {
    /// Calls in flight to one service at a time.
    pub calls_in_flight: usize,
    /// How long one call may take.
    pub call_time: Duration,
    /// How long a connection may take to stand.
    pub connect_time: Duration,
    /// How often a call that may be repeated is made (Heat's `client_retry_limit`, plus one).
    pub call_attempts: u32,
    /// How long Keystone's word on a token counts (`token_cache_time`).
    pub token_cache_time: Duration,
}

impl Default for CloudLimits {
    fn default() -> Self {
        Self {
            calls_in_flight: CLOUD_CALLS_IN_FLIGHT_MAX,
            call_time: CALL_TIME_MAX,
            connect_time: CONNECT_TIME_MAX,
            call_attempts: CALL_ATTEMPTS_MAX,
            token_cache_time: VALIDATION_KEPT,
        }
    }
}
