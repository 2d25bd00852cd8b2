//! What a report tells others: whoever waits for signals hears of them, and outputs that read the
//! resource have new values though no traversal is under way.

use crate::actors::resource::{Report, ResourceCommand};
use crate::actors::shell::Decision;
use crate::actors::stack::command::StackEffect;
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::OutputsChanged;

/// What is new in a report.
#[derive(Clone, Copy, Default)]
pub(super) struct News {
    signaled: bool,
    value: bool,
}

impl Decider<'_> {
    /// What a report says that the one before did not.
    pub(super) fn news(&self, report: &Report) -> News {
        let Some(former) = self.view().reports().get(&report.id) else {
            // What outputs read may come to be only after its stack has settled.
            let value = !report.attributes.is_empty() || report.reference.is_some();
            return News { signaled: false, value };
        };
        News {
            signaled: report.signals.is_some() && former.signals != report.signals,
            value: former.attributes != report.attributes || former.reference != report.reference,
        }
    }

    /// Passes the news on.
    pub(super) fn and_tell(&self, news: News, mut decision: Decision<Stack>) -> Decision<Stack> {
        if news.signaled {
            decision.effects.append(&mut self.tell_hearers());
        }
        let declares = self.revision().is_some_and(|newest| !newest.outputs.is_empty());
        if news.value && declares && self.exists() && !self.in_progress() && !self.is_deleted() {
            let outputs = self.view().outputs(self.knowledge);
            return decision.and_record(OutputsChanged { outputs });
        }
        decision
    }

    /// Tells those who wait for signals what there are.
    fn tell_hearers(&self) -> Vec<StackEffect> {
        let nodes = self.traversal.iter().flat_map(|traversal| &traversal.nodes);
        let told = nodes.filter_map(|(name, id)| {
            let began = self.view().reports().contains_key(id) || self.view().is_told(*id);
            let observed_signals = self.view().signals_observed_by(name, self.knowledge);
            (began && !observed_signals.is_empty()).then(|| StackEffect::Tell {
                id: *id,
                name: name.clone(),
                command: ResourceCommand::ObserveSignals(observed_signals),
            })
        });
        told.collect()
    }
}
