//! Reading templates: HOT and CloudFormation documents, parameters, environments, conditions, functions, outputs.
//! Pure: it asks no cloud, and knows of resource types only what `TypeLookup` tells.

mod attribute_path;
mod budget;
mod conditions;
pub mod constraints;
mod convert;
mod definition;
mod describe;
mod diagnose;
mod dialect;
mod document;
mod environment;
mod error;
mod fnmatch;
mod functions;
mod json;
mod key;
mod listing;
mod node;
mod outline;
mod outputs;
mod parameters;
mod parse;
mod pattern;
mod place;
mod provider;
pub(crate) mod python;
mod request;
mod resources;
mod stands;
mod subscript;
mod suggest;
mod value;
mod version;
mod walk;
mod work;
mod yaml;
mod yaql;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{JsonMap, Refusal, ResourceName};
pub use attribute_path::{attribute_key, attribute_parts};
pub use convert::{Obstacle, cfn_to_hot, json_to_yaml};
pub use definition::{
    AllGiven, ChildPlace, Given, NESTED_DEPTH_MAX, RESOURCES_MAX, StackDefinition,
};
pub(crate) use definition::{Behind, Part, Reading};
pub use describe::TextForm;
pub use diagnose::{Diagnosis, Documents, Finding, Severity, Span, diagnose};
pub use document::{
    FileNamed, TEMPLATE_SIZE_MAX_BYTES, emptied, files_named, is_template_text, map_text,
    template_map_text, text_to_send, yaml_text,
};
pub(crate) use document::{json_map_size, json_size};
pub use environment::mappings::{Mappings, MappingsError};
pub use environment::sent::{EnvironmentMerged, EnvironmentSent};
pub(crate) use error::{Outcome, TemplateError};
pub(crate) use functions::select;
pub use listing::{FunctionListed, VersionListed, template_functions, template_versions};
pub(crate) use parameters::Values;
pub(crate) use place::Place;
pub use provider::{NestedTemplate, Provider, ProviderKind, ProviderParameter};
pub use request::Request;
pub use stands::{Draft, Stands, is_plain};
pub(crate) use suggest::nearest;
pub(crate) use value::Datum;
pub(crate) use work::hold;
#[cfg(test)]
pub(crate) use work::step_of_request;
pub(crate) use work::steps_since;
pub use work::{GIVEN_UP, GoesOn, REQUEST_STEPS_MAX, within_request, within_steps};
pub(crate) use yaml::{Shape, Written, written};
pub use yaql::{Limits as YaqlLimits, limit as limit_yaql};

/// What Python says of a text that is no JSON.
pub(crate) fn json_problem(text: &str) -> Option<String> {
    json::parse(text).err()
}

/// The names of the parameters that a template declares; none where it cannot be read.
pub fn parameter_names(template: &Value) -> BTreeSet<String> {
    let root = document::template(template).ok();
    let section =
        |root| version::Version::of(root).ok().map(|version| version.dialect.sections.parameters);
    let declared = root.as_ref().and_then(|root| root.get(section(root)?));
    match declared.map(|parameters| &parameters.form) {
        Some(node::Form::Map(parameters)) => {
            parameters.keys().map(|name| name.to_string()).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// What a client sends to make or change a stack, before anything of it is read.
#[derive(Clone, Debug, Default)]
pub struct StackSource {
    /// The template as sent: an object, or text in YAML or JSON.
    pub template: Value,
    /// The environment, merged from all that were sent: an object (possibly empty).
    pub environment: JsonMap,
    /// `get_file` contents and the environment files, by their name or URL.
    pub files: BTreeMap<String, String>,
    /// Parameters given beside the environment.
    pub parameters: JsonMap,
    /// Which of the files were fetched by their URL and not sent, and why others could not be.
    pub fetched: BTreeMap<String, Result<(), String>>,
}

/// The stack that a template is read for: the values of the pseudo parameters, and its facade.
#[derive(Clone, Debug, Default)]
pub struct PseudoParameters {
    /// `OS::stack_name`, `AWS::StackName`.
    pub stack_name: String,
    /// `OS::stack_id`; `AWS::StackId` is the ARN that is made of it. `None` without a stack.
    pub stack_id: String,
    /// `OS::project_id`.
    pub project_id: String,
    /// The resource that the stack stands for, if it is a nested one's.
    pub facade: Option<Facade>,
}

/// What the template of a nested stack may ask of the resource that the stack stands for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facade {
    pub metadata: Value,
    /// `Delete`, `Retain` or `Snapshot`.
    pub deletion_policy: String,
    pub update_policy: Value,
}

/// What the template must know of resource types.
pub trait TypeLookup: Send + Sync {
    /// Whether a type of this exact name can be created.
    fn exists(&self, type_name: &str) -> bool;

    /// Whether the type takes any definition whatever, wrong calls and all (OS::Heat::None).
    fn takes_anything(&self, _type_name: &str) -> bool {
        false
    }

    /// Whether a property of a type of this exact name is a secret, or has one within.
    fn is_secret(&self, _type_name: &str, _property: &str) -> bool {
        false
    }

    /// What types stand for with everybody.
    fn mappings(&self) -> &Mappings {
        Mappings::built_in()
    }

    /// Whether a value satisfies a custom constraint, as far as that can be told without a cloud;
    /// the error is Heat's text.
    fn check_custom(&self, _constraint: &str, _value: &Value) -> Result<(), String> {
        Ok(())
    }

    /// The names of all types, for suggestions.
    fn type_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of a type's properties, or of the keys within one, for suggestions.
    fn property_names(&self, _type_name: &str, _within: &[&str]) -> Vec<String> {
        Vec::new()
    }

    /// The names of a type's attributes, for suggestions.
    fn attribute_names(&self, _type_name: &str) -> Vec<String> {
        Vec::new()
    }

    /// The custom constraint that what the type makes satisfies.
    fn makes(&self, _type_name: &str) -> Option<&str> {
        None
    }

    /// What users of a type, a property or an attribute should know.
    fn advice(&self, _type_name: &str, _member: Member<'_>) -> Advice {
        Advice::default()
    }

    /// Whether an attribute of the type has different things to show at different paths, so that
    /// what is read of it is an `attribute_key`.
    fn reads_paths(&self, _type_name: &str) -> bool {
        false
    }

    /// Whether the type has an attribute of this name.
    fn has_attribute(&self, _type_name: &str, _attribute: &str) -> bool {
        true
    }
}

/// A type, or what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member<'a> {
    Type,
    /// A property, and the keys that lead to one within it.
    Property(&'a [&'a str]),
    Attribute(&'a str),
}

/// What is good to know of a member of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// The release that deprecated it, empty where it is not known; `None` where it is in use.
    pub deprecated_since: Option<String>,
    /// Whether it is still taken, and nothing is made of it.
    pub does_nothing: bool,
    /// What takes its place.
    pub successor: Option<String>,
    /// The custom constraint on its value: what the value is the name or id of.
    pub constraint: Option<String>,
}

/// Where the values of other resources come from while a definition is resolved.
pub trait ResourceValues {
    /// What `get_resource` gives; `None` while the resource has none.
    fn reference(&self, name: &ResourceName) -> Option<Value>;

    /// What `get_attr` gives for the attribute, before any further path is walked;
    /// `None` while it has none.
    /// [`ALL_ATTRIBUTES`] asks for all of them, but `show`, in a map.
    fn attribute(&self, name: &ResourceName, attribute: &str) -> Result<Option<Value>, Refusal>;

    /// What a path leads to within an attribute; null where it leads nowhere.
    fn attribute_at(
        &self,
        name: &ResourceName,
        attribute: &str,
        path: &[Value],
    ) -> Result<Option<Value>, Refusal> {
        let value = self.attribute(name, attribute)?;
        Ok(value.and_then(|value| functions::select(&value, path)))
    }
}

/// A resource as its template declares it: what is known without other resources' values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceDeclared {
    pub name: String,
    /// As written: an alias stays an alias.
    pub declared_type: String,
    /// What the alias stands for in the environment's registry.
    pub type_name: String,
    pub description: String,
    /// `depends_on`, and what properties and metadata refer to.
    pub requires: BTreeSet<ResourceName>,
    /// `Delete`, `Retain` or `Snapshot`.
    pub deletion_policy: String,
    pub external_id: Option<String>,
    /// The sections that are written, as far as values do not tell: see [`outline`].
    pub outline: ecow::EcoString,
}

/// A resource with every function resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceResolved {
    pub properties: JsonMap,
    pub metadata: JsonMap,
    pub update_policy: JsonMap,
}

/// An attribute that the template reads: `(resource, attribute)`.
pub type AttributeRead = (ResourceName, String);

/// In the place of an attribute's name: all attributes of the resource.
pub const ALL_ATTRIBUTES: &str = "*";

/// In the place of an attribute's name: why attributes have no value, by their names.
pub const FAILED_ATTRIBUTES: &str = "!";

/// An output as its template declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputDeclared {
    pub key: String,
    pub description: String,
    /// The attributes that its value reads.
    pub reads: BTreeSet<AttributeRead>,
}

/// An output with its value, or why it has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputValue {
    pub key: String,
    pub description: String,
    pub value: Value,
    pub error: Option<String>,
}

/// A parameter's value that a custom constraint is to be asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomConstraintAsked {
    pub parameter: String,
    /// `nova.flavor`, `ip_addr`, …
    pub constraint: String,
    pub value: Value,
    /// The author's text for the case that it fails.
    pub description: Option<String>,
}

impl CustomConstraintAsked {
    /// The refusal for a value that the constraint does not accept; the author's text comes before
    /// the constraint's.
    pub fn refused(&self, reason: &str) -> Refusal {
        let reason = self.description.as_deref().filter(|text| !text.is_empty()).unwrap_or(reason);
        Refusal::validation(format!("Parameter '{}' is invalid: {reason}", self.parameter))
    }
}
