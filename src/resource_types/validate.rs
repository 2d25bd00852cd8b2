//! Validation of a stack's properties before anything is created.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::constraints::custom::{self, CustomError};
use super::driver::Subject;
use super::nested::{self, Budget};
use super::registry::Registry;
use super::schema::{Properties, PropertySchema};
use super::values::{Check, Problem};
use crate::clock::{Clock, SystemClock};
use crate::graph::build;
use crate::graph::steps::{Declared, RejectCycles};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::openstack::Session;
use crate::template::{
    EarlyProperties, NestedTemplate, Outcome, Provider, StackDefinition, TemplateError,
};

/// A resource's properties, read by its schema before other resources have values.
struct Early {
    schema: Properties,
    properties: JsonMap,
    /// The properties that depend on resources.
    unknown: Vec<String>,
}

/// Properties as they are given, before they are read by a schema. In a nested stack that is only
/// looked at no value is wrong: one that cannot be read counts as none.
struct Given {
    values: JsonMap,
    /// The names that the template has, also of properties that vanish.
    written: BTreeSet<String>,
    unknown: Vec<String>,
    failed: BTreeMap<String, String>,
    whole_failed: Option<String>,
    is_lenient: bool,
}

impl Registry {
    /// Checks every resource's calls and properties, with references unresolved, and the outputs,
    /// in Heat's words; nested stacks with them.
    pub fn validate(&self, definition: &StackDefinition) -> Result<(), Refusal> {
        self.validate_stack(definition, &mut Budget::default()).map_err(Refusal::from)
    }

    /// What is wrong with the resources: everything and not only the first, each with its path.
    pub fn findings(&self, definition: &StackDefinition) -> Vec<Refusal> {
        let mut budget = Budget::default();
        let names = definition.resources().keys();
        let found = names.filter_map(|name| {
            let error = self.validate_resource(definition, name, &mut budget).err()?;
            let path = definition.path_of(name, "").into_iter().take(2);
            Some(Refusal::from(if error.path.is_empty() { error.in_path(path) } else { error }))
        });
        found.collect()
    }

    pub(super) fn validate_stack(
        &self,
        definition: &StackDefinition,
        budget: &mut Budget,
    ) -> Outcome<()> {
        let names = definition.resources().keys().cloned();
        let shown = |name: &ResourceName| self.shown(definition, name);
        let graph = build(names, &[&Declared(definition), &RejectCycles(&shown)])?;
        let mut seen = HashSet::new();
        for name in graph.in_order() {
            let is_made_of_template = definition.provider(name).is_some();
            // Heat looks at one of several resources that are written alike.
            if is_made_of_template && !seen.insert(definition.written(name)) {
                continue;
            }
            self.validate_resource(definition, name, budget)?;
        }
        definition.check_outputs(self)
    }

    fn validate_resource(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        budget: &mut Budget,
    ) -> Outcome<()> {
        let declared = &definition.resources()[name];
        // What exists already is taken as it is.
        if declared.external_id.is_some() {
            return Ok(());
        }
        let provider = definition.provider(name);
        if let Some(problem) = provider.and_then(Provider::problem) {
            return Err(TemplateError::validation(problem));
        }
        let declaration = match provider {
            Some(_) => None,
            None => Some(self.known(&declared.type_name)?),
        };
        if declaration.is_some_and(|declaration| declaration.accepts_anything) {
            return Ok(());
        }
        definition.check_calls(name.as_str(), self)?;
        let keys = definition.resource_keys();
        if declared.deletion_policy == "Snapshot" && !declaration.is_some_and(|it| it.snapshots) {
            let message = "\"Snapshot\" deletion policy not supported";
            return Err(TemplateError::validation(message)
                .in_path(definition.path_of(name, keys.deletion_policy)));
        }
        let update_policy = definition.path_of(name, keys.update_policy);
        let schema = declaration.map(|it| it.update_policy.clone()).unwrap_or_default();
        let policy = Given::new(definition.early_update_policy(name), definition.is_nested());
        policy.read(&schema, &update_policy)?;
        let early = self.early(definition, name)?;
        for asked in early.asked() {
            custom::check_known(&asked.constraint, &asked.value, SystemClock.now()).map_err(
                |text| {
                    problem(asked.path.clone(), asked.own_words().unwrap_or(text))
                        .error(&definition.path_of(name, keys.properties))
                },
            )?;
        }
        if provider.is_some() {
            let parameters = nested::parameters(&early.schema, &early.properties);
            self.validate_nested(definition, name, &NestedTemplate::Provider, parameters, budget)?;
            return self.check_facade(definition, name, &early.schema);
        }
        if let Some(driver) = self.driver(&declared.type_name) {
            driver.validate(&early.subject(name))?;
        }
        Ok(())
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
            // What a nested stack asks is asked when it is made.
            if definition.provider(name).is_some() || declared.external_id.is_some() {
                continue;
            }
            if self.known(&declared.type_name)?.accepts_anything {
                continue;
            }
            let early = self.early(definition, name)?;
            for asked in early.asked() {
                if !asked_before.insert((asked.constraint.clone(), asked.value.to_string())) {
                    continue;
                }
                let refused = |text: String| {
                    problem(asked.path.clone(), text)
                        .refusal(&definition.path_of(name, definition.resource_keys().properties))
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

    /// Reads a resource's properties.
    fn early(&self, definition: &StackDefinition, name: &ResourceName) -> Outcome<Early> {
        let mut given = Given::new(definition.resolve_early(name), definition.is_nested());
        let schema = match definition.provider(name) {
            Some(provider) => nested::properties(provider),
            None => {
                let declaration = self.known(&definition.resources()[name].type_name)?;
                given.unknown.extend(declaration.newer_names(&given.unknown));
                given.values = declaration.translated(given.values);
                declaration.properties.clone()
            }
        };
        let place = definition.path_of(name, definition.resource_keys().properties);
        let properties = given.read(&schema, &place)?;
        Ok(Early { schema, properties, unknown: given.unknown })
    }
}

impl Given {
    fn new(early: EarlyProperties, is_lenient: bool) -> Self {
        Self {
            values: early.properties,
            written: early.written,
            unknown: early.unknown.into_iter().collect(),
            failed: early.failed,
            whole_failed: early.whole_failed,
            is_lenient,
        }
    }

    /// The values in their types, as far as the schema has them; errors stand at `place`.
    fn read(&self, schema: &Properties, place: &[&str]) -> Outcome<JsonMap> {
        let refused = |problem: Problem| Err(problem.error(place));
        if let Some(message) = self.whole_failed.as_ref().filter(|_| !self.is_lenient) {
            return refused(problem(Vec::new(), message.clone()));
        }
        let mut names = self.written.iter().chain(self.values.keys());
        if let Some(name) = names.find(|name| !schema.contains_key(*name)) {
            return refused(problem(Vec::new(), format!("Unknown Property {name}")));
        }
        let mut read = JsonMap::new();
        for (key, property) in schema {
            match self.read_one(key, property) {
                Ok(Some(value)) => drop(read.insert(key.clone(), value)),
                Ok(None) => {}
                Err(_) if self.is_lenient => {}
                Err(problem) => return refused(problem),
            }
            if !property.implemented && self.written.contains(key) {
                let message = format!("Property {key} not implemented yet");
                return refused(problem(Vec::new(), message));
            }
        }
        Ok(read)
    }

    fn read_one(&self, key: &str, property: &PropertySchema) -> Result<Option<Value>, Problem> {
        let is_unknown = self.unknown.iter().any(|unknown| unknown == key);
        let check = if is_unknown || self.is_lenient { Check::Type } else { Check::All };
        match (self.failed.get(key), self.values.get(key)) {
            (Some(message), _) => Err(problem(vec![key.to_owned()], message.clone())),
            (None, Some(value)) => property.read(value, check).map(Some).map_err(|mut problem| {
                problem.path.insert(0, key.to_owned());
                problem
            }),
            (None, None) if property.required && property.default.is_none() => {
                Err(problem(Vec::new(), format!("Property {key} not assigned")))
            }
            (None, None) => Ok(None),
        }
    }
}

fn problem(path: Vec<String>, message: String) -> Problem {
    Problem { path, message }
}

impl Early {
    /// What custom constraints are asked about: values that are final.
    fn asked(&self) -> Vec<custom::Asked> {
        let is_final = |path: &[String]| {
            path.first().is_some_and(|name| !self.unknown.iter().any(|unknown| unknown == name))
        };
        let mut asked = custom::asked(&self.schema, &self.properties);
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
