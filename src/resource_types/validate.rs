//! Validation of a stack's properties before anything is created.

use std::collections::HashSet;

use serde_json::Value;

use super::constraints::custom::{self, CustomError};
use super::declared::Declaration;
use super::driver::Subject;
use super::registry::Registry;
use super::values::{Check, Problem, read};
use crate::clock::{Clock, SystemClock};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::openstack::Session;
use crate::template::{ResourceDeclared, StackDefinition};

/// A resource's properties, read by its schema before other resources have values.
struct Early<'a> {
    declaration: &'a Declaration,
    properties: JsonMap,
    /// The properties that depend on resources.
    unknown: Vec<String>,
}

impl Registry {
    /// Checks what parameters' custom constraints can tell without a cloud, and every resource's
    /// properties, with references unresolved, in Heat's words.
    pub fn validate(&self, definition: &StackDefinition) -> Result<(), Refusal> {
        if let Some(refusal) = parameters_refused(definition).next() {
            return Err(refusal);
        }
        let resources = definition.resources().iter();
        resources
            .into_iter()
            .try_for_each(|(name, resource)| self.validate_resource(definition, name, resource))
    }

    /// The same, but everything that is wrong and not only the first.
    pub fn findings(&self, definition: &StackDefinition) -> Vec<Refusal> {
        let resources = definition.resources().iter();
        let of_resources = resources.filter_map(|(name, resource)| {
            self.validate_resource(definition, name, resource).err()
        });
        parameters_refused(definition).chain(of_resources).collect()
    }

    fn validate_resource(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        declared: &ResourceDeclared,
    ) -> Result<(), Refusal> {
        let declaration = self.known(&declared.type_name)?;
        if !is_checked(declared, declaration) {
            return Ok(());
        }
        let early = self.early(definition, name, declaration)?;
        for asked in early.asked() {
            custom::check_local(&asked.constraint, &asked.value, SystemClock.now()).map_err(
                |reason| {
                    problem(asked.path.clone(), asked.words(&reason))
                        .refusal(&definition.properties_path(name))
                },
            )?;
        }
        match self.driver(&declared.type_name) {
            Some(driver) => driver.validate(&early.subject(name)),
            None => Ok(()),
        }
    }

    /// Asks the cloud what it alone knows: custom constraints of parameters and properties.
    pub async fn check_custom_constraints(
        &self,
        definition: &StackDefinition,
        cloud: &Session,
    ) -> Result<(), Refusal> {
        // An image that ten servers share is looked up once.
        let mut asked_before = HashSet::new();
        for asked in definition.custom_constraints() {
            if !asked_before.insert((asked.constraint.clone(), asked.value.to_string())) {
                continue;
            }
            match custom::check(cloud, &asked.constraint, &asked.value).await {
                Ok(()) => {}
                Err(CustomError::Refused(reason)) => {
                    return Err(asked.refused(&custom::words(&asked.value, &reason)));
                }
                Err(CustomError::Unknown(text)) => return Err(asked.refused(&text)),
                Err(CustomError::Unreachable(text)) => return Err(Refusal::unavailable(text)),
            }
        }
        for (name, declared) in definition.resources() {
            let declaration = self.known(&declared.type_name)?;
            if !is_checked(declared, declaration) {
                continue;
            }
            let early = self.early(definition, name, declaration)?;
            for asked in early.asked() {
                if !asked_before.insert((asked.constraint.clone(), asked.value.to_string())) {
                    continue;
                }
                let refused = |text: String| {
                    problem(asked.path.clone(), text).refusal(&definition.properties_path(name))
                };
                match custom::check(cloud, &asked.constraint, &asked.value).await {
                    Ok(()) => {}
                    Err(CustomError::Refused(reason)) => {
                        return Err(refused(asked.words(&reason)));
                    }
                    Err(CustomError::Unknown(text)) => return Err(refused(text)),
                    Err(CustomError::Unreachable(text)) => return Err(Refusal::unavailable(text)),
                }
            }
            if let Some(driver) = self.driver(&declared.type_name) {
                driver.validate_in_cloud(cloud, &early.properties).await?;
            }
        }
        Ok(())
    }

    fn early<'a>(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        declaration: &'a Declaration,
    ) -> Result<Early<'a>, Refusal> {
        let early = definition.resolve_early(name)?;
        let mut unknown: Vec<String> = early.unknown.into_iter().collect();
        let newer = declaration.newer_names(&unknown);
        unknown.extend(newer);
        let check = |name: &str| match unknown.iter().any(|unknown| unknown == name) {
            true => Check::Type,
            false => Check::All,
        };
        let given = declaration.translated(early.properties);
        let properties = read(&declaration.properties, &given, &check)
            .map_err(|problem| problem.refusal(&definition.properties_path(name)))?;
        Ok(Early { declaration, properties, unknown })
    }
}

/// What custom constraints refuse of parameters without a cloud.
fn parameters_refused(definition: &StackDefinition) -> impl Iterator<Item = Refusal> {
    definition.custom_constraints().into_iter().filter_map(|asked| {
        let checked = custom::check_local(&asked.constraint, &asked.value, SystemClock.now());
        checked.err().map(|reason| asked.refused(&custom::words(&asked.value, &reason)))
    })
}

/// An external resource is taken as it is, and some types take anything.
fn is_checked(declared: &ResourceDeclared, declaration: &Declaration) -> bool {
    declared.external_id.is_none() && !declaration.accepts_anything
}

fn problem(path: Vec<String>, message: String) -> Problem {
    Problem { path, message }
}

impl Early<'_> {
    /// What custom constraints are asked about: values that are final.
    fn asked(&self) -> Vec<custom::Asked> {
        let is_final = |path: &[String]| {
            path.first().is_some_and(|name| !self.unknown.iter().any(|unknown| unknown == name))
        };
        let mut asked = custom::asked(&self.declaration.properties, &self.properties);
        asked.retain(|asked| is_final(&asked.path) && !matches!(asked.value, Value::Null));
        asked
    }

    fn subject(&self, name: &ResourceName) -> Subject {
        Subject {
            name: Some(name.clone()),
            properties: self.properties.clone(),
            ..Subject::default()
        }
    }
}
