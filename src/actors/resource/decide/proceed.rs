//! Do what is next of the action under way: all of it where no call is needed, else one beat.

use std::time::Duration;

use super::begin::nests;
use super::settle::Ending;
use crate::actors::resource::command::{BeatCall, Nesting, ResourceCommand, ResourceEffect};
use crate::actors::resource::phase::Call;
use crate::actors::resource::state::{Decider, Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{CallIntended, Definition, Step};
use crate::model::sizes::REASON;
use crate::model::taint::{mask_repeated, plain_map};
use crate::model::{Action, JsonMap, TraversalId, TraversalOptions};
use crate::resource_types::{Attempt, Work};

impl Decider<'_> {
    pub(in crate::actors::resource) fn proceed(&mut self, attempt: Attempt) -> Decision<Resource> {
        if !self.in_progress() {
            return Decision::nothing();
        }
        if self.is_pausing() {
            return self.create_again();
        }
        if let Some(last) = self.part() {
            return last;
        }
        let Some(definition) = self.working_definition() else {
            return self.settle(Ending::complete());
        };
        let driver = self.driver(&definition);
        // A child stack may be there before its id is learned.
        let nests = driver.as_ref().is_ok_and(|driver| driver.nests().is_some());
        let has_no_id = driver.as_ref().is_ok_and(|driver| driver.declaration().has_no_id());
        if self.action == Action::Delete && self.nothing_to_delete(&definition, nests, has_no_id) {
            return self.settle(Ending::complete());
        }
        let driver = match driver {
            Ok(driver) => driver,
            Err(reason) => return self.settle(Ending::failed(reason)),
        };
        let work = self.work(&definition, self.knowledge);
        let subject = self.subject(&definition);
        let Some(call) = self.call().cloned() else { return Decision::nothing() };
        match call {
            Call::First => {
                let is_nothing = match &work {
                    Work::Update { changed, .. } => changed.is_empty() && !nests,
                    Work::Act(Action::Snapshot) if self.physical_id.is_none() => true,
                    Work::Act(action) => !driver.acts(*action),
                    Work::Create | Work::Delete => false,
                };
                if is_nothing {
                    // A failed create kept none of what others read.
                    if let Some(look) = self.look_up(&definition) {
                        return Decision::nothing().and_do(look);
                    }
                    let attributes = JsonMap::clone(&self.attributes);
                    return self.settle(Ending { attributes, ..self.done(&definition) });
                }
                if let Some(rest) = self.open_rest().filter(|_| !nests) {
                    return self.later(rest);
                }
                match driver.local(&work, &subject, self.moment) {
                    Some(Ok(local)) => self.complete(local.learned, local.attributes, &definition),
                    Some(Err(error)) => self.fail(&error),
                    None => self.beat(driver.first(&work, &subject), attempt, work),
                }
            }
            Call::Due(step) => self.beat(step, attempt, work),
            Call::Intended(step) if attempt == Attempt::First => {
                self.beat_again(step, attempt, work)
            }
            Call::Intended(_) if self.rest().is_some() => {
                self.working.unanswered = true;
                self.later(self.rest().unwrap_or_default())
            }
            // The next restart rests after this call too, so it is on record as well.
            Call::Intended(step) => self.beat(step, attempt, work),
        }
    }

    /// How long to wait before the cloud is searched for what a lost call did: the cloud may still
    /// be at it, and what is not there yet would be made twice.
    fn rest(&self) -> Option<Duration> {
        // What is gone twice is gone.
        if self.action == Action::Delete && self.awaits_answer() {
            return None;
        }
        self.rest_left()
    }

    /// The same before the search for what a create that was given up has made.
    fn open_rest(&self) -> Option<Duration> {
        let is_searched = self.unanswered && self.physical_id.is_none();
        self.rest_left().filter(|_| is_searched)
    }

    fn rest_left(&self) -> Option<Duration> {
        let since = (self.moment.now - self.called_at).to_std().unwrap_or_default();
        self.knowledge.lost_call_rest.checked_sub(since).filter(|rest| !rest.is_zero())
    }

    /// The pause before the next beat is over.
    pub(in crate::actors::resource) fn due(&mut self, epoch: u64) -> Decision<Resource> {
        if self.is_observing(epoch) {
            return self.observe_on();
        }
        if epoch != self.working.epoch {
            return Decision::nothing();
        }
        if !self.in_progress() {
            return self.look_again().unwrap_or_else(Decision::nothing);
        }
        let attempt = if std::mem::take(&mut self.working.unanswered) {
            Attempt::Unanswered
        } else {
            Attempt::First
        };
        self.proceed(attempt)
    }

    /// The step's call leaves; one that changes the cloud is on record first.
    fn beat(&mut self, step: Step, attempt: Attempt, work: Work) -> Decision<Resource> {
        if !step.mutates {
            return self.beat_again(step, attempt, work);
        }
        let token = self
            .working_definition()
            .map(|definition| self.subject(&definition).physical_name)
            .unwrap_or_default();
        let mut decision = self.beat_again(step.clone(), attempt, work);
        decision.events.push(CallIntended { step, token }.into());
        decision
    }

    pub(super) fn beat_again(
        &mut self,
        step: Step,
        attempt: Attempt,
        work: Work,
    ) -> Decision<Resource> {
        let Some(definition) = self.working_definition() else { return Decision::nothing() };
        self.working.epoch += 1;
        self.working.changing = step.mutates || step.commands;
        self.working.searching = attempt == Attempt::Unanswered;
        let nests = nests(&definition, self.knowledge);
        let traversal = self.traversal.unwrap_or_default();
        let nesting = nests.then(|| self.nesting(&definition, traversal));
        Decision::nothing().and_do(ResourceEffect::Call(Box::new(BeatCall {
            epoch: self.working.epoch,
            subject: self.subject(&definition),
            observe: if work == Work::Delete { Vec::new() } else { definition.attributes },
            driver_type: definition.driver_type,
            work,
            step,
            attempt,
            trustor: self.trustor.clone(),
            nesting,
        })))
    }

    /// A pause, then the same beat again.
    pub(in crate::actors::resource) fn later(&mut self, after: Duration) -> Decision<Resource> {
        self.working.epoch += 1;
        self.working.changing = false;
        Decision::nothing().and_do(ResourceEffect::Later { epoch: self.working.epoch, after })
    }

    /// Proceeds, as a further command.
    pub(in crate::actors::resource) fn and_proceed(
        decision: Decision<Resource>,
    ) -> Decision<Resource> {
        decision.and_then(ResourceCommand::Proceed)
    }
}

impl Resource {
    /// The definition that the calls of the action work with.
    pub(in crate::actors::resource) fn working_definition(&self) -> Option<Definition> {
        let known = match self.action {
            Action::Delete
            | Action::Suspend
            | Action::Resume
            | Action::Check
            | Action::Snapshot => self.definition.as_ref(),
            Action::Init
            | Action::Create
            | Action::Update
            | Action::Rollback
            | Action::Adopt
            | Action::Restore => self.target.as_deref(),
        };
        known.cloned()
    }

    fn nothing_to_delete(&self, definition: &Definition, nests: bool, has_no_id: bool) -> bool {
        // What a create that is repeated has made is of no use to anybody.
        let by_policy =
            definition.deletion_policy.eq_ignore_ascii_case("Retain") && !self.repeats_create();
        // A child stack is abandoned in its turn.
        let retained = if self.options.retains { !nests } else { by_policy };
        let is_begun = has_no_id && self.deleted_from.0 != Action::Init;
        let empty = self.physical_id.is_none() && self.data.is_empty() && !nests && !is_begun;
        let in_doubt = self.unanswered || self.awaits_answer();
        retained || (empty && !in_doubt)
    }

    pub(in crate::actors::resource) fn work(
        &self,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Work {
        match self.action {
            Action::Delete => Work::Delete,
            Action::Update => {
                let former = self.as_it_is(self.traversal.unwrap_or_default());
                let before = plain_map(former.properties.clone());
                let nests = Self::driver(knowledge, definition);
                let changed = match nests.is_ok_and(|driver| driver.nests().is_some()) {
                    // What a failed update has changed in a child stack, its own resources know.
                    true => {
                        let after = plain_map(definition.properties.clone());
                        knowledge.registry.changed(&definition.driver_type, &before, &after)
                    }
                    false => self.changed(&former, definition, knowledge),
                };
                Work::Update { before, changed }
            }
            Action::Suspend | Action::Resume | Action::Check | Action::Snapshot => {
                Work::Act(self.action)
            }
            Action::Init | Action::Create | Action::Rollback | Action::Adopt | Action::Restore => {
                Work::Create
            }
        }
    }

    /// What a child stack is made with.
    pub(in crate::actors) fn nesting(
        &self,
        definition: &Definition,
        traversal: TraversalId,
    ) -> Nesting {
        Nesting {
            traversal,
            revision: definition.revision,
            repetition: self.repetitions,
            earlier: self.earlier,
            // A child that stays is abandoned by a command of its own.
            options: TraversalOptions { retains: false, ..self.options },
            properties: definition.properties.clone(),
            metadata: definition.metadata.clone(),
            trustor: self.trustor.clone(),
        }
    }

    /// Heat's words for a failure: the class, where there is one, the place and what was said.
    pub(super) fn failure(&self, class: &str, below: &str, message: &str) -> String {
        let name = self.name.as_str();
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let place = if is_number { format!("[{name}]") } else { format!(".{name}") };
        let class = if class.is_empty() { String::new() } else { format!("{class}: ") };
        format!("{class}resources{place}{below}: {message}")
    }

    /// A cloud's words may repeat what it was sent: secrets are masked in them, and no more is kept
    /// of them than of any reason.
    pub(in crate::actors) fn without_secrets(&self, text: &str) -> String {
        REASON.shortened(mask_repeated(text, &self.secrets()))
    }

    /// The same of what a signal says: what former ones brought, which may be much, has no part in
    /// it.
    pub(super) fn without_own_secrets(&self, text: &str) -> String {
        REASON.shortened(mask_repeated(text, &self.secrets_beside_signals()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::story::{
        Story, clean_up, converge, done, given_nothing, learned, refused, with,
    };
    use crate::resource_types::Beat;

    fn net(number: u128) -> ResourceCommand {
        converge(number, "OS::Neutron::Net", json!({}))
    }

    fn made(policy: &str) -> Story {
        let command = with(net(1), |converge| {
            converge.definition.as_mut().unwrap().deletion_policy = policy.to_owned();
        });
        let story = given_nothing().when(command);
        story.when_answered(learned("n1", "ready", false)).when_answered(done())
    }

    #[test]
    fn what_changes_the_cloud_is_on_record_before_it_leaves_and_a_look_is_not() {
        let story = given_nothing().when(net(1));
        assert_eq!(story.told(), ["ActionStarted", "CallIntended"]);
        assert!(story.call().unwrap().step.mutates);
        let story = story.when_answered(learned("n1", "ready", false));
        assert_eq!(story.told(), ["CallAnswered"]);
        assert_eq!(story.call().unwrap().step.name, "ready");
        let story = story.when_answered(Ok(Beat::Wait { after: None }));
        assert!(story.told().is_empty());
    }

    #[test]
    fn the_object_of_a_resource_is_deleted_unless_its_policy_or_its_stack_leaves_it() {
        let story = made("Delete").when(clean_up(2));
        assert_eq!(story.told(), ["ActionStarted", "CallIntended"]);
        let ResourceCommand::CleanUp(mut abandoned) = clean_up(2) else { panic!("no cleanup") };
        abandoned.options.retains = true;
        let abandoned = ResourceCommand::CleanUp(abandoned);
        for story in [made("Retain").when(clean_up(2)), made("Delete").when(abandoned)] {
            assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
            assert!(story.call().is_none());
        }
    }

    #[test]
    fn what_a_create_that_was_refused_has_not_made_is_deleted_without_a_call() {
        let story = given_nothing().when(net(1)).when_answered(Err(refused("BadRequest", "no")));
        let story = story.when(clean_up(2));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert!(story.call().is_none());
    }

    #[test]
    fn a_deletion_whose_answer_was_lost_is_made_again_without_a_rest() {
        let story = made("Delete").when(clean_up(2)).when_woken();
        assert_eq!(story.told(), ["CallIntended"]);
        assert_eq!(story.call().unwrap().attempt, Attempt::Unanswered);
    }

    #[test]
    fn a_pause_that_something_else_has_ended_makes_no_beat() {
        let story = given_nothing().when(net(1)).when_answered(learned("n1", "ready", false));
        let story = story.when_answered(Ok(Beat::Wait { after: None }));
        let epoch = story.beat();
        let story = story.when(ResourceCommand::Due { epoch });
        assert_eq!(story.call().unwrap().step.name, "ready");
        let story = story.when(ResourceCommand::Due { epoch });
        assert!(story.effects.is_empty());
    }

    #[test]
    fn a_member_of_a_group_is_named_by_its_number() {
        let command = with(net(1), |converge| converge.name = "0".into());
        let story = given_nothing().when(command).when_answered(Err(refused("BadRequest", "no")));
        assert_eq!(story.settled().reason, "BadRequest: resources[0]: no");
    }
}
