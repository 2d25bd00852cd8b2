//! Which streams, keys and bodies there are: the server cannot list streams, so the names are
//! gathered from the whole log, once, and then from where that ended. A name stays when what it
//! names is gone; whoever lists looks whether it is there, and says what is not: that is forgotten,
//! so that there are no more names in memory than things that they name.

use std::collections::BTreeSet;

use tokio::sync::Mutex;

use super::super::LogError;
use super::node::Nodes;
use super::reads::{self, All, Found as Event, Wanted};

/// How many events are looked at at a time.
const PAGE_EVENTS: usize = 4_096;

/// Names of one kind.
pub(super) struct Names {
    wanted: Wanted,
    /// What stands before a name in that of its stream.
    before: String,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    names: BTreeSet<Box<str>>,
    /// The last event that was looked at.
    seen: u64,
}

impl Names {
    pub(super) fn new(wanted: Wanted, before: String) -> Self {
        Self { wanted, before, found: Mutex::default() }
    }

    /// The next names after one that begin so, in their order, and how far the log was looked at for
    /// them.
    pub(super) async fn after(
        &self,
        nodes: &Nodes,
        begin: &str,
        after: &str,
        limit: usize,
    ) -> Result<(Vec<String>, u64), LogError> {
        let mut found = self.found.lock().await;
        self.catch_up(nodes, &mut found).await?;
        let from = (std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded);
        let names = found.names.range::<str, _>(from);
        let fit = names.filter(|name| name.starts_with(begin)).take(limit);
        Ok((fit.map(|name| name.to_string()).collect(), found.seen))
    }

    /// Forgets names of what was found to be gone after they were listed, the log having been looked
    /// at so far. Where it was looked at further since, what they name may be there again: they go
    /// another time.
    pub(super) async fn forget(&self, gone: Vec<String>, seen: u64) {
        if gone.is_empty() {
            return;
        }
        let mut found = self.found.lock().await;
        if found.seen == seen {
            for name in &gone {
                found.names.remove(name.as_str());
            }
        }
    }

    async fn catch_up(&self, nodes: &Nodes, found: &mut Found) -> Result<(), LogError> {
        loop {
            let page = |events: &mut Vec<Event>| events.len() > PAGE_EVENTS;
            let All::Events(events) = reads::all(nodes, found.seen, &self.wanted, &page).await?
            else {
                // Another log stands there now.
                *found = Found::default();
                continue;
            };
            let is_last = events.len() <= PAGE_EVENTS;
            for event in events {
                found.seen = event.position;
                if let Some(name) = event.stream.strip_prefix(&self.before) {
                    found.names.insert(name.into());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }
}
