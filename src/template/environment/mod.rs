//! Environments: values and defaults for parameters, and what resource types stand for.

pub(crate) mod mappings;
pub(crate) mod merge;
pub(crate) mod registry;
pub(crate) mod sent;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::document;
use super::error::{Outcome, TemplateError};
use super::node::Node;
use super::parameters::Parameters;
use super::python;
use super::value::{Datum, DatumMap, to_json_map};
use crate::model::{JsonMap, taint};
use registry::{Registry, TemplateEntry};

/// The sections of an environment.
pub(crate) const SECTIONS: [&str; 6] = [
    "parameters",
    "resource_registry",
    "parameter_defaults",
    "encrypted_param_names",
    "event_sinks",
    "parameter_merge_strategies",
];

/// What stands for a hidden value wherever it would be seen.
pub(crate) const HIDDEN: &str = "******";

/// An environment as the engine uses it.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) parameters: DatumMap,
    pub(crate) parameter_defaults: DatumMap,
    pub(crate) registry: Registry,
    event_sinks: Vec<Datum>,
    encrypted_param_names: Datum,
    /// The names of the parameters whose values must not be seen, here or in a nested stack.
    pub(crate) secret_names: BTreeSet<String>,
    /// Those whose own values came from secrets of the stack around.
    given_secret: BTreeSet<String>,
}

/// Reads an environment as the API gets it: an object or text.
pub(crate) fn read(source: &Value) -> Outcome<Node> {
    let node = match source {
        Value::Null => return Ok(Node::from(&json!({}))),
        Value::String(text) => document::environment_text(text),
        other => Ok(Node::from(other)),
    };
    node.and_then(|node| check_sections(&node).map(|()| node))
        .map_err(|error| document::bad_request("Environment not in valid format", error))
}

/// Refuses unknown and empty sections.
pub(crate) fn check_sections(environment: &Node) -> Outcome<()> {
    let Some(map) = environment.as_map() else {
        let message = "The environment is not a valid YAML mapping data type.";
        return Err(TemplateError::value(message).placed(environment.place));
    };
    for (section, node) in map {
        let problem = match (SECTIONS.contains(&section.as_str()), node.is_null()) {
            (false, _) => "wrong",
            (true, true) => "empty",
            (true, false) => continue,
        };
        let message = format!("environment has {problem} section \"{section}\"");
        return Err(TemplateError::value(message).placed(node.key_place));
    }
    Ok(())
}

impl Environment {
    /// Takes an environment apart; `parameters` given beside it win.
    pub(crate) fn new(environment: &Node, parameters: &JsonMap) -> Outcome<Self> {
        let mut given = map_section(environment, "parameters")?;
        let mut given_secret = tainted_names(environment, "parameters");
        for (name, value) in parameters {
            if taint::is_tainted(value) {
                given_secret.insert(name.clone());
            }
            given.insert(name.into(), Datum::from(&taint::plain(value.clone())));
        }
        let registry = environment.get("resource_registry").map(Registry::new).transpose()?;
        Ok(Self {
            parameters: given,
            parameter_defaults: map_section(environment, "parameter_defaults")?,
            registry: registry.unwrap_or_default(),
            event_sinks: event_sinks(environment)?,
            encrypted_param_names: environment
                .get("encrypted_param_names")
                .map_or(Datum::List(Vec::new()), Node::to_datum),
            secret_names: tainted_names(environment, "parameter_defaults"),
            given_secret,
        })
    }

    /// Whether the value of a parameter of this name must not be seen.
    pub(crate) fn is_secret(&self, name: &str) -> bool {
        self.secret_names.contains(name) || self.given_secret.contains(name)
    }

    /// As `stack environment show` prints it, hidden values masked.
    pub(crate) fn shown(&self, parameters: &Parameters) -> Value {
        let masked = |values: &DatumMap| {
            let mut shown = to_json_map(values);
            for (name, value) in &mut shown {
                let is_secret = parameters.get(name).is_some_and(|it| it.is_secret);
                if is_secret || self.is_secret(name) {
                    *value = HIDDEN.into();
                }
            }
            Value::Object(shown)
        };
        json!({
            "parameters": masked(&self.parameters),
            "parameter_defaults": masked(&self.parameter_defaults),
            "resource_registry": self.registry.to_datum().to_json(),
            "encrypted_param_names": self.encrypted_param_names.to_json(),
            "event_sinks": Datum::List(self.event_sinks.clone()).to_json(),
        })
    }

    /// As the body of a validation has it: nothing masked, nothing internal.
    pub(crate) fn as_given(&self) -> Value {
        json!({
            "resource_registry": self.registry.to_datum().to_json(),
            "parameters": Value::Object(to_json_map(&self.parameters)),
            "parameter_defaults": Value::Object(to_json_map(&self.parameter_defaults)),
            "event_sinks": Datum::List(self.event_sinks.clone()).to_json(),
        })
    }

    /// The environment of a nested stack: the registry as [`Registry::of_child`] has it, defaults
    /// and sinks as they are, and parameters of its own. Parameters that have a section's name
    /// among them are an environment, as in Heat, and go above what is there.
    pub(crate) fn of_child(
        &self,
        resource: &str,
        parameters: &JsonMap,
        made_from: Option<&TemplateEntry>,
    ) -> Outcome<Self> {
        let mut child = self.with_own(parameters)?;
        child.registry = child.registry.of_child(resource, made_from);
        Ok(child)
    }

    /// The same with other parameters.
    pub(crate) fn with_own(&self, parameters: &JsonMap) -> Outcome<Self> {
        let mut child = Self {
            parameters: DatumMap::default(),
            encrypted_param_names: Datum::List(Vec::new()),
            given_secret: BTreeSet::new(),
            ..self.clone()
        };
        let own = Node::from(&Value::Object(parameters.clone()));
        if parameters.keys().any(|name| SECTIONS.contains(&name.as_str())) {
            child.given_secret = tainted_names(&own, "parameters");
            child.secret_names.extend(tainted_names(&own, "parameter_defaults"));
            if let Some(section) = own.get("resource_registry") {
                child.registry.load(section)?;
            }
            child.parameters = map_section(&own, "parameters")?;
            child.parameter_defaults.extend(map_section(&own, "parameter_defaults")?);
            child.event_sinks.extend(event_sinks(&own)?);
        } else {
            let own = own.as_map().into_iter().flatten();
            for (name, node) in own {
                if node.is_tainted() {
                    child.given_secret.insert(name.to_string());
                }
                child.parameters.insert(name.clone().into(), node.to_datum());
            }
        }
        Ok(child)
    }
}

/// The names in a section whose values must not be seen.
fn tainted_names(environment: &Node, section: &str) -> BTreeSet<String> {
    let entries = environment.get(section).and_then(Node::as_map).into_iter().flatten();
    let tainted = entries.filter(|(_, node)| node.is_tainted());
    tainted.map(|(name, _)| name.to_string()).collect()
}

fn map_section(environment: &Node, name: &str) -> Outcome<DatumMap> {
    match environment.get(name).map(Node::to_datum) {
        None => Ok(DatumMap::default()),
        Some(Datum::Map(map)) => Ok(map),
        Some(_) => Err(wrong_section(environment, name, "map")),
    }
}

/// The sinks, whose types must be known: events can go to a Zaqar queue.
fn event_sinks(environment: &Node) -> Outcome<Vec<Datum>> {
    let sinks = list_section(environment, "event_sinks")?;
    for sink in &sinks {
        let kind = match sink {
            Datum::Map(map) => map.get("type").map(python::text_of),
            _ => None,
        };
        if kind.as_deref() != Some("zaqar-queue") {
            let kind = kind.unwrap_or_else(|| "type".to_owned());
            let place = environment.get("event_sinks").map(|node| node.place).unwrap_or_default();
            return Err(TemplateError::key(&kind).placed(place));
        }
    }
    Ok(sinks)
}

fn list_section(environment: &Node, name: &str) -> Outcome<Vec<Datum>> {
    match environment.get(name).map(Node::to_datum) {
        None => Ok(Vec::new()),
        Some(Datum::List(items)) => Ok(items),
        Some(_) => Err(wrong_section(environment, name, "list")),
    }
}

fn wrong_section(environment: &Node, name: &str, kind: &str) -> TemplateError {
    let place = environment.get(name).map(|node| node.place).unwrap_or_default();
    TemplateError::value(format!("The environment section \"{name}\" must be a {kind}."))
        .placed(place)
}

#[cfg(test)]
mod tests;
