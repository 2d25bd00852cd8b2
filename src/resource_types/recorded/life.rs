//! The life of one resource without a cloud and without an engine: its type's program, played to
//! whoever answers what it asks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::Value;

use crate::clock::{Moment, SimulatedClock};
use crate::events::resource::Step;
use crate::model::{Action, JsonMap, Refusal};
use crate::openstack::CloudError;
use crate::resource_types::asks::{Answer, Ask, Asks, Facts, Run};
use crate::resource_types::job::{SignalOutcome, Signaled};
use crate::resource_types::registry::Registry;
use crate::resource_types::{Attempt, Beat, Declared, Failure, Learned, Subject, UpdateKind, Work};

/// How many beats an action may take.
const BEATS_MAX: usize = 300;
/// How often a call that failed transiently is made again.
const RETRIES_MAX: usize = 5;
/// How much time passes while something is waited for.
const WAIT: Duration = Duration::from_secs(5);

/// Whoever answers.
pub trait World {
    fn answer(&mut self, ask: &Ask) -> Result<Answer, CloudError>;

    /// Whether the process is killed now: after a beat, and before what it came to is on record.
    fn kills(&mut self) -> bool {
        false
    }

    /// How long is waited, and what the resource is told of at the end of it.
    fn wait(&mut self, _subject: &mut Subject, at_most: Option<Duration>) -> Duration {
        at_most.unwrap_or(WAIT)
    }
}

/// How an action ended that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// There is nothing to be done in place: why the resource is replaced.
    Replaced(String),
    /// The type does nothing of its own for it.
    Nothing,
}

/// A resource, and what its type is told of it.
pub struct Life<'a> {
    registry: &'a Registry,
    type_name: String,
    driver: Arc<Declared>,
    pub subject: Subject,
    /// The properties as a template has them.
    given: JsonMap,
    facts: Facts,
}

impl<'a> Life<'a> {
    /// A resource that is not made yet; `None` where there is no such type.
    pub fn new(
        registry: &'a Registry,
        type_name: &str,
        subject: Subject,
        facts: Facts,
    ) -> Option<Self> {
        let driver = registry.driver(type_name)?;
        let (type_name, given) = (type_name.to_owned(), JsonMap::new());
        Some(Self { registry, type_name, driver, subject, given, facts })
    }

    pub fn create(&mut self, given: JsonMap, world: &mut impl World) -> Result<End, Failure> {
        self.given = given.clone();
        self.subject.properties = self.accepted(given)?;
        self.work(&Work::Create, world)
    }

    /// Changes properties; null takes one away.
    pub fn update(&mut self, changes: &JsonMap, world: &mut impl World) -> Result<End, Failure> {
        let before = self.subject.properties.clone();
        let mut given = self.given.clone();
        given.extend(changes.clone());
        given.retain(|_, value| !value.is_null());
        let after = self.accepted(given.clone())?;
        let changed: BTreeSet<String> = self.registry.changed(&self.type_name, &before, &after);
        if changed.is_empty() {
            return Ok(End::Nothing);
        }
        self.subject.properties = after;
        match self.driver.on_change(&self.subject, &before, &changed) {
            UpdateKind::Nothing => Ok(End::Nothing),
            UpdateKind::Replace { reason } => {
                self.subject.properties = before;
                Ok(End::Replaced(reason))
            }
            UpdateKind::Refuse(text) => {
                self.subject.properties = before;
                Err(Failure::Unsupported(text))
            }
            UpdateKind::InPlace => {
                let work = Work::Update { before: before.clone(), changed };
                let end = self.work(&work, world);
                match &end {
                    // What failed is not what there is.
                    Err(_) => self.subject.properties = before,
                    Ok(_) => self.given = given,
                }
                end
            }
        }
    }

    pub fn delete(&mut self, world: &mut impl World) -> Result<End, Failure> {
        self.work(&Work::Delete, world)
    }

    /// SUSPEND, RESUME, CHECK or SNAPSHOT.
    pub fn act(&mut self, action: Action, world: &mut impl World) -> Result<End, Failure> {
        match self.driver.acts(action) {
            true => self.work(&Work::Act(action), world),
            false => Ok(End::Nothing),
        }
    }

    pub fn delete_snapshot(&mut self, world: &mut impl World) -> Result<End, Failure> {
        for _ in 0..BEATS_MAX {
            let data = &self.subject.data;
            match self.run(world, |cloud| self.driver.program().delete_snapshot(cloud, data)) {
                Ok(true) => return Ok(End::Done),
                Ok(false) => {}
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
        }
        Err(endless())
    }

    /// A signal that says nothing, where it asks for calls.
    pub fn signal(&mut self, world: &mut impl World) -> Result<End, Failure> {
        let details = Value::Null;
        let program = self.driver.program();
        if program.signal(&self.subject, &details) != Signaled::Work {
            return Ok(End::Nothing);
        }
        let mut failures = 0;
        loop {
            let carry_out =
                |cloud: &Asks<'_>| program.carry_out_signal(cloud, &self.subject, &details);
            match self.run(world, carry_out) {
                Ok(SignalOutcome { data, metadata, .. }) => {
                    self.learn(Learned { data, metadata, ..Learned::default() });
                    return Ok(End::Done);
                }
                Err(error) if error.is_transient() && failures < RETRIES_MAX => failures += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The object as its service shows it.
    pub fn shown(&self, world: &mut impl World) -> Result<JsonMap, Failure> {
        let wanted = ["show".to_owned()];
        self.run(world, |cloud| self.driver.attributes(cloud, &self.subject, &wanted))
    }

    fn accepted(&self, given: JsonMap) -> Result<JsonMap, Refusal> {
        self.registry.accept(&"r".into(), &self.type_name, given, self.facts.now)
    }

    fn run<T>(&self, world: &mut impl World, program: impl Fn(&Asks<'_>) -> T) -> T {
        let mut run = Run::new(self.facts.clone());
        loop {
            match run.go_on(&program) {
                Ok(outcome) => return outcome,
                Err(ask) => {
                    let answer = world.answer(&ask);
                    run.answered(ask, answer);
                }
            }
        }
    }

    /// One beat; a step that only looks comes again as one that changes something, as in the
    /// engine, where it asks for that.
    fn beat(
        &self,
        work: &Work,
        step: &Step,
        attempt: Attempt,
        world: &mut impl World,
    ) -> Result<Beat, Failure> {
        let mut run = Run::new(self.facts.clone());
        let program =
            |cloud: &Asks<'_>| self.driver.beat(cloud, work, &self.subject, step, attempt);
        loop {
            match run.go_on(program) {
                Ok(outcome) => return outcome,
                Err(ask) => {
                    if let Some(beat) = ask.held_back(step) {
                        return Ok(beat);
                    }
                    let answer = world.answer(&ask);
                    run.answered(ask, answer);
                }
            }
        }
    }

    fn work(&mut self, work: &Work, world: &mut impl World) -> Result<End, Failure> {
        let clock = SimulatedClock::new(1);
        if let Some(outcome) = self.driver.local(work, &self.subject, &Moment::of(&clock)) {
            self.learn(outcome?.learned);
            return Ok(End::Done);
        }
        let mut step = self.driver.first(work, &self.subject);
        let (mut attempt, mut failures) = (Attempt::First, 0);
        for _ in 0..BEATS_MAX {
            let beat = self.beat(work, &step, attempt, world);
            if world.kills() {
                // A look leaves nothing on record; of what changes something the intent is.
                let is_intended = step.mutates || step.commands;
                attempt = if is_intended { Attempt::Unanswered } else { Attempt::First };
                continue;
            }
            match beat {
                Ok(Beat::Next { learned, next }) => {
                    self.learn(learned);
                    (step, attempt, failures) = (on_record(next), Attempt::First, 0);
                }
                Ok(Beat::Wait { after }) => {
                    let passed = world.wait(&mut self.subject, after);
                    self.facts.now += TimeDelta::from_std(passed).unwrap_or_default();
                    attempt = Attempt::First;
                }
                Ok(Beat::Done { learned }) => {
                    self.learn(learned);
                    return Ok(End::Done);
                }
                Ok(Beat::Replace { reason }) => return Ok(End::Replaced(reason)),
                Err(error) if error.is_transient() && failures < RETRIES_MAX => {
                    failures += 1;
                    if error.is_unanswered() {
                        attempt = Attempt::Unanswered;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(endless())
    }

    fn learn(&mut self, learned: Learned) {
        let Learned { physical_id, data, metadata } = learned;
        self.subject.physical_id = physical_id.or(self.subject.physical_id.take());
        self.subject.data.extend(data);
        self.subject.data.retain(|_, value| !value.is_null());
        self.subject.metadata.extend(metadata);
    }
}

/// A step as it is read again from the log.
fn on_record(step: Step) -> Step {
    let written = serde_json::to_value(&step);
    written.and_then(serde_json::from_value).unwrap_or(step)
}

fn endless() -> Failure {
    Failure::Failed("It does not come to an end.".to_owned())
}
