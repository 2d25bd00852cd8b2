//! OS::Zaqar::SignedQueueURL: Zaqar signs and keeps nothing, so what it said is kept as resource
//! data, and there is nothing to delete.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::Method;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::Stages;

pub(in crate::resource_types::types) struct SignedUrl;

const KEPT: [&str; 5] = ["signature", "expires", "paths", "methods", "project"];

impl ResourceType for SignedUrl {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create => PlainStage::Create.step(),
            Work::Update { .. } | Work::Delete | Work::Act(_) => PlainStage::Done.step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if PlainStage::of(beating.step) != Some(PlainStage::Create) {
            return Ok(done());
        }
        let Beating { cloud, subject, .. } = *beating;
        let properties = declared.properties(&subject.properties);
        let mut body = JsonMap::new();
        if let Some(ttl) = properties.get("ttl").and_then(Value::as_i64) {
            let ttl = TimeDelta::try_seconds(ttl).unwrap_or_default();
            let until = cloud.now().checked_add_signed(ttl).unwrap_or(cloud.now());
            let until = until.format("%Y-%m-%dT%H:%M:%S%.6f").to_string();
            body.insert("expires".to_owned(), until.into());
        }
        for name in ["paths", "methods"] {
            let given = properties.get(name).filter(|value| !value.is_null());
            body.extend(given.map(|value| (name.to_owned(), value.clone())));
        }
        let path = "/v2/queues/{queue}/share";
        let request = declared.request(cloud, Method::Post, path, subject, None)?;
        let signed = cloud.send(request.json(Value::Object(body)))?.json()?;
        let data = KEPT.map(|name| (name.to_owned(), signed[name].clone()));
        let physical_id = Some(subject.physical_name.clone());
        let learned = Learned { physical_id, data: data.into(), ..Learned::default() };
        Ok(Beat::Done { learned })
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { subject, .. } = at;
        if name == "query_str" {
            return Ok(subject.data.get("signature").map(|_| query(subject).into()));
        }
        Ok(subject.data.get(name).cloned())
    }
}

/// The query of an address with which the queue can be used, as `zaqar://?…` takes it.
fn query(subject: &Subject) -> String {
    let text = |name: &str| {
        let kept = subject.data.get(name).and_then(Value::as_str);
        kept.unwrap_or_default().to_owned()
    };
    let joined = |name: &str| {
        let kept = subject.data.get(name).cloned().unwrap_or_else(|| json!([]));
        let items = kept.as_array().into_iter().flatten().filter_map(Value::as_str);
        items.collect::<Vec<_>>().join(",")
    };
    let queue = subject.properties.get("queue").and_then(Value::as_str).unwrap_or_default();
    url::form_urlencoded::Serializer::new(String::new())
        .append_pair("signature", &text("signature"))
        .append_pair("expires", &text("expires"))
        .append_pair("paths", &joined("paths"))
        .append_pair("methods", &joined("methods"))
        .append_pair("project_id", &text("project"))
        .append_pair("queue_name", queue)
        .finish()
}
