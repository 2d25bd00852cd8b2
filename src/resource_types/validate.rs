//! Validation of a stack's properties before anything is created.

use std::collections::HashSet;

use serde_json::Value;

use super::asks::Asks;
use super::child::Nested;
use super::constraints::custom::{self, CustomError};
use super::job::Subject;
use super::nested::{Budget, TreeBounds};
use super::reading::Problem;
use super::registry::Registry;
use crate::graph::steps::{Declared, RejectCycles};
use crate::graph::{Dependencies, build};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::template::{
    CustomConstraintAsked, Outcome, ResourceDeclared, StackDefinition, TemplateError, TypeLookup,
};

/// Something of a definition that the cloud alone knows.
#[derive(Debug)]
pub enum CloudCheck {
    /// A custom constraint of a parameter.
    Parameter(CustomConstraintAsked),
    /// What a resource only stands for must be there.
    External { resource: ResourceName, id: String },
    /// A custom constraint of a property.
    Property { resource: ResourceName, asked: custom::Asked },
    /// What the type checks itself.
    Properties { resource: ResourceName, asked: JsonMap },
    /// The template and the place of a stack that is to stand beside its own.
    Beside { resource: ResourceName, properties: JsonMap },
}

impl Registry {
    /// Checks what needs no cloud: every resource by the schema and the rules of its type, with
    /// references unresolved, and the outputs; nested stacks with them. The refusal is the first
    /// that Heat meets, in its words.
    pub fn validate(&self, definition: &StackDefinition) -> Result<(), Refusal> {
        self.validate_stack(definition, &mut Budget::default()).map_err(Refusal::from)
    }

    /// The same, for a tree of stacks within bounds.
    pub fn validate_within(
        &self,
        definition: &StackDefinition,
        bounds: TreeBounds,
    ) -> Result<(), Refusal> {
        self.validate_stack(definition, &mut Budget::of(bounds)).map_err(Refusal::from)
    }

    /// The same for a nested stack that is about to be made: those within it were validated with
    /// the outermost one, and are again when they are made.
    pub fn validate_nested_alone(&self, definition: &StackDefinition) -> Result<(), Refusal> {
        self.validate_stack(definition, &mut Budget::of_one_alone()).map_err(Refusal::from)
    }

    /// What is wrong with the resources: everything and not only the first, each with its path.
    pub fn findings(&self, definition: &StackDefinition) -> Vec<Refusal> {
        let mut budget = Budget::default();
        let mut found = Vec::new();
        for name in definition.resources().keys() {
            let path = definition.path_of(name, "").into_iter().take(2);
            for error in self.problems(definition, name, Some(&mut budget)) {
                let is_placed = !error.path.is_empty();
                let error = if is_placed { error } else { error.in_path(path.clone()) };
                found.push(Refusal::from(error));
            }
        }
        found
    }

    /// Checks what a template alone decides, as in a request that only asks whether it holds
    /// together: names of properties and calls, but no values and nothing that a type checks
    /// itself.
    pub fn validate_template(&self, definition: &StackDefinition) -> Result<(), Refusal> {
        let checked = self.validate_written(definition);
        checked.map_err(TemplateError::of_validation)
    }

    fn validate_written(&self, definition: &StackDefinition) -> Outcome<()> {
        let graph = self.graph(definition)?;
        for name in graph.in_order() {
            let resource = &definition.resources()[name];
            if resource.external_id.is_none() && self.takes_anything(&resource.type_name) {
                // Its calls are looked at all the same.
                definition.check_calls(name.as_str(), self)?;
            }
            if let Some(problem) = self.problems(definition, name, None).into_iter().next() {
                return Err(problem);
            }
        }
        definition.check_outputs(self)
    }

    /// What the template itself says of dependencies.
    fn graph(&self, definition: &StackDefinition) -> Outcome<Dependencies> {
        let names = definition.resources().keys().cloned();
        let shown = |name: &ResourceName| self.shown(definition, name);
        Ok(build(names, &[&Declared(definition), &RejectCycles(&shown)])?)
    }

    pub(super) fn validate_stack(
        &self,
        definition: &StackDefinition,
        budget: &mut Budget,
    ) -> Outcome<()> {
        budget.take_resources(definition)?;
        let graph = self.graph(definition)?;
        let mut seen = HashSet::new();
        for name in graph.in_order() {
            let is_made_of_template = definition.provider(name).is_some();
            // Heat looks at one of several resources that are written alike.
            if is_made_of_template && !seen.insert(definition.written(name)) {
                continue;
            }
            let problems = self.problems(definition, name, Some(&mut *budget));
            if let Some(problem) = problems.into_iter().next() {
                return Err(problem);
            }
        }
        definition.check_outputs(self)
    }

    /// What a resource only stands for must be there.
    fn check_external(
        &self,
        declared: &ResourceDeclared,
        id: &str,
        cloud: &Asks<'_>,
    ) -> Result<(), Refusal> {
        let Some(driver) = self.driver(&declared.type_name) else { return Ok(()) };
        let subject = Subject { physical_id: Some(id.to_owned()), ..Subject::default() };
        match driver.exists(cloud, &subject) {
            Ok(false) => Err(Refusal::validation(format!(
                "Invalid external resource: Resource {id} ({}) can not be found.",
                declared.declared_type
            ))),
            Err(error) if error.is_transient() => Err(Refusal::unavailable(error.to_string())),
            Ok(true) | Err(_) => Ok(()),
        }
    }

    /// What the cloud is to be asked about a definition, in Heat's order. A constraint that ten
    /// servers' images are held to is asked once for each image.
    pub fn cloud_checks(&self, definition: &StackDefinition) -> Result<Vec<CloudCheck>, Refusal> {
        let mut asked_before = HashSet::new();
        let mut is_new = |constraint: &str, value: &Value| {
            asked_before.insert((constraint.to_owned(), value.to_string()))
        };
        let parameters = definition.custom_constraints().into_iter();
        let parameters = parameters.filter(|asked| is_new(&asked.constraint, &asked.value));
        let mut checks: Vec<CloudCheck> = parameters.map(CloudCheck::Parameter).collect();
        for (name, declared) in definition.resources() {
            let resource = name.clone();
            if let Some(id) = &declared.external_id {
                checks.push(CloudCheck::External { resource, id: id.clone() });
                continue;
            }
            // What a nested stack asks is asked when it is made.
            if definition.provider(name).is_some() {
                continue;
            }
            let declaration = self.known(&declared.type_name)?;
            if declaration.accepts_anything {
                continue;
            }
            let early = self.early(definition, name, declaration);
            let constraints = early.asked().into_iter();
            let constraints = constraints.filter(|asked| is_new(&asked.constraint, &asked.value));
            checks.extend(
                constraints.map(|asked| CloudCheck::Property { resource: name.clone(), asked }),
            );
            let Some(driver) = self.driver(&declared.type_name) else { continue };
            if driver.nests().is_some_and(Nested::stands_beside) {
                checks.push(CloudCheck::Beside { resource, properties: early.properties });
            } else if let Some(asked) = driver.asked_of_cloud(&early.properties)
                && is_new(&declared.type_name, &Value::Object(asked.clone()))
            {
                checks.push(CloudCheck::Properties { resource, asked });
            }
        }
        Ok(checks)
    }

    /// Asks the cloud.
    pub fn check_in_cloud(
        &self,
        definition: &StackDefinition,
        check: &CloudCheck,
        cloud: &Asks<'_>,
    ) -> Result<(), Refusal> {
        match check {
            CloudCheck::Parameter(asked) => {
                match custom::check(cloud, self.finders(), &asked.constraint, &asked.value) {
                    Ok(()) => Ok(()),
                    Err(CustomError::Refused(text)) => Err(asked.refused(&text)),
                    Err(CustomError::Unreachable(text)) => Err(Refusal::unavailable(text)),
                }
            }
            CloudCheck::External { resource, id } => {
                let Some(declared) = definition.resources().get(resource) else { return Ok(()) };
                self.check_external(declared, id, cloud)
            }
            CloudCheck::Property { resource, asked } => {
                match custom::check(cloud, self.finders(), &asked.constraint, &asked.value) {
                    Ok(()) => Ok(()),
                    Err(CustomError::Refused(text)) => {
                        let message = asked.description.clone().unwrap_or(text);
                        let key = definition.resource_keys().properties;
                        let problem = Problem { path: asked.path.clone(), message, fallen: None };
                        Err(problem.error(&definition.path_of(resource, key)).into())
                    }
                    Err(CustomError::Unreachable(text)) => Err(Refusal::unavailable(text)),
                }
            }
            CloudCheck::Properties { resource, asked } => {
                let Some(declared) = definition.resources().get(resource) else { return Ok(()) };
                let Some(driver) = self.driver(&declared.type_name) else { return Ok(()) };
                driver.validate_in_cloud(cloud, asked)
            }
            CloudCheck::Beside { resource, properties } => {
                let Some(declared) = definition.resources().get(resource) else { return Ok(()) };
                let Some(declaration) = self.schema(&declared.type_name) else { return Ok(()) };
                self.check_beside(definition, resource, declaration, properties, cloud)
            }
        }
    }
}
