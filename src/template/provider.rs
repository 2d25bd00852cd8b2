//! Templates that stand behind types: what their parameters and outputs make of the type. They
//! come with the request's files, or with everybody's mappings; nothing is fetched here, but what
//! would have to be is noted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::IndexMap;
use serde_json::{Value, json};

use super::constraints::Constraint;
use super::environment::registry::TemplateEntry;
use super::error::{Outcome, TemplateError};
use super::node::Node;
use super::parameters::{ParameterType, Schema, schema};
use super::value::DatumMap;
use super::version::Version;
use super::{StackSource, TypeLookup, document, outputs};

/// The files of a request, and those of them that were read as templates before.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) texts: BTreeMap<String, String>,
    /// Why templates could not be fetched, by their URL.
    failures: BTreeMap<String, String>,
    read: Mutex<HashMap<String, Outcome<Arc<Node>>>>,
    missed: Mutex<BTreeSet<String>>,
}

/// A template behind a type.
#[derive(Debug)]
pub struct Provider {
    pub(crate) entry: TemplateEntry,
    pub(crate) root: Arc<Node>,
    /// Why there is no template; an empty one stands in its place.
    problem: Option<String>,
    parameters: Vec<ProviderParameter>,
    outputs: Vec<String>,
    text_bytes: usize,
}

/// A parameter of a template, as a property of the type that it stands behind.
#[derive(Clone, Debug)]
pub struct ProviderParameter {
    pub name: String,
    pub kind: ProviderKind,
    pub required: bool,
    pub constraints: Vec<Constraint>,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    String,
    Number,
    Boolean,
    List,
    Map,
}

impl From<BTreeMap<String, String>> for Files {
    fn from(texts: BTreeMap<String, String>) -> Self {
        Self { texts, ..Self::default() }
    }
}

impl From<&StackSource> for Files {
    fn from(source: &StackSource) -> Self {
        let failed = source.fetched.iter().filter_map(|(url, fetched)| {
            fetched.as_ref().err().map(|reason| (url.clone(), reason.clone()))
        });
        Self { failures: failed.collect(), ..source.files.clone().into() }
    }
}

impl Files {
    /// The files with others beside them.
    pub(crate) fn with(&self, mut others: BTreeMap<String, String>) -> Files {
        others.extend(self.texts.clone());
        Files { failures: self.failures.clone(), ..others.into() }
    }

    /// The text of a template, or why there is none, in Heat's words. A URL from which it is still
    /// to be fetched is noted.
    pub(crate) fn template_text(&self, name: &str) -> Result<&str, String> {
        if let Some(text) = self.texts.get(name) {
            return Ok(text);
        }
        if let Some(reason) = self.failures.get(name) {
            return Err(reason.clone());
        }
        let scheme = scheme(name);
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(format!("Invalid URL scheme {scheme}"));
        }
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        missed.insert(name.to_owned());
        Err(format!("Failed to retrieve template from {name}"))
    }

    /// The URLs from which templates are still to be fetched.
    pub(crate) fn missed(&self) -> BTreeSet<String> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A file read as a template; what is wrong with its text is a `ValueError`.
    pub(crate) fn template(&self, name: &str, text: &str) -> Outcome<Arc<Node>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(name) {
            return known.clone();
        }
        let node = document::template_text(text, name).map(Arc::new);
        read.insert(name.to_owned(), node.clone());
        node
    }
}

impl Provider {
    /// Reads what stands behind a type. A template that cannot be had is a problem of the resource
    /// alone, as in Heat; one that is wrong is an error.
    pub(crate) fn read(
        entry: TemplateEntry,
        files: &Files,
        defaults: &DatumMap,
        types: &dyn TypeLookup,
    ) -> Outcome<Self> {
        let found = text(&entry, files, types)
            .and_then(|text| Ok((files.template(&entry.name, text)?, text.len())));
        let (root, text_bytes, problem) = match found {
            Ok((root, length)) => (root, length, None),
            Err(error) if matches!(error.class.as_ref(), "ValueError" | "NotFound") => {
                let empty = json!({ "HeatTemplateFormatVersion": "2012-12-12" });
                (Arc::new(Node::from(&empty)), 0, Some(error.message))
            }
            Err(error) => return Err(error),
        };
        let (parameters, outputs) = match problem {
            Some(_) => (Vec::new(), Vec::new()),
            None => interface(&root, defaults)?,
        };
        Ok(Self { entry, root, problem, parameters, outputs, text_bytes })
    }

    /// The template's name among the files, or its URL.
    pub fn template_name(&self) -> &str {
        &self.entry.name
    }

    /// Why the template cannot be had.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The properties that the template gives the type.
    pub fn parameters(&self) -> &[ProviderParameter] {
        &self.parameters
    }

    /// The attributes that the template gives the type.
    pub fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// The length of its text.
    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }
}

/// The text of a template, in Heat's words where there is none.
fn text<'a>(
    entry: &TemplateEntry,
    files: &'a Files,
    types: &'a dyn TypeLookup,
) -> Outcome<&'a str> {
    let name = &entry.name;
    if !entry.is_users
        && !files.texts.contains_key(name)
        && let Some(text) = types.mappings().templates.get(name)
    {
        return Ok(text);
    }
    files.template_text(name).map_err(|reason| {
        let message = format!("Could not fetch remote template \"{name}\": {reason}");
        TemplateError::new("NotFound", message)
    })
}

/// The scheme of a URL, in lower case; empty where there is none.
fn scheme(url: &str) -> String {
    let Some((scheme, _)) = url.split_once(':') else { return String::new() };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if is_scheme { scheme.to_ascii_lowercase() } else { String::new() }
}

/// The parameters and the names of the outputs.
fn interface(root: &Node, defaults: &DatumMap) -> Outcome<(Vec<ProviderParameter>, Vec<String>)> {
    let version = Version::of(root)?;
    let mut schemas: IndexMap<String, Schema> = schema::read_all(root, version)?;
    schema::take_defaults(&mut schemas, defaults);
    schemas.values().try_for_each(Schema::check_as_property)?;
    let parameters = schemas.into_iter().map(|(name, schema)| ProviderParameter {
        required: schema.default.is_none(),
        kind: match schema.kind {
            ParameterType::String => ProviderKind::String,
            ParameterType::Number => ProviderKind::Number,
            ParameterType::Boolean => ProviderKind::Boolean,
            ParameterType::CommaDelimitedList => ProviderKind::List,
            ParameterType::Json => ProviderKind::Map,
        },
        constraints: schema.constraints,
        name,
    });
    let parameters = parameters.collect();
    Ok((parameters, outputs::names(root, version)?))
}

/// A template for a nested stack.
#[derive(Clone, Debug)]
pub enum NestedTemplate {
    /// The one that stands behind the resource's type.
    Provider,
    /// One that the resource's type makes.
    Made(Value),
    /// One that the resource's properties have, as text.
    Text(String),
    /// One of the files, or one that was fetched.
    At(String),
}
