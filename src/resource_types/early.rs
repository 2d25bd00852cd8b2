//! One resource before any other has values: its calls, policies and properties checked against
//! its type, in Heat's order and words.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde_json::Value;

use super::constraints::custom;
use super::declared::{Declaration, Translation};
use super::groups;
use super::job::Subject;
use super::looked::Looked;
use super::nested::{self, Budget};
use super::reading::{Problem, Strictness, read};
use super::registry::{PluginChecks, Registry};
use super::schema::{Properties, PropertySchema, filled};
use super::types::heat;
use crate::model::{JsonMap, ResourceName};
use crate::template::{
    AllGiven, Given, NestedTemplate, Outcome, Provider, StackDefinition, TemplateError,
};

/// What a resource says, read by a schema.
pub(super) struct Early<'a> {
    pub(super) schema: Cow<'a, Properties>,
    /// In their types, under their newest names, without defaults.
    pub(super) properties: JsonMap,
    pub(super) problems: Vec<TemplateError>,
    /// What is wrong with values where none is held against anybody, by property.
    forgiven: IndexMap<String, String>,
    /// The properties that depend on resources.
    unknown: Vec<String>,
}

impl Registry {
    /// All that is wrong with a resource, in the order in which Heat meets it: it refuses with the
    /// first. What takes anything, and what exists already, is never wrong. Without a budget
    /// nothing is asked that goes beyond the schema.
    pub(super) fn problems(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        budget: Option<&mut Budget>,
    ) -> Vec<TemplateError> {
        let Some(declared) = definition.resources().get(name) else { return Vec::new() };
        if declared.external_id.is_some() {
            return Vec::new();
        }
        let provider = definition.provider(name);
        if let Some(problem) = provider.and_then(Provider::problem) {
            return vec![TemplateError::validation(problem)];
        }
        let declaration = match provider {
            Some(_) => None,
            None => match self.known(&declared.type_name) {
                Ok(declaration) if declaration.accepts_anything => return Vec::new(),
                Ok(declaration) => Some(declaration),
                Err(refusal) => return vec![refusal.into()],
            },
        };
        if let Err(error) = definition.check_calls(name.as_str(), self) {
            return vec![error];
        }
        if let (Some(declaration), Some(_)) = (declaration, &budget)
            && let Err(error) = self.check_before_schema(definition, name, declaration)
        {
            return vec![error];
        }
        let mut problems = Vec::new();
        if declared.deletion_policy == "Snapshot" && !declaration.is_some_and(|it| it.snapshots) {
            let message = "\"Snapshot\" deletion policy not supported";
            let path = definition.path_of(name, definition.resource_keys().deletion_policy);
            problems.push(TemplateError::validation(message).in_path(path));
        }
        let mut policy = self.policy(definition, name, declaration);
        let mut early = match declaration {
            Some(declaration) => self.early(definition, name, declaration),
            None => self.early_of_template(definition, name, provider),
        };
        problems.append(&mut policy.problems);
        problems.append(&mut early.problems);
        let Some(budget) = budget.filter(|_| problems.is_empty()) else { return problems };
        let checked = match declaration {
            Some(declaration) => self.look(definition, name, (&early, &policy), |looked| {
                looked.check_rules_read(declaration)?;
                self.check_beyond_schema(looked, declaration, &early.properties)?;
                self.validate_made(looked, budget)
            }),
            None => {
                let parameters = nested::parameters(&early.schema, &early.properties);
                let template = &NestedTemplate::Provider;
                self.validate_nested(definition, name, template, parameters, budget)
                    .and_then(|()| self.check_facade(definition, name, &early.schema))
            }
        };
        checked.err().into_iter().collect()
    }

    /// Looks at a resource with the defaults of its properties and its update policy.
    fn look<T>(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        (early, policy): (&Early<'_>, &Early<'_>),
        then: impl FnOnce(&Looked<'_>) -> T,
    ) -> T {
        then(&Looked {
            registry: self,
            definition,
            name,
            properties: &filled(&early.schema, &early.properties),
            update_policy: &filled(&policy.schema, &policy.properties),
            forgiven: &early.forgiven,
        })
    }

    /// The same, of a resource that a type of its own stands behind.
    pub(super) fn looked<T>(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        then: impl FnOnce(&Looked<'_>) -> T,
    ) -> Option<T> {
        let declaration = self.schema(&definition.resources().get(name)?.type_name)?;
        let early = self.early(definition, name, declaration);
        let policy = self.policy(definition, name, Some(declaration));
        Some(self.look(definition, name, (&early, &policy), then))
    }

    /// What a type's rules say of values that the schema has not been held against yet.
    fn check_before_schema(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        declaration: &Declaration,
    ) -> Outcome<()> {
        let are_left_out = declaration.amazons && self.plugin_checks == PluginChecks::Heat;
        if !declaration.rules_first || are_left_out {
            return Ok(());
        }
        let (given, _) = taken(definition.properties_given(name));
        let (schema, translation) = (&declaration.properties, &declaration.translation);
        let read = read(schema, translation, &given, Strictness::NamesAlone, &|_, _| Ok(()));
        let early = Early {
            schema: Cow::Borrowed(schema),
            properties: read.properties,
            problems: Vec::new(),
            forgiven: read.forgiven,
            unknown: Vec::new(),
        };
        let policy = self.policy(definition, name, Some(declaration));
        self.look(definition, name, (&early, &policy), |looked| {
            looked.check_rules_read(declaration)?;
            groups::check_before_schema(declaration, looked)
        })
    }

    fn check_beyond_schema(
        &self,
        looked: &Looked<'_>,
        declaration: &Declaration,
        properties: &JsonMap,
    ) -> Outcome<()> {
        let type_name = &declaration.type_name;
        heat::check(declaration, looked)?;
        if declaration.service.is_some() && self.plugin_checks == PluginChecks::Heat {
            return Ok(());
        }
        let Some(driver) = self.driver(type_name) else { return Ok(()) };
        let subject = Subject {
            name: Some(looked.name.clone()),
            properties: properties.clone(),
            metadata: looked.definition.metadata_given(looked.name),
            ..Subject::default()
        };
        Ok(driver.validate(&subject)?)
    }

    /// Reads a resource's properties.
    pub(super) fn early<'a>(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        declaration: &'a Declaration,
    ) -> Early<'a> {
        let given = taken(definition.properties_given(name));
        let schema = told(&declaration.properties, &given.0);
        let key = definition.resource_keys().properties;
        let translation = &declaration.translation;
        let mut early = self.read_early(definition, name, key, schema, translation, given);
        early.unknown.extend(declaration.newer_names(&early.unknown));
        early
    }

    /// Reads the properties of a resource whose type is a template.
    pub(super) fn early_of_template(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        provider: Option<&Provider>,
    ) -> Early<'static> {
        let given = taken(definition.properties_given(name));
        let schema = Cow::Owned(provider.map(nested::properties).unwrap_or_default());
        let key = definition.resource_keys().properties;
        self.read_early(definition, name, key, schema, &[], given)
    }

    /// Reads a resource's update policy.
    fn policy<'a>(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        declaration: Option<&'a Declaration>,
    ) -> Early<'a> {
        let given = taken(definition.update_policy_given(name));
        let schema = match declaration {
            Some(declaration) => Cow::Borrowed(&declaration.update_policy),
            None => Cow::Owned(Properties::default()),
        };
        let key = definition.resource_keys().update_policy;
        self.read_early(definition, name, key, schema, &[], given)
    }

    /// Errors are about the section as a whole, which then cannot be read.
    fn read_early<'a>(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        key: &str,
        schema: Cow<'a, Properties>,
        translation: &[Translation],
        (given, errors): (AllGiven, Vec<TemplateError>),
    ) -> Early<'a> {
        if !errors.is_empty() {
            let (properties, unknown) = (JsonMap::new(), Vec::new());
            let forgiven = IndexMap::new();
            return Early { schema, properties, problems: errors, forgiven, unknown };
        }
        // In what is only looked at no value is wrong.
        let strictness = match definition.is_without_values() {
            true => Strictness::NamesAlone,
            false => Strictness::Strict,
        };
        let now = self.clock.now();
        let ask = |constraint: &str, value: &Value| {
            custom::check_local(self.finders(), constraint, value, now)
        };
        let read = read(&schema, translation, &given, strictness, &ask);
        let path = definition.path_of(name, key);
        let problems = read.problems.into_iter().map(|problem| problem.error(&path));
        let is_final = |given: &Given| !matches!(given, Given::Value { is_final: false, .. });
        let unknown = given.iter().filter(|(_, given)| !is_final(given));
        Early {
            schema,
            properties: read.properties,
            problems: problems.collect(),
            forgiven: read.forgiven,
            unknown: unknown.map(|(name, _)| name.clone()).collect(),
        }
    }
}

/// The schema, where properties say of what types others are.
fn told<'a>(schema: &'a Properties, given: &AllGiven) -> Cow<'a, Properties> {
    let word = |name: &str| match given.get(name) {
        Some(Given::Value { value, .. }) => Some(value),
        _ => None,
    };
    let mut told = Cow::Borrowed(schema);
    for (name, property) in schema {
        if let Some(kind) = property.told_kind(word) {
            told.to_mut().insert(name.clone(), PropertySchema { kind, ..property.clone() });
        }
    }
    told
}

fn taken(given: Outcome<AllGiven>) -> (AllGiven, Vec<TemplateError>) {
    match given {
        Ok(given) => (given, Vec::new()),
        Err(error) => (AllGiven::default(), vec![error]),
    }
}

impl Problem {
    /// The error at its place in the template.
    pub(super) fn error(self, section: &[&str]) -> TemplateError {
        let section = section.iter().map(|step| (*step).to_owned());
        let error = TemplateError::validation(self.message);
        match self.fallen {
            Some(class) => error.headed(class).in_path(section.take(2)),
            None => error.headed("Property error").in_path(section.chain(self.path)),
        }
    }
}

impl Early<'_> {
    /// What custom constraints are asked about: values that are final.
    pub(super) fn asked(&self) -> Vec<custom::Asked> {
        let is_final = |path: &[String]| {
            path.first().is_some_and(|name| !self.unknown.iter().any(|unknown| unknown == name))
        };
        let mut asked = custom::asked(&self.schema, &self.properties);
        asked.retain(|asked| is_final(&asked.path) && !asked.value.is_null());
        asked
    }
}
