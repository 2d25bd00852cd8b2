//! A type that a template stands behind: its properties are the parameters of the child, and the
//! child's outputs its attributes.

use serde_json::Value;

use crate::model::Refusal;
use crate::resource_types::child::{ChildAsk, ChildWanted, Nested, REFERENCE, arn};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Change, Subject, UpdateKind};
use crate::resource_types::nested;
use crate::template::NestedTemplate;

/// In the place of a type's name, for every template: what is made of one template may be made of
/// another.
pub(crate) const TEMPLATE_RESOURCE: &str = "TemplateResource";

/// What would be the type's file.
pub(crate) const TEMPLATE_RESOURCE_FILE: &str = "\
type: TemplateResource
class: TemplateResource
program: template
accepts_anything: true
acts: [SUSPEND, RESUME, CHECK]
";

pub(crate) struct TemplateResource;

impl Nested for TemplateResource {
    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        let provider = ask.subject.name.as_ref().and_then(|name| ask.definition.provider(name));
        let schema = provider.map(nested::properties).unwrap_or_default();
        let parameters = nested::parameters(&schema, &ask.subject.properties);
        let parameters =
            parameters.map_err(|error| Refusal::new(error.class.clone(), error.text()))?;
        Ok(ChildWanted {
            template: NestedTemplate::Provider,
            parameters,
            timeout_mins: None,
            keeps_files: false,
        })
    }

    fn on_change(&self, _change: Change<'_>) -> Option<UpdateKind> {
        Some(UpdateKind::InPlace)
    }

    /// The template may have a word in it.
    fn reference(&self, subject: &Subject) -> Value {
        subject.data.get(REFERENCE).cloned().unwrap_or_else(|| arn(subject))
    }
}
