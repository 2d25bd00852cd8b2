//! What the shell does, without actix: decide, append, apply, run the effects, decide what follows.

use std::collections::BTreeSet;

use hearth::actors::project::{Project, ProjectCommand};
use hearth::actors::resource::{Resource, ResourceCommand, ResourceEffect};
use hearth::actors::shell::{Aggregate, Decision};
use hearth::actors::stack::{Stack, StackCommand, StackEffect};
use hearth::clock::{Clock, Moment};
use hearth::events::{StackEvent, StreamId};
use hearth::model::{Action, Refusal, ResourceId, ResourceName, StackId, Status};

use super::folds::{leaves, resources_differ, stacks_differ};
use super::live::Live;
use super::rules;
use super::world::{Ask, Due, Line, Mail, Outside, Timer, World};

/// The name of the stack that users see.
pub(super) const ROOT: &str = "web";

impl World {
    /// The stack is there and awake; woken, it goes on with what it owes.
    pub(super) fn wake_stack(&mut self, id: StackId) {
        if self.node.stacks.contains_key(&id) {
            return;
        }
        self.wake_stack_early(id);
        let mut stack = self.folded(id);
        let moment = Moment::of(self.clock.as_ref());
        let decision = stack.recover(&moment, &self.stack_knowledge);
        self.node.stacks.insert(id, stack);
        self.carry_out_stack(id, decision).unwrap();
        self.answer_awaiting(id);
    }

    /// A stack as its log says it, with all that it needs to go on.
    pub(super) fn folded(&self, id: StackId) -> Live<Stack> {
        let stream = StreamId::stack(id);
        let machine = self.log.fold(stream.as_str(), Stack::named(id));
        self.completed(Live::of(machine, self.log.count(stream.as_str())))
    }

    /// The same stack, with what is read beside its stream.
    pub(super) fn completed(&self, mut stack: Live<Stack>) -> Live<Stack> {
        for origin in stack.origins_needed() {
            let Some(revision) = stack.revision_of(origin) else { continue };
            if revision.source.is_none() {
                continue;
            }
            let known = self.revived(&stack, revision);
            stack.working.know_definition(&stack.machine, origin, known);
        }
        let rows: Vec<_> = stack.rows.values().map(|row| (row.id, row.name.clone())).collect();
        for (id, name) in rows {
            let stream = StreamId::resource(id);
            if self.log.has(stream.as_str()) {
                let resource = self.log.fold(stream.as_str(), Resource::named(id, name));
                let report = resource.report(&Default::default(), &self.resource_knowledge);
                stack.working.know_report(report);
            }
        }
        stack
    }

    pub(super) fn wake_resource(&mut self, id: ResourceId, name: &ResourceName) {
        if self.node.resources.contains_key(&id) {
            return;
        }
        self.wake_resource_early(id, name);
        let (stream, fresh) = (StreamId::resource(id), Resource::named(id, name.clone()));
        let machine = self.log.fold(stream.as_str(), fresh);
        let mut resource = Live::of(machine, self.log.count(stream.as_str()));
        let clock = self.clock.clone();
        let decision = resource.recover(&Moment::of(clock.as_ref()), &self.resource_knowledge);
        self.node.resources.insert(id, resource);
        self.carry_out_resource(id, decision);
    }

    /// A command of a user or of a resource.
    pub(super) fn ask_stack(&mut self, id: StackId, command: StackCommand) -> Result<(), Refusal> {
        self.wake_stack(id);
        let clock = self.clock.clone();
        let Some(stack) = self.node.stacks.get_mut(&id) else { return Ok(()) };
        let decision = stack.decide(command, &Moment::of(clock.as_ref()), &self.stack_knowledge)?;
        let answer = self.carry_out_stack(id, decision);
        self.answer_awaiting(id);
        answer
    }

    fn carry_out_stack(&mut self, id: StackId, decision: Decision<Stack>) -> Result<(), Refusal> {
        let mut decision = decision;
        let clock = self.clock.clone();
        loop {
            let Decision { events, effects, then, refusal } = decision;
            clock.advance(chrono::TimeDelta::microseconds(1));
            let now = Moment::of(clock.as_ref()).now;
            if !events.is_empty() {
                let before = self.folds.stack(id, &[], now);
                let wrong = rules::stack_events(before, &events);
                self.wrongs.extend(wrong);
                let name = match events.first() {
                    Some(StackEvent::StackCreated(created)) => created.name.clone(),
                    _ => self.node.stacks[&id].name.clone(),
                };
                for event in &events {
                    self.tell(|| format!("{name} {}", rules::stack_event_told(event)));
                    if name.as_str() == ROOT {
                        self.note_reached(event);
                    }
                }
                if name.as_str() == ROOT {
                    self.announce(id, &events);
                }
                let (stream, next) = (StreamId::stack(id), self.node.stacks[&id].next);
                let read = self.log.append(stream.as_str(), next, &events, now).unwrap();
                self.folds.stack(id, &read, now);
                if name.as_str() == ROOT {
                    self.hold_to_plan(id, &events);
                }
                let fold = &self.folds.stacks[&id];
                let Some(live) = self.node.stacks.get_mut(&id) else { return Ok(()) };
                events.iter().for_each(|event| live.apply(event, now));
                self.wrongs.extend(stacks_differ(live, fold));
                let wrong = rules::stack_settled(fold, &events, &self.folds.resources);
                self.wrongs.extend(wrong);
                self.note_left(false);
            }
            for effect in effects {
                self.perform_stack(id, effect);
            }
            let (Some(then), Some(live)) = (then, self.node.stacks.get_mut(&id)) else {
                return refusal.map_or(Ok(()), Err);
            };
            decision =
                live.decide(then, &Moment::of(clock.as_ref()), &self.stack_knowledge).unwrap();
        }
    }

    fn note_reached(&mut self, event: &StackEvent) {
        let is_act = rules::is_act;
        match event {
            StackEvent::TraversalStarted(it) if !is_act(it.action) => {
                (self.reached, self.meddled) = (false, false);
            }
            StackEvent::TraversalSettled(it) if !is_act(it.action) => {
                self.reached = it.status == Status::Complete && !self.meddled;
            }
            _ => {}
        }
    }

    /// What deletions have left may be another by what was just recorded.
    fn note_left(&mut self, leaves: bool) {
        if leaves || !self.cloud.left.is_empty() {
            self.cloud.left = self.folds.left();
        }
    }

    fn perform_stack(&mut self, id: StackId, effect: StackEffect) {
        match effect {
            StackEffect::Tell { id: resource, name, command } => {
                self.node.parents.insert(resource, id);
                self.post(Line::ToResource(id, resource), Mail::Tell { name, command });
            }
            StackEffect::Rouse { id: resource } => {
                self.node.parents.insert(resource, id);
                self.post(Line::ToResource(id, resource), Mail::Rouse);
            }
            StackEffect::TakeTurns => {
                let line = Line::ToStack(ResourceId::default(), id);
                self.post(line, Mail::ToStack(StackCommand::Advance));
            }
            StackEffect::Deadline { traversal, at } => {
                let others = |timer: &Timer| !matches!(&timer.what, Due::Deadline { stack, .. } if *stack == id);
                self.node.timers.retain(others);
                let what = Due::Deadline { stack: id, traversal };
                self.node.timers.push(Timer { at, what });
            }
            StackEffect::Release { name, id: stack_id, .. } => {
                let release = ProjectCommand::Release { name, stack_id };
                self.ask_project(release).unwrap();
            }
            StackEffect::DropUserProject { .. } => {
                self.wrongs.push("no resource of the simulation has a user".into());
            }
            StackEffect::DropSnapshot { snapshot, .. } => {
                let (at, asked) = (self.log.len(), self.clock.now());
                let what = Ask::DropSnapshot { stack: id, snapshot };
                let resource = ResourceId::default();
                self.node.outside.push(Outside { resource, at, asked, what });
            }
        }
    }

    /// A command to the project that all stacks are in.
    pub(super) fn ask_project(&mut self, command: ProjectCommand) -> Result<(), Refusal> {
        let clock = self.clock.clone();
        let moment = Moment::of(clock.as_ref());
        let stream = StreamId::project(&"p".into());
        let folded = self.log.fold(stream.as_str(), Project::default());
        let project = self.node.project.get_or_insert(folded);
        let mut next = Some(command);
        while let Some(command) = next {
            let decision = project.decide(&mut (), command, &moment, &())?;
            if !decision.events.is_empty() {
                let next = self.log.count(stream.as_str());
                let read = self.log.append(stream.as_str(), next, &decision.events, moment.now);
                let read = read.unwrap();
                read.iter().for_each(|event| project.apply(event, moment.now));
            }
            next = decision.then;
        }
        Ok(())
    }

    /// A command to a resource, from its stack or from outside.
    pub(super) fn ask_resource(&mut self, id: ResourceId, command: ResourceCommand) {
        if let Err(refusal) = self.try_resource(id, command) {
            self.tell(|| format!("refused: {refusal}"));
        }
    }

    /// A command to a resource that may refuse it.
    pub(super) fn try_resource(
        &mut self,
        id: ResourceId,
        command: ResourceCommand,
    ) -> Result<(), Refusal> {
        let clock = self.clock.clone();
        let Some(resource) = self.node.resources.get_mut(&id) else { return Ok(()) };
        let moment = Moment::of(clock.as_ref());
        let decision = resource.decide(command, &moment, &self.resource_knowledge)?;
        let refusal = self.carry_out_resource(id, decision);
        self.answer_adjusted(id);
        refusal.map_or(Ok(()), Err)
    }

    /// Carries a decision out, and says what its command was refused with all the same.
    fn carry_out_resource(
        &mut self,
        id: ResourceId,
        decision: Decision<Resource>,
    ) -> Option<Refusal> {
        let mut decision = decision;
        let clock = self.clock.clone();
        loop {
            let Decision { events, effects, then, refusal } = decision;
            clock.advance(chrono::TimeDelta::microseconds(1));
            let now = Moment::of(clock.as_ref()).now;
            if !events.is_empty() {
                let live = self.node.resources.get_mut(&id)?;
                let before = self.folds.resource((id, &live.name), &[], now);
                self.wrongs.extend(rules::resource_events(before, &events));
                let stream = StreamId::resource(id);
                let read = self.log.append(stream.as_str(), live.next, &events, now).unwrap();
                let fold = self.folds.resource((id, &live.name), &read, now);
                events.iter().for_each(|event| live.apply(event, now));
                self.wrongs.extend(resources_differ(live, fold));
                let leaves = leaves(fold);
                let name = live.name.clone();
                self.note_left(leaves);
                for event in &events {
                    self.tell(|| format!("  {name} {id:.8} {}", rules::resource_event_told(event)));
                }
            }
            for effect in effects {
                self.perform_resource(id, effect);
            }
            let (Some(then), Some(live)) = (then, self.node.resources.get_mut(&id)) else {
                return refusal;
            };
            let moment = Moment::of(clock.as_ref());
            decision = live.decide(then, &moment, &self.resource_knowledge).unwrap();
        }
    }

    fn perform_resource(&mut self, id: ResourceId, effect: ResourceEffect) {
        let Some(resource) = self.node.resources.get(&id) else { return };
        let (at, asked) = (self.log.len(), self.clock.now());
        match effect {
            ResourceEffect::Report => {
                let report = resource.report(&self.resource_knowledge);
                if (report.action, report.status) == (Action::Delete, Status::Complete) {
                    self.node.claims.forget(id);
                }
                if let Some(stack) = self.node.parents.get(&id).copied() {
                    let command = StackCommand::Report(Box::new(report));
                    self.post(Line::ToStack(id, stack), Mail::ToStack(command));
                }
            }
            ResourceEffect::Later { epoch, after } => {
                let at = self.after(after);
                self.node.timers.push(Timer { at, what: Due::Beat { resource: id, epoch } });
            }
            ResourceEffect::Call(call) => {
                let at = if call.step.mutates { at } else { 0 };
                // On record a call is made when it is due, however late its turn comes.
                let asked = if call.step.mutates { resource.called_at.min(asked) } else { asked };
                self.node.outside.push(Outside { resource: id, at, asked, what: Ask::Call(call) });
            }
            ResourceEffect::SeeFailed { epoch, driver_type, subject, .. } => {
                let what = Ask::SeeFailed { epoch, driver_type, subject };
                self.node.outside.push(Outside { resource: id, at: 0, asked, what });
            }
            ResourceEffect::SeeReality { epoch, driver_type, subject, .. } => {
                let what = Ask::SeeReality { epoch, driver_type, subject };
                self.node.outside.push(Outside { resource: id, at: 0, asked, what });
            }
            ResourceEffect::Observe { epoch, driver_type, subject, wanted, .. } => {
                let what = Ask::Observe { epoch, driver_type, subject, wanted };
                self.node.outside.push(Outside { resource: id, at: 0, asked, what });
            }
            ResourceEffect::SeeChild { epoch, driver_type, subject, nesting } => {
                let what = Ask::SeeChild { epoch, driver_type, subject, nesting };
                self.node.outside.push(Outside { resource: id, at: 0, asked, what });
            }
            ResourceEffect::HaltChild { child } => {
                let what = Ask::HaltChild(child);
                self.node.outside.push(Outside { resource: id, at: 0, asked, what });
            }
            ResourceEffect::CarryOutSignal { due, nesting, driver_type, subject, .. } => {
                let what = Ask::CarryOutSignal { due, driver_type, subject, nesting };
                self.node.outside.push(Outside { resource: id, at, asked, what });
            }
            ResourceEffect::Size { adjust, driver_type, subject } => {
                let what = Ask::Size { adjust, driver_type, subject };
                self.node.outside.push(Outside { resource: id, at: 0, asked, what });
            }
        }
    }

    /// Hands a message to whom it is for.
    pub(super) fn deliver(&mut self, line: Line, mail: Mail) {
        match (line, mail) {
            (Line::ToStack(_, stack), Mail::ToStack(command)) => {
                self.ask_stack(stack, command).unwrap();
            }
            (Line::ToResource(_, id), Mail::Tell { name, command }) => {
                self.wake_resource(id, &name);
                self.ask_resource(id, command);
            }
            (Line::ToResource(stack, id), Mail::Rouse) => {
                let name = self.stack(stack).rows.get(&id).map(|row| row.name.clone());
                self.wake_resource(id, &name.unwrap_or_default());
            }
            (Line::ToStack(..), Mail::Tell { .. } | Mail::Rouse)
            | (Line::ToResource(..), Mail::ToStack(_)) => unreachable!("a message for another"),
        }
    }

    /// The stack and its resources go to rest; what is on its way to them is lost with them.
    pub(super) fn rest(&mut self, id: StackId) {
        self.node.stacks.remove(&id);
        let own: Vec<ResourceId> =
            self.node.parents.iter().filter(|(_, of)| **of == id).map(|(id, _)| *id).collect();
        for resource in own {
            self.node.resources.remove(&resource);
            self.node.parents.remove(&resource);
            self.node.claims.rest(resource);
        }
        self.node.mail.retain(|line, _| match line {
            Line::ToResource(stack, _) | Line::ToStack(_, stack) => *stack != id,
        });
        let awake: BTreeSet<ResourceId> = self.node.resources.keys().copied().collect();
        self.node.outside.retain(|outside| match &outside.what {
            Ask::DropSnapshot { stack, .. } => *stack != id,
            _ => awake.contains(&outside.resource),
        });
        self.node.timers.retain(|timer| match &timer.what {
            Due::Deadline { stack, .. } => *stack != id,
            Due::Beat { resource, .. } => awake.contains(resource),
        });
        self.node.awaiting.retain(|(_, resource, _)| awake.contains(resource));
        self.node.adjusting.retain(|(_, _, policy, _)| awake.contains(policy));
        self.tell(|| format!("{id:.8} rests"));
    }

    /// A stack's actor breaks off with those of its resources, in the middle of anything, and is
    /// woken anew. What had left has left.
    pub(super) fn break_off(&mut self, id: StackId) {
        self.tell(|| format!("{id:.8} breaks off"));
        let own: BTreeSet<ResourceId> =
            self.node.parents.iter().filter(|(_, of)| **of == id).map(|(id, _)| *id).collect();
        let outside = std::mem::take(&mut self.node.outside);
        let (out, left) = outside.into_iter().partition(|it| own.contains(&it.resource));
        self.node.outside = left;
        self.lose(out);
        self.rest(id);
        self.wake_stack(id);
    }

    pub(super) fn tell(&mut self, told: impl FnOnce() -> String) {
        self.story.push(told());
    }
}
