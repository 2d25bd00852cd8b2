//! Loading a definition: what is checked, and in which order. It is Heat's order, which decides
//! the error that a template with several is refused with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::IndexMap;
use serde_json::Value;

use super::written::Secrets;
use super::{NESTED_DEPTH_MAX, RESOURCES_MAX, StackDefinition, secrets};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::template::budget::Budget;
use crate::template::conditions::Conditions;
use crate::template::environment::registry::Found;
use crate::template::environment::{self, Environment};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Node, NodeMap, Read, ResourceTypes};
use crate::template::parameters::Values;
use crate::template::parameters::{Parameters, groups, schema};
use crate::template::provider::{Files, Provider};
use crate::template::resources;
use crate::template::value::{Datum, DatumMap};
use crate::template::version::Version;
use crate::template::{
    PseudoParameters, ResourceDeclared, StackSource, TypeLookup, document, outputs, python, walk,
};

/// How strictly a template is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) resources_max: usize,
    /// How many stacks it may stand within.
    pub(crate) depth_max: u32,
    pub(crate) values: Values,
}

impl Reading {
    /// As long as nothing bounds the tree that the stack is of.
    pub(crate) fn unbounded(values: Values) -> Self {
        Self { resources_max: usize::MAX, depth_max: NESTED_DEPTH_MAX, values }
    }

    /// Of no more resources than Heat allows unless it is told otherwise.
    pub(crate) fn ordinary(values: Values) -> Self {
        Self { resources_max: RESOURCES_MAX, ..Self::unbounded(values) }
    }
}

/// What a definition is put together from.
pub(super) struct Parts<'a> {
    pub(super) root: Arc<Node>,
    pub(super) environment: Env<'a>,
    pub(super) files: Arc<Files>,
    pub(super) pseudo: PseudoParameters,
    /// How many stacks this one stands within.
    pub(super) depth: u32,
    /// It stands behind a type: the environment's defaults for its parameters are its own.
    pub(super) is_provider: bool,
}

/// An environment, as read, with what is given beside it; or taken apart already.
pub(super) enum Env<'a> {
    Read(&'a Node, &'a JsonMap),
    Ready(Box<Environment>),
}

impl StackDefinition {
    /// Reads a template and what goes with it. The calls in resources and outputs are checked by
    /// [`Self::check`], or with the properties by the registry of types.
    pub fn load(
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
    ) -> Result<StackDefinition, Refusal> {
        let reading = Reading::ordinary(Values::Required);
        Ok(Self::read(source, pseudo, types, reading)?)
    }

    /// The same without a limit on the number of resources, for use without a service.
    pub fn load_unbounded(
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
    ) -> Result<StackDefinition, Refusal> {
        let reading = Reading::unbounded(Values::Required);
        Ok(Self::read(source, pseudo, types, reading)?)
    }

    /// Reads a nested stack's source again.
    pub fn load_nested(
        source: &StackSource,
        pseudo: PseudoParameters,
        depth: u32,
        types: &dyn TypeLookup,
    ) -> Result<StackDefinition, Refusal> {
        let environment = environment::read(&Value::Object(source.environment.clone()))?;
        let parts = Parts {
            root: Arc::new(document::template(&source.template)?),
            environment: Env::Read(&environment, &source.parameters),
            files: Arc::new(source.into()),
            pseudo,
            depth,
            is_provider: false,
        };
        let reading = Reading::unbounded(Values::Required);
        Ok(Self::put_together(parts, types, reading)?)
    }

    /// Reads a template that is only looked at: parameters need no values.
    pub fn load_without_values(
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
    ) -> Result<StackDefinition, Refusal> {
        let reading = Reading::ordinary(Values::Unchecked);
        Self::read(source, pseudo, types, reading).map_err(TemplateError::of_validation)
    }

    /// Reads, up to the checks of single resources and outputs.
    pub(crate) fn read(
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        let root = document::template(&source.template)?;
        let environment = environment::read(&Value::Object(source.environment.clone()))?;
        Self::assemble(root, &environment, source, pseudo, types, reading)
    }

    /// The same from documents that are read already, which know their places.
    pub(crate) fn assemble(
        root: Node,
        environment: &Node,
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        let parts = Parts {
            root: Arc::new(root),
            environment: Env::Read(environment, &source.parameters),
            files: Arc::new(source.into()),
            pseudo: pseudo.clone(),
            depth: 0,
            is_provider: false,
        };
        Self::put_together(parts, types, reading)
    }

    /// The same with all that is given in the environment.
    pub(crate) fn of_documents(
        root: Node,
        environment: &Node,
        files: Arc<Files>,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        let parts = Parts {
            root: Arc::new(root),
            environment: Env::Read(environment, &JsonMap::new()),
            files,
            pseudo: pseudo.clone(),
            depth: 0,
            is_provider: false,
        };
        Self::put_together(parts, types, reading)
    }

    pub(super) fn put_together(
        parts: Parts<'_>,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        let Parts { root, environment, files, pseudo, depth, is_provider } = parts;
        let version = Version::of(&root)?;
        let sections = &version.dialect.sections;
        let mut schemas = schema::read_all(&root, version)?;
        let mut environment = match environment {
            Env::Read(environment, parameters) => Environment::new(environment, parameters)?,
            Env::Ready(environment) => *environment,
        };
        if is_provider {
            schema::take_defaults(&mut schemas, &environment.parameter_defaults);
        }
        check_sections(&root, version, reading.resources_max).map_err(|error| match depth {
            // What the API checks first of all comes to one class.
            0 if error.class != "RequestLimitExceeded" => {
                TemplateError { place: error.place, ..TemplateError::validation(error.text()) }
            }
            _ => error,
        })?;
        environment.secret_names.extend(secrets::hidden_names(&root, &files));
        let root = Secrets::new(&environment, types).in_mappings(root, version);
        let mut parameters = Parameters::new(
            schemas,
            &environment.parameters,
            &environment.parameter_defaults,
            &pseudo,
            version,
        );
        parameters.note_secrets(|name| environment.is_secret(name));
        let description = match root.get(sections.description).filter(|node| node.is_truthy()) {
            Some(node) => python::text_of(&node.to_datum()),
            None => "No description".to_owned(),
        };
        let mut definition = StackDefinition {
            root: Arc::clone(&root),
            description,
            parameter_groups: sections
                .parameter_groups
                .and_then(|key| root.get(key))
                .map(Node::to_json),
            version,
            values: reading.values,
            mappings: match root.get(sections.mappings).filter(|node| node.is_truthy()) {
                Some(mappings) => mappings.clone(),
                None => Datum::Map(DatumMap::default()).into(),
            },
            files,
            pseudo,
            depth,
            providers: IndexMap::default(),
            environment,
            parameters,
            conditions: Conditions::default(),
            types: ResourceTypes::default(),
            definitions: IndexMap::default(),
            outputs: IndexMap::default(),
            declared: IndexMap::default(),
            reads: BTreeSet::new(),
            output_reads: BTreeMap::new(),
            budget: Budget::default(),
        };
        definition.fill(&root, types, reading)?;
        Ok(definition)
    }

    /// Parses conditions, resources and outputs, in Heat's order, which decides the first error.
    fn fill(&mut self, root: &Node, types: &dyn TypeLookup, reading: Reading) -> Outcome<()> {
        let sections = &self.version.dialect.sections;
        if self.version.has_conditions() {
            let conditions = root.get(sections.conditions);
            self.conditions = Conditions::parse(conditions, &self.scope(types))?;
        }
        let all = root.get(sections.resources).and_then(Node::as_map);
        let names = all.into_iter().flat_map(NodeMap::keys);
        self.types = names.map(|name| (name.to_string(), String::new())).collect();
        // Who may use which types is asked of the outermost stack before all else.
        if self.depth == 0 {
            self.definitions = resources::parse_all(all, &self.scope(types))?;
        }
        self.parameters.check(&self.environment.parameters, reading.values, types)?;
        let groups = sections.parameter_groups.and_then(|key| root.get(key));
        groups::check(groups, &self.parameters)?;
        self.conditions.check(&self.scope(types))?;
        if self.depth > 0 {
            self.definitions = resources::parse_all(all, &self.scope(types))?;
        }
        self.find_types(types)?;
        self.check_names()?;
        let scope = self.scope(types);
        let mut reads = BTreeSet::new();
        let mut declared =
            IndexMap::with_capacity_and_hasher(self.definitions.len(), Default::default());
        for (name, definition) in &self.definitions {
            let requires = definition
                .requires(name, all, &scope, &mut reads)
                .map_err(|error| error.placed(definition.place))?;
            declared.insert(
                ResourceName(name.clone()),
                ResourceDeclared {
                    name: name.clone(),
                    declared_type: definition.declared_type.clone(),
                    type_name: self.types[name].clone(),
                    description: definition.description.clone(),
                    requires: requires.into_iter().map(ResourceName).collect(),
                    deletion_policy: definition.deletion_policy.clone(),
                    external_id: definition.external_id(&scope)?,
                    outline: definition.outline.clone(),
                },
            );
        }
        let outputs = outputs::parse_all(root.get(sections.outputs), &scope)?;
        self.declared = declared;
        self.outputs = outputs;
        let mut output_reads = BTreeMap::new();
        for (key, output) in &self.outputs {
            let mut own = BTreeSet::new();
            let mut found = |read: Read| own.extend(read.of_attribute());
            // An output may refer to what does not exist; it then has an error for a value.
            let _ = walk::reads(&output.value, &mut String::new(), &self.scope(types), &mut found);
            reads.extend(own.iter().cloned());
            output_reads.insert(key.clone(), own);
        }
        self.reads = reads;
        self.output_reads = output_reads;
        Ok(())
    }

    /// Finds the types and templates behind the declared types.
    fn find_types(&mut self, types: &dyn TypeLookup) -> Outcome<()> {
        let registry = &self.environment.registry;
        let defaults = &self.environment.parameter_defaults;
        let mut names =
            ResourceTypes::with_capacity_and_hasher(self.definitions.len(), Default::default());
        let mut read: IndexMap<String, Arc<Provider>> = IndexMap::default();
        for (name, definition) in &self.definitions {
            let declared = &definition.declared_type;
            let found = registry.find(declared, name, types, None).ok_or_else(|| {
                let message = format!("The Resource Type ({declared}) could not be found.");
                TemplateError::validation(message).placed(definition.type_place)
            })?;
            if name.contains('/') {
                let message = "Resource name may not contain \"/\"";
                return Err(TemplateError::validation(message).placed(definition.place));
            }
            let type_name = match found {
                Found::Type(type_name) => type_name,
                Found::Template(entry) => {
                    let template_name = entry.name.clone();
                    let known = read.get(&template_name).filter(|known| known.entry == entry);
                    let provider = match known {
                        Some(known) => Arc::clone(known),
                        None => Provider::read(entry, &self.files, defaults, types)
                            .map(Arc::new)
                            .map_err(|error| error.placed(definition.type_place))?,
                    };
                    read.insert(template_name.clone(), Arc::clone(&provider));
                    self.providers.insert(name.clone(), provider);
                    template_name
                }
            };
            names.insert(name.clone(), type_name);
        }
        self.types = names;
        Ok(())
    }

    /// A resource and a parameter cannot share a name.
    fn check_names(&self) -> Outcome<()> {
        let shared =
            self.definitions.iter().filter(|(name, _)| self.parameters.get(name).is_some());
        let mut places = Vec::new();
        let mut names = Vec::new();
        for (name, definition) in shared {
            places.push(definition.place);
            names.push(python::quoted(name));
        }
        let Some(place) = places.first() else { return Ok(()) };
        let message = format!("Duplicate names {{{}}}", names.join(", "));
        Err(TemplateError::validation(message).placed(*place))
    }

    /// Checks the calls in each resource, then those in the outputs.
    pub(crate) fn check(&self, types: &dyn TypeLookup) -> Outcome<()> {
        for (name, definition) in &self.definitions {
            // What exists already is taken as it is.
            let is_external = !definition.external_id.is_null();
            if !is_external && !types.takes_anything(&self.types[name]) {
                self.check_calls(name, types)?;
            }
        }
        self.check_outputs(types)
    }

    /// Checks the calls in the outputs.
    pub(crate) fn check_outputs(&self, types: &dyn TypeLookup) -> Outcome<()> {
        let scope = self.scope(types);
        // With each resource Heat asks the outputs which they read. That this is none it forgives,
        // but not that it is no name at all.
        let asked = if self.definitions.is_empty() { 0 } else { self.outputs.len() };
        for output in self.outputs.values().take(asked) {
            match walk::reads(&output.value, &mut String::new(), &scope, &mut |_| {}) {
                Err(error) if error.class == "TypeError" => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.outputs.iter().try_for_each(|(name, output)| output.check(name, &scope))
    }
}

/// Checks sections and the shape of resources.
fn check_sections(root: &Node, version: &Version, resources_max: usize) -> Outcome<()> {
    let sections = root.as_map().into_iter().flatten();
    for (section, node) in sections {
        if !version.has_section(section) {
            let message = format!("The template section is invalid: {section}");
            return Err(
                TemplateError::new("InvalidTemplateSection", message).placed(node.key_place)
            );
        }
    }
    let resources = root.get(version.dialect.sections.resources);
    resources::check_section(resources, version)?;
    let count = resources.and_then(Node::as_map).map_or(0, |map| map.len());
    if count > resources_max {
        let message = "Request limit exceeded: Maximum resources per stack exceeded.";
        return Err(TemplateError::new("RequestLimitExceeded", message));
    }
    Ok(())
}
