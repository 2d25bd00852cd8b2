//! One step at a time: which of all that could happen next does.

use std::time::Duration;

use hearth::actors::claims::Claimant;
use hearth::actors::resource::{Answered, ResourceCommand};
use hearth::actors::stack::{Stack, StackCommand};
use hearth::clock::Clock;
use hearth::model::{JsonMap, StackId};
use hearth::resource_types::{Beat, Failure, Reality, Subject};

use super::cloud::{Fate, property_of};
use super::declared::{OBJECT, TEST_RESOURCE};
use super::deployments::DEPLOYMENT;
use super::live::Live;
use super::log::Commit;
use super::real::Late;
use super::world::{Ask, Due, Line, World};

/// More steps than any life takes.
const STEPS_MAX: u32 = 30_000;

/// The longest time that passes while a call is out.
const CALL_MAX: Duration = Duration::from_secs(20);

/// For how long the log may answer nothing: a cluster that loses a node is back before.
const SILENCE_MAX_MS: u64 = 15_000;

/// How seldom a user looks whether anybody waits for a word.
const NUDGE: u64 = 40;

/// What may happen next.
enum Next {
    Deliver(Line),
    Outside(usize),
    Commit,
    Time,
}

impl World {
    /// Steps until nothing is left to happen; `false` where that never comes.
    pub(super) fn run(&mut self) -> bool {
        for _ in 0..STEPS_MAX {
            if !self.is_healthy() || !self.step() {
                return true;
            }
        }
        self.wrongs.push("it goes on for ever".to_owned());
        false
    }

    /// Steps so many times, or until nothing is left to happen.
    pub(super) fn run_steps(&mut self, steps: u64) {
        for _ in 0..steps {
            if !self.is_healthy() || !self.step() {
                return;
            }
        }
    }

    /// Whether nothing was wrong so far.
    pub(super) fn is_healthy(&self) -> bool {
        self.wrongs.is_empty() && self.cloud.wrongs.is_empty()
    }

    fn step(&mut self) -> bool {
        self.read_elsewhere();
        let danger = self.dangers.crash;
        if danger > 0 && self.crashes < 3 && self.chance.one_in(danger) {
            self.crash();
            return true;
        }
        if danger > 0 && self.chance.one_in(danger) {
            self.rest_one();
        }
        if danger > 0 && self.node.stacks.len() > 1 && self.chance.one_in(danger) {
            self.break_one_off();
        }
        let mut choices: Vec<(u64, Next)> = Vec::new();
        choices.extend(self.node.mail.keys().map(|line| (4, Next::Deliver(*line))));
        for (index, outside) in self.node.outside.iter().enumerate() {
            if self.log.is_durable(outside.at) && self.is_let_through(outside.resource) {
                choices.push((3, Next::Outside(index)));
            }
        }
        if self.log.is_behind() && self.silent_until.is_none() {
            choices.push((3, Next::Commit));
        }
        if self.let_through.is_none() && (choices.is_empty() || self.chance.one_in(NUDGE)) {
            let nudged = self.nudge();
            if nudged || choices.is_empty() {
                return nudged || self.let_time_pass();
            }
        }
        if choices.is_empty() {
            return self.let_time_pass();
        }
        if self.is_due_soon() || self.silent_until.is_some() {
            choices.push((1, Next::Time));
        }
        let total = choices.iter().map(|(weight, _)| weight).sum();
        let mut chosen = self.chance.below(total);
        for (weight, next) in choices {
            if chosen < weight {
                self.take(next);
                return true;
            }
            chosen -= weight;
        }
        true
    }

    fn take(&mut self, next: Next) {
        match next {
            Next::Deliver(line) => {
                let Some(queue) = self.node.mail.get_mut(&line) else { return };
                let mail = queue.pop_front();
                if queue.is_empty() {
                    self.node.mail.remove(&line);
                }
                if let Some(mail) = mail {
                    self.deliver(line, mail);
                }
            }
            Next::Outside(index) => self.go_outside(index),
            Next::Commit => self.commit(),
            Next::Time => {
                self.let_time_pass();
            }
        }
    }

    /// Some of what waits is written, as far as nothing goes wrong.
    fn commit(&mut self) {
        if self.log.is_in_doubt() {
            return self.log.settle();
        }
        let appends = 1 + self.chance.below(self.log.waiting() as u64) as usize;
        let danger = self.dangers.commit;
        if danger == 0 || !self.chance.one_in(danger) {
            return self.log.commit(appends, Commit::Acknowledged);
        }
        let commit = [Commit::AnswerLost, Commit::Refused][self.chance.below(2) as usize];
        match self.chance.below(4) {
            0 => self.fall_back(),
            1 => {
                let silence = self.chance.millis(500..SILENCE_MAX_MS);
                self.tell(|| format!("the log is silent for {silence:?}"));
                self.silent_until = Some(self.after(silence));
            }
            _ => {
                self.tell(|| format!("a commit is {commit:?}"));
                self.log.commit(appends, commit);
            }
        }
    }

    fn is_let_through(&self, resource: hearth::model::ResourceId) -> bool {
        let Some(names) = &self.let_through else { return true };
        let name = self.node.resources.get(&resource).map(|resource| resource.name.as_str());
        names.iter().any(|let_through| Some(let_through.as_str()) == name)
    }

    fn go_outside(&mut self, index: usize) {
        let outside = self.node.outside.swap_remove(index);
        let resource = outside.resource;
        let command = match outside.what {
            Ask::Call(call) if call.nesting.is_some() => {
                return self.begin_child_beat(resource, call);
            }
            Ask::Call(call) if self.is_real() => {
                return self.play_beat(resource, &call, outside.asked);
            }
            Ask::Call(call) => {
                let fate = self.fate(&call);
                if fate != Fate::Fine {
                    let name = call.subject.name.clone().unwrap_or_default();
                    self.tell(|| format!("    {name}: {} is {fate:?}", call.step.name));
                }
                self.cloud.now = self.clock.now();
                let result = self.cloud.answer(&call, fate);
                let physical_id = match &result {
                    Ok(Beat::Done { learned }) => learned.physical_id.clone(),
                    _ => None,
                };
                let attributes = match &result {
                    Ok(Beat::Done { .. }) if !call.observe.is_empty() => {
                        let id = physical_id.or(call.subject.physical_id.clone());
                        self.cloud.attributes(id.as_deref(), &call.observe)
                    }
                    _ => JsonMap::new(),
                };
                let epoch = call.epoch;
                if fate == Fate::Lost && self.chance.one_in(2) {
                    self.let_come_late(Late::Beat(call), outside.asked);
                }
                let answered = Answered { epoch, result, kept: None, attributes, reality: None };
                let answered = ResourceCommand::Answered(Box::new(answered));
                return self.come_back(resource, answered);
            }
            Ask::ComeBack(command) => *command,
            Ask::Hear { driver_type, subject, mut answered } => {
                let driver = self.stack_knowledge.registry.driver(&driver_type).unwrap();
                if let Some(live) = self.node.resources.get(&resource) {
                    let (claims, claimant) = (&self.node.claims, Claimant::of(live));
                    answered.result = claims.learned(&claimant, &driver, &subject, answered.result);
                }
                ResourceCommand::Answered(answered)
            }
            Ask::TellChild { nest, telling } => return self.tell_child(resource, nest, *telling),
            Ask::ChildEnded { nest, end } => return self.child_ended(resource, &nest, &end),
            Ask::SeeChild { epoch, driver_type, subject, nesting } => {
                let differs = self.child_differs(driver_type, subject, nesting);
                ResourceCommand::ChildSeen { epoch, differs }
            }
            Ask::HaltChild(child) => return self.halt_child(child),
            Ask::CarryOutSignal { due, driver_type, subject, nesting } => {
                return self.carry_out_signal(resource, due, driver_type, subject, *nesting);
            }
            Ask::Size { adjust, driver_type, subject } => {
                self.size(&adjust, &driver_type, &subject)
            }
            Ask::DropSnapshot { stack, snapshot } => {
                let fails = self.dangers.call > 0 && self.chance.one_in(self.dangers.call);
                let result = if fails { Err("it stays".to_owned()) } else { Ok(()) };
                self.tell(|| format!("    a snapshot is dropped: {result:?}"));
                let dropped = StackCommand::SnapshotDropped { snapshot, result };
                return self.ask_stack(stack, dropped).unwrap();
            }
            Ask::SeeFailed { epoch, driver_type, subject } => {
                let is_unreachable = self.dangers.call > 0 && self.chance.one_in(self.dangers.call);
                let replace = match self.nests(&driver_type) {
                    true => Ok(subject.physical_id.is_none()),
                    false if is_unreachable => Err(Failure::Silent("no answer".to_owned())),
                    false if self.is_real() => {
                        let driver = self.stack_knowledge.registry.driver(&driver_type).unwrap();
                        self.really_replaces_failed(&driver, &subject)
                    }
                    false => Ok(self.cloud.replaces_failed(&subject)),
                };
                ResourceCommand::FailedSeen { epoch, replace }
            }
            Ask::SeeReality { epoch, driver_type, subject } => {
                let reality = match self.is_real() {
                    true => self.real_reality(&driver_type, &subject),
                    false if driver_type == TEST_RESOURCE => Reality::Differs(JsonMap::new()),
                    false => self.cloud.reality(&subject),
                };
                ResourceCommand::RealitySeen { epoch, reality }
            }
            Ask::Observe { epoch, driver_type, subject, wanted } => {
                let id = subject.physical_id.as_deref();
                let mut attributes = match self.nests(&driver_type) {
                    true => self.child_attributes(&driver_type, &subject, &wanted),
                    false if self.is_real() => {
                        self.real_attributes(&driver_type, &subject, &wanted)
                    }
                    false if driver_type == TEST_RESOURCE => kept(&subject, &wanted),
                    false => self.cloud.attributes(id, &wanted),
                };
                for name in wanted {
                    attributes.entry(name).or_insert(serde_json::Value::Null);
                }
                ResourceCommand::Observed { epoch, attributes }
            }
        };
        self.ask_resource(resource, command);
    }

    fn nests(&self, driver_type: &str) -> bool {
        let driver = self.stack_knowledge.registry.driver(driver_type);
        driver.is_some_and(|driver| driver.nests().is_some())
    }

    fn fate(&mut self, call: &hearth::actors::resource::BeatCall) -> Fate {
        let danger = self.dangers.call;
        let asks_the_cloud = [OBJECT, DEPLOYMENT].contains(&call.driver_type.as_str());
        if danger == 0 || !asks_the_cloud || !self.chance.one_in(danger) {
            return Fate::Fine;
        }
        match self.chance.below(if call.step.mutates { 8 } else { 2 }) {
            0 => Fate::Busy,
            1 => Fate::Refused,
            2 => Fate::Conflict,
            3 | 4 => Fate::Lost,
            5 => Fate::AnswerLost,
            6 => Fate::EndsInError,
            _ if self.chance.one_in(4) => Fate::Hangs,
            _ => Fate::AnswerLost,
        }
    }

    /// Whether time may pass while others are at work: no call takes longer than this.
    fn is_due_soon(&self) -> bool {
        let soon = self.after(CALL_MAX);
        let mut due = self.node.timers.iter().map(|timer| timer.at);
        self.dangers.call > 0 && self.let_through.is_none() && due.any(|at| at < soon)
    }

    /// Goes to the next moment at which something is due; `false` where nothing is, or only the
    /// deadlines of what is over.
    fn let_time_pass(&mut self) -> bool {
        let timer = (0..self.node.timers.len()).min_by_key(|index| self.node.timers[*index].at);
        let late = (0..self.late.len()).min_by_key(|index| self.late[*index].0);
        if let Some(until) = self.silent_until
            && timer.is_none_or(|timer| until <= self.node.timers[timer].at)
            && late.is_none_or(|late| until <= self.late[late].0)
        {
            self.pass_time(until);
            self.silent_until = None;
            return true;
        }
        if let Some(late) = late
            && timer.is_none_or(|timer| self.late[late].0 <= self.node.timers[timer].at)
        {
            let (at, call) = self.late.swap_remove(late);
            self.pass_time(at);
            self.tell(|| format!("    late: {}", call.told()));
            self.arrive(call);
            return true;
        }
        let Some(timer) = timer else { return false };
        if let Due::Deadline { stack, traversal } = &self.node.timers[timer].what {
            let running = self.node.stacks.get(stack).filter(|stack| stack.in_progress());
            let counts = running.and_then(|stack| stack.traversal.as_ref());
            if counts.is_none_or(|running| running.id != *traversal) {
                self.node.timers.swap_remove(timer);
                return true;
            }
            // Under a gate somebody is kept waiting; else nobody but the clock would end it.
            if self.let_through.is_some() {
                return false;
            }
            let beats = self.node.timers.iter().any(|timer| matches!(timer.what, Due::Beat { .. }));
            let works = beats || !self.node.mail.is_empty() || !self.node.outside.is_empty();
            if !works && late.is_none() {
                self.wrongs.push("nothing but the deadline would end what is at work".to_owned());
            }
        }
        let timer = self.node.timers.swap_remove(timer);
        self.pass_time(timer.at);
        match timer.what {
            Due::Deadline { stack, traversal } => {
                self.tell(|| format!("time is over at {}", timer.at));
                let timed_out = StackCommand::TimedOut { traversal };
                self.ask_stack(stack, timed_out).unwrap();
            }
            Due::Beat { resource, epoch } => {
                self.ask_resource(resource, ResourceCommand::Due { epoch });
            }
        }
        true
    }

    /// Lets the time of what the stack does run out.
    pub(super) fn time_out(&mut self, stack: StackId) {
        let running = self.node.stacks.get(&stack).and_then(|stack| stack.traversal.as_ref());
        let Some(traversal) = running.map(|traversal| traversal.id) else { return };
        self.pass_time(self.clock.now());
        self.ask_stack(stack, StackCommand::TimedOut { traversal }).unwrap();
    }

    fn break_one_off(&mut self) {
        let awake: Vec<StackId> = self.node.stacks.keys().copied().collect();
        let id = awake[self.chance.below(awake.len() as u64) as usize];
        self.break_off(id);
    }

    fn rest_one(&mut self) {
        let awaited = |id: StackId| self.node.awaiting.iter().any(|(of, ..)| *of == id);
        let at_rest = |stack: &&Live<Stack>| stack.view().at_rest() && !awaited(stack.id);
        let Some(id) = self.node.stacks.values().find(at_rest).map(|stack| stack.id) else {
            return;
        };
        self.rest(id);
    }
}

/// The attributes of a resource that is nothing in a cloud.
fn kept(subject: &Subject, wanted: &[String]) -> JsonMap {
    let value = |name: &String| subject.data.get(property_of(name)).cloned();
    wanted.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect()
}
