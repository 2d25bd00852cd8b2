//! Validation of a stack's properties before anything is created.

use std::collections::{HashMap, HashSet};

use super::constraints::custom::{self, CustomError};
use super::driver::Subject;
use super::nested::{Budget, TreeBounds};
use super::reading::Problem;
use super::registry::Registry;
use super::remote::BESIDE;
use crate::graph::steps::{Declared, RejectCycles};
use crate::graph::{Dependencies, build};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::openstack::Session;
use crate::template::{
    CustomConstraintAsked, Outcome, ResourceDeclared, StackDefinition, TemplateError, TypeLookup,
};

/// What the cloud is to be asked about a definition.
#[derive(Debug, Default)]
pub struct AskedOfCloud {
    parameters: Vec<CustomConstraintAsked>,
    /// What custom constraints say of a resource's properties, and these.
    resources: HashMap<ResourceName, (Vec<custom::Asked>, JsonMap)>,
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
        self.validate_stack(definition, &mut Budget::of_one_stack()).map_err(Refusal::from)
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
    async fn check_external(
        &self,
        declared: &ResourceDeclared,
        id: &str,
        cloud: &Session,
    ) -> Result<(), Refusal> {
        let Some(driver) = self.driver(&declared.type_name) else { return Ok(()) };
        let subject = Subject { physical_id: Some(id.to_owned()), ..Subject::default() };
        match driver.exists(cloud, &subject).await {
            Ok(false) => Err(Refusal::validation(format!(
                "Invalid external resource: Resource {id} ({}) can not be found.",
                declared.declared_type
            ))),
            Err(error) if error.transient => Err(Refusal::unavailable(error.message)),
            Ok(true) | Err(_) => Ok(()),
        }
    }

    /// What the cloud alone knows of a definition: custom constraints of parameters and properties.
    pub fn asked_of_cloud(&self, definition: &StackDefinition) -> Result<AskedOfCloud, Refusal> {
        let mut resources = Vec::new();
        for (name, declared) in definition.resources() {
            // What a nested stack asks is asked when it is made.
            if declared.external_id.is_some() || definition.provider(name).is_some() {
                continue;
            }
            let declaration = self.known(&declared.type_name)?;
            if declaration.accepts_anything {
                continue;
            }
            let early = self.early(definition, name, declaration);
            resources.push((name.clone(), (early.asked(), early.properties)));
        }
        Ok(AskedOfCloud {
            parameters: definition.custom_constraints(),
            resources: resources.into_iter().collect(),
        })
    }

    /// Asks it.
    pub async fn ask_cloud(
        &self,
        definition: &StackDefinition,
        mut of: AskedOfCloud,
        cloud: &Session,
    ) -> Result<(), Refusal> {
        // An image that ten servers share is looked up once.
        let mut asked_before = HashSet::new();
        for asked in of.parameters {
            if !asked_before.insert((asked.constraint.clone(), asked.value.to_string())) {
                continue;
            }
            match custom::check(cloud, &asked.constraint, &asked.value).await {
                Ok(()) => {}
                Err(CustomError::Refused(text)) => return Err(asked.refused(&text)),
                Err(CustomError::Unreachable(text)) => return Err(Refusal::unavailable(text)),
            }
        }
        for (name, declared) in definition.resources() {
            if let Some(id) = &declared.external_id {
                self.check_external(declared, id, cloud).await?;
                continue;
            }
            let Some((all_asked, properties)) = of.resources.remove(name) else { continue };
            for asked in all_asked {
                if !asked_before.insert((asked.constraint.clone(), asked.value.to_string())) {
                    continue;
                }
                match custom::check(cloud, &asked.constraint, &asked.value).await {
                    Ok(()) => {}
                    Err(CustomError::Refused(text)) => {
                        let message = asked.description.unwrap_or(text);
                        let key = definition.resource_keys().properties;
                        let problem = Problem { path: asked.path, message };
                        return Err(problem.error(&definition.path_of(name, key)).into());
                    }
                    Err(CustomError::Unreachable(text)) => return Err(Refusal::unavailable(text)),
                }
            }
            if declared.type_name == BESIDE {
                self.check_beside(definition, name, &properties, cloud).await?;
            }
            if let Some(driver) = self.driver(&declared.type_name) {
                driver.validate_in_cloud(cloud, &properties).await?;
            }
        }
        Ok(())
    }
}
