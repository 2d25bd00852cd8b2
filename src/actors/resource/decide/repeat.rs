//! Make a failed create again: what it made is deleted, and after a pause the create starts anew.
//! Heat does so where the cloud saw a conflict or put the object into an error state.

use std::time::Duration;

use super::settle::Ending;
use super::started;
use crate::actors::resource::command::ResourceEffect;
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{ActionSettled, ActionStarted, CreateRepeated};
use crate::model::{Action, Status};
use crate::resource_types::Failure;

/// The pause before the first repetition; it doubles with each.
const REPEAT_PAUSE: Duration = Duration::from_secs(2);

impl Decider<'_> {
    /// Whether the failed create is made again.
    pub(super) fn repeats(&self, error: &Failure) -> bool {
        let wanted = self.working.queued.is_none() && self.working.cancel.is_none();
        self.action == Action::Create
            && error.wants_another()
            && wanted
            && self.repetitions < self.knowledge.action_retry_limit
    }

    /// The failure is on record; what the create made is deleted next.
    pub(super) fn repeat(&mut self, ending: Ending) -> Decision<Resource> {
        let Some(started) = self.started_again(Action::Delete) else { return self.settle(ending) };
        let attempt = self.repetitions + 1;
        let repeated = CreateRepeated { traversal: started.traversal, attempt };
        let failed = Decision::record(self.settled(ending));
        Self::and_proceed(failed.and_record(repeated).and_record(started))
    }

    /// The pause between the deletion and the new create.
    pub(super) fn pause(&mut self) -> ResourceEffect {
        self.working.epoch += 1;
        let doubled = REPEAT_PAUSE.saturating_mul(1 << self.repetitions.saturating_sub(1).min(10));
        // Resources that failed together do not come back together.
        let spread = Duration::from_millis(u64::from(self.id.0.as_bytes()[0]) * 4);
        ResourceEffect::Later { epoch: self.working.epoch, after: doubled + spread }
    }

    /// The pause is over: the create starts anew.
    pub(super) fn create_again(&mut self) -> Decision<Resource> {
        match self.started_again(Action::Create) {
            Some(started) => Self::and_proceed(Decision::record(ActionStarted {
                definition: self.target.as_deref().cloned(),
                ..started
            })),
            None => Decision::nothing(),
        }
    }

    /// The pause is given up: the create has failed for good.
    pub(super) fn give_up_pause(&mut self, reason: String) -> Decision<Resource> {
        let Some(started) = self.started_again(Action::Create) else { return Decision::nothing() };
        let traversal = started.traversal;
        let settled = ActionSettled::new(Action::Create, traversal, Status::Failed, reason);
        self.working.epoch += 1;
        Decision::record(started).and_record(settled).and_do(ResourceEffect::Report)
    }

    /// A further action of the same traversal.
    fn started_again(&self, action: Action) -> Option<ActionStarted> {
        let (stack, name, type_name) = (self.stack.as_ref()?, &self.name, &self.type_name);
        let (traversal, trustor, hooks) = (self.traversal?, &self.trustor, self.hooks.clone());
        let started = started(action, traversal, stack, name, type_name, trustor, self.options);
        Some(ActionStarted { hooks, ..started })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::ResourceCommand;
    use crate::actors::resource::story::{
        Story, act, cancel, converge, done, given_nothing, learned,
    };

    /// A network whose create was answered with an id, and then seen in error.
    fn in_error() -> Story {
        let story = given_nothing().when(converge(1, "OS::Neutron::Net", json!({})));
        assert_eq!(story.told(), ["ActionStarted", "CallIntended"]);
        let story = story.when_answered(learned("n1", "ready", false));
        story.when_answered(Err(Failure::in_error("ERROR", "Unknown")))
    }

    #[test]
    fn an_object_in_error_is_deleted_and_created_again() {
        let story = in_error();
        let wanted = ["ActionSettled", "CreateRepeated", "ActionStarted", "CallIntended"];
        assert_eq!(story.told(), wanted);
        let story = story.when_answered(done());
        assert_eq!(story.told(), ["ActionSettled"]);
        assert!(matches!(story.effects[..], [ResourceEffect::Later { .. }]), "{:?}", story.effects);
        let epoch = story.beat();
        let story = story.when(ResourceCommand::Due { epoch });
        assert_eq!(story.told(), ["ActionStarted", "CallIntended"]);
        assert_eq!((story.resource.action, &story.resource.physical_id), (Action::Create, &None));
        let story = story.when_answered(Err(Failure::in_error("ERROR", "Again")));
        assert_eq!(story.told(), ["ActionSettled"], "the limit of one repetition is reached");
        assert_eq!(story.resource.status, Status::Failed);
    }

    #[test]
    fn what_is_asked_for_meanwhile_waits_for_the_repeated_create() {
        let story = in_error().when(act(2, Action::Suspend));
        let story = story.when_answered(done());
        assert_eq!(story.told(), ["ActionSettled"]);
        let epoch = story.beat();
        let story = story.when(ResourceCommand::Due { epoch });
        assert_eq!(story.told(), ["ActionStarted", "CallIntended"]);
        let story = story.when_answered(done());
        assert_eq!(story.told(), ["ActionSettled", "ActionStarted", "ActionSettled"]);
        let state = (story.resource.action, story.resource.status);
        assert_eq!(state, (Action::Suspend, Status::Complete));
    }

    #[test]
    fn what_pauses_and_is_to_be_of_another_type_has_failed_and_is_replaced() {
        let story = in_error();
        let other = converge(2, "OS::Heat::TestResource", json!({}));
        let story = story.when(other).when_answered(done()).when(act(3, Action::Check));
        assert!(!story.resource.in_progress(), "{:?}", story.resource.phase);
    }

    #[test]
    fn a_pause_survives_a_restart() {
        let story = in_error().when_answered(done());
        let story = story.when_woken();
        assert_eq!(story.told(), ["ActionStarted"]);
        assert_eq!(story.resource.action, Action::Create);
    }

    #[test]
    fn a_pause_is_no_outcome() {
        let story = in_error().when_answered(done());
        assert_eq!(story.outcome(), None);
    }

    #[test]
    fn a_pause_ends_with_a_cancel() {
        let story = in_error().when_answered(done());
        let story = story.when(cancel());
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(story.resource.reason, "CREATE aborted (user triggered cancel)");
        assert!(!story.resource.in_progress());
    }
}
