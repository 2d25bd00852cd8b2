//! Validation of nested stacks: what stands within a stack is validated whole, and a template that
//! stands for a type has what that has.

use super::nested::{Budget, TreeBounds, parameters, properties};
use super::registry::Registry;
use super::schema::{Kind, Properties, PropertySchema};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::template::{
    Behind, NestedTemplate, Outcome, Provider, StackDefinition, TemplateError, hold, json_map_size,
};

impl Registry {
    /// Validates the stack that a resource stands for. What is wrong in it is placed below the
    /// resource.
    pub(super) fn validate_nested(
        &self,
        parent: &StackDefinition,
        name: &ResourceName,
        template: &NestedTemplate,
        parameters: Outcome<JsonMap>,
        budget: &mut Budget,
    ) -> Outcome<()> {
        if !budget.descends {
            return Ok(());
        }
        let provider = parent.provider(name);
        let validated = parameters.and_then(|parameters| {
            let named = match template {
                NestedTemplate::At(url) => parent.template_text(url)?.len(),
                NestedTemplate::Provider | NestedTemplate::Made(_) | NestedTemplate::Text(_) => 0,
            };
            budget.take_stack(provider.map_or(named, Provider::text_bytes))?;
            let child = parent.child(name, template, parameters, self, budget.reading())?;
            self.validate_stack(&child, budget)
        });
        let url = provider.map_or("nested_stack", Provider::template_name);
        let [resources, ..] = parent.path_of(name, "");
        validated.map_err(|error| error.within([resources.to_owned(), format!("{name}<{url}>")]))
    }

    /// The parameters of nested stacks by resource, with those of the stacks within them.
    pub fn nested_parameters(
        &self,
        definition: &StackDefinition,
        bounds: TreeBounds,
    ) -> Result<JsonMap, Refusal> {
        self.parameters_within(definition, &mut Budget::of(bounds)).map_err(Refusal::from)
    }

    fn parameters_within(
        &self,
        definition: &StackDefinition,
        budget: &mut Budget,
    ) -> Outcome<JsonMap> {
        budget.take_resources(definition)?;
        let mut shown = JsonMap::new();
        for (name, resource) in definition.resources() {
            let (template, parameters) = match definition.provider(name) {
                Some(provider) => {
                    if let Some(problem) = provider.problem() {
                        return Err(TemplateError::validation(problem));
                    }
                    budget.take_stack(provider.text_bytes())?;
                    let early = self.early_of_template(definition, name, Some(provider));
                    (NestedTemplate::Provider, parameters(&early.schema, &early.properties)?)
                }
                None => {
                    let made = self.looked(definition, name, |looked| self.made(looked, true));
                    let Some(made) = made.flatten().transpose()? else { continue };
                    budget.take_stack(0)?;
                    (made.template, made.parameters)
                }
            };
            let child = definition.child(name, &template, parameters, self, budget.reading())?;
            let within = self.parameters_within(&child, budget)?;
            let mut body = child.parameters_body(within);
            body.insert("Type".to_owned(), resource.declared_type.as_str().into());
            hold(json_map_size(&body))?;
            shown.insert(name.to_string(), body.into());
        }
        Ok(shown)
    }

    /// Checks that a template can stand for a type that exists without it.
    pub(super) fn check_facade(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        schema: &Properties,
    ) -> Outcome<()> {
        let (Some(provider), Some(behind)) =
            (definition.provider(name), definition.behind_provider(name, self)?)
        else {
            return Ok(());
        };
        let (facade, mut attributes) = match &behind {
            Behind::Type(type_name) => {
                let Some(declaration) = self.schema(type_name) else { return Ok(()) };
                let attributes = declaration.attributes.keys().cloned().collect();
                (declaration.properties.clone(), attributes)
            }
            Behind::Template(other) => (properties(other), other.outputs().to_vec()),
        };
        let type_name = &definition.resources()[name].declared_type;
        for (key, wanted) in &facade {
            let Some(given) = schema.get(key) else {
                if wanted.required {
                    return Err(TemplateError::validation(format!(
                        "Required property {key} for facade {type_name} missing in provider"
                    )));
                }
                continue;
            };
            let allowed = if wanted.kind == Kind::Integer { Kind::Number } else { wanted.kind };
            if allowed != given.kind {
                return Err(TemplateError::validation(format!(
                    "Property {key} type mismatch between facade {type_name} ({}) and provider \
                     ({})",
                    class_name(wanted.kind),
                    class_name(given.kind)
                )));
            }
        }
        let unknown = |(key, given): &(&String, &PropertySchema)| {
            given.required && !facade.contains_key(key.as_str())
        };
        if let Some((key, _)) = schema.iter().find(unknown) {
            return Err(TemplateError::validation(format!(
                "Provider requires property {key} unknown in facade {type_name}"
            )));
        }
        attributes.retain(|attribute| attribute != "show");
        match attributes.iter().find(|attribute| !provider.outputs().contains(attribute)) {
            Some(attribute) => Err(TemplateError::validation(format!(
                "Attribute {attribute} for facade {type_name} missing in provider"
            ))),
            None => Ok(()),
        }
    }
}

/// Heat's name of a property's type in its errors.
fn class_name(kind: Kind) -> &'static str {
    match kind {
        Kind::String => "String",
        Kind::Integer => "Integer",
        Kind::Number => "Number",
        Kind::Boolean => "Boolean",
        Kind::List => "List",
        Kind::Map => "Map",
        Kind::Any => "Any",
    }
}
