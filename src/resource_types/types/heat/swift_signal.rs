//! OS::Heat::SwiftSignalHandle: signals are put as versions of an object in Swift, at an address that
//! anybody may use who has it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::temp_url::{self, Takes};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

/// Where the address of a handle is kept.
const ENDPOINT: &str = "endpoint";

pub(crate) struct SwiftHandle;

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

/// A signal with what its sender may leave out.
pub(in crate::resource_types) struct Sent {
    pub(in crate::resource_types) id: Value,
    pub(in crate::resource_types) status: String,
    pub(in crate::resource_types) reason: String,
    pub(in crate::resource_types) data: Value,
}

/// The signals that have come to an object of the stack's, in the order of its versions; a later one
/// of the same id takes the place of the first.
pub(in crate::resource_types) fn sent_to(
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
        Ok(_) | Err(_) => Err(no_json(body)),
    }
}

/// What somebody put is not what it should be.
pub(in crate::resource_types) fn no_json(body: &str) -> Failure {
    Failure::Failed(format!("Failed to parse JSON data: {body}"))
}
