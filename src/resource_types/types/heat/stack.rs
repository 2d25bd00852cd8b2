//! OS::Heat::Stack: a stack of its own in the same project, here or in another region, with the
//! environment and the files of the one that asks for it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::JsonMap;
use crate::resource_types::child::{ChildAsk, ChildSeen, ChildWanted, Nested};
use crate::resource_types::driver::{DriverError, Subject, UpdateKind};
use crate::template::NestedTemplate;

pub(crate) struct RemoteStack;

/// What the stack is made with elsewhere: the region, and the credential of another cloud.
fn elsewhere(properties: &JsonMap) -> [Option<&str>; 2] {
    let context = properties.get("context");
    ["region_name", "credential_secret_id"].map(|key| {
        let value = context.and_then(|context| context.get(key)).and_then(Value::as_str);
        value.filter(|value| !value.is_empty())
    })
}

impl Nested for RemoteStack {
    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, DriverError> {
        let properties = &ask.subject.properties;
        if let [_, Some(_)] = elsewhere(properties) {
            let text = "Cannot establish connection to Heat endpoint at remote cloud due to \"it \
                        is not supported\"";
            return Err(DriverError::fatal("StackValidationFailed", text));
        }
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

    fn region<'a>(&self, subject: &'a Subject) -> Option<&'a str> {
        let [region, _] = elsewhere(&subject.properties);
        region
    }

    fn stands_beside(&self) -> bool {
        true
    }

    /// What is somewhere else is another stack.
    fn on_change(
        &self,
        subject: &Subject,
        before: &JsonMap,
        _changed: &BTreeSet<String>,
    ) -> Option<UpdateKind> {
        let moved = elsewhere(before) != elsewhere(&subject.properties);
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
