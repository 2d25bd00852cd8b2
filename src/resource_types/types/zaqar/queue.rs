//! OS::Zaqar::Queue: there is one with its first message, so that only its metadata are made. These
//! are changed by a patch of what is there.

use serde_json::{Value, json};

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Method, Request, path_segment};
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(in crate::resource_types::types) struct Queue;

const PATCH: &str = "application/openstack-messaging-v2.0-json-patch";

stages! {
    /// What a queue does otherwise.
    enum Stage {
        Metadata = "metadata" Changes,
    }
}

impl ResourceType for Queue {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create | Work::Update { .. } => Stage::Metadata.step(),
            Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, .. } = *beating;
        // The answer that told of it was lost. One of a user's name may be somebody else's.
        if PlainStage::of(beating.step) == Some(PlainStage::Find)
            && name_of(subject) == subject.physical_name
        {
            let physical_id = Some(subject.physical_name.clone());
            let subject = Subject { physical_id: physical_id.clone(), ..subject.clone() };
            let learned = Learned { physical_id, ..Learned::default() };
            return Ok(next(learned, declared.first_step(work, &subject)));
        }
        if Stage::of(beating.step).is_none() {
            return declared.plain_beat(beating);
        }
        let metadata = subject.properties.get("metadata").and_then(Value::as_object);
        let name = name_of(subject);
        let is_creation = *work == Work::Create;
        if !(is_creation && metadata.is_none_or(JsonMap::is_empty)) {
            let path = format!("/v2/queues/{}", path_segment(&name));
            let service = declared.declaration().service();
            let known = cloud.send(Request::get(service.clone(), path.clone()))?.json()?;
            let patch = patch(&known, metadata.unwrap_or(&JsonMap::new()));
            let patch = serde_json::to_vec(&patch).unwrap_or_default();
            cloud.send(Request::new(Method::Patch, service, path).bytes(PATCH, patch))?;
        }
        if is_creation {
            let learned = Learned { physical_id: Some(name), ..Learned::default() };
            return Ok(Beat::Done { learned });
        }
        Ok(done())
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { declared, cloud, subject, .. } = at;
        Ok(match name {
            "queue_id" => subject.physical_id.clone().map(Value::String),
            "href" => {
                let endpoint = cloud.endpoint(&declared.declaration().service())?;
                let endpoint = endpoint.trim_end_matches('/').trim_end_matches("/v2");
                let name = path_segment(&name_of(subject));
                Some(format!("{endpoint}/v2/queues/{name}").into())
            }
            _ => None,
        })
    }
}

fn name_of(subject: &Subject) -> String {
    let own = subject.properties.get("name").and_then(Value::as_str);
    own.unwrap_or(&subject.physical_name).to_owned()
}

/// What makes metadata what they should be; those of Zaqar's own begin with an underscore.
fn patch(known: &Value, wanted: &JsonMap) -> Vec<Value> {
    let empty = JsonMap::new();
    let known = known.as_object().unwrap_or(&empty);
    let path = |key: &String| format!("/metadata/{key}");
    let set = wanted.iter().map(|(key, value)| {
        let op = if known.contains_key(key) { "replace" } else { "add" };
        json!({ "op": op, "path": path(key), "value": value })
    });
    let gone = known.keys().filter(|key| !wanted.contains_key(*key) && !key.starts_with('_'));
    set.chain(gone.map(|key| json!({ "op": "remove", "path": path(key) }))).collect()
}
