//! The lives of the types that wait for signals to a handle, as data: what is sent to the handle while
//! they wait, and what comes of it, also across a kill after each beat.
//! `CASE=OS::Heat::WaitCondition` plays one type.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::{Clock, SimulatedClock};
use crate::model::{Action, JsonMap};
use crate::openstack::CloudError;
use crate::resource_types::asks::{Answer, Ask, Facts};
use crate::resource_types::case;
use crate::resource_types::declared::Declared;
use crate::resource_types::job::{ObservedSignals, Signaled, Signals, Subject};
use crate::resource_types::python;
use crate::resource_types::recorded::life::{End, Life, World};
use crate::resource_types::registry::Registry;
use crate::resource_types::signal_entries::SignalEntries;

const FILE: &str = "tests/data/resource_types/waits.yaml";

/// What `get_resource` gives for the handle.
const REFERENCE: &str = "the handle";
/// Between two signals.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transcript {
    handle: Given,
    given: JsonMap,
    acts: Vec<Act>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(rename = "type")]
    type_name: String,
    #[serde(default)]
    properties: JsonMap,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Act {
    act: String,
    #[serde(default)]
    changed: JsonMap,
    /// What is sent to the handle, one at the end of each wait.
    #[serde(default)]
    sent: VecDeque<Value>,
    end: String,
    /// What the resource shows then.
    data: String,
}

/// A handle, and whoever signals it.
struct Handle {
    driver: Arc<Declared>,
    subject: Subject,
    entries: SignalEntries,
    to_come: VecDeque<Value>,
    /// The beats so far, and the one after which the process is killed.
    beats: usize,
    killed_at: Option<usize>,
}

impl Handle {
    fn of(registry: &Registry, given: &Given) -> Self {
        Self {
            driver: registry.driver(&given.type_name).unwrap(),
            subject: Subject { properties: given.properties.clone(), ..Subject::default() },
            entries: SignalEntries::default(),
            to_come: VecDeque::new(),
            beats: 0,
            killed_at: None,
        }
    }

    /// What is sent is read as the engine has it read, and kept.
    fn is_sent(&mut self, details: &Value) {
        self.subject.signaled = self.entries.len();
        if let Signaled::Handled(outcome) = self.driver.program().signal(&self.subject, details) {
            for (id, entry) in outcome.metadata {
                self.entries.insert(id, entry);
            }
        }
    }

    fn observed(&self) -> ObservedSignals {
        let signals = self.driver.program().signals(&self.subject);
        let signals = signals.map(|signals| Signals { entries: self.entries.clone(), ..signals });
        ObservedSignals { name: "h".into(), reference: REFERENCE.into(), signals }
    }
}

impl World for Handle {
    fn answer(&mut self, ask: &Ask) -> Result<Answer, CloudError> {
        panic!("a handle that is signaled by way of the engine has nothing asked: {ask:?}");
    }

    fn kills(&mut self) -> bool {
        let number = self.beats;
        self.beats += 1;
        self.killed_at == Some(number)
    }

    fn wait(&mut self, subject: &mut Subject, at_most: Option<Duration>) -> Duration {
        let at_most = at_most.expect("what the engine tells of is not looked at again and again");
        let Some(details) = self.to_come.pop_front() else { return at_most };
        self.is_sent(&details);
        subject.observed_signals = vec![self.observed()];
        PAUSE.min(at_most)
    }
}

/// A handle that is not heard of for a while, and then has a signal that is not enough.
struct Missed {
    handle: Handle,
    /// How long was to be waited each time.
    waits: Vec<Duration>,
}

impl World for Missed {
    fn answer(&mut self, ask: &Ask) -> Result<Answer, CloudError> {
        self.handle.answer(ask)
    }

    fn kills(&mut self) -> bool {
        false
    }

    fn wait(&mut self, subject: &mut Subject, at_most: Option<Duration>) -> Duration {
        let at_most = at_most.unwrap();
        self.waits.push(at_most);
        if self.waits.len() == 1 {
            subject.observed_signals.clear();
            return PAUSE;
        }
        self.handle.is_sent(&json!({ "id": "a", "reason": "one" }));
        subject.observed_signals = vec![self.handle.observed()];
        // Nobody looks before that: the signal lets the wait go on.
        at_most
    }
}

/// Plays a life; how its acts end and what is shown then, and the number of its beats.
fn played(
    registry: &Registry,
    type_name: &str,
    transcript: &Transcript,
    killed_at: Option<usize>,
) -> (Vec<(String, String)>, usize) {
    let facts = Facts::at(SimulatedClock::new(1).now());
    let mut handle = Handle { killed_at, ..Handle::of(registry, &transcript.handle) };
    let subject = Subject { observed_signals: vec![handle.observed()], ..Subject::default() };
    let mut life = Life::new(registry, type_name, subject, facts).unwrap();
    let mut ends = Vec::new();
    for act in &transcript.acts {
        handle.to_come = act.sent.clone();
        let end = match act.act.as_str() {
            "create" => life.create(transcript.given.clone(), &mut handle),
            "update" => life.update(&act.changed, &mut handle),
            "suspend" => life.act(Action::Suspend, &mut handle),
            "resume" => life.act(Action::Resume, &mut handle),
            "check" => life.act(Action::Check, &mut handle),
            "delete" => life.delete(&mut handle),
            other => panic!("{other} is no act"),
        };
        assert!(handle.to_come.is_empty(), "{type_name}: nothing waits for {:?}", handle.to_come);
        let end = match end {
            Ok(End::Done) => "done".to_owned(),
            Ok(End::Nothing) => "nothing".to_owned(),
            Ok(End::Replaced(reason)) => format!("replaced: {reason}"),
            Err(failure) => failure.told(),
        };
        let shown = life.shown(&mut handle).unwrap();
        let data = shown.values().next().map(python::text).unwrap_or_default();
        ends.push((end, data));
    }
    (ends, handle.beats)
}

#[test]
fn what_waits_for_signals_ends_as_is_written_down_whenever_the_process_is_killed() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE)).unwrap();
    let transcripts: BTreeMap<String, Vec<Transcript>> = serde_yaml::from_str(&text).unwrap();
    let registry = Registry::built_in().unwrap();
    let mut kills = 0;
    let chosen = case::chosen(transcripts.iter().collect(), |(type_name, _)| vec![type_name]);
    let is_all = chosen.len() == transcripts.len();
    for (type_name, transcripts) in chosen {
        for (number, transcript) in transcripts.iter().enumerate() {
            let wanted: Vec<(String, String)> =
                transcript.acts.iter().map(|act| (act.end.clone(), act.data.clone())).collect();
            let (ends, beats) = played(&registry, type_name, transcript, None);
            assert_eq!(ends, wanted, "{type_name}, {number}");
            for at in 0..beats {
                let (ends, _) = played(&registry, type_name, transcript, Some(at));
                assert_eq!(ends, wanted, "{type_name}, {number}, killed at {at}");
                kills += 1;
            }
        }
    }
    assert!(kills > 20 || !is_all, "{kills}");
}

#[test]
fn a_wait_that_did_not_hear_of_its_handle_for_a_while_ends_in_its_time() {
    let registry = Registry::built_in().unwrap();
    let type_name = "OS::Heat::WaitConditionHandle".to_owned();
    let handle = Handle::of(&registry, &Given { type_name, properties: JsonMap::new() });
    let subject = Subject { observed_signals: vec![handle.observed()], ..Subject::default() };
    let facts = Facts::at(SimulatedClock::new(1).now());
    let mut life = Life::new(&registry, "OS::Heat::WaitCondition", subject, facts).unwrap();
    let given = json!({ "handle": REFERENCE, "timeout": 60, "count": 2 });
    let mut world = Missed { handle, waits: Vec::new() };
    let end = life.create(given.as_object().unwrap().clone(), &mut world);
    let Err(failure) = end else { panic!("it has enough") };
    assert_eq!(failure.told(), "WaitConditionTimeout: 1 of 2 received - one");
    assert_eq!(world.waits, [60, 59].map(Duration::from_secs));
}
