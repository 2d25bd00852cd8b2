//! What a report tells others: whoever waits for signals observes them, and outputs that read the
//! resource have new values though no traversal is under way.

use crate::actors::resource::{Report, ResourceCommand};
use crate::actors::shell::Decision;
use crate::actors::stack::command::StackEffect;
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::OutputsChanged;
use crate::model::ResourceName;

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

    /// Passes on what is new of a resource.
    pub(super) fn and_tell(
        &self,
        name: &ResourceName,
        news: News,
        mut decision: Decision<Stack>,
    ) -> Decision<Stack> {
        if news.signaled {
            decision.effects.append(&mut self.tell_observers(name));
        }
        let declares = self.revision().is_some_and(|newest| !newest.outputs.is_empty());
        if news.value && declares && self.exists() && !self.in_progress() && !self.is_deleted() {
            let outputs = self.view().outputs(self.knowledge);
            return decision.and_record(OutputsChanged { outputs });
        }
        decision
    }

    /// Tells those who wait for signals to a resource what there are.
    fn tell_observers(&self, signaled: &ResourceName) -> Vec<StackEffect> {
        let known = self.view().known();
        let observers = known.map(|known| known.observers(&self.knowledge.registry));
        let told = observers.unwrap_or_default().iter().filter_map(|name| {
            let id = *self.traversal.as_ref()?.nodes.get(name)?;
            if !self.view().reports().contains_key(&id) && !self.view().is_told(id) {
                return None;
            }
            let observed_signals = self.view().signals_observed_by(name, self.knowledge);
            let observes = observed_signals.iter().any(|other| other.name == *signaled);
            observes.then(|| StackEffect::Tell {
                id,
                name: name.clone(),
                command: ResourceCommand::ObserveSignals(observed_signals),
            })
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::stack::command::StackCommand;
    use crate::actors::stack::story::{Story, create, given_nothing, reported, revise_of};
    use crate::model::JsonMap;
    use crate::resource_types::{SignalEntries, Signals};

    fn signaled(story: &Story, handle: &str, entries: SignalEntries) -> StackCommand {
        let mut report = story.report(handle);
        report.signals = Some(Signals { entries, ..Signals::default() });
        reported(report)
    }

    #[test]
    fn a_signal_is_told_to_those_alone_who_wait_for_it() {
        let mut resources = JsonMap::new();
        for number in 0..20 {
            let wait = json!({ "handle": { "get_resource": format!("h{number}") },
                               "timeout": 60 });
            let handle = json!({ "type": "OS::Heat::WaitConditionHandle" });
            let other = json!({ "type": "OS::Heat::TestResource" });
            let wait = json!({ "type": "OS::Heat::WaitCondition", "properties": wait,
                               "depends_on": format!("r{number}") });
            resources.insert(format!("h{number}"), handle);
            resources.insert(format!("r{number}"), other);
            resources.insert(format!("w{number}"), wait);
        }
        let template = json!({ "resources": resources });
        let mut story = given_nothing().when(create(revise_of(&template))).when_all_are_done();
        for number in 0..20 {
            let command = signaled(&story, &format!("h{number}"), SignalEntries::default());
            story = story.when(command);
        }
        assert!(!story.working.reports.any_at_work());

        let mut entries = SignalEntries::default();
        entries.insert("1".to_owned(), json!({ "status": "SUCCESS" }));
        let command = signaled(&story, "h7", entries);
        let story = story.when(command);
        let [StackEffect::Tell { name, command: ResourceCommand::ObserveSignals(observed), .. }] =
            &story.effects[..]
        else {
            panic!("{:?}", story.orders())
        };
        assert_eq!(name.as_str(), "w7");
        let observed: Vec<_> = observed.iter().map(|other| other.name.as_str()).collect();
        assert_eq!(observed, ["h7", "r7"]);
    }
}
