//! The parameters of a stack's definition: as they are shown, as a validation tells of them, and
//! which of them may not change.

use serde_json::Value;

use super::StackDefinition;
use crate::model::taint::taint;
use crate::model::{JsonMap, Refusal};
use crate::template::CustomConstraintAsked;
use crate::template::environment::registry;
use crate::template::parameters::shown;

impl StackDefinition {
    /// Every parameter as text, pseudo parameters included, hidden ones `******`.
    pub fn shown_parameters(&self) -> JsonMap {
        shown::values(&self.parameters)
    }

    /// The value of a parameter, with a mark on what must not be seen; `None` where there is none.
    pub fn parameter(&self, name: &str) -> Option<Value> {
        let parameter = self.parameters.get(name)?;
        let value = parameter.value().ok()?.to_json();
        Some(if parameter.is_secret { taint(value) } else { value })
    }

    /// The values of parameters that custom constraints are to be asked about.
    pub fn custom_constraints(&self) -> Vec<CustomConstraintAsked> {
        self.parameters.custom_constraints()
    }

    /// The body of a template's validation; `nested` are the parameters of nested stacks, by
    /// resource, if there are any.
    pub fn validation_body(&self, nested: JsonMap) -> Value {
        let mut body = self.parameters_body(nested);
        let mut environment = self.environment.as_given();
        // As in Heat a template that is a type by its own name stands in the registry from then on.
        let types = self.declared.values().map(|resource| &resource.declared_type);
        if let Some(registry) = environment["resource_registry"].as_object_mut() {
            for name in types.filter(|name| registry::is_template(name)) {
                registry.entry(name.clone()).or_insert_with(|| name.as_str().into());
            }
        }
        body.insert("Environment".to_owned(), environment);
        Value::Object(body)
    }

    /// What the body of a validation says of the parameters of this stack and those within it.
    pub(crate) fn parameters_body(&self, nested: JsonMap) -> JsonMap {
        let mut body = JsonMap::new();
        // Unlike everywhere else it is what the template has, text or not.
        let description = self.root.get(self.version.dialect.sections.description);
        let description = match description.filter(|it| it.is_truthy()) {
            Some(description) => description.to_json(),
            None => self.description.as_str().into(),
        };
        body.insert("Description".to_owned(), description);
        body.insert("Parameters".to_owned(), shown::schemas(&self.parameters).into());
        if let Some(groups) = self.parameter_groups.as_ref().filter(|groups| !is_empty(groups)) {
            body.insert("ParameterGroups".to_owned(), groups.clone());
        }
        if !nested.is_empty() {
            body.insert("NestedParameters".to_owned(), nested.into());
        }
        body
    }

    /// Refuses a change of immutable parameters. As in Heat a value as given is compared with the
    /// old one in its type, so that `"5"` for 5 is a change.
    pub fn check_immutable(&self, old: &StackDefinition) -> Result<(), Refusal> {
        let before = old.parameters.values();
        let mut changed = Vec::new();
        for (name, parameter) in self.parameters.declared().filter(|(_, p)| p.schema.immutable) {
            let Some(old_value) = before.get(name) else { continue };
            let new_value = parameter.given.as_ref().or(parameter.value().ok());
            if new_value.is_some_and(|new| new != *old_value) {
                changed.push(name);
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        Err(Refusal::new(
            "ImmutableParameterModified",
            format!(
                "The following parameters are immutable and may not be updated: {}",
                changed.join(", ")
            ),
        ))
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
