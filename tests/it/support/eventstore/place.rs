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
    /// On a server that can be disturbed.
    pub(crate) fn standing_in() -> Self {
        let server = StandIn::start(1);
        Self { url: server.url(), server: Some(server) }
    }

    pub(crate) fn fresh() -> Self {
        let Some(real) = std::env::var_os(VARIABLE) else { return Self::standing_in() };
        let (real, id) = (real.into_string().unwrap(), SystemClock.fresh_id());
        let (hosts, query) = real.split_once('?').unwrap_or((&real, ""));
        let settings = query.split('&').filter(|it| !it.is_empty() && !it.starts_with("prefix="));
        let settings: Vec<&str> = settings.collect();
        let settings = settings.join("&");
        Self { url: format!("{hosts}?prefix=test-{id}&{settings}"), server: None }
    }
}
