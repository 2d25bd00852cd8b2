//! A beat came back: write down what it learned, and go on, wait, try again, or settle.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::Value;

use super::settle::Ending;
use crate::actors::resource::command::{Answered, ResourceEffect};
use crate::actors::resource::phase::Call;
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{AnswersKept, CallAnswered, CallRetried, ReplacementRequired, Step};
use crate::model::sizes::REASON;
use crate::model::taint::{mask_repeated, taint, taint_repeated};
use crate::model::{Action, JsonMap};
use crate::resource_types::{Beat, Failure, Learned, stack_user};

/// How often a call that fails transiently is made before the resource fails.
const CALL_ATTEMPTS_MAX: u32 = 10;
/// The pause after the first transient failure; it doubles up to the longest.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(200);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(15);
/// The pause between two looks at an object that is not ready; it grows up to the longest.
const POLL_PAUSE_MIN: Duration = Duration::from_millis(50);
const POLL_PAUSE_GROWTH: f64 = 1.06;
const POLL_PAUSE_MAX: Duration = Duration::from_secs(2);

impl Decider<'_> {
    pub(in crate::actors::resource) fn answered(
        &mut self,
        mut answered: Answered,
    ) -> Decision<Resource> {
        if answered.epoch != self.working.epoch || !self.in_progress() {
            return Decision::nothing();
        }
        self.working.changing = false;
        let kept = answered.kept.take().map(|kept| self.taint_kept(kept));
        let mut decision = self.came_to(answered);
        // What is not on record decides nothing.
        if let Some(kept) = kept.filter(|_| !decision.events.is_empty()) {
            decision.events.insert(0, kept.into());
        }
        decision
    }

    /// What the outcome of a beat leads to.
    fn came_to(&mut self, answered: Answered) -> Decision<Resource> {
        if let Some(reason) = self.working.cancel.take() {
            return self.cancelled(answered.result, reason);
        }
        match answered.result {
            Ok(Beat::Next { learned, next }) => {
                self.working.polls = 0;
                let learned = self.taint_learned(learned);
                let halted = match &self.working.queued {
                    Some(_) => self.halt_child(learned.physical_id.as_ref()),
                    None => Decision::nothing(),
                };
                let has_users = learned.data.contains_key(stack_user::PROJECT);
                let mut learns = halted.and_record(CallAnswered {
                    physical_id: learned.physical_id,
                    data: learned.data,
                    next: self.taint_step(next),
                });
                if self.action == Action::Snapshot || has_users {
                    // Where the snapshot is given up, its stack knows what there is to be deleted;
                    // and a user that is made may signal before the action is over.
                    learns = learns.and_do(ResourceEffect::Report);
                }
                Self::and_proceed(learns)
            }
            Ok(Beat::Wait { after }) => {
                self.working.polls += 1;
                // Each pause is about a sixteenth of the time waited so far.
                let grown = POLL_PAUSE_GROWTH.powi(self.working.polls.min(100) as i32);
                let pace = POLL_PAUSE_MIN.mul_f64(grown);
                self.later(after.unwrap_or(pace.min(POLL_PAUSE_MAX)))
            }
            Ok(Beat::Done { learned }) => {
                let definition = self.working_definition().unwrap_or_default();
                let traversal = self.traversal.unwrap_or_default();
                let found = answered.reality.and_then(|it| self.found(traversal, it));
                let mut decision = self.complete(learned, answered.attributes, &definition);
                decision.events.extend(found.map(Into::into));
                decision
            }
            Ok(Beat::Replace { reason }) => self.replaced(reason),
            Err(error) if error.is_transient() && self.failures() + 1 < CALL_ATTEMPTS_MAX => {
                self.retried(&error)
            }
            Err(error) => self.fail(&error),
        }
    }

    /// The action was to end as soon as this call came back: keep what it learned.
    fn cancelled(&mut self, result: Result<Beat, Failure>, reason: String) -> Decision<Resource> {
        let (learned, in_doubt) = match result {
            Ok(Beat::Next { learned, next }) if self.cancellation_cleanup(&next).is_some() => {
                let learned = self.taint_learned(learned);
                let (physical_id, data) = (learned.physical_id, learned.data);
                // What the stack wants next has come since the action was given up, and stays.
                self.working.cancel = Some(reason);
                let answered = CallAnswered { physical_id, data, next: self.taint_step(next) };
                return Self::and_proceed(Decision::record(answered));
            }
            Ok(Beat::Next { learned, .. } | Beat::Done { learned }) => (learned, false),
            Ok(Beat::Wait { .. } | Beat::Replace { .. }) => (Learned::default(), false),
            Err(error) => (Learned::default(), error.is_unanswered() || self.working.searching),
        };
        let learned = self.taint_learned(learned);
        let halted = self.halt_child(learned.physical_id.as_ref());
        let ending = Ending { learned, in_doubt, ..Ending::failed(self.aborted(&reason)) };
        let mut decision = self.settle(ending);
        decision.effects.extend(halted.effects);
        decision
    }

    fn failures(&self) -> u32 {
        self.phase.at_work().map_or(0, |at_work| at_work.failures)
    }

    fn retried(&mut self, error: &Failure) -> Decision<Resource> {
        let attempt = self.failures() + 1;
        let doubled = RETRY_PAUSE_MIN.saturating_mul(1 << (attempt - 1).min(10));
        let mut chance = [0; 1];
        self.moment.fill(&mut chance);
        let jitter = 0.5 + f64::from(chance[0]) / 510.0;
        let pause = error.retry_after().unwrap_or(doubled.min(RETRY_PAUSE_MAX).mul_f64(jitter));
        self.working.unanswered = error.is_unanswered() || self.working.searching;
        let step = match self.call() {
            Some(Call::Due(step) | Call::Intended(step)) => step.name.clone(),
            Some(Call::First) | None => "start".to_owned(),
        };
        let until = self.moment.now + TimeDelta::from_std(pause).unwrap_or_default();
        let error = self.without_secrets(&error.told());
        self.later(pause).and_record(CallRetried { step, error, attempt, until })
    }

    fn replaced(&mut self, reason: String) -> Decision<Resource> {
        self.working.epoch += 1;
        let decision = Decision::record(ReplacementRequired {
            traversal: self.traversal.unwrap_or_default(),
            reason: REASON.shortened(reason),
        })
        .and_do(ResourceEffect::Report);
        self.working.another = None;
        match self.working.queued.take() {
            Some(queued) => decision.and_then(*queued),
            None => decision,
        }
    }

    /// What a beat learned, its secrets marked: resource data, and what the driver remembers.
    pub(in crate::actors::resource) fn taint_learned(&self, mut learned: Learned) -> Learned {
        for (name, value) in learned.data.iter_mut().chain(&mut learned.metadata) {
            *value = self.taint_named(name, std::mem::take(value));
        }
        learned
    }

    /// Answers as they are kept: a cloud does not say what in them is a secret.
    fn taint_kept(&self, mut kept: AnswersKept) -> AnswersKept {
        let secrets = self.secrets();
        for kept in &mut kept.answers {
            kept.ask = mask_repeated(&kept.ask, &secrets);
            kept.answer = kept.answer.take().map(taint);
        }
        kept
    }

    /// A driver's next step, with the secrets marked that it remembers.
    fn taint_step(&self, mut next: Step) -> Step {
        next.state = taint_repeated(next.state, &self.secrets());
        next
    }

    /// Attributes as they are kept: those that are secrets marked.
    pub(in crate::actors::resource) fn taint_attributes(&self, mut attributes: JsonMap) -> JsonMap {
        for (name, value) in &mut attributes {
            *value = self.taint_named(name, std::mem::take(value));
        }
        attributes
    }

    /// A value as it is kept: marked whole where its name says that it is a secret, else where it
    /// repeats one. A cloud does not say where what it answers came from.
    fn taint_named(&self, name: &str, value: Value) -> Value {
        let definition = self.working_definition().or_else(|| self.definition.clone());
        let Some(definition) = definition.filter(|_| !value.is_null()) else { return value };
        let driver = self.knowledge.registry.driver(&definition.driver_type);
        if driver.is_some_and(|driver| driver.is_secret(name))
            || self.knowledge.registry.is_secret(&definition.driver_type, name)
        {
            return taint(value);
        }
        taint_repeated(value, &self.secrets())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::ResourceCommand;
    use crate::actors::resource::story::{
        Story, cancel, clean_up, converge, done, given_nothing, learned, lost, refused,
    };
    use crate::model::Status;
    use crate::resource_types::Attempt;

    fn creating() -> Story {
        given_nothing().when(converge(1, "OS::Neutron::Net", json!({})))
    }

    fn attempt(story: &Story) -> Option<Attempt> {
        story.call().map(|call| call.attempt)
    }

    fn step(story: &Story) -> Option<&str> {
        story.call().map(|call| call.step.name.as_str())
    }

    #[test]
    fn a_lost_reply_is_looked_for_before_the_call_is_made_again() {
        let story = creating().when_answered(Err(lost()));
        assert_eq!(story.told(), ["CallRetried"]);
        let epoch = story.beat();
        let story = story.after(10).when(ResourceCommand::Due { epoch });
        assert_eq!(attempt(&story), Some(Attempt::Unanswered));
    }

    #[test]
    fn while_it_is_changed_what_it_was_made_of_is_as_secret_as_what_it_is_to_be() {
        let named = |number, name: &str| {
            converge(number, "OS::Neutron::Net", json!({ "name": taint(name.into()) }))
        };
        let made = given_nothing()
            .when(named(1, "former-word"))
            .when_answered(learned("n", "wait", false));
        let made = made.when_answered(done());
        let story = made.when(named(2, "later-word"));
        assert_eq!(story.resource.action, Action::Update);
        let said = mask_repeated("former-word, later-word", &story.resource.secrets());
        assert_eq!(said, "******, ******");
    }

    #[test]
    fn a_search_that_fails_transiently_is_made_again() {
        let busy = || Failure::Silent("not now".to_owned());
        let story = creating().when_answered(Err(lost()));
        let epoch = story.beat();
        let story = story.after(10).when(ResourceCommand::Due { epoch }).when_answered(Err(busy()));
        let epoch = story.beat();
        let story = story.after(10).when(ResourceCommand::Due { epoch });
        assert_eq!(attempt(&story), Some(Attempt::Unanswered));
        let refused = story.when_answered(Err(refused("Forbidden", "no")));
        assert!(refused.resource.unanswered);
    }

    #[test]
    fn a_restart_looks_for_what_was_intended() {
        let story = creating().after(10).when_woken();
        assert_eq!(attempt(&story), Some(Attempt::Unanswered));
    }

    #[test]
    fn a_restart_lets_the_cloud_finish_before_it_looks() {
        let story = creating().after(4).when_woken();
        assert_eq!(attempt(&story), None);
        let pauses = |effect: &ResourceEffect| {
            matches!(effect, ResourceEffect::Later { after, .. }
            if *after == Duration::from_secs(6))
        };
        assert!(story.effects.iter().any(pauses), "{:?}", story.effects);
        let epoch = story.beat();
        let story = story.after(6).when(ResourceCommand::Due { epoch });
        assert_eq!(
            (attempt(&story), story.told()),
            (Some(Attempt::Unanswered), vec!["CallIntended"])
        );
        // The call may have been made again: so does the next restart.
        assert_eq!(attempt(&story.after(4).when_woken()), None);
    }

    #[test]
    fn a_final_error_fails_the_resource_in_the_clouds_words() {
        let story = creating().when_answered(Err(refused("BadRequest", "no such thing")));
        assert_eq!(story.resource.reason, "BadRequest: resources.a: no such thing");
        assert_eq!(story.resource.status, Status::Failed);
    }

    #[test]
    fn a_cancel_awaits_the_call_that_is_out_and_keeps_what_it_made() {
        let story = creating().when(cancel());
        assert!(story.told().is_empty());
        let story = story.when_answered(learned("n1", "ready", false));
        assert_eq!(story.resource.physical_id.as_deref(), Some("n1"));
        assert_eq!(story.resource.reason, "CREATE aborted (user triggered cancel)");
    }

    #[test]
    fn what_a_given_up_call_made_is_found_and_deleted() {
        let story = creating().when(cancel()).when_answered(Err(lost()));
        assert!(story.resource.unanswered);
        let story = story.after(4).when(clean_up(2));
        assert_eq!(step(&story), None, "the call may still be carried out");
        let epoch = story.beat();
        let story = story.after(6).when(ResourceCommand::Due { epoch });
        assert_eq!(step(&story), Some("find"));
        let story = story.when_answered(learned("n1", "delete", true));
        assert_eq!(story.told(), ["CallAnswered", "CallIntended"]);
        assert_eq!(story.resource.physical_id.as_deref(), Some("n1"));
    }

    #[test]
    fn what_is_asked_for_while_a_given_up_call_is_out_follows_the_drivers_last_step() {
        let next = |name: &str, mutates| {
            let next = Step { name: name.to_owned(), mutates, ..Step::default() };
            Ok(Beat::Next { learned: Learned::default(), next })
        };
        let deployment = converge(1, "OS::Heat::SoftwareDeployment", json!({}));
        let story = given_nothing().when(deployment).when_answered(next("deploy", true));
        let story = story.when(cancel()).when(clean_up(2)).when_answered(next("wait", false));
        assert_eq!(step(&story), Some("give_up"));
        let story = story.when_answered(done());
        assert_eq!(story.told(), ["ActionSettled", "ActionStarted", "ActionSettled"]);
        assert_eq!(
            (story.resource.action, story.resource.status),
            (Action::Delete, Status::Complete)
        );
    }

    #[test]
    fn an_answer_to_an_older_beat_no_longer_counts() {
        let story = creating();
        let answered = Answered {
            epoch: 0,
            result: Ok(Beat::Wait { after: None }),
            kept: None,
            attributes: JsonMap::new(),
            reality: None,
        };
        let story = story.when(ResourceCommand::Answered(Box::new(answered)));
        assert!(story.told().is_empty() && story.effects.is_empty());
    }
}
