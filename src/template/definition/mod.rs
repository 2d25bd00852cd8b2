//! A stack's definition: template, environment and files read, parameters joined, conditions
//! applied, references checked. What other rooms know of a template, they know from here.

mod child;
mod early;
mod load;
mod mappings;
mod parameters;
mod resolve;
mod secrets;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::IndexMap;
use serde_json::Value;

use crate::model::{JsonMap, Refusal, ResourceName, taint};
use crate::template::budget::Budget;
use crate::template::conditions::Conditions;
use crate::template::diagnose::set_aside;
use crate::template::dialect::ResourceKeys;
use crate::template::environment::Environment;
use crate::template::environment::registry::Found;
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Node, ResourceTypes, Scope};
use crate::template::parameters::{Parameters, Values};
use crate::template::provider::{Files, Provider};
use crate::template::resources;
use crate::template::value::{Datum, to_json_map};
use crate::template::version::Version;
use crate::template::{
    AttributeRead, Facade, OutputDeclared, PseudoParameters, ResourceDeclared, ResourceValues,
    StackSource, TypeLookup, outputs, python,
};
pub use child::ChildPlace;
pub use early::{AllGiven, Given};
pub(crate) use load::Reading;
pub(crate) use resolve::Part;

/// Heat's `max_resources_per_stack`.
pub const RESOURCES_MAX: usize = 1000;

/// Heat's `max_nested_stack_depth`.
pub const NESTED_DEPTH_MAX: u32 = 5;

/// A template with its parameters, ready to be acted on.
#[derive(Debug)]
pub struct StackDefinition {
    /// The template as read.
    root: Arc<Node>,
    description: String,
    parameter_groups: Option<Value>,
    pub(super) version: &'static Version,
    values: Values,
    /// What `Fn::FindInMap` looks in; what a secret property reads of it is secret.
    mappings: Node,
    files: Arc<Files>,
    pseudo: PseudoParameters,
    /// How many stacks this one stands within.
    depth: u32,
    /// The templates behind the types of resources, by the resources' names.
    providers: IndexMap<String, Arc<Provider>>,
    environment: Environment,
    pub(super) parameters: Parameters,
    pub(super) conditions: Conditions,
    types: ResourceTypes,
    pub(super) definitions: IndexMap<String, resources::Definition>,
    pub(super) outputs: IndexMap<String, outputs::Definition>,
    pub(super) declared: IndexMap<ResourceName, ResourceDeclared>,
    reads: BTreeSet<AttributeRead>,
    /// Those that each output reads.
    output_reads: BTreeMap<String, BTreeSet<AttributeRead>>,
    budget: Budget,
}

/// What stands behind a type.
#[derive(Debug)]
pub(crate) enum Behind {
    Type(String),
    Template(Provider),
}

/// Before anything exists: no reference but the name, no attribute.
struct NothingYet;

impl ResourceValues for NothingYet {
    fn reference(&self, _name: &ResourceName) -> Option<Value> {
        None
    }

    fn attribute(&self, _name: &ResourceName, _attribute: &str) -> Result<Option<Value>, Refusal> {
        Ok(None)
    }
}

/// Where only values are asked for, any type will do.
pub(super) struct AnyType;

impl TypeLookup for AnyType {
    fn exists(&self, _type_name: &str) -> bool {
        true
    }
}

impl StackDefinition {
    fn scope<'a>(&'a self, types: &'a dyn TypeLookup) -> Scope<'a> {
        let scope = self.scope_with(&NothingYet, types);
        self.budget.renew_for_one_of(self.definitions.len());
        scope
    }

    pub(super) fn scope_with<'a>(
        &'a self,
        values: &'a dyn ResourceValues,
        types: &'a dyn TypeLookup,
    ) -> Scope<'a> {
        self.budget.renew();
        Scope {
            version: self.version,
            parameters: &self.parameters,
            conditions: &self.conditions,
            files: &self.files.texts,
            mappings: &self.mappings,
            resources: &self.types,
            facade: self.pseudo.facade.as_ref(),
            values,
            types,
            budget: &self.budget,
            is_tainted: None,
        }
    }

    /// Whether an error is only that a declared parameter has no value, where none is asked for, or
    /// that something was set aside.
    fn is_open(&self, error: &TemplateError) -> bool {
        let is_missing =
            |name: &str| error.message == TemplateError::parameter_missing(name).message;
        match self.values {
            Values::Required => false,
            Values::IfGiven => {
                set_aside::follows(&error.message)
                    || self.parameters.declared().any(|(name, _)| is_missing(name))
            }
            Values::Unchecked => true,
        }
    }

    /// The template behind a resource's type, if there is one.
    pub fn provider(&self, name: &ResourceName) -> Option<&Provider> {
        self.providers.get(name.as_str()).map(Arc::as_ref)
    }

    /// Whether something stands behind a type's name in this stack.
    pub(crate) fn has_type(&self, type_name: &str, types: &dyn TypeLookup) -> bool {
        self.environment.registry.find(type_name, "", types, None).is_some()
    }

    /// Whether it is only looked at: parameters need no values, and no value is wrong.
    pub fn is_without_values(&self) -> bool {
        self.values == Values::Unchecked
    }

    /// A resource as the template has it, without its name.
    pub(crate) fn written(&self, name: &ResourceName) -> String {
        let Some(definition) = self.definitions.get(name.as_str()) else { return String::new() };
        let parts = [&definition.properties, &definition.metadata, &definition.update_policy];
        let parts = parts.map(Node::to_datum).into_iter().chain([
            definition.declared_type.as_str().into(),
            definition.deletion_policy.as_str().into(),
            Datum::List(definition.depends_on.iter().map(|name| name.as_str().into()).collect()),
        ]);
        python::json_text(&Datum::List(parts.collect()), true)
    }

    /// What the registry has for a resource's type beside the template that it is made of.
    pub(crate) fn behind_provider(
        &self,
        name: &ResourceName,
        types: &dyn TypeLookup,
    ) -> Outcome<Option<Behind>> {
        let (Some(provider), Some(declared)) = (self.provider(name), self.declared.get(name))
        else {
            return Ok(None);
        };
        let registry = &self.environment.registry;
        let found =
            registry.find(&declared.declared_type, name.as_str(), types, Some(&provider.entry));
        Ok(match found {
            None => None,
            Some(Found::Type(type_name)) => Some(Behind::Type(type_name)),
            Some(Found::Template(entry)) => {
                let defaults = &self.environment.parameter_defaults;
                Some(Behind::Template(Provider::read(entry, &self.files, defaults, types)?))
            }
        })
    }

    /// The hooks that the environment sets for a resource.
    pub fn hooks(&self, name: &ResourceName) -> BTreeSet<String> {
        self.environment.registry.hooks(name.as_str())
    }

    /// The actions (`update`, `replace`) that the environment keeps a resource from.
    pub fn restricted_actions(&self, name: &ResourceName) -> BTreeSet<String> {
        self.environment.registry.restricted_actions(name.as_str())
    }

    /// The resources whose condition holds.
    pub fn resources(&self) -> &IndexMap<ResourceName, ResourceDeclared> {
        &self.declared
    }

    /// The attributes that active resources and outputs read; `*` stands for all of a resource.
    pub fn attributes_read(&self) -> BTreeSet<AttributeRead> {
        self.reads.clone()
    }

    /// Whether there is an output of a name.
    pub fn has_output(&self, key: &str) -> bool {
        self.outputs.contains_key(key)
    }

    /// The outputs, without values.
    pub fn outputs(&self) -> Vec<OutputDeclared> {
        self.outputs
            .iter()
            .map(|(key, output)| OutputDeclared {
                key: key.clone(),
                description: output.description.clone(),
                reads: self.output_reads.get(key).cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// The language's names of a resource's keys.
    pub(crate) fn resource_keys(&self) -> &'static ResourceKeys {
        &self.version.dialect.resource
    }

    /// Where something of a resource stands in the template, name by name, for errors.
    pub(crate) fn path_of<'n>(&self, name: &'n ResourceName, key: &'n str) -> [&'n str; 3] {
        [self.version.dialect.sections.resources, name.as_str(), key]
    }

    /// The template as an object, with marks on what must not be seen.
    pub fn template(&self) -> Value {
        self.root.to_marked_json()
    }

    /// The template's own description.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The name of its stack.
    pub fn stack_name(&self) -> &str {
        &self.pseudo.stack_name
    }

    /// How many stacks this one stands within.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// What a nested stack sees of its resource.
    pub fn facade(&self) -> Option<&Facade> {
        self.pseudo.facade.as_ref()
    }

    /// Whether another definition is made of the same; what was kept has marks that what is read
    /// anew has not.
    pub fn is_same_as(&self, other: &StackDefinition) -> bool {
        self.files.texts == other.files.texts
            && self.facade() == other.facade()
            && self.environment.as_given() == other.environment.as_given()
            && (Arc::ptr_eq(&self.root, &other.root)
                || taint::plain(self.template()) == taint::plain(other.template()))
    }

    /// The definition as a source that is read to the same again, with marks on what must not be
    /// seen.
    pub fn source(&self) -> StackSource {
        let mut environment = match self.environment.as_given() {
            Value::Object(environment) => environment,
            _ => JsonMap::new(),
        };
        environment.shift_remove("parameters");
        let source = StackSource {
            template: self.template(),
            environment,
            files: self.files.texts.clone(),
            parameters: to_json_map(&self.environment.parameters),
            fetched: BTreeMap::new(),
        };
        self.mark(source)
    }

    /// The environment as `stack environment show` prints it, hidden values masked.
    pub fn environment(&self) -> Value {
        self.environment.shown(&self.parameters)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::template::{PseudoParameters, StackSource};

    fn load(template: &str, parameters: Value) -> StackDefinition {
        let source = StackSource {
            template: template.into(),
            parameters: parameters.as_object().unwrap().clone(),
            ..StackSource::default()
        };
        StackDefinition::load(&source, &PseudoParameters::default(), &AnyType).unwrap()
    }

    const TEMPLATE: &str = "
heat_template_version: 2018-08-31
parameters:
  secret: {type: string, hidden: true, description: not for all}
  fixed: {type: number, default: 5, immutable: true, constraints: [{range: {max: 9}}]}
resources:
  net: {type: Some::Net}
  port:
    type: Some::Port
    properties: {net: {get_resource: net}, text: {get_param: secret}}
    metadata: {of: {get_attr: [net, name, 0]}}
outputs:
  all: {value: {get_attr: [port]}}
";

    #[test]
    fn a_definition_can_be_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<StackDefinition>();
    }

    #[test]
    fn references_are_requirements_and_attributes_are_known_beforehand() {
        let definition = load(TEMPLATE, json!({"secret": "geheim"}));
        let port = &definition.resources()[&ResourceName::from("port")];
        assert_eq!(port.requires, BTreeSet::from(["net".into()]));
        let reads = [("net".into(), "name".to_owned()), ("port".into(), "*".to_owned())];
        assert_eq!(definition.attributes_read(), BTreeSet::from(reads));
        let given = definition.properties_given(&"port".into()).unwrap();
        assert_eq!(given["net"], Given::Value { value: "net".into(), is_final: false });
        assert_eq!(given["text"], Given::Value { value: "geheim".into(), is_final: true });
    }

    #[test]
    fn hidden_values_are_masked_wherever_they_are_shown() {
        let definition = load(TEMPLATE, json!({"secret": "geheim"}));
        assert_eq!(definition.shown_parameters()["secret"], "******");
        assert_eq!(definition.shown_parameters()["fixed"], "5");
        assert_eq!(definition.environment()["parameters"]["secret"], "******");
        assert!(!format!("{:?}", definition.shown_parameters()).contains("geheim"));
    }

    #[test]
    fn a_parameter_hidden_in_any_template_of_the_tree_is_secret_by_its_name() {
        let inner = json!({
            "heat_template_version": "2021-04-16",
            "parameters": { "shared": { "type": "string", "hidden": "true", "default": "d" } },
        });
        let source = StackSource {
            template: json!({
                "heat_template_version": "2021-04-16",
                "parameters": { "shared": { "type": "string" } },
                "outputs": { "o": { "value": { "get_param": "shared" } } },
            }),
            environment: json!({ "parameter_defaults": { "shared": "geheim", "open": "x" } })
                .as_object()
                .unwrap()
                .clone(),
            files: BTreeMap::from([("inner.yaml".to_owned(), inner.to_string())]),
            ..StackSource::default()
        };
        let definition =
            StackDefinition::load(&source, &PseudoParameters::default(), &AnyType).unwrap();
        let kept = Value::Object(definition.mark(source).environment);
        assert_eq!(
            taint::masked(&kept),
            json!({ "parameter_defaults": { "shared": "******", "open": "x" } })
        );
        assert!(taint::is_tainted(&definition.resolve_outputs(&NothingYet)[0].value));
        assert_eq!(definition.shown_parameters()["shared"], "******");
        assert_eq!(definition.environment()["parameter_defaults"]["shared"], "******");
        assert_eq!(definition.secret_files(&AnyType), BTreeSet::from(["inner.yaml".into()]));
    }

    #[test]
    fn what_is_marked_when_it_is_read_is_marked_when_it_is_written() {
        let secret = taint::taint(json!("geheim"));
        let template = json!({
            "heat_template_version": "2021-04-16",
            "parameters": { "given": { "type": "string" } },
            "resources": { "a": { "type": "Some::Type", "properties": {
                "literal": secret, "of": { "get_param": "given" }, "open": "x" } } },
        });
        let source = StackSource {
            template: template.clone(),
            parameters: json!({ "given": secret }).as_object().unwrap().clone(),
            ..StackSource::default()
        };
        let definition =
            StackDefinition::load(&source, &PseudoParameters::default(), &AnyType).unwrap();
        assert_eq!(definition.template(), template);
        let properties = definition.resolve(&"a".into(), &NothingYet).unwrap().properties;
        assert_eq!(
            taint::masked(&Value::Object(properties)),
            json!({ "literal": "******", "of": "******", "open": "x" })
        );
        assert_eq!(definition.source().parameters["given"], secret);
    }

    #[test]
    fn a_change_of_an_immutable_parameter_is_refused() {
        let old = load(TEMPLATE, json!({"secret": "a"}));
        let same = load(TEMPLATE, json!({"secret": "b"}));
        assert!(same.check_immutable(&old).is_ok());
        // As in Heat, the text of the same number is a change.
        for changed in [json!(6), json!("5")] {
            let new = load(TEMPLATE, json!({"secret": "a", "fixed": changed}));
            let refusal = new.check_immutable(&old).unwrap_err();
            assert_eq!(refusal.class, "ImmutableParameterModified");
        }
    }

    #[test]
    fn a_validation_describes_parameters() {
        let source = StackSource { template: TEMPLATE.into(), ..StackSource::default() };
        let pseudo = PseudoParameters::default();
        let definition = StackDefinition::load_without_values(&source, &pseudo, &AnyType).unwrap();
        let body = definition.validation_body(JsonMap::new());
        assert_eq!(body["Description"], "No description");
        assert_eq!(
            body["Parameters"]["secret"],
            json!({
                "Type": "String", "Description": "not for all", "NoEcho": "true",
                "Label": "secret",
            })
        );
        assert_eq!(body["Parameters"]["fixed"]["MaxValue"], 9);
        assert_eq!(body["Environment"]["resource_registry"], json!({"resources": {}}));
    }
}
