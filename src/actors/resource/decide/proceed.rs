//! Do what is next of the action under way: all of it where no call is needed, else one beat.

use std::time::Duration;

use crate::actors::resource::command::{BeatCall, Nesting, ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Call, Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::clock::Moment;
use crate::events::ResourceEvent;
use crate::events::resource::{ActionSettled, CallIntended, Definition, Step};
use crate::model::sizes::REASON;
use crate::model::taint::{mask_repeated, plain_map};
use crate::model::{Action, JsonMap, Status, TraversalId};
use crate::resource_types::{Attempt, DriverError, Learned, Work};

impl Resource {
    pub(in crate::actors::resource) fn proceed(
        &mut self,
        attempt: Attempt,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if !self.in_progress() {
            return Decision::nothing();
        }
        if self.is_pausing() {
            return self.create_again();
        }
        if let Some(last) = self.part(knowledge) {
            return last;
        }
        let Some(definition) = self.working_definition() else {
            return self.settle(Status::Complete, "state changed".to_owned(), Learned::default());
        };
        let driver = Self::driver(knowledge, &definition);
        // A child stack may be there before its id is learned.
        let nests = driver.as_ref().is_ok_and(|driver| driver.nests().is_some());
        let has_no_id = driver.as_ref().is_ok_and(|driver| driver.has_no_id());
        if self.action == Action::Delete && self.nothing_to_delete(&definition, nests, has_no_id) {
            return self.settle(Status::Complete, "state changed".to_owned(), Learned::default());
        }
        let driver = match driver {
            Ok(driver) => driver,
            Err(reason) => return self.settle(Status::Failed, reason, Learned::default()),
        };
        let work = self.work(&definition, knowledge);
        let subject = self.subject(&definition, knowledge);
        match self.call.clone() {
            Call::None => Decision::nothing(),
            Call::First => {
                let is_nothing = match &work {
                    Work::Update { changed, .. } => changed.is_empty() && !nests,
                    Work::Act(Action::Snapshot) if self.physical_id.is_none() => true,
                    Work::Act(action) => !driver.acts(*action),
                    Work::Create | Work::Delete => false,
                };
                if is_nothing {
                    // A failed create kept none of what others read.
                    if let Some(look) = self.look_up(&definition, knowledge) {
                        return Decision::nothing().and_do(look);
                    }
                    let kept = self.attributes.clone();
                    return self.settle_with(Status::Complete, "state changed".into(), kept);
                }
                if let Some(rest) = self.open_rest(moment, knowledge).filter(|_| !nests) {
                    return self.later(rest);
                }
                match driver.local(&work, &subject, moment) {
                    Some(Ok(local)) => {
                        self.complete(local.learned, local.attributes, &definition, knowledge)
                    }
                    Some(Err(error)) => self.fail(&error, knowledge),
                    None => self.beat(driver.first(&work, &subject), attempt, work, knowledge),
                }
            }
            Call::Due(step) => self.beat(step, attempt, work, knowledge),
            Call::Intended(step) if attempt == Attempt::First => {
                self.beat_again(step, attempt, work, knowledge)
            }
            Call::Intended(_) if self.rest(moment, knowledge).is_some() => {
                self.working.unanswered = true;
                self.later(self.rest(moment, knowledge).unwrap_or_default())
            }
            // The next restart rests after this call too, so it is on record as well.
            Call::Intended(step) => self.beat(step, attempt, work, knowledge),
        }
    }

    /// How long to wait before the cloud is searched for what a lost call did: the cloud may still
    /// be at it, and what is not there yet would be made twice.
    fn rest(&self, moment: &Moment<'_>, knowledge: &Knowledge) -> Option<Duration> {
        // What is gone twice is gone.
        if self.action == Action::Delete && matches!(self.call, Call::Intended(_)) {
            return None;
        }
        self.rest_left(moment, knowledge)
    }

    /// The same before the search for what a create that was given up has made.
    fn open_rest(&self, moment: &Moment<'_>, knowledge: &Knowledge) -> Option<Duration> {
        let is_searched = self.is_open && self.physical_id.is_none();
        self.rest_left(moment, knowledge).filter(|_| is_searched)
    }

    fn rest_left(&self, moment: &Moment<'_>, knowledge: &Knowledge) -> Option<Duration> {
        let since = (moment.now - self.called_at).to_std().unwrap_or_default();
        knowledge.lost_call_rest.checked_sub(since).filter(|rest| !rest.is_zero())
    }

    /// The pause before the next beat is over.
    pub(in crate::actors::resource) fn due(
        &mut self,
        epoch: u64,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if epoch != self.working.epoch || !self.in_progress() {
            return Decision::nothing();
        }
        let attempt = if std::mem::take(&mut self.working.unanswered) {
            Attempt::Unanswered
        } else {
            Attempt::First
        };
        self.proceed(attempt, moment, knowledge)
    }

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
            definition.deletion_policy.eq_ignore_ascii_case("Retain") && !self.repeating;
        // A child stack is abandoned in its turn.
        let retained = if self.retains { !nests } else { by_policy };
        let is_begun = has_no_id && self.deleted_from.0 != Action::Init;
        let empty = self.physical_id.is_none() && self.data.is_empty() && !nests && !is_begun;
        let open = self.is_open || matches!(self.call, Call::Intended(_));
        retained || (empty && !open)
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

    /// The step's call leaves; one that changes the cloud is on record first.
    fn beat(
        &mut self,
        step: Step,
        attempt: Attempt,
        work: Work,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if !step.mutates {
            return self.beat_again(step, attempt, work, knowledge);
        }
        let token = self
            .working_definition()
            .map(|definition| self.subject(&definition, knowledge).physical_name)
            .unwrap_or_default();
        let mut decision = self.beat_again(step.clone(), attempt, work, knowledge);
        decision.events.push(CallIntended { step, token }.into());
        decision
    }

    pub(super) fn beat_again(
        &mut self,
        step: Step,
        attempt: Attempt,
        work: Work,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let Some(definition) = self.working_definition() else { return Decision::nothing() };
        self.working.epoch += 1;
        self.working.changing = step.mutates || step.commands;
        self.working.searching = attempt == Attempt::Unanswered;
        let nests = Self::driver(knowledge, &definition);
        let nests = nests.is_ok_and(|driver| driver.nests().is_some());
        let traversal = self.traversal.unwrap_or_default();
        let nesting = nests.then(|| self.nesting(&definition, traversal));
        Decision::nothing().and_do(ResourceEffect::Call(Box::new(BeatCall {
            epoch: self.working.epoch,
            subject: self.subject(&definition, knowledge),
            observe: if work == Work::Delete { Vec::new() } else { definition.attributes },
            driver_type: definition.driver_type,
            work,
            step,
            attempt,
            trustor: self.trustor.clone(),
            nesting,
        })))
    }

    pub(in crate::actors::resource) fn complete(
        &mut self,
        learned: Learned,
        attributes: JsonMap,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let mut attributes = attributes;
        for name in &definition.attributes {
            // An attribute without a value was looked up all the same.
            attributes.entry(name.clone()).or_insert(serde_json::Value::Null);
        }
        let attributes = self.taint_attributes(attributes, knowledge);
        let learned = self.taint_learned(learned, knowledge);
        let mut decision = self.settle(Status::Complete, "state changed".to_owned(), learned);
        if let Some(settled) = settling(&mut decision) {
            settled.attributes = attributes;
        }
        decision
    }

    /// The action fails for good: the class, the place and the cloud's own words.
    pub(in crate::actors::resource) fn fail(
        &mut self,
        error: &DriverError,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let message = self.without_secrets(&error.message);
        let reason = self.failure(&error.class, &error.below, &message);
        let repeats = self.repeats(error, knowledge);
        // A search that failed has not found out what it was for.
        let unanswered = error.unanswered || self.working.searching;
        let mut failed = self.settle(Status::Failed, reason, Learned::default());
        if let Some(settled) = settling(&mut failed) {
            let is_whole = error.refused && !unanswered && !self.touched;
            settled.untouched = is_whole && settled.action == Action::Update;
        }
        let failed = Self::leaving_open(failed, unanswered);
        if repeats { self.repeat(failed) } else { failed }
    }

    /// Heat's words for a failure: the class, where there is one, the place and what was said.
    fn failure(&self, class: &str, below: &str, message: &str) -> String {
        let name = self.name.as_str();
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let place = if is_number { format!("[{name}]") } else { format!(".{name}") };
        let class = if class.is_empty() { String::new() } else { format!("{class}: ") };
        format!("{class}resources{place}{below}: {message}")
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
            observes: self.observes,
            properties: definition.properties.clone(),
            metadata: definition.metadata.clone(),
            trustor: self.trustor.clone(),
        }
    }

    /// A cloud's words may repeat what it was sent: secrets are masked in them, and no more is kept
    /// of them than of any reason.
    pub(in crate::actors::resource) fn without_secrets(&self, text: &str) -> String {
        let definition = self.working_definition().unwrap_or_default();
        REASON.shortened(mask_repeated(text, &self.secrets(&definition)))
    }

    pub(in crate::actors::resource) fn settle(
        &mut self,
        status: Status,
        reason: String,
        learned: Learned,
    ) -> Decision<Self> {
        let mut decision = self.settle_with(status, reason, JsonMap::new());
        if let Some(settled) = settling(&mut decision) {
            settled.data = learned.data;
            settled.metadata = learned.metadata;
            if learned.physical_id.is_some() {
                settled.physical_id = learned.physical_id;
            }
        }
        decision
    }

    pub(in crate::actors::resource) fn settle_with(
        &mut self,
        status: Status,
        reason: String,
        attributes: JsonMap,
    ) -> Decision<Self> {
        // A beat that is still out no longer counts.
        self.working.epoch += 1;
        self.working.changing = false;
        self.working.polls = 0;
        self.working.cancel = None;
        let hook = self.reached_after(status);
        let mut decision = Decision::record(ActionSettled {
            action: self.action,
            traversal: self.traversal.unwrap_or_default(),
            status,
            reason: REASON.shortened(reason),
            physical_id: self.physical_id.clone(),
            data: Default::default(),
            attributes,
            metadata: JsonMap::new(),
            // What was not found out yet is to be found out still.
            unanswered: self.is_open && self.action == Action::Delete && status == Status::Failed,
            again: false,
            untouched: false,
        })
        .and_do(ResourceEffect::Report);
        let pauses = self.repeating && self.action == Action::Delete && status == Status::Complete;
        match self.working.queued.take() {
            // It waits for the create to have its end.
            Some(queued) if pauses && matches!(*queued, ResourceCommand::Act(_)) => {
                self.working.queued = Some(queued);
                self.pause(decision)
            }
            Some(queued) => decision.and_then(*queued),
            None if pauses => self.pause(decision),
            None => {
                decision.events.extend(hook.map(Into::into));
                decision
            }
        }
    }

    /// A pause, then the same beat again.
    pub(in crate::actors::resource) fn later(&mut self, after: Duration) -> Decision<Self> {
        self.working.epoch += 1;
        self.working.changing = false;
        Decision::nothing().and_do(ResourceEffect::Later { epoch: self.working.epoch, after })
    }

    /// Proceeds, as a further command.
    pub(in crate::actors::resource) fn and_proceed(decision: Decision<Self>) -> Decision<Self> {
        decision.and_then(ResourceCommand::Proceed)
    }
}

/// The end of an action that a decision records.
pub(in crate::actors::resource) fn settling(
    decision: &mut Decision<Resource>,
) -> Option<&mut ActionSettled> {
    decision.events.iter_mut().rev().find_map(|event| {
        if let ResourceEvent::ActionSettled(settled) = event { Some(settled) } else { None }
    })
}
