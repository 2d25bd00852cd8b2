//! The model cloud: what it holds, how it answers a beat, and what it sees that must not be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use hearth::actors::resource::BeatCall;
use hearth::events::resource::Step;
use hearth::model::JsonMap;
use hearth::openstack::CloudError;
use hearth::resource_types::{Attempt, Beat, Failure, Learned, Reality, Subject, Work};
use serde_json::Value;

use super::declared::{CONDITION, HANDLE};
use super::deployments::DEPLOYMENT;
use super::folds::Left;
use super::plans::Surprised;
use super::policy::Policy;
use super::waiting::{address, wait};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Fine,
    /// Refused for good.
    Refused,
    /// Refused for the moment.
    Busy,
    /// Another object is in the way.
    Conflict,
    /// It never arrives, or arrives later: nobody answers.
    Lost,
    /// It is carried out, and nobody hears of it.
    AnswerLost,
    /// It is carried out, and what it makes goes to an error state.
    EndsInError,
    /// It is carried out, and what it makes is never ready.
    Hangs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Ready after so many looks.
    Ready(u32),
    Error,
    Hanging,
}

/// An object that exists.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) token: String,
    pub(super) properties: JsonMap,
    state: State,
}

#[derive(Default)]
pub(super) struct Cloud {
    pub(super) objects: BTreeMap<String, Object>,
    /// What must never be seen.
    pub(super) wrongs: Vec<String>,
    /// The time by the world's clock.
    pub(super) now: DateTime<Utc>,
    made: u32,
    pub(super) surprised: Surprised,
    /// What deletions have left to itself.
    pub(super) left: Left,
    /// The objects of which a copy was kept before they were deleted.
    pub(super) copies: BTreeSet<String>,
}

impl Cloud {
    /// Carries a call out, or not, and says what the caller hears.
    pub(super) fn answer(&mut self, call: &BeatCall, fate: Fate) -> Result<Beat, Failure> {
        // What is found is not made again, so nothing is in its way.
        let found =
            call.attempt == Attempt::Unanswered && self.find(&call.subject.physical_name).is_some();
        let fate = match fate {
            Fate::Refused | Fate::Conflict if found => Fate::Fine,
            fate => fate,
        };
        let status = match fate {
            Fate::Fine | Fate::EndsInError | Fate::Hangs => return self.carry_out(call, fate),
            Fate::Refused => 400,
            Fate::Busy => 429,
            Fate::Conflict => 409,
            Fate::Lost => 504,
            Fate::AnswerLost => {
                let _ = self.carry_out(call, Fate::Fine);
                504
            }
        };
        let (class, message) = ("BadRequest".into(), format!("{fate:?}"));
        Err(CloudError::Answered { status, class, message, retry_after: None }.into())
    }

    /// Carries a call out as if nothing had happened to it.
    pub(super) fn carry_out(&mut self, call: &BeatCall, fate: Fate) -> Result<Beat, Failure> {
        let subject = &call.subject;
        match call.driver_type.as_str() {
            HANDLE => return Ok(address(call)),
            name if Policy::of(name).is_some() => return Ok(address(call)),
            CONDITION => return wait(call, self.now),
            DEPLOYMENT => return self.deploy(call, fate),
            _ => {}
        }
        match call.step.name.as_str() {
            "create" => Ok(self.create(subject, call.attempt, fate)),
            "update" => self.update(call, fate),
            "find" => Ok(match self.find(&subject.physical_name) {
                Some(id) => next(Some(id), "delete", true),
                None => done(),
            }),
            "delete" => {
                let id = subject.physical_id.clone().unwrap_or_default();
                self.delete(&id);
                if subject.kept_first {
                    self.copies.insert(id);
                }
                Ok(done())
            }
            "ready" | "check" => self.look(subject),
            other => panic!("the model cloud knows no step {other:?}"),
        }
    }

    /// Whether a failed object is to be replaced: one that is gone or in error is.
    pub(super) fn replaces_failed(&self, subject: &Subject) -> bool {
        let object = subject.physical_id.as_ref().and_then(|id| self.objects.get(id));
        object.is_none_or(|object| !matches!(object.state, State::Ready(_)))
    }

    /// What there is of a resource, which nobody else changes.
    pub(super) fn reality(&self, subject: &Subject) -> Reality {
        match subject.physical_id.as_ref().is_some_and(|id| self.objects.contains_key(id)) {
            true => Reality::Differs(JsonMap::new()),
            false => Reality::Gone,
        }
    }

    /// What exists and was not left to itself.
    pub(super) fn held(&self) -> impl Iterator<Item = (&String, &Object)> {
        self.objects.iter().filter(|(id, object)| !self.left.has(id, &object.token))
    }

    /// The attributes asked for.
    pub(super) fn attributes(&self, id: Option<&str>, wanted: &[String]) -> JsonMap {
        let object = id.and_then(|id| self.objects.get(id));
        let value = |name: &String| {
            object
                .and_then(|object| object.properties.get(property_of(name)))
                .cloned()
                .unwrap_or(Value::Null)
        };
        wanted.iter().map(|name| (name.clone(), value(name))).collect()
    }

    pub(super) fn find(&self, token: &str) -> Option<String> {
        let found = self.objects.iter().find(|(_, object)| object.token == token);
        found.map(|(id, _)| id.clone())
    }

    fn create(&mut self, subject: &Subject, attempt: Attempt, fate: Fate) -> Beat {
        next(Some(self.make(subject, attempt, fate)), "ready", false)
    }

    /// Makes an object, and gives its id.
    pub(super) fn make(&mut self, subject: &Subject, attempt: Attempt, fate: Fate) -> String {
        let token = &subject.physical_name;
        let found = self.find(token);
        if let (Some(id), Attempt::Unanswered) = (&found, attempt) {
            return id.clone();
        }
        if found.is_some() {
            self.wrongs.push(format!("{token} is made twice"));
        }
        for used in uses(&subject.properties) {
            if !self.objects.contains_key(&used) && !self.left.tokens.contains(token) {
                self.wrongs.push(format!("{token} is made to use {used}, which is gone"));
            }
        }
        self.made += 1;
        let id = format!("object-{}", self.made);
        let object = Object {
            token: token.clone(),
            properties: subject.properties.clone(),
            state: match fate {
                Fate::EndsInError => State::Error,
                Fate::Hangs => State::Hanging,
                _ => State::Ready(self.made % 3),
            },
        };
        self.objects.insert(id.clone(), object);
        id
    }

    fn update(&mut self, call: &BeatCall, fate: Fate) -> Result<Beat, Failure> {
        let Work::Update { changed, .. } = &call.work else { panic!("{:?}", call.work) };
        if changed.contains("late") {
            let name = call.subject.name.as_ref().unwrap();
            self.surprised.extend(call.subject.resource_id);
            let reason = format!("The Resource {name} requires replacement.");
            return Ok(Beat::Replace { reason });
        }
        let object = self.present(&call.subject)?;
        object.properties = call.subject.properties.clone();
        if fate == Fate::EndsInError {
            object.state = State::Error;
        }
        Ok(next(None, "ready", false))
    }

    pub(super) fn delete(&mut self, id: &str) {
        if self.objects.remove(id).is_none() {
            return;
        }
        let user = self
            .held()
            .find(|(_, object)| uses(&object.properties).iter().any(|used| used == id))
            .map(|(_, object)| object.clone());
        if let Some(user) = user {
            self.wrongs.push(format!("{id} is deleted, and {} uses it", user.token));
        }
    }

    pub(super) fn look(&mut self, subject: &Subject) -> Result<Beat, Failure> {
        let object = self.present(subject)?;
        match &mut object.state {
            State::Ready(0) => Ok(done()),
            State::Ready(looks) => {
                *looks -= 1;
                Ok(Beat::Wait { after: None })
            }
            State::Hanging => Ok(Beat::Wait { after: Some(Duration::from_secs(20)) }),
            State::Error => {
                Err(Failure::InError { status: "ERROR".to_owned(), reason: "Unknown".to_owned() })
            }
        }
    }

    pub(super) fn present(&mut self, subject: &Subject) -> Result<&mut Object, Failure> {
        let id = subject.physical_id.clone().unwrap_or_default();
        let missing = || Failure::NotFound(format!("{id} could not be found."));
        self.objects.get_mut(&id).ok_or_else(missing)
    }
}

/// The property that stands behind an attribute.
pub(super) fn property_of(attribute: &str) -> &str {
    if attribute == "output" { "value" } else { attribute }
}

/// The ids of the objects that an object needs.
pub(super) fn uses(properties: &JsonMap) -> Vec<String> {
    let uses = properties.get("uses").and_then(Value::as_array).into_iter().flatten();
    let ids = uses.filter_map(Value::as_str).filter(|id| id.starts_with("object-"));
    ids.map(str::to_owned).collect()
}

pub(super) fn next(physical_id: Option<String>, name: &str, mutates: bool) -> Beat {
    let learned = Learned { physical_id, ..Learned::default() };
    Beat::Next { learned, next: Step { name: name.to_owned(), mutates, ..Step::default() } }
}

pub(super) fn done() -> Beat {
    Beat::Done { learned: Learned::default() }
}
