//! What makes its own nested stack, before anything is made: the stack is validated, and shown,
//! with the first of its members.

use serde_json::Value;

use crate::model::{JsonMap, ResourceName};
use crate::resource_types::child::{ChildAsk, ChildWanted, Nested, ResourceUsed};
use crate::resource_types::job::{Subject, Work};
use crate::resource_types::looked::Looked;
use crate::resource_types::nested::Budget;
use crate::resource_types::registry::{PluginChecks, Registry};
use crate::template::{NestedTemplate, Outcome, StackDefinition, TemplateError};

impl Registry {
    /// Validates the nested stack that a type of its own makes. Other types have none.
    pub(in crate::resource_types) fn validate_made(
        &self,
        looked: &Looked<'_>,
        budget: &mut Budget,
    ) -> Outcome<()> {
        let Looked { definition, name, properties, .. } = *looked;
        let type_name = &definition.resources()[name].type_name;
        let Some(driver) = self.driver(type_name) else { return Ok(()) };
        if driver.declaration().amazons && self.plugin_checks == PluginChecks::Heat {
            return Ok(());
        }
        let Some(nested) = driver.nests() else { return Ok(()) };
        let types = nested.member_types(properties, looked.forgiven);
        let types = types.map_err(|message| looked.fallen("ValueError", message))?;
        let Some(types) = types else { return Ok(()) };
        types.into_iter().try_for_each(|it| self.check_member_type(definition, it))?;
        let (template, parameters) = match self.made(looked, false) {
            None => return Ok(()),
            Some(Ok(made)) => (made.template, Ok(made.parameters)),
            Some(Err(error)) => (NestedTemplate::Made(Value::Null), Err(error)),
        };
        self.validate_nested(definition, name, &template, parameters, budget)
    }

    /// The nested stack that a type of its own makes, with no more than its first member.
    pub(in crate::resource_types) fn made(
        &self,
        looked: &Looked<'_>,
        even_if_empty: bool,
    ) -> Option<Outcome<ChildWanted>> {
        let Looked { definition, name, update_policy, .. } = *looked;
        let type_name = definition.resources()[name].type_name.as_str();
        let driver = self.driver(type_name)?;
        let nested = driver.nests().filter(|it| !it.stands_beside())?;
        let reads = definition.attributes_read();
        let subject = Subject {
            name: Some(name.clone()),
            properties: with_member_in_part(looked, nested),
            update_policy: update_policy.clone(),
            reads: reads.into_iter().filter(|(read, _)| read == name).map(|(_, key)| key).collect(),
            ..Subject::default()
        };
        let used = self.used(definition, nested, &subject);
        let ask = ChildAsk {
            work: &Work::Create,
            subject: &subject,
            definition,
            child: None,
            used: used.as_ref(),
            templates: self.operator_templates(),
            room: usize::MAX,
            timeout: std::time::Duration::MAX,
            now: self.clock.now(),
            chance: &|bytes| self.clock.fill(bytes),
        };
        Some(nested.sample(&ask, even_if_empty).map_err(|error| TemplateError {
            class: error.class().to_owned().into(),
            ..TemplateError::validation(error.to_string())
        }))
    }

    /// The resource that a type uses, as its template has it.
    fn used(
        &self,
        definition: &StackDefinition,
        nested: &dyn Nested,
        subject: &Subject,
    ) -> Option<ResourceUsed> {
        let name = ResourceName::from(nested.uses(subject)?.as_str());
        let declaration = self.schema(&definition.resources().get(&name)?.type_name)?;
        let properties = self.early(definition, &name, declaration).properties;
        Some(ResourceUsed { properties, ..ResourceUsed::default() })
    }

    fn check_member_type(&self, definition: &StackDefinition, type_name: &Value) -> Outcome<()> {
        match type_name.as_str() {
            Some("") => Err(TemplateError::validation("Resource \"None\" has no type")),
            Some(type_name) if !definition.has_type(type_name, self) => {
                Err(TemplateError::validation(format!(
                    "The Resource Type ({type_name}) could not be found."
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The properties of a group. As in Heat, a ResourceGroup that waits for the value of a parameter has
/// a member of what is there already; other groups have none.
fn with_member_in_part(looked: &Looked<'_>, nested: &dyn Nested) -> JsonMap {
    let mut properties = looked.properties.clone();
    let waiting = nested.member_in_part();
    let waiting = waiting.filter(|it| properties.get(*it).is_none_or(Value::is_null));
    let Some(waiting) = waiting else { return properties };
    if let Some(mut member) = looked.definition.property_in_part(looked.name, waiting) {
        if let Some(given) = member.get_mut("properties").and_then(Value::as_object_mut) {
            given.retain(|_, value| !value.is_null());
        }
        properties.insert(waiting.to_owned(), member);
    }
    properties
}
