//! OS::Heat::WaitCondition and its namesake of CloudFormation's: waits until its handle was
//! signaled often enough. The end of the wait is on record, so it holds over restarts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::signal_queue::{self, Message};
use super::swift_signal::{Sent, sent_to};
use super::wait::Wait;
use super::wait_handle::{part, posted};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::model::sizes::SIGNALS;
use crate::model::taint::taint;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage};
use crate::resource_types::failure::{Failure, Waiter};
use crate::resource_types::job::{Beat, Learned, ObservedSignals, Queue, Signals, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::Stages;

/// How long after its time a condition waits for word of a handle that it has heard nothing of.
const HEARING_GRACE: Duration = Duration::from_secs(60);

/// Resource data: what was posted to the handle's queue, by the ids of the messages. A queue keeps
/// them for a while only.
const HEARD: &str = "heard";

pub(crate) struct WaitCondition;

/// What a condition waits for.
struct Wanted {
    is_aws: bool,
    handle: Value,
    timeout: Duration,
    count: usize,
}

impl WaitCondition {
    fn wanted(declared: &Declared, subject: &Subject) -> Wanted {
        let properties = declared.properties(&subject.properties);
        let is_aws = declared.declaration().properties.contains_key("Handle");
        let (handle, timeout, count) = match is_aws {
            true => ("Handle", "Timeout", "Count"),
            false => ("handle", "timeout", "count"),
        };
        let number = |name: &str| properties.get(name).and_then(Value::as_f64).unwrap_or(1.0);
        Wanted {
            is_aws,
            handle: properties.get(handle).cloned().unwrap_or_default(),
            timeout: Duration::try_from_secs_f64(number(timeout)).unwrap_or_default(),
            count: number(count) as usize,
        }
    }

    /// The handle among the stack's other resources, and its signals.
    fn handle<'a>(&self, subject: &'a Subject, wanted: &Wanted) -> Result<&'a Signals, Failure> {
        let named =
            |observed_signals: &&ObservedSignals| observed_signals.reference == wanted.handle;
        let found = subject.observed_signals.iter().find(named);
        if let Some(signals) = found.and_then(|observed_signals| observed_signals.signals.as_ref())
        {
            return Ok(signals);
        }
        let shown = python::text(&wanted.handle);
        let text = match found {
            Some(observed_signals) if wanted.is_aws => {
                format!("WaitCondition invalid Handle {}", observed_signals.name)
            }
            Some(observed_signals) => {
                format!("{} is not a valid wait condition handle.", observed_signals.name)
            }
            None if wanted.is_aws => format!("\"{shown}\" is not a valid ARN URL"),
            None => format!("{shown} is not a valid wait condition handle."),
        };
        Err(Failure::Invalid(text))
    }

    /// The attribute.
    fn heard_data(&self, declared: &Declared, subject: &Subject) -> JsonMap {
        let wanted = Self::wanted(declared, subject);
        let name = if wanted.is_aws { "Data" } else { "data" };
        // The handle may be gone, or not be heard of yet, or its signals be put somewhere: then what
        // was known at the end counts.
        let value = match self.handle(subject, &wanted) {
            Ok(signals) if signals.object.is_none() && signals.queue.is_none() => {
                data(signals, &wanted)
            }
            Ok(_) | Err(_) => subject.data.get("data").cloned().unwrap_or_else(|| "".into()),
        };
        JsonMap::from_iter([(name.to_owned(), value)])
    }

    /// Whether the signals are enough; an error where one says failure.
    fn verdict(&self, signals: &Signals, wanted: &Wanted) -> Result<bool, Failure> {
        let reasons = reasons(signals, "FAILURE");
        if !reasons.is_empty() {
            let reasons = reasons.join(";");
            return Err(Failure::SignaledFailure { to: Waiter::WaitCondition, reasons });
        }
        Ok(signals.unneeded || signals.entries.len() >= wanted.count)
    }
}

/// What the signals of a status say of it.
fn reasons(signals: &Signals, status: &str) -> Vec<String> {
    let entries = signals.entries.values().filter(|entry| part(entry, "status") == status);
    entries.map(|entry| python::text(part(entry, "reason"))).collect()
}

/// Heat's words for a wait that has lasted too long.
pub(super) fn too_late(received: &[String], count: usize) -> String {
    let text = format!("{} of {count} received", received.len());
    if received.is_empty() { text } else { format!("{text} - {}", received.join(";")) }
}

/// The data of the signals by their ids, as JSON text.
fn data(signals: &Signals, wanted: &Wanted) -> Value {
    let entries = signals.entries.iter();
    let mut data: JsonMap =
        entries.map(|(id, entry)| (id.clone(), part(entry, "data").clone())).collect();
    if signals.unneeded {
        for number in data.len() + 1..=wanted.count {
            data.insert(number.to_string(), Value::Null);
        }
    }
    python::json(&Value::Object(data)).into()
}

impl ResourceType for WaitCondition {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Delete | Work::Act(_) => PlainStage::Done.step(),
            Work::Create | Work::Update { .. } => Wait::step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        if PlainStage::of(step) == Some(PlainStage::Done) {
            return Ok(Beat::Done { learned: Learned::default() });
        }
        let wanted = Self::wanted(declared, subject);
        let Some(wait) = Wait::of(step) else {
            self.handle(subject, &wanted)?;
            let next = Wait::begin(cloud.now(), Some(wanted.timeout));
            return Ok(Beat::Next { learned: Learned::default(), next });
        };
        let Ok(signals) = self.handle(subject, &wanted) else {
            // The handle may be on its way to another one.
            return match wait.remaining(cloud.now() - HEARING_GRACE) {
                Some(after) => Ok(Beat::Wait { after: Some(after) }),
                None => Err(timed_out(&Signals::default(), &wanted)),
            };
        };
        if let Some(heard) = heard_anew(cloud, subject, signals)? {
            let data = BTreeMap::from([(HEARD.to_owned(), heard)]);
            let learned = Learned { data, ..Learned::default() };
            return Ok(Beat::Next { learned, next: step.clone() });
        }
        let signals = with_those_heard(subject, &with_those_put(cloud, subject, signals)?);
        let Some(after) = wait.remaining(cloud.now()) else {
            return Err(timed_out(&signals, &wanted));
        };
        if !self.verdict(&signals, &wanted)? {
            // Nobody tells of what is put or posted.
            let is_told = signals.object.is_none() && signals.queue.is_none();
            let after = is_told.then_some(after);
            return Ok(Beat::Wait { after });
        }
        let data = BTreeMap::from([("data".to_owned(), data(&signals, &wanted))]);
        Ok(Beat::Done { learned: Learned { data, ..Learned::default() } })
    }

    fn observes_signals(&self) -> bool {
        true
    }

    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, subject, .. } = at;
        Ok(self.heard_data(declared, subject))
    }

    fn unmade(&self, declared: &Declared, subject: &Subject) -> JsonMap {
        self.heard_data(declared, subject)
    }
}

/// The signals with those that were put to the handle's object, where it has one.
fn with_those_put(
    cloud: &Asks<'_>,
    subject: &Subject,
    signals: &Signals,
) -> Result<Signals, Failure> {
    let mut signals = signals.clone();
    if let Some(object) = signals.object.clone() {
        for Sent { id, status, reason, data } in sent_to(cloud, subject, &object)? {
            let entry = json!({ "status": status, "reason": reason, "data": data });
            signals.entries.insert(python::text(&id), entry);
        }
    }
    Ok(signals)
}

/// What was heard of a queue, by the ids of the messages, in their order.
fn heard<'a>(subject: &'a Subject, queue: &Queue) -> Option<&'a JsonMap> {
    let heard = subject.data.get(HEARD).filter(|heard| heard["queue"] == *queue.name)?;
    heard["messages"].as_object()
}

/// What has been heard of the handle's queue, where there is something new in it.
fn heard_anew(
    cloud: &Asks<'_>,
    subject: &Subject,
    signals: &Signals,
) -> Result<Option<Value>, Failure> {
    let Some(queue) = &signals.queue else { return Ok(None) };
    let known = heard(subject, queue).cloned().unwrap_or_default();
    let mut all = known.clone();
    for Message { id, body } in signal_queue::messages(cloud, queue)? {
        if !all.contains_key(&id)
            && let Some((signal, entry)) = posted(signals.entries.len() + all.len(), &body)
        {
            all.insert(id, json!({ "id": signal, "entry": entry }));
        }
    }
    if all.len() == known.len() {
        return Ok(None);
    }
    SIGNALS.check_json(&all)?;
    // How it went and why is told; whatever else was posted may be a secret.
    for heard in all.values_mut() {
        heard["entry"]["data"] = taint(heard["entry"]["data"].take());
    }
    Ok(Some(json!({ "queue": queue.name, "messages": all })))
}

/// The signals with those that were posted to the handle's queue, where it has one.
fn with_those_heard(subject: &Subject, signals: &Signals) -> Signals {
    let mut signals = signals.clone();
    let heard = signals.queue.as_ref().and_then(|queue| heard(subject, queue));
    for heard in heard.into_iter().flat_map(JsonMap::values) {
        signals.entries.insert(python::text(&heard["id"]), heard["entry"].clone());
    }
    signals
}

fn timed_out(signals: &Signals, wanted: &Wanted) -> Failure {
    let received = too_late(&reasons(signals, "SUCCESS"), wanted.count);
    Failure::TooFewSignals { to: Waiter::WaitCondition, received }
}
