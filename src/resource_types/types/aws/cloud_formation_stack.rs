//! AWS::CloudFormation::Stack: a child made of a template that stands at a URL.

use serde_json::Value;

use crate::model::{JsonMap, Refusal};
use crate::resource_types::child::{ChildAsk, ChildSeen, ChildWanted, Nested, arn};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;
use crate::template::NestedTemplate;

pub(crate) struct NestedStack;

impl Nested for NestedStack {
    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        let properties = &ask.subject.properties;
        let url = properties.get("TemplateURL").and_then(Value::as_str).unwrap_or_default();
        ask.definition
            .template_text(url)
            .map_err(|error| Refusal::new(error.class, error.message))?;
        let parameters = properties.get("Parameters").and_then(Value::as_object);
        let timeout = properties.get("TimeoutInMinutes").and_then(Value::as_u64);
        Ok(ChildWanted {
            template: NestedTemplate::At(url.to_owned()),
            parameters: parameters.cloned().unwrap_or_default(),
            timeout_mins: timeout.and_then(|minutes| u32::try_from(minutes).ok()),
            keeps_files: false,
        })
    }

    fn parameters(&self) -> Option<&'static str> {
        Some("Parameters")
    }

    fn reference(&self, subject: &Subject) -> Value {
        arn(subject)
    }

    fn attribute(&self, _subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        child.outputs.get(name.strip_prefix("Outputs.")?).cloned()
    }

    fn attribute_names(&self, child: &ChildSeen) -> Vec<String> {
        JsonMap::keys(&child.outputs).map(|key| format!("Outputs.{key}")).collect()
    }
}
