//! What a report tells others: whoever waits for signals hears of them, and outputs that read the
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
            decision.effects.append(&mut self.tell_hearers(name));
        }
        let declares = self.revision().is_some_and(|newest| !newest.outputs.is_empty());
        if news.value && declares && self.exists() && !self.in_progress() && !self.is_deleted() {
            let outputs = self.view().outputs(self.knowledge);
            return decision.and_record(OutputsChanged { outputs });
        }
        decision
    }

    /// Tells those who wait for signals to a resource what there are.
    fn tell_hearers(&self, signaled: &ResourceName) -> Vec<StackEffect> {
        let known = self.view().known();
        let hearers = known.map(|known| known.hearers(&self.knowledge.registry));
        let told = hearers.unwrap_or_default().iter().filter_map(|name| {
            let id = *self.traversal.as_ref()?.nodes.get(name)?;
            if !self.view().reports().contains_key(&id) && !self.view().is_told(id) {
                return None;
            }
            let observed_signals = self.view().signals_observed_by(name, self.knowledge);
            let is_heard = observed_signals.iter().any(|other| other.name == *signaled);
            is_heard.then(|| StackEffect::Tell {
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
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::actors::definition::check;
    use crate::actors::resource::Outcome;
    use crate::actors::shell::Aggregate;
    use crate::actors::stack::command::{Create, Revise, StackCommand};
    use crate::actors::stack::state::{Knowledge, Working};
    use crate::clock::{Moment, SimulatedClock};
    use crate::events::log::BlobId;
    use crate::model::{Action, JsonMap, ResourceId, StackId, Status, Trustor};
    use crate::resource_types::{Registry, SignalEntries, Signals, TreeBounds};
    use crate::template::{PseudoParameters, StackDefinition, StackSource};

    /// A stack whose resources are made as soon as it asks for them.
    struct Story {
        stack: Stack,
        working: Working,
        knowledge: Knowledge,
        clock: SimulatedClock,
        /// What resources were told since the last command.
        told: Vec<(ResourceId, ResourceName, ResourceCommand)>,
    }

    impl Story {
        fn created(resources: &Value) -> Self {
            let template = json!({ "heat_template_version": "2021-04-16", "resources": resources });
            let source =
                StackSource { template: template.to_string().into(), ..StackSource::default() };
            let registry = Arc::new(Registry::built_in().unwrap());
            let pseudo = PseudoParameters::default();
            let definition = StackDefinition::load(&source, &pseudo, registry.as_ref()).unwrap();
            let bounds = TreeBounds::LOOSE;
            let known = Arc::new(check(&registry, bounds, definition).unwrap());
            let revise = Revise {
                known,
                source: BlobId("a".to_owned()),
                source_bytes: 0,
                parameters: JsonMap::new(),
                tags: Vec::new(),
                timeout_mins: None,
                disable_rollback: true,
                trustor: Trustor::default(),
                observes: false,
                revisits: false,
                back_to: None,
                from_rest: false,
                facade: Value::Null,
                claim: None,
            };
            let create = Create {
                id: StackId::default(),
                name: "web".into(),
                project_id: "p".into(),
                owner_user_name: "alice".to_owned(),
                owner: None,
                revise,
                adopts: None,
            };
            let stack_action_timeout = Duration::from_secs(3600);
            let story = Self {
                stack: Stack::default(),
                working: Working::default(),
                knowledge: Knowledge { registry, stack_action_timeout, bounds },
                clock: SimulatedClock::new(7),
                told: Vec::new(),
            };
            let mut story = story.when(StackCommand::Create(Box::new(create)));
            while let Some((id, name, command)) = story.told.pop() {
                if matches!(command, ResourceCommand::Converge(_)) {
                    let waiting = std::mem::take(&mut story.told);
                    story = story.reports(id, &name, SignalEntries::default());
                    story.told.extend(waiting);
                }
            }
            story
        }

        fn when(mut self, command: StackCommand) -> Self {
            let mut next = Some(command);
            while let Some(command) = next.take() {
                let moment = Moment::of(&self.clock);
                let decided =
                    self.stack.decide(&mut self.working, command, &moment, &self.knowledge);
                let decision = decided.unwrap();
                for event in &decision.events {
                    self.stack.apply(event, moment.now);
                }
                for effect in decision.effects {
                    if let StackEffect::Tell { id, name, command } = effect {
                        self.told.push((id, name, command));
                    }
                }
                next = decision.then;
            }
            self
        }

        /// A resource is made, or was signaled since.
        fn reports(self, id: ResourceId, name: &ResourceName, entries: SignalEntries) -> Self {
            let traversal = self.stack.traversal.as_ref().map(|traversal| traversal.id);
            let is_handle = name.as_str().starts_with('h');
            let now = Moment::of(&self.clock).now;
            self.when(StackCommand::Report(Box::new(Report {
                id,
                name: name.clone(),
                action: Action::Create,
                status: Status::Complete,
                traversal,
                outcome: traversal.map(|traversal| (traversal, Outcome::Converged)),
                dropped: None,
                physical_id: None,
                reference: Some(name.as_str().into()),
                attributes: Arc::default(),
                created_at: now,
                changed_at: now,
                signals: is_handle.then(|| Signals { entries, ..Signals::default() }),
                owes_signal: false,
                waits: false,
                user_project: None,
                kept: None,
            })))
        }
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
        let story = Story::created(&Value::Object(resources));
        assert!(!story.working.reports.any_at_work());
        assert_eq!(story.stack.status, Status::Complete);

        let handle = story.stack.incarnations()[&ResourceName::from("h7")];
        let mut entries = SignalEntries::default();
        entries.insert("1".to_owned(), json!({ "status": "SUCCESS" }));
        let story = story.reports(handle, &"h7".into(), entries);
        let [(_, name, ResourceCommand::ObserveSignals(heard))] = &story.told[..] else {
            panic!("{:?}", story.told)
        };
        assert_eq!(name.as_str(), "w7");
        let heard: Vec<_> = heard.iter().map(|other| other.name.as_str()).collect();
        assert_eq!(heard, ["h7", "r7"]);
    }
}
