//! Signals by way of a handle, which is another resource of the stack: told of by the engine, put to
//! the handle's object or posted to its queue.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Waiting, Wanted, too_few};
use crate::model::JsonMap;
use crate::model::sizes::SIGNALS;
use crate::model::taint::{plain, taint};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::Beating;
use crate::resource_types::failure::{Failure, Waiter};
use crate::resource_types::job::{Beat, Learned, ObservedSignals, Queue, Signals, Subject};
use crate::resource_types::python;
use crate::resource_types::types::heat::signal_queue::{self, Message};
use crate::resource_types::types::heat::swift_signal::no_json;
use crate::resource_types::types::heat::temp_url;
use crate::resource_types::types::heat::wait::Wait;
use crate::resource_types::types::heat::wait_handle::{part, posted};

/// How long after its time a resource waits for word of a handle that it has heard nothing of.
const HEARING_GRACE: Duration = Duration::from_secs(60);

/// Resource data: what was posted to the handle's queue, by the ids of the messages. A queue keeps
/// them for a while only.
const HEARD: &str = "heard";

impl Waiting {
    /// The handle among the stack's other resources, and its signals.
    pub(super) fn signals<'a>(
        &self,
        observed_signals: &'a [ObservedSignals],
        wanted: &Wanted,
    ) -> Result<&'a Signals, Failure> {
        let named =
            |observed_signals: &&ObservedSignals| observed_signals.reference == wanted.handle;
        let found = observed_signals.iter().find(named);
        if let Some(signals) = found.and_then(|observed_signals| observed_signals.signals.as_ref())
        {
            return Ok(signals);
        }
        let text = match found {
            Some(observed) => self.0.no_handle.replace("{handle}", observed.name.as_str()),
            None => self.0.unknown.replace("{handle}", &python::text(&wanted.handle)),
        };
        Err(Failure::Invalid(text))
    }

    /// What is shown of the signals.
    pub(super) fn heard_data(&self, subject: &Subject, wanted: &Wanted) -> Value {
        // The handle may be gone, or not be heard of yet, or its signals be put somewhere: then what
        // was known at the end counts.
        match self.signals(&subject.observed_signals, wanted) {
            Ok(signals) if signals.are_told() => data(signals, wanted),
            Ok(_) | Err(_) => subject.data.get("data").cloned().unwrap_or_else(|| "".into()),
        }
    }

    /// One look at the signals.
    pub(super) fn look(
        &self,
        beating: &Beating<'_>,
        wanted: &Wanted,
        wait: &Wait,
    ) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let Ok(signals) = self.signals(&subject.observed_signals, wanted) else {
            // The handle may be on its way to another one; what it brings may change nothing.
            let now = cloud.now();
            let left = wait.remaining(now).or_else(|| wait.remaining(now - HEARING_GRACE));
            return match left {
                Some(after) => Ok(Beat::Wait { after: Some(after) }),
                None => Err(timed_out(&Signals::default(), wanted)),
            };
        };
        let heard = heard_anew(cloud, subject, signals)?;
        if let Some(more) = heard.more {
            let data = BTreeMap::from([(HEARD.to_owned(), more)]);
            let learned = Learned { data, ..Learned::default() };
            return Ok(Beat::Next { learned, next: step.clone() });
        }
        let signals = with_those_heard(subject, &with_those_put(cloud, subject, signals)?);
        // What has come counts, however late it is looked at.
        if !verdict(&signals, wanted)? {
            if heard.ends_unread {
                return Err(unread());
            }
            let after = wait.remaining(cloud.now()).ok_or_else(|| timed_out(&signals, wanted))?;
            // Nobody tells of what is put or posted.
            let after = signals.are_told().then_some(after);
            return Ok(Beat::Wait { after });
        }
        let data = BTreeMap::from([("data".to_owned(), data(&signals, wanted))]);
        Ok(Beat::Done { learned: Learned { data, ..Learned::default() } })
    }
}

/// Whether the signals are enough; an error where one says failure.
pub(super) fn verdict(signals: &Signals, wanted: &Wanted) -> Result<bool, Failure> {
    if signals.entries.has_failure() {
        let reasons = reasons(signals, "FAILURE").join(";");
        return Err(Failure::SignaledFailure { to: Waiter::WaitCondition, reasons });
    }
    Ok(signals.unneeded || signals.entries.len() >= wanted.count)
}

/// What the signals of a status say of it.
fn reasons(signals: &Signals, status: &str) -> Vec<String> {
    let entries = signals.entries.iter().map(|(_, entry)| entry);
    let of_status = entries.filter(|entry| part(entry, "status") == status);
    of_status.map(|entry| python::text(part(entry, "reason"))).collect()
}

fn timed_out(signals: &Signals, wanted: &Wanted) -> Failure {
    too_few(Waiter::WaitCondition, &reasons(signals, "SUCCESS"), wanted.count)
}

/// The data of the signals by their ids, as JSON text.
fn data(signals: &Signals, wanted: &Wanted) -> Value {
    let entries = signals.entries.iter();
    let mut data: JsonMap =
        entries.map(|(id, entry)| (id.clone(), plain(part(entry, "data").clone()))).collect();
    if signals.unneeded {
        for number in data.len() + 1..=wanted.count {
            data.insert(number.to_string(), Value::Null);
        }
    }
    python::json(&Value::Object(data)).into()
}

/// In Heat's words, something came that is no signal.
fn unread() -> Failure {
    Failure::Invalid("Metadata format invalid".to_owned())
}

/// The signals with those that were put to the handle's object, where it has one.
fn with_those_put(
    cloud: &Asks<'_>,
    subject: &Subject,
    signals: &Signals,
) -> Result<Signals, Failure> {
    let mut signals = signals.clone();
    if let Some(object) = signals.object.clone() {
        for word in temp_url::words(cloud, subject, &object)? {
            let details = match word.is_empty() {
                true => Value::Null,
                false => serde_json::from_str(&word).map_err(|_| no_json(&word))?,
            };
            let (id, entry) = posted(signals.entries.len(), &details).ok_or_else(unread)?;
            signals.entries.insert(id, Value::Object(entry));
        }
    }
    Ok(signals)
}

/// What was heard of a queue, by the ids of the messages, in their order.
fn heard<'a>(subject: &'a Subject, queue: &Queue) -> Option<&'a JsonMap> {
    let heard = subject.data.get(HEARD).filter(|heard| heard["queue"] == *queue.name)?;
    heard["messages"].as_object()
}

/// What a look at the handle's queue has found.
#[derive(Default)]
struct Heard {
    /// All that has been heard, where there is more than before.
    more: Option<Value>,
    /// Whether something that is no signal comes next.
    ends_unread: bool,
}

fn heard_anew(cloud: &Asks<'_>, subject: &Subject, signals: &Signals) -> Result<Heard, Failure> {
    let Some(queue) = &signals.queue else { return Ok(Heard::default()) };
    let known = heard(subject, queue).cloned().unwrap_or_default();
    let mut all = known.clone();
    let mut ends_unread = false;
    for Message { id, body } in signal_queue::messages(cloud, queue)? {
        if all.contains_key(&id) {
            continue;
        }
        let Some((signal, entry)) = posted(signals.entries.len() + all.len(), &body) else {
            ends_unread = true;
            break;
        };
        all.insert(id, json!({ "id": signal, "entry": entry }));
    }
    if all.len() == known.len() {
        return Ok(Heard { more: None, ends_unread });
    }
    SIGNALS.check_json(&all)?;
    // How it went and why is told; whatever else was posted may be a secret.
    for heard in all.values_mut() {
        heard["entry"]["data"] = taint(heard["entry"]["data"].take());
    }
    Ok(Heard { more: Some(json!({ "queue": queue.name, "messages": all })), ends_unread })
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
