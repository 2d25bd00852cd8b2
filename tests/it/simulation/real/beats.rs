//! The beats of real types: programs that are run ask by ask, each of which may go wrong, and the
//! last of which may be under way when the process dies.

use chrono::{DateTime, Utc};
use hearth::actors::claims::{Claimant, Claims};
use hearth::actors::resource::{Answered, BeatCall};
use hearth::clock::Clock;
use hearth::events::resource::Step;
use hearth::model::{JsonMap, ResourceId};
use hearth::openstack::{CloudError, Request, Response, answered};
use hearth::resource_types::asks::{Answer, Ask, Asks, Run};
use hearth::resource_types::recorded::life::World as _;
use hearth::resource_types::{Beat, Declared, Failure, Reality, Subject};

use super::Sandbox;
use crate::simulation::folds::Folds;
use crate::simulation::world::{Ask as Outside, World};
use crate::support::chance::Chance;

/// The most asks of a beat among which the process may die.
const ASKS_BEFORE_DEATH: u64 = 4;
/// The statuses of refusals, of whatever changes something and of what makes something.
const REFUSALS: [u16; 5] = [400, 409, 429, 500, 503];
const REFUSALS_OF_POST: [u16; 6] = [400, 404, 409, 429, 500, 503];

/// What left and is carried out later.
pub(in crate::simulation) enum Late {
    Beat(Box<BeatCall>),
    Request(Box<Request>),
}

impl Late {
    pub(in crate::simulation) fn told(&self) -> String {
        match self {
            Late::Beat(call) => format!("{} of {:?}", call.step.name, call.subject.name),
            Late::Request(request) => format!("{request:?}"),
        }
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Fine,
    /// Refused, or the service has broken down before it did anything.
    Refused(u16),
    /// It never arrives, or arrives later: nobody answers.
    Lost,
    /// It is carried out, and nobody hears of it.
    AnswerLost,
    /// It is carried out, and the service breaks down before it says so.
    Broken,
}

/// Who asks for a beat, and what goes wrong.
struct Asking<'a> {
    chance: &'a mut Chance,
    /// Each call goes wrong once in so many times; 0 is never.
    danger: u64,
    /// How many asks are answered before the process dies.
    dies_after: Option<u64>,
    /// Whether a call may have changed the cloud.
    has_changed: bool,
    lost: Vec<Request>,
    told: Vec<String>,
    claimant: Claimant,
    claims: &'a Claims,
    folds: &'a Folds,
}

impl Asking<'_> {
    fn fate(&mut self, request: &Request) -> Fate {
        if self.danger == 0 || !self.chance.one_in(self.danger) {
            return Fate::Fine;
        }
        let method = request.method.as_str();
        if request.method.is_read() {
            // What may be repeated at will was repeated.
            return if self.chance.one_in(2) { Fate::Refused(503) } else { Fate::Lost };
        }
        match self.chance.below(6) {
            0 | 1 if method == "POST" => {
                Fate::Refused(self.chance.one_of(&REFUSALS_OF_POST).unwrap())
            }
            0 | 1 => Fate::Refused(self.chance.one_of(&REFUSALS).unwrap()),
            2 | 3 => Fate::Lost,
            4 => Fate::AnswerLost,
            _ => Fate::Broken,
        }
    }

    fn send(&mut self, cloud: &mut Sandbox, request: &Request) -> Result<Response, CloudError> {
        let fate = self.fate(request);
        if !matches!(fate, Fate::Fine) {
            self.told.push(format!("    {request:?} is {fate:?}"));
        }
        let of = |status| answered(request, "http://sandbox.test", status, &[], "{}".into());
        let silence =
            || CloudError::Unanswered { url: String::new(), reason: "silence".to_owned() };
        let answer = match fate {
            Fate::Fine => cloud.send(request),
            Fate::Refused(status) => of(status),
            Fate::Lost => {
                self.lost.push(request.clone());
                Err(silence())
            }
            Fate::AnswerLost => {
                let _ = cloud.send(request);
                Err(silence())
            }
            Fate::Broken => {
                let _ = cloud.send(request);
                of(500)
            }
        };
        let may_be_done = answer.as_ref().map_or_else(CloudError::is_unanswered, |_| true);
        self.has_changed |= !request.method.is_read() && may_be_done;
        answer
    }

    /// The answer to a beat's next ask; the error is what was under way when the process died.
    fn answer(&mut self, cloud: &mut Sandbox, ask: &Ask) -> Option<Result<Answer, CloudError>> {
        if let Some(left) = &mut self.dies_after {
            if *left == 0 {
                match ask {
                    Ask::Call(request) => self.lost.push(request.clone()),
                    Ask::Calls(requests) => self.lost.extend(requests.first().cloned()),
                    _ => {}
                }
                return None;
            }
            *left -= 1;
        }
        Some(match ask {
            Ask::Claim { ids, named } => Ok(Answer::Claimed(self.claim(ids, *named))),
            Ask::Shares(id) => {
                let known = self.folds.holders(id);
                Ok(Answer::Shares(known.iter().any(|it| self.claimant.shares_with(it))))
            }
            _ => cloud.answer_by(ask, &mut |cloud, request| self.send(cloud, request)),
        })
    }

    /// The first object that nobody else has, as the engine finds it out.
    fn claim(&self, ids: &[String], named: bool) -> Option<String> {
        let is_free = |id: &&String| {
            let is_found = self.claims.find(&self.claimant, id, named);
            let known = self.folds.holders(id);
            let is_free = !known.iter().any(|it| self.claimant.yields_to(it, named));
            if is_found && !is_free {
                self.claims.release(&self.claimant, id, named);
            }
            is_found && is_free
        };
        ids.iter().find(is_free).cloned()
    }
}

/// Runs a beat as the engine's executor does; `None`: the process died.
fn run_beat(
    cloud: &mut Sandbox,
    asking: &mut Asking<'_>,
    step: &Step,
    program: impl Fn(&Asks<'_>) -> Result<Beat, Failure>,
) -> Option<Result<Beat, Failure>> {
    let mut run = Run::new(cloud.facts());
    loop {
        match run.go_on(&program) {
            Ok(outcome) => return Some(outcome),
            Err(ask) => {
                if let Some(beat) = ask.held_back(step) {
                    return Some(Ok(beat));
                }
                let answer = asking.answer(cloud, &ask)?;
                run.answered(ask, answer);
            }
        }
    }
}

/// Runs a program to whose asks nothing happens.
pub(super) fn run_through<T>(cloud: &mut Sandbox, program: impl Fn(&Asks<'_>) -> T) -> T {
    let mut run = Run::new(cloud.facts());
    loop {
        match run.go_on(&program) {
            Ok(outcome) => return outcome,
            Err(ask) => {
                let answer = cloud.answer(&ask);
                run.answered(ask, answer);
            }
        }
    }
}

impl World {
    /// Whether calls go to the sandbox.
    pub(in crate::simulation) fn is_real(&self) -> bool {
        self.real.is_some()
    }

    /// Plays a beat of a real type, and says what came of it.
    pub(in crate::simulation) fn play_beat(
        &mut self,
        resource: ResourceId,
        call: &BeatCall,
        asked: DateTime<Utc>,
    ) {
        let Some(mut result) = self.run_real_beat(resource, call, asked, None) else { return };
        if let (Ok(Beat::Replace { .. }), Some(id)) = (&result, call.subject.resource_id) {
            self.cloud.surprised.extend(Some(id));
        }
        let mut attributes = JsonMap::new();
        if let Ok(Beat::Done { learned }) = &mut result
            && !call.observe.is_empty()
        {
            let mut subject = call.subject.clone();
            subject.physical_id = learned.physical_id.clone().or(subject.physical_id);
            subject.data.extend(learned.data.clone());
            attributes = self.real_attributes(&call.driver_type, &subject, &call.observe);
        }
        let answered =
            Answered { epoch: call.epoch, result, kept: None, attributes, reality: None };
        let (driver_type, subject) = (call.driver_type.clone(), call.subject.clone().into());
        self.push(resource, Outside::Hear { driver_type, subject, answered: Box::new(answered) });
    }

    /// The process dies somewhere in a beat.
    pub(in crate::simulation) fn die_in_beat(
        &mut self,
        resource: ResourceId,
        call: &BeatCall,
        asked: DateTime<Utc>,
    ) {
        let dies_after = self.chance.below(ASKS_BEFORE_DEATH);
        self.run_real_beat(resource, call, asked, Some(dies_after));
    }

    fn run_real_beat(
        &mut self,
        resource: ResourceId,
        call: &BeatCall,
        asked: DateTime<Utc>,
        dies_after: Option<u64>,
    ) -> Option<Result<Beat, Failure>> {
        let driver = self.stack_knowledge.registry.driver(&call.driver_type).unwrap();
        let BeatCall { work, subject, step, attempt, .. } = call;
        let mut asking = Asking {
            chance: &mut self.chance,
            danger: self.dangers.call,
            dies_after,
            has_changed: false,
            lost: Vec::new(),
            told: Vec::new(),
            claimant: Claimant::of(self.folds.resources.get(&resource)?),
            claims: &self.node.claims,
            folds: &self.folds,
        };
        let mut cloud = self.real.as_ref().unwrap().borrow_mut();
        let program = |asks: &Asks<'_>| driver.beat(asks, work, subject, step, *attempt);
        let outcome = run_beat(&mut cloud, &mut asking, step, program);
        drop(cloud);
        let Asking { has_changed, lost, told, .. } = asking;
        self.story.extend(told);
        for request in lost.into_iter().filter(|request| !request.method.is_read()) {
            if self.chance.one_in(2) {
                self.let_come_late(Late::Request(Box::new(request)), asked);
            }
        }
        let after_change = |error| match has_changed {
            true => Failure::AfterChange(Box::new(error)),
            false => error,
        };
        Some(outcome?.map_err(after_change))
    }

    pub(in crate::simulation) fn real_attributes(
        &self,
        driver_type: &str,
        subject: &Subject,
        wanted: &[String],
    ) -> JsonMap {
        let driver = self.stack_knowledge.registry.driver(driver_type).unwrap();
        let mut cloud = self.real.as_ref().unwrap().borrow_mut();
        let wanted = if wanted.iter().any(|name| name == "*") { &[] } else { wanted };
        run_through(&mut cloud, |asks| driver.attributes(asks, subject, wanted)).unwrap_or_default()
    }

    /// What a real type sees of a resource; what it cannot see counts as it is on record.
    pub(in crate::simulation) fn real_reality(
        &self,
        driver_type: &str,
        subject: &Subject,
    ) -> Reality {
        let driver = self.stack_knowledge.registry.driver(driver_type).unwrap();
        let mut cloud = self.real.as_ref().unwrap().borrow_mut();
        run_through(&mut cloud, |asks| driver.reality(asks, subject))
            .unwrap_or_else(|_| Reality::Differs(JsonMap::new()))
    }

    /// What a real type says of a resource that failed.
    pub(in crate::simulation) fn really_replaces_failed(
        &self,
        driver: &Declared,
        subject: &Subject,
    ) -> Result<bool, Failure> {
        let mut cloud = self.real.as_ref().unwrap().borrow_mut();
        run_through(&mut cloud, |asks| driver.replace_failed(asks, subject))
    }

    /// A call that left arrives.
    pub(in crate::simulation) fn arrive(&mut self, late: Late) {
        match late {
            Late::Beat(call) => {
                let _ = self.cloud.carry_out(&call, crate::simulation::cloud::Fate::Fine);
            }
            Late::Request(request) => {
                let _ = self.real.as_ref().unwrap().borrow_mut().send(&request);
            }
        }
        self.cloud.now = self.clock.now();
    }
}
