//! Others of the stack were signaled: one that waits for that goes on, and one that is through
//! looks up anew what it tells of them.

use std::time::Duration;

use crate::actors::resource::command::ResourceEffect;
use crate::actors::resource::phase::Call;
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::resource::subject::without_marks;
use crate::actors::shell::Decision;
use crate::model::taint::plain_map;
use crate::model::{Action, Status};
use crate::resource_types::{Attempt, ObservedSignals};

/// How long what comes after a look waits for the next one: each takes up all signals that there
/// are, and what they come to is recorded.
pub(super) const OBSERVING_PAUSE: Duration = Duration::from_secs(1);

impl Decider<'_> {
    pub(in crate::actors::resource) fn observe_signals(
        &mut self,
        observed_signals: Vec<ObservedSignals>,
    ) -> Decision<Resource> {
        self.working.observed_signals = observed_signals;
        if self.in_progress() {
            // A beat that is out took what was known before it: the pause after it is cut short.
            return match self.call() {
                Some(Call::Due(step)) if !step.mutates && !self.waits_on() => {
                    self.proceed(Attempt::First)
                }
                _ => Decision::nothing(),
            };
        }
        let Some(definition) = self.definition.clone().filter(|it| !it.attributes.is_empty())
        else {
            return Decision::nothing();
        };
        if self.status == Status::Failed || self.action == Action::Delete {
            return Decision::nothing();
        }
        if self.is_observing(self.working.epoch) {
            self.working.more_signaled = true;
            return Decision::nothing();
        }
        self.working.epoch += 1;
        self.working.observing = Some(self.working.epoch);
        self.working.more_signaled = false;
        Decision::nothing().and_do(ResourceEffect::Observe {
            epoch: self.working.epoch,
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            wanted: definition.attributes,
            trustor: self.signals_for.clone(),
        })
    }

    /// Whether what is observed now lets the wait go on as it does.
    fn waits_on(&self) -> bool {
        let Some(definition) = self.working_definition() else { return false };
        let properties = plain_map(definition.properties.clone());
        let observed = without_marks(&self.working.observed_signals);
        self.driver(&definition).is_ok_and(|driver| driver.waits_on(&properties, &observed))
    }

    /// Whether the look of this number is one of those, or the pause after it.
    pub(super) fn is_observing(&self, epoch: u64) -> bool {
        self.working.observing == Some(epoch) && epoch == self.working.epoch
    }

    /// The pause after a look is over: what came meanwhile is looked up.
    pub(super) fn observe_on(&mut self) -> Decision<Resource> {
        self.working.observing = None;
        match self.working.more_signaled {
            true => self.observe_signals(self.working.observed_signals.clone()),
            false => Decision::nothing(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::command::{Answered, ResourceCommand, Signal};
    use crate::actors::resource::story::{Story, converge, given_nothing};
    use crate::model::{CommandId, JsonMap};
    use crate::resource_types::job::Signals;
    use crate::resource_types::{Beat, Learned};

    const FORMER: usize = 1_000;

    fn signal(story: Story, number: usize) -> Story {
        let details = json!({ "id": number.to_string(), "status": "SUCCESS", "data": "secret" });
        let id = CommandId(uuid::Uuid::from_u128(number as u128));
        story.when(ResourceCommand::Signal(Signal { id, details, is_checked: false }))
    }

    /// The create has come to its end.
    fn made(story: Story, attributes: JsonMap) -> Story {
        let answered = Answered {
            epoch: story.beat(),
            result: Ok(Beat::Done { learned: Learned::default() }),
            kept: None,
            attributes,
            reality: None,
        };
        let story = story.when(ResourceCommand::Answered(Box::new(answered)));
        assert_eq!(story.resource.status, Status::Complete);
        story
    }

    fn signals(story: &Story) -> Signals {
        story.report().signals.unwrap()
    }

    #[test]
    fn neither_who_is_signaled_nor_who_waits_for_it_copies_former_signals() {
        let create = converge(1, "OS::Heat::WaitConditionHandle", json!({}));
        let handle = made(given_nothing().when(create), JsonMap::new());
        let handle = (0..FORMER).fold(handle, signal);
        let former = signals(&handle);
        let newest = signals(&signal(handle, FORMER));
        assert_eq!(newest.entries.len(), FORMER + 1);
        let shared = newest.entries.shared_with(&former.entries);
        assert!(shared > FORMER - 100, "{shared} of {FORMER} are shared");

        let wait = json!({ "handle": "h", "timeout": 60, "count": FORMER * 2 });
        let mut create = converge(1, "OS::Heat::WaitCondition", wait);
        let ResourceCommand::Converge(converge) = &mut create else { panic!("another command") };
        converge.observed_signals = vec![ObservedSignals {
            name: "b".into(),
            reference: "h".into(),
            signals: Some(newest.clone()),
        }];
        let story = given_nothing().when(create);
        let calls = story.effects.iter().filter_map(|effect| {
            let ResourceEffect::Call(call) = effect else { return None };
            Some(&call.subject.observed_signals[0])
        });
        let told: Vec<_> = calls.collect();
        let [told] = &told[..] else { panic!("{:?}", story.effects) };
        let told = told.signals.as_ref().unwrap();
        assert_eq!(told.entries.shared_with(&newest.entries), FORMER + 1);
    }

    #[test]
    fn what_comes_right_after_a_look_waits_for_the_next_one() {
        let wait = json!({ "handle": "h", "timeout": 60 });
        let mut create = converge(1, "OS::Heat::WaitCondition", wait);
        let ResourceCommand::Converge(converge) = &mut create else { panic!("another command") };
        converge.definition.as_mut().unwrap().attributes = vec!["data".to_owned()];
        let attributes = || JsonMap::from_iter([("data".to_owned(), json!("{}"))]);
        let story = made(given_nothing().when(create), attributes());

        let observe = || ResourceCommand::ObserveSignals(Vec::new());
        let seen = |story: Story| {
            let epoch = story.beat();
            let story = story.when(ResourceCommand::Observed { epoch, attributes: attributes() });
            let rests = |it: &ResourceEffect| matches!(it, ResourceEffect::Later { .. });
            assert!(story.effects.iter().any(rests), "{:?}", story.effects);
            (epoch, story)
        };
        let looks = |story: &Story| {
            let is_look = |it: &&ResourceEffect| matches!(it, ResourceEffect::Observe { .. });
            story.effects.iter().filter(is_look).count()
        };
        let story = story.when(observe());
        assert_eq!(looks(&story), 1);
        let story = story.when(observe());
        assert_eq!(looks(&story), 0, "one is out");
        let (epoch, story) = seen(story);
        let story = story.when(observe());
        assert_eq!(looks(&story), 0, "the pause runs");
        let story = story.when(ResourceCommand::Due { epoch });
        assert_eq!(looks(&story), 1, "what came meanwhile is looked up");
        let (epoch, story) = seen(story);
        assert_eq!(looks(&story.when(ResourceCommand::Due { epoch })), 0, "nothing has come");
    }
}
