//! OS::Heat::Stack: a stack of its own in the same project, here or in another region, or in
//! another cloud, with the environment and the files of the one that asks for it.

use serde_json::{Value, json};

use crate::model::JsonMap;
use crate::openstack::Elsewhere;
use crate::resource_types::child::{ChildAsk, ChildSeen, ChildWanted, Nested};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Change, Subject, UpdateKind};
use crate::template::NestedTemplate;

pub(crate) struct RemoteStack;

/// Where the stack is to stand.
pub(crate) fn place(properties: &JsonMap) -> Elsewhere<'_> {
    let context = properties.get("context").unwrap_or(&Value::Null);
    let text = |key: &str| context[key].as_str().filter(|text| !text.is_empty());
    Elsewhere {
        region: text("region_name"),
        credential: text("credential_secret_id"),
        ca_cert: text("ca_cert"),
        insecure: context["insecure"].as_bool().unwrap_or_default(),
    }
}

impl Nested for RemoteStack {
    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        let properties = &ask.subject.properties;
        let text = properties.get("template").and_then(Value::as_str).unwrap_or_default();
        let parameters = properties.get("parameters").and_then(Value::as_object);
        let timeout = properties.get("timeout").and_then(Value::as_u64);
        Ok(ChildWanted {
            template: NestedTemplate::Text(text.to_owned()),
            parameters: parameters.cloned().unwrap_or_default(),
            timeout_mins: timeout.and_then(|minutes| u32::try_from(minutes).ok()),
            keeps_files: false,
        })
    }

    fn parameters(&self) -> Option<&'static str> {
        Some("parameters")
    }

    fn elsewhere<'a>(&self, subject: &'a Subject) -> Elsewhere<'a> {
        place(&subject.properties)
    }

    fn stands_beside(&self) -> bool {
        true
    }

    /// What is in another region is another stack; another credential opens the same one.
    fn on_change(&self, change: Change<'_>) -> Option<UpdateKind> {
        let Change { subject, before, .. } = change;
        let moved = place(before).region != place(&subject.properties).region;
        let name = subject.name.clone().unwrap_or_default();
        let reason = format!("The Resource {name} requires replacement.");
        moved.then_some(UpdateKind::Replace { reason })
    }

    fn attribute(&self, subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        match name {
            "stack_name" => Some(subject.physical_name.as_str().into()),
            "outputs" => Some(json!(child.outputs)),
            _ => None,
        }
    }

    fn attribute_names(&self, _child: &ChildSeen) -> Vec<String> {
        vec!["stack_name".to_owned(), "outputs".to_owned()]
    }
}
