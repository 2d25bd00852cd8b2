//! OS::Heat::SwiftSignal and its handle: signals that are put as versions of an object in Swift, at
//! an address that anybody may use who has it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::temp_url::{self, Takes};
use super::wait::Wait;
use super::wait_condition::too_late;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done};
use crate::resource_types::failure::{Failure, Waiter};
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

/// Where the address of a handle is kept.
const ENDPOINT: &str = "endpoint";

pub(crate) struct SwiftHandle;
pub(crate) struct SwiftSignal;

stages! {
    /// What a handle goes through.
    enum Stage {
        Create = "create" Changes,
        Delete = "delete" Changes,
        Remove = "remove" Changes,
    }
}

impl ResourceType for SwiftHandle {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create => Stage::Create.step(),
            Work::Delete => Stage::Delete.step(),
            Work::Update { .. } | Work::Act(_) => PlainStage::Done.step(),
        }
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let then =
            |stage: Stage| Ok(Beat::Next { learned: Learned::default(), next: stage.step() });
        match Stage::of(step) {
            Some(Stage::Create) => {
                let address = Value::from(temp_url::make(cloud, subject, Takes::Many)?);
                Ok(Beat::Done {
                    learned: Learned {
                        physical_id: Some(subject.physical_name.clone()),
                        data: BTreeMap::from([(ENDPOINT.to_owned(), address)]),
                        ..Learned::default()
                    },
                })
            }
            Some(Stage::Delete) if temp_url::delete(cloud, subject)? => then(Stage::Delete),
            Some(Stage::Delete) => then(Stage::Remove),
            Some(Stage::Remove) => {
                temp_url::delete_container(cloud, subject)?;
                Ok(done())
            }
            _ => Ok(done()),
        }
    }

    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { subject, .. } = at;
        let Some(endpoint) = subject.data.get(ENDPOINT) else { return Ok(JsonMap::new()) };
        let call = format!("curl -i -X PUT '{}'", python::text(endpoint));
        Ok(JsonMap::from_iter([
            ("token".to_owned(), "".into()),
            ("endpoint".to_owned(), endpoint.clone()),
            ("curl_cli".to_owned(), call.into()),
        ]))
    }

    fn reference(&self, _declared: &Declared, subject: &Subject) -> Value {
        subject.data.get(ENDPOINT).cloned().unwrap_or_default()
    }
}

/// What a signal waits for.
struct Wanted {
    handle: String,
    timeout: Duration,
    count: usize,
}

/// A signal with what its sender may leave out.
pub(super) struct Sent {
    pub(super) id: Value,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) data: Value,
}

impl SwiftSignal {
    fn wanted(declared: &Declared, subject: &Subject) -> Wanted {
        let properties = declared.properties(&subject.properties);
        let number = |name: &str| properties.get(name).and_then(Value::as_f64).unwrap_or(1.0);
        Wanted {
            handle: properties.get("handle").map(python::text).unwrap_or_default(),
            timeout: Duration::try_from_secs_f64(number("timeout")).unwrap_or_default(),
            count: number("count") as usize,
        }
    }
}

impl Wanted {
    /// The path of the handle's address: `/v1/AUTH_project/container/object`.
    fn path(&self) -> &str {
        let path = self.handle.split('?').next().unwrap_or_default();
        path.find("/v1/").map_or(path, |start| &path[start..])
    }

    /// The object that signals are put to, once the address is known to be of this stack.
    fn object(&self, subject: &Subject) -> Result<String, Failure> {
        let parts: Vec<&str> = self.path().splitn(5, '/').collect();
        let wrong = |part: &str| {
            let path = self.path();
            let text =
                format!("\"{path}\" is not a valid SwiftSignalHandle.  The {part} is invalid");
            Failure::Invalid(text)
        };
        let project = subject.project_id.as_ref().map(ToString::to_string).unwrap_or_default();
        match parts.as_slice() {
            ["", "v1", account, of, object]
                if account.ends_with(&project) && !object.trim_matches('/').is_empty() =>
            {
                match *of == temp_url::container(subject) {
                    true => Ok((*object).to_owned()),
                    false => Err(wrong("container name")),
                }
            }
            _ => Err(wrong("Swift TempURL path")),
        }
    }
}

/// The signals that have come, in the order of their versions; a later one of the same id takes
/// the place of the first.
fn sent(cloud: &Asks<'_>, subject: &Subject, wanted: &Wanted) -> Result<Vec<Sent>, Failure> {
    sent_to(cloud, subject, &wanted.object(subject)?)
}

/// The same of an object of the stack's.
pub(super) fn sent_to(
    cloud: &Asks<'_>,
    subject: &Subject,
    object: &str,
) -> Result<Vec<Sent>, Failure> {
    let bodies = temp_url::words(cloud, subject, object)?;
    let bodies = bodies.iter().map(|body| read(body)).collect::<Result<Vec<_>, _>>()?;
    let mut signals: Vec<Sent> = Vec::new();
    for (number, mut body) in (1..).zip(bodies) {
        if let Some(id) = body.get("id") {
            signals.retain(|signal| signal.id != *id);
        }
        let id = body.shift_remove("id").unwrap_or_else(|| Value::from(number));
        let text = |value: Option<&Value>, default: String| value.map_or(default, python::text);
        signals.push(Sent {
            status: text(body.get("status"), "SUCCESS".to_owned()),
            reason: text(body.get("reason"), format!("Signal {} received", python::text(&id))),
            data: body.get("data").cloned().unwrap_or_default(),
            id,
        });
    }
    Ok(signals)
}

/// What somebody put, as JSON; nothing where he put nothing.
pub(super) fn read(body: &str) -> Result<JsonMap, Failure> {
    if body.is_empty() {
        return Ok(JsonMap::new());
    }
    match serde_json::from_str(body) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) | Err(_) => Err(Failure::Failed(format!("Failed to parse JSON data: {body}"))),
    }
}

fn reasons(signals: &[Sent], status: &str) -> Vec<String> {
    let of_status = signals.iter().filter(|signal| signal.status == status);
    of_status.map(|signal| signal.reason.clone()).collect()
}

/// Whether the signals are enough; an error where one says failure, or nothing that is known.
fn verdict(signals: &[Sent], count: usize) -> Result<bool, Failure> {
    for signal in signals {
        match signal.status.as_str() {
            "SUCCESS" => {}
            "FAILURE" => {
                let reasons = reasons(signals, "FAILURE").join(";");
                return Err(Failure::SignaledFailure { to: Waiter::SwiftSignal, reasons });
            }
            other => return Err(Failure::Failed(format!("Unknown status: {other}"))),
        }
    }
    Ok(!signals.is_empty() && signals.len() >= count)
}

impl ResourceType for SwiftSignal {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create => Wait::step(),
            Work::Update { .. } | Work::Delete | Work::Act(_) => PlainStage::Done.step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        if PlainStage::of(step) == Some(PlainStage::Done) {
            return Ok(done());
        }
        let wanted = Self::wanted(declared, subject);
        let Some(wait) = Wait::of(step) else {
            wanted.object(subject)?;
            let next = Wait::begin(cloud.now(), Some(wanted.timeout));
            return Ok(Beat::Next { learned: Learned::default(), next });
        };
        let signals = sent(cloud, subject, &wanted)?;
        if wait.remaining(cloud.now()).is_none() {
            let received = too_late(&reasons(&signals, "SUCCESS"), wanted.count);
            return Err(Failure::TooFewSignals { to: Waiter::SwiftSignal, received });
        }
        match verdict(&signals, wanted.count)? {
            true => Ok(done()),
            false => Ok(Beat::Wait { after: None }),
        }
    }

    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, cloud, subject, .. } = at;
        let signals = sent(cloud, subject, &Self::wanted(declared, subject))?;
        let data = match signals.is_empty() {
            true => Value::Null,
            false => Value::Object(
                signals.into_iter().map(|it| (python::text(&it.id), it.data)).collect(),
            ),
        };
        Ok(JsonMap::from_iter([("data".to_owned(), python::json(&data).into())]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_counts_whatever_else_has_come() {
        let signal = |status: &str| Sent {
            id: Value::Null,
            status: status.to_owned(),
            reason: format!("it is {status}"),
            data: Value::Null,
        };
        assert_eq!(verdict(&[], 1), Ok(false));
        assert_eq!(verdict(&[signal("SUCCESS")], 1), Ok(true));
        assert_eq!(verdict(&[signal("SUCCESS")], 2), Ok(false));
        let failed = verdict(&[signal("SUCCESS"), signal("FAILURE")], 1).unwrap_err();
        assert_eq!(failed.told(), "SwiftSignalFailure: it is FAILURE");
        let unknown = verdict(&[signal("MAYBE")], 1).unwrap_err();
        assert_eq!(unknown.told(), "Error: Unknown status: MAYBE");
    }
}
