//! Resources whose work is a child stack: their beats as the engine's actors carry them out, each
//! question and each answer a step of its own.

use std::sync::Arc;

use hearth::actors::definition;
use hearth::actors::nested::{
    self, ChildBeat, ChildDefined, Defined, Parent, Seen, Sight, Telling, Turn, Used,
};
use hearth::actors::project::ProjectCommand;
use hearth::actors::resource::{Answered, BeatCall, Nesting, ResourceCommand};
use hearth::actors::shell::Aggregate;
use hearth::actors::source::Sealing;
use hearth::actors::stack::{ChildEnd, Known, Revise, Stack, StackCommand};
use hearth::clock::{Clock, Moment, SimulatedClock};
use hearth::events::StreamId;
use hearth::events::log::BlobId;
use hearth::events::resource::{Resize, Step};
use hearth::events::stack::RevisionAccepted;
use hearth::model::{Action, CommandId, JsonMap, Refusal, ResourceId, StackId, Trustor};
use hearth::resource_types::{Attempt, Beat, Declared, Failure, Subject, TreeBounds, Work};

use super::world::{Ask, Outside, World};

/// A beat of a child stack, with what decides it.
pub(super) struct Nest {
    knowledge: hearth::actors::stack::Knowledge,
    clock: Arc<SimulatedClock>,
    driver: Arc<Declared>,
    call: Box<BeatCall>,
    /// The signal that changes a group's size, where the beat is that.
    pub(super) resize: Option<(CommandId, Resize)>,
}

impl Nest {
    pub(super) fn beat(&self) -> ChildBeat<'_> {
        ChildBeat {
            knowledge: &self.knowledge,
            driver: self.driver.as_ref(),
            nested: self.driver.nests().unwrap(),
            work: &self.call.work,
            subject: &self.call.subject,
            step: &self.call.step,
            nesting: self.call.nesting.as_ref().unwrap(),
        }
    }

    pub(super) fn moment(&self) -> Moment<'_> {
        Moment::of(self.clock.as_ref())
    }

    pub(super) fn child(&self) -> StackId {
        self.beat().child()
    }
}

/// A look, as a call that is no beat.
pub(super) fn look(driver_type: String, subject: Box<Subject>, nesting: Nesting) -> Box<BeatCall> {
    Box::new(BeatCall {
        epoch: 0,
        driver_type,
        work: Work::Act(Action::Check),
        subject: *subject,
        step: Step::default(),
        attempt: Attempt::First,
        observe: Vec::new(),
        trustor: Trustor::default(),
        nesting: Some(nesting),
    })
}

impl World {
    pub(super) fn nest(&self, call: Box<BeatCall>) -> Nest {
        Nest {
            knowledge: self.stack_knowledge.clone(),
            clock: self.clock.clone(),
            driver: self.stack_knowledge.registry.driver(&call.driver_type).unwrap(),
            call,
            resize: None,
        }
    }

    pub(super) fn push(&mut self, resource: ResourceId, what: Ask) {
        let asked = self.clock.now();
        self.node.outside.push(Outside { resource, at: 0, asked, what });
    }

    /// A beat begins: it looks around and defines, tells, or waits.
    pub(super) fn begin_child_beat(&mut self, resource: ResourceId, call: Box<BeatCall>) {
        let nest = Box::new(self.nest(call));
        match nest.beat().turn(&nest.moment()) {
            Turn::Define => {
                let defined = self.sight(&nest).and_then(|sight| {
                    let defined = nest.beat().defined(&sight, &nest.moment())?;
                    Ok((sight, defined))
                });
                match defined {
                    Ok((_, Defined::Beat(beat))) => self.answer_beat(resource, &nest, Ok(*beat)),
                    Ok((sight, Defined::Child(child))) => {
                        self.tell_definition(resource, nest, &sight, *child);
                    }
                    Err(error) => self.answer_beat(resource, &nest, Err(error)),
                }
            }
            Turn::Tell(telling) => {
                self.push(resource, Ask::TellChild { nest, telling: Box::new(telling) });
            }
            Turn::Await => self.await_child(resource, nest),
            Turn::Answer(answer) => self.answer_beat(resource, &nest, answer),
        }
    }

    pub(super) fn tell_definition(
        &mut self,
        resource: ResourceId,
        nest: Box<Nest>,
        sight: &Sight,
        child: ChildDefined,
    ) {
        match self.telling(&nest, sight, child) {
            Ok(telling) => {
                self.push(resource, Ask::TellChild { nest, telling: Box::new(telling) });
            }
            Err(error) => self.fail(resource, &nest, error),
        }
    }

    /// The definition, checked and written down.
    fn telling(
        &mut self,
        nest: &Nest,
        sight: &Sight,
        child: ChildDefined,
    ) -> Result<Telling, Failure> {
        let refused = |refusal: Refusal| Failure::Child(refusal.message);
        let beat = nest.beat();
        if beat.nested.stands_beside() {
            self.ask_project(ProjectCommand::Reserve {
                name: beat.subject.physical_name.clone().into(),
                stack_id: beat.child(),
                limit: None,
            })
            .map_err(refused)?;
        }
        let ChildDefined { definition, timeout_mins, step, options, then } = child;
        let known = definition::check(&nest.knowledge.registry, TreeBounds::LOOSE, definition)
            .map_err(refused)?;
        let (registry, vault) = super::world::shared();
        let scope = StreamId::stack(beat.child());
        let (clock, scope) = (self.clock.as_ref(), scope.as_str());
        let sealing = Sealing { registry, vault, clock, scope };
        let revise = nested::revise(&sealing, known, timeout_mins, &beat.nesting.trustor);
        let (revise, blob) = revise.map_err(refused)?;
        let source = BlobId(format!("kept-{}", self.kept.len()));
        self.kept.push(blob);
        let revise = Revise { options, source, ..revise };
        beat.telling(sight, (&step, then), revise, "alice")
    }

    pub(super) fn sight(&mut self, nest: &Nest) -> Result<Sight, Failure> {
        let beat = nest.beat();
        let stack = beat.subject.stack_id.unwrap();
        self.wake_stack(stack);
        let lost = || Failure::Silent("silence".to_owned());
        let parent = self.node.stacks.get(&stack).ok_or_else(lost)?;
        let parent = Parent::of(parent.view(), beat.nesting.revision).ok_or_else(lost)?;
        let known = match &parent.known {
            Some(known) => known.clone(),
            None => {
                let fold = &self.folds.stacks[&stack];
                self.revived(fold, &parent.revision)
            }
        };
        let (seen, used) = (self.seen(beat.child()), self.used(nest)?);
        Ok(Sight { known, parent, seen, used })
    }

    /// The resource that a type uses, if it uses one.
    fn used(&mut self, nest: &Nest) -> Result<Option<Used>, Failure> {
        let beat = nest.beat();
        let Some(reference) = beat.uses() else { return Ok(None) };
        let missing = || Failure::Invalid(format!("{reference} is not there"));
        let stack = self.node.stacks.get(&beat.subject.stack_id.unwrap()).ok_or_else(missing)?;
        let (_, id) = stack.view().referred(&reference).ok_or_else(missing)?;
        let resource = self.folds.resources.get(&id).ok_or_else(missing)?;
        Used::of(resource).ok_or_else(missing).map(Some)
    }

    /// A stack as its resource sees it.
    pub(super) fn seen(&mut self, id: StackId) -> Option<Seen> {
        if !self.log.has(StreamId::stack(id).as_str()) {
            return None;
        }
        self.wake_stack(id);
        Seen::of(self.node.stacks.get(&id)?.view(), &self.stack_knowledge)
    }

    /// The same; a stack that rests is not woken.
    pub(super) fn seen_at_rest(&self, id: StackId) -> Option<Seen> {
        match self.node.stacks.get(&id) {
            Some(stack) => Seen::of(stack.view(), &self.stack_knowledge),
            None if self.log.has(StreamId::stack(id).as_str()) => {
                Seen::of(self.folded(id).view(), &self.stack_knowledge)
            }
            None => None,
        }
    }

    /// A revision's definition again.
    pub(super) fn revived(&self, stack: &Stack, revision: &RevisionAccepted) -> Arc<Known> {
        let source = revision.source.as_ref().unwrap();
        let Some(index) = source.0.strip_prefix("kept-") else {
            return self.known(stack.id, self.source(source)).unwrap().into();
        };
        if let Some(known) = self.read.borrow().get(&source.0) {
            return known.clone();
        }
        let blob = &self.kept[index.parse::<usize>().unwrap()];
        let (registry, vault) = super::world::shared();
        let (identity, owner) = (stack.identity(), stack.owner.as_ref());
        let known = definition::revived(registry, vault, Some(blob), &identity, owner, revision);
        let known = Arc::new(known.unwrap());
        self.read.borrow_mut().insert(source.0.clone(), known.clone());
        known
    }

    /// The child is told, and what it says is the beat's answer.
    pub(super) fn tell_child(&mut self, resource: ResourceId, nest: Box<Nest>, telling: Telling) {
        let Telling { id, command, then } = telling;
        let child = nest.child();
        let answer = self.command_child(child, id, command);
        self.tell(|| format!("    child {child:.8} is told: {answer:?}"));
        if nest.resize.is_some() {
            return match answer {
                Ok(()) => self.await_child(resource, nest),
                Err(it) => self.fail(resource, &nest, it.into()),
            };
        }
        let beat = nest.beat();
        if beat.gives_name_back(&answer) {
            let name = beat.subject.physical_name.clone().into();
            let _ = self.ask_project(ProjectCommand::Release { name, stack_id: child });
        }
        let result = beat.told(then, answer);
        self.answer_beat(resource, &nest, result);
    }

    /// A command under an id: told again, it is answered with the first receipt.
    fn command_child(
        &mut self,
        child: StackId,
        id: CommandId,
        command: StackCommand,
    ) -> Result<(), Refusal> {
        self.wake_stack(child);
        if Stack::answers_once(&command) && self.log.was_caused(StreamId::stack(child).as_str(), id)
        {
            return Ok(());
        }
        self.log.cause = Some(id);
        let answer = self.ask_stack(child, command);
        self.log.cause = None;
        answer
    }

    fn await_child(&mut self, resource: ResourceId, nest: Box<Nest>) {
        let child = nest.child();
        self.wake_stack(child);
        self.node.awaiting.push((child, resource, nest));
        self.answer_awaiting(child);
    }

    /// Those who wait for the end of what a stack is at are told, once it has ended.
    pub(super) fn answer_awaiting(&mut self, child: StackId) {
        if !self.node.awaiting.iter().any(|(of, ..)| *of == child) {
            return;
        }
        let Some(stack) = self.node.stacks.get(&child) else { return };
        let Some(end) = stack.view().end(&self.stack_knowledge) else { return };
        let awaiting = std::mem::take(&mut self.node.awaiting);
        let (told, left): (Vec<_>, Vec<_>) = awaiting.into_iter().partition(|it| it.0 == child);
        self.node.awaiting = left;
        for (_, resource, nest) in told {
            self.push(resource, Ask::ChildEnded { nest, end: Box::new(end.clone()) });
        }
    }

    /// What a beat comes to by the child's end.
    pub(super) fn child_ended(&mut self, resource: ResourceId, nest: &Nest, end: &ChildEnd) {
        if let Some((signal, resize)) = &nest.resize {
            let attributes = self.observed(&nest.call, &nest.call.subject.reads);
            let outcome = nest.beat().scaled(resize, end, attributes, &nest.moment());
            let (signal, result) = (*signal, Ok(outcome));
            return self.come_back(resource, ResourceCommand::SignalCarriedOut { signal, result });
        }
        let seen = match nest.beat().nested.scales() {
            true => self.seen(nest.child()),
            false => None,
        };
        let result = nest.beat().ended(end, seen.as_ref(), &nest.moment());
        self.answer_beat(resource, nest, result);
    }

    pub(super) fn fail(&mut self, resource: ResourceId, nest: &Nest, error: Failure) {
        match &nest.resize {
            Some((signal, _)) => {
                let (signal, result) = (*signal, Err(error));
                self.come_back(resource, ResourceCommand::SignalCarriedOut { signal, result });
            }
            None => self.answer_beat(resource, nest, Err(error)),
        }
    }

    fn answer_beat(&mut self, resource: ResourceId, nest: &Nest, result: Result<Beat, Failure>) {
        let attributes = match &result {
            Ok(Beat::Done { .. }) if !nest.call.observe.is_empty() => {
                self.observed(&nest.call, &nest.call.observe)
            }
            _ => JsonMap::new(),
        };
        let epoch = nest.call.epoch;
        let answered = Answered { epoch, result, kept: None, attributes, reality: None };
        self.come_back(resource, ResourceCommand::Answered(Box::new(answered)));
    }

    pub(super) fn come_back(&mut self, resource: ResourceId, command: ResourceCommand) {
        self.push(resource, Ask::ComeBack(Box::new(command)));
    }

    fn observed(&mut self, call: &BeatCall, wanted: &[String]) -> JsonMap {
        self.child_attributes(&call.driver_type, &call.subject, wanted)
    }

    /// The attributes of a resource from its child.
    pub(super) fn child_attributes(
        &mut self,
        driver_type: &str,
        subject: &Subject,
        wanted: &[String],
    ) -> JsonMap {
        let driver = self.stack_knowledge.registry.driver(driver_type).unwrap();
        let child = subject.physical_id.as_ref().and_then(|id| id.parse().ok());
        let seen = child.and_then(|child| self.seen(child));
        let own = |seen| nested::own_attributes(driver.as_ref(), subject, &seen, wanted).values;
        seen.map(own).unwrap_or_default()
    }

    /// Whether the child differs from what it should be, or anything in it is not healthy.
    pub(super) fn child_differs(
        &mut self,
        driver_type: String,
        subject: Box<Subject>,
        nesting: Nesting,
    ) -> bool {
        let nest = self.nest(look(driver_type, subject, nesting));
        let Ok(sight) = self.sight(&nest) else { return true };
        if !nest.beat().is_same(&sight, &nest.moment()).unwrap_or(false) {
            return true;
        }
        let child = nest.child();
        !self.is_healthy_within(child)
    }

    fn is_healthy_within(&mut self, stack: StackId) -> bool {
        let Some(seen) = self.seen(stack) else { return false };
        seen.is_healthy && seen.within.into_iter().all(|within| self.is_healthy_within(within))
    }

    /// Nothing further of a child is to start.
    pub(super) fn halt_child(&mut self, child: StackId) {
        let id = CommandId(self.clock.fresh_id());
        let _ = self.command_child(child, id, StackCommand::CancelWithoutRollback);
    }
}
