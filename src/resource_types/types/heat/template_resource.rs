//! A type that a template stands behind: its properties are the parameters of the child, and the
//! child's outputs its attributes.

use serde_json::Value;

use crate::resource_types::child::{ChildAsk, ChildWanted, Nested, REFERENCE, arn};
use crate::resource_types::driver::{DriverError, Subject};
use crate::resource_types::nested;
use crate::template::NestedTemplate;

/// In the place of a type's name, for every template: what is made of one template may be made of
/// another.
pub(crate) const TEMPLATE_RESOURCE: &str = "TemplateResource";

pub(crate) struct TemplateResource;

impl Nested for TemplateResource {
    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, DriverError> {
        let provider = ask.subject.name.as_ref().and_then(|name| ask.definition.provider(name));
        let schema = provider.map(nested::properties).unwrap_or_default();
        let parameters = nested::parameters(&schema, &ask.subject.properties);
        let parameters =
            parameters.map_err(|error| DriverError::fatal(error.class.clone(), error.text()))?;
        Ok(ChildWanted {
            template: NestedTemplate::Provider,
            parameters,
            timeout_mins: None,
            keeps_files: false,
        })
    }

    /// The template may have a word in it.
    fn reference(&self, subject: &Subject) -> Value {
        subject.data.get(REFERENCE).cloned().unwrap_or_else(|| arn(subject))
    }
}
