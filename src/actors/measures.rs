//! What the engine counts: actors, and commands on their way to one.

use std::sync::Arc;

use super::engine::Engine;
use super::shell::Ask;
use crate::events::Meta;
use crate::metrics::{Counted, Counter, Family, Gauge, Measured, Page};

/// See the module. Actors have the kinds of their streams.
pub(super) struct Measures {
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
    /// A command that goes to an actor, counted until that takes it up.
    pub(super) fn ask<C>(&self, command: C, meta: Arc<Meta>) -> Ask<C> {
        Ask { command, meta, expected: Vec::new(), waiting: self.waiting.count() }
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
}

impl Measured for Engine {
    fn measure(&self, page: &mut Page) {
        let Measures { actors, waiting, commands } = &self.services.measures;
        page.family("hearth_engine_actors", "Actors that are awake.", actors);
        let help = "Commands in the mailboxes of actors.";
        page.metric("hearth_engine_mailbox_commands", help, waiting.as_ref());
        page.family("hearth_engine_commands_total", "Commands that were decided.", commands);
        let load = self.template_load();
        let help = "Work on templates under way for requests.";
        page.gauge("hearth_engine_template_jobs", help, load.at_work);
        let help = "Work on templates that ended because nobody waited for it.";
        page.counter("hearth_engine_template_jobs_given_up_total", help, load.given_up);
    }
}
