//! Loading a definition: what is checked, and in which order. It is Heat's order, which decides
//! the error that a template with several is refused with.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde_json::Value;

use super::{RESOURCES_MAX, StackDefinition};
use crate::model::{Refusal, ResourceName};
use crate::template::conditions::Conditions;
use crate::template::environment::{self, Environment};
use crate::template::error::{Outcome, TemplateError};
use crate::template::functions::{Read, Scope};
use crate::template::node::{Node, NodeMap};
use crate::template::parameters::{Parameters, groups, schema};
use crate::template::resources::{self, ResourceTypes};
use crate::template::value::{Datum, DatumMap};
use crate::template::version::Version;
use crate::template::{
    AttributeRead, PseudoParameters, ResourceDeclared, StackSource, TypeLookup, document, outputs,
    python, walk,
};

/// How strictly a template is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) resources_max: usize,
    pub(crate) values: Values,
}

/// Which parameters must have values that their schemas accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// All.
    Required,
    /// Those that were given or have a default; what the others decide stays open.
    IfGiven,
    /// None: the template alone is looked at.
    Unchecked,
}

impl StackDefinition {
    /// Reads and checks everything that needs no schema of a resource type.
    pub fn load(
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
    ) -> Result<StackDefinition, Refusal> {
        let reading = Reading { resources_max: RESOURCES_MAX, values: Values::Required };
        let definition = Self::read(source, pseudo, types, reading)?;
        definition.check(types)?;
        Ok(definition)
    }

    /// The same without a limit on the number of resources, for use without a service.
    pub fn load_unbounded(
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
    ) -> Result<StackDefinition, Refusal> {
        let reading = Reading { resources_max: usize::MAX, values: Values::Required };
        let definition = Self::read(source, pseudo, types, reading)?;
        definition.check(types)?;
        Ok(definition)
    }

    /// Reads a template that is only looked at: parameters need no values. What does not hold
    /// together is a bad request here.
    pub fn load_without_values(
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
    ) -> Result<StackDefinition, Refusal> {
        let reading = Reading { resources_max: RESOURCES_MAX, values: Values::Unchecked };
        let definition = Self::read(source, pseudo, types, reading);
        let checked = definition.and_then(|definition| {
            definition.check(types)?;
            Ok(definition)
        });
        checked.map_err(|error| match error.class.as_ref() {
            "StackValidationFailed" => Refusal::new("HTTPBadRequest", error.text()),
            _ => error.into(),
        })
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
        let template = match &source.template {
            Value::Object(_) => source.template.clone(),
            _ => root.to_json(),
        };
        Self::assemble(&root, template, &environment, source, pseudo, types, reading)
    }

    /// The same from documents that are read already, which know their places.
    pub(crate) fn assemble(
        root: &Node,
        template: Value,
        environment: &Node,
        source: &StackSource,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        let version = Version::of(root)?;
        let sections = &version.dialect.sections;
        let schemas = schema::read_all(root, version)?;
        let environment = Environment::new(environment, &source.parameters)?;
        check_sections(root, version, reading.resources_max)?;
        let parameters = Parameters::new(
            schemas,
            &environment.parameters,
            &environment.parameter_defaults,
            pseudo,
            version,
        );
        let description = match root.get(sections.description).filter(|node| node.is_truthy()) {
            Some(node) => python::text_of(&node.to_datum()),
            None => "No description".to_owned(),
        };
        let mut definition = StackDefinition {
            template,
            description,
            parameter_groups: sections
                .parameter_groups
                .and_then(|key| root.get(key))
                .map(Node::to_json),
            version,
            values: reading.values,
            mappings: match root.get(sections.mappings).filter(|node| node.is_truthy()) {
                Some(mappings) => mappings.to_datum(),
                None => Datum::Map(DatumMap::new()),
            },
            facade: pseudo.facade.clone(),
            files: source.files.clone(),
            environment,
            parameters,
            conditions: Conditions::default(),
            types: ResourceTypes::new(),
            definitions: IndexMap::new(),
            outputs: IndexMap::new(),
            declared: IndexMap::new(),
            reads: BTreeSet::new(),
        };
        definition.fill(root, types, reading)?;
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
        self.types = names.map(|name| (name.clone(), String::new())).collect();
        self.definitions = resources::parse_all(all, &self.scope(types))?;
        self.parameters.check(&self.environment.parameters, reading.values)?;
        let groups = sections.parameter_groups.and_then(|key| root.get(key));
        groups::check(groups, &self.parameters)?;
        self.conditions.check(&self.scope(types))?;
        self.types = self.type_names(types)?;
        self.check_names()?;
        let scope = self.scope(types);
        let mut declared = IndexMap::with_capacity(self.definitions.len());
        for (name, definition) in &self.definitions {
            let requires = definition
                .requires(name, all, &scope)
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
                },
            );
        }
        let outputs = outputs::parse_all(root.get(sections.outputs), &scope)?;
        self.declared = declared;
        self.outputs = outputs;
        self.reads = self.find_reads(&self.scope(types));
        Ok(())
    }

    /// The types behind the declared ones.
    fn type_names(&self, types: &dyn TypeLookup) -> Outcome<ResourceTypes> {
        let registry = &self.environment.registry;
        let mut names = ResourceTypes::with_capacity(self.definitions.len());
        for (name, definition) in &self.definitions {
            let declared = &definition.declared_type;
            let found = registry.resolve(declared, name, types).ok_or_else(|| {
                let message = format!("The Resource Type ({declared}) could not be found.");
                TemplateError::validation(message).placed(definition.type_place)
            })?;
            if name.contains('/') {
                let message = "Resource name may not contain \"/\"";
                return Err(TemplateError::validation(message).placed(definition.place));
            }
            names.insert(name.clone(), found);
        }
        Ok(names)
    }

    /// A resource and a parameter cannot share a name.
    fn check_names(&self) -> Outcome<()> {
        let shared = self.definitions.iter().filter(|(name, _)| self.parameters.contains(name));
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

    /// What active resources and outputs read. What cannot be told yet is left out.
    fn find_reads(&self, scope: &Scope<'_>) -> BTreeSet<AttributeRead> {
        let mut reads = BTreeSet::new();
        let mut found = |read: Read| {
            if let Some(attribute) = read.attribute {
                reads.insert((ResourceName(read.resource), attribute));
            }
        };
        let nodes = self.definitions.values().flat_map(|d| [&d.properties, &d.metadata]);
        for node in nodes.chain(self.outputs.values().map(|output| &output.value)) {
            // An output may refer to what does not exist; it then has an error for a value.
            let _ = walk::reads(node, &mut String::new(), scope, &mut found);
        }
        reads
    }

    /// Checks the calls in each resource, then those in the outputs.
    pub(crate) fn check(&self, types: &dyn TypeLookup) -> Outcome<()> {
        let scope = self.scope(types);
        for (name, definition) in &self.definitions {
            // What exists already is taken as it is.
            let is_external = !definition.external_id.is_null();
            if is_external || types.takes_anything(&self.types[name]) {
                continue;
            }
            definition.check(name, &scope).map_err(|error| error.placed(definition.place))?;
            if self.values != Values::Unchecked {
                definition.check_properties(name, &scope, &|error| self.is_open(error))?;
            }
        }
        for (name, output) in &self.outputs {
            output.check(name, &scope)?;
        }
        Ok(())
    }
}

/// Checks sections and the shape of resources; every error is a validation's here.
fn check_sections(root: &Node, version: &Version, resources_max: usize) -> Outcome<()> {
    let sections = root.as_map().into_iter().flatten();
    for (section, node) in sections {
        if !version.has_section(section) {
            let message = format!("The template section is invalid: {section}");
            return Err(TemplateError::validation(message).placed(node.key_place));
        }
    }
    let resources = root.get(version.dialect.sections.resources);
    resources::check_section(resources, version).map_err(|error| TemplateError {
        place: error.place,
        ..TemplateError::validation(error.text())
    })?;
    let count = resources.and_then(Node::as_map).map_or(0, |map| map.len());
    if count > resources_max {
        let message = "Request limit exceeded: Maximum resources per stack exceeded.";
        return Err(TemplateError::new("RequestLimitExceeded", message));
    }
    Ok(())
}
