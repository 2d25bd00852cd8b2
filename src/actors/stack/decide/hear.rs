//! What a report tells others: whoever waits for signals hears of them, and outputs that read the
//! resource have new values though no traversal is under way.

use crate::actors::resource::{Report, ResourceCommand};
use crate::actors::shell::Decision;
use crate::actors::stack::command::StackEffect;
use crate::actors::stack::state::{Knowledge, Stack};
use crate::events::stack::OutputsChanged;
use crate::model::ResourceName;
use crate::resource_types::ObservedSignals;

/// What is new in a report.
#[derive(Clone, Copy, Default)]
pub(super) struct News {
    signaled: bool,
    value: bool,
}

impl Stack {
    /// What a report says that the one before did not.
    pub(super) fn news(&self, report: &Report) -> News {
        let Some(former) = self.reports().get(&report.id) else {
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
    pub(super) fn and_tell(
        &self,
        news: News,
        mut decision: Decision<Self>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if news.signaled {
            decision.effects.append(&mut self.tell_hearers(knowledge));
        }
        let declares = self.revision().is_some_and(|newest| !newest.outputs.is_empty());
        if news.value && declares && self.exists() && !self.in_progress() && !self.is_deleted() {
            let outputs = self.outputs(knowledge);
            return decision.and_record(OutputsChanged { outputs });
        }
        decision
    }

    /// Tells those who wait for signals what there are.
    fn tell_hearers(&self, knowledge: &Knowledge) -> Vec<StackEffect> {
        let nodes = self.traversal.iter().flat_map(|traversal| &traversal.nodes);
        let told = nodes.filter_map(|(name, id)| {
            let began = self.reports().contains_key(id) || self.is_told(*id);
            let observed_signals = self.signals_observed_by(name, knowledge);
            (began && !observed_signals.is_empty()).then(|| StackEffect::Tell {
                id: *id,
                name: name.clone(),
                command: ResourceCommand::ObserveSignals(observed_signals),
            })
        });
        told.collect()
    }

    /// What a resource hears of the others; nothing where its type does not wait for signals.
    pub(in crate::actors) fn signals_observed_by(
        &self,
        name: &ResourceName,
        knowledge: &Knowledge,
    ) -> Vec<ObservedSignals> {
        let declared = self.known().and_then(|known| known.definition.resources().get(name));
        let driver = declared.and_then(|it| knowledge.registry.driver(&it.type_name));
        let Some(traversal) =
            self.traversal.as_ref().filter(|_| driver.is_some_and(|it| it.observes_signals()))
        else {
            return Vec::new();
        };
        let others = traversal.nodes.iter().filter(|(other, _)| *other != name);
        let observed_signals = others.filter_map(|(other, id)| {
            let report = self.reports().get(id)?;
            Some(ObservedSignals {
                name: other.clone(),
                reference: report.reference.clone()?,
                signals: report.signals.clone(),
            })
        });
        observed_signals.collect()
    }
}
