//! Subscriptions: Zaqar names a new one by another field than one that is shown, and an update
//! sends the whole of it. A trigger is one whose subscriber is the workflow service.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{JsonMap, Refusal};
use crate::openstack::{Method, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject};
use crate::resource_types::python;
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::Stages;

/// What gets the messages of a queue.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Subscription {
    /// Whoever the properties say.
    Own,
    /// A workflow, for each message.
    Workflow,
}

const PATH: &str = "/v2/queues/{queue_name}/subscriptions";
const SUBSCRIBERS: [&str; 5] = ["http", "https", "mailto", "trust+http", "trust+https"];

impl ResourceType for Subscription {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, .. } = *beating;
        match PlainStage::of(beating.step) {
            Some(PlainStage::Create) => {
                if beating.is_unanswered()
                    && let Some(object) = declared.find(cloud, subject)?
                {
                    return declared.created(beating, &object);
                }
                let request = declared.request(cloud, Method::Post, PATH, subject, None)?;
                let body = self.body_of(declared, cloud, subject)?;
                let made = cloud.send(request.json(Value::Object(body)))?.json()?;
                declared.created(beating, &json!({ "id": made["subscription_id"] }))
            }
            Some(PlainStage::Update) => {
                let path = format!("{PATH}/{{id}}");
                let request = declared.request(cloud, Method::Patch, &path, subject, None)?;
                let body = self.body_of(declared, cloud, subject)?;
                cloud.send(request.json(Value::Object(body)))?;
                Ok(done())
            }
            _ => declared.plain_beat(beating),
        }
    }

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        let subscriber = properties.get("subscriber").and_then(Value::as_str);
        let kind = subscriber.and_then(|text| text.split(':').next()).unwrap_or_default();
        // What is not known yet is not looked at.
        if subscriber.is_none() || SUBSCRIBERS.contains(&kind) {
            return Ok(());
        }
        let known = SUBSCRIBERS.join(", ");
        Err(Refusal::validation(format!("The subscriber type of must be one of: {known}.")))
    }
}

impl Subscription {
    fn body_of(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<JsonMap, Failure> {
        let properties = declared.properties(&subject.properties);
        let properties = declared.declaration().resolved(cloud, properties)?;
        let property = |name: &str| properties.get(name).cloned().unwrap_or_default();
        let (subscriber, options) = match self {
            Subscription::Own => (property("subscriber"), property("options")),
            Subscription::Workflow => {
                let endpoint = cloud.endpoint(&Service::of_type("workflowv2"))?;
                let endpoint = endpoint.trim_end_matches('/');
                let version = if endpoint.ends_with("/v2") { "" } else { "/v2" };
                let mut params = property("params");
                params["env"]["notification"] = "$zaqar_message$".into();
                let post_data = python::json(&json!({
                    "workflow_id": property("workflow_id"),
                    "params": params,
                    "input": property("input"),
                }));
                let subscriber = format!("trust+{endpoint}{version}/executions");
                (subscriber.into(), json!({ "post_data": post_data }))
            }
        };
        let fields = [("subscriber", subscriber), ("ttl", property("ttl")), ("options", options)];
        let set = fields.into_iter().filter(|(_, value)| !value.is_null());
        Ok(set.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}
