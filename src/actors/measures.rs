//! What the engine counts: actors, and commands on their way to one.

use std::sync::Arc;

use crate::metrics::{Counted, Counter, Family, Gauge, Page};

/// See the module. Actors have the kinds of their streams.
pub struct Measures {
    actors: Family<Gauge, 1>,
    /// Commands in a mailbox.
    waiting: Arc<Gauge>,
    commands: Family<Counter, 2>,
}

impl Default for Measures {
    fn default() -> Self {
        Self {
            actors: Family::of(["kind"]),
            waiting: Arc::default(),
            commands: Family::of(["kind", "outcome"]),
        }
    }
}

impl Measures {
    /// A command that waits for an actor, counted until that takes it up.
    pub(super) fn waiting(&self) -> Counted {
        self.waiting.count()
    }

    /// An actor that is awake, counted until it ends.
    pub(super) fn actor(&self, kind: &'static str) -> Counted {
        self.actors.with([kind.into()]).count()
    }

    /// A command was decided.
    pub(super) fn decided(&self, kind: &'static str, is_refused: bool) {
        let outcome = if is_refused { "refused" } else { "accepted" };
        self.commands.with([kind.into(), outcome.into()]).add(1);
    }

    /// Shows what was counted.
    pub(super) fn show(&self, page: &mut Page) {
        page.family("hearth_engine_actors", "Actors that are awake.", &self.actors);
        let help = "Commands in the mailboxes of actors.";
        page.metric("hearth_engine_mailbox_commands", help, self.waiting.as_ref());
        let help = "Commands that were decided.";
        page.family("hearth_engine_commands_total", help, &self.commands);
    }
}
