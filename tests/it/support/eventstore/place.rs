//! Where a test's log on EventStoreDB is kept: on a server that stands in for it, or under a prefix
//! of its own on the real one that `HEARTH_TEST_EVENTSTORE` names by a connection string.

use hearth::clock::{Clock, SystemClock};

use super::StandIn;

const VARIABLE: &str = "HEARTH_TEST_EVENTSTORE";

/// See the module.
pub(crate) struct Place {
    /// Its connection string.
    pub(crate) url: String,
    /// `None` on a real server.
    pub(crate) server: Option<StandIn>,
}

impl Place {
    pub(crate) fn fresh() -> Self {
        let Some(real) = std::env::var_os(VARIABLE) else {
            let server = StandIn::start(1);
            return Self { url: server.url(), server: Some(server) };
        };
        let (real, id) = (real.into_string().unwrap(), SystemClock.fresh_id());
        let mark = if real.contains('?') { '&' } else { '?' };
        Self { url: format!("{real}{mark}prefix=test-{id}"), server: None }
    }
}
