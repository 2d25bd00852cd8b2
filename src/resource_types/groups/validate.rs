//! What makes its own nested stack, before anything is made: the stack is validated, and shown,
//! with the first of its members.

use serde_json::Value;

use super::chain;
use super::member_stack::count;
use crate::model::{JsonMap, ResourceName};
use crate::resource_types::child::{ChildAsk, ChildWanted, Nested, ResourceUsed};
use crate::resource_types::job::{Subject, Work};
use crate::resource_types::looked::Looked;
use crate::resource_types::nested::Budget;
use crate::resource_types::registry::{PluginChecks, Registry};
use crate::resource_types::types::Program;
use crate::template::{NestedTemplate, Outcome, StackDefinition, TemplateError};

/// The property of a ResourceGroup that says what its members are.
const MEMBER: &str = "resource_def";

impl Registry {
    /// Validates the nested stack that a type of its own makes. Other types have none.
    pub(in crate::resource_types) fn validate_made(
        &self,
        looked: &Looked<'_>,
        budget: &mut Budget,
    ) -> Outcome<()> {
        let Looked { definition, name, properties, .. } = *looked;
        let type_name = &definition.resources()[name].type_name;
        let Some(declaration) = self.schema(type_name) else { return Ok(()) };
        if declaration.amazons && self.plugin_checks == PluginChecks::Heat {
            return Ok(());
        }
        match &declaration.program {
            Some(Program::ResourceGroup) => {
                if count(properties, "count") == 0 {
                    return Ok(());
                }
                if let Some(message) = looked.forgiven.get(MEMBER) {
                    return Err(looked.fallen("ValueError", message.clone()));
                }
                let Some(Value::Object(member)) = properties.get(MEMBER) else {
                    return Ok(());
                };
                self.check_member_type(definition, member.get("type"))?;
            }
            Some(Program::ResourceChain) => {
                let mut types = chain::types(properties).iter();
                types.try_for_each(|it| self.check_member_type(definition, Some(it)))?;
            }
            _ => {}
        }
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
            properties: self.with_member_in_part(looked),
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

    /// The properties of a group. As in Heat, a ResourceGroup that waits for the value of a parameter
    /// has a member of what is there already; other groups have none.
    fn with_member_in_part(&self, looked: &Looked<'_>) -> JsonMap {
        let mut properties = looked.properties.clone();
        let type_name = &looked.definition.resources()[looked.name].type_name;
        let program = self.schema(type_name).and_then(|declaration| declaration.program.as_ref());
        let waits = matches!(program, Some(Program::ResourceGroup))
            && properties.get(MEMBER).is_none_or(Value::is_null);
        if waits && let Some(mut member) = looked.definition.property_in_part(looked.name, MEMBER) {
            if let Some(given) = member.get_mut("properties").and_then(Value::as_object_mut) {
                given.retain(|_, value| !value.is_null());
            }
            properties.insert(MEMBER.to_owned(), member);
        }
        properties
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

    fn check_member_type(
        &self,
        definition: &StackDefinition,
        type_name: Option<&Value>,
    ) -> Outcome<()> {
        match type_name.and_then(Value::as_str) {
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
