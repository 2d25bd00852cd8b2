//! Custom constraints, by name: some need nothing but the value, others ask the cloud whether
//! something of that name or id exists.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::local;
use crate::model::JsonMap;
use crate::openstack::Session;
use crate::resource_types::finders;
use crate::resource_types::python;
use crate::resource_types::schema::{Properties, PropertySchema};
use crate::template::constraints::Rule;

/// A value of a property that a custom constraint is asked about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    /// Where in the properties.
    pub(crate) path: Vec<String>,
    pub(crate) constraint: String,
    pub(crate) value: Value,
    description: Option<String>,
}

/// All that the values, which have their schema's types, are to be asked.
pub(crate) fn asked(schema: &Properties, values: &JsonMap) -> Vec<Asked> {
    let mut all = Vec::new();
    for (name, property) in schema {
        if let Some(value) = values.get(name) {
            collect(property, value, vec![name.clone()], &mut all);
        }
    }
    all
}

fn collect(property: &PropertySchema, value: &Value, path: Vec<String>, all: &mut Vec<Asked>) {
    for constraint in &property.constraints {
        if let Rule::CustomConstraint(name) = &constraint.rule {
            all.push(Asked {
                path: path.clone(),
                constraint: name.clone(),
                value: value.clone(),
                description: constraint.description.clone(),
            });
        }
    }
    let below = |step: &str| {
        let mut below = path.clone();
        below.push(step.to_owned());
        below
    };
    if let (Some(keys), Value::Object(map)) = (&property.keys, value) {
        for (name, key) in keys {
            if let Some(value) = map.get(name) {
                collect(key, value, below(name), all);
            }
        }
    }
    if let (Some(items), Value::Array(list)) = (&property.items, value) {
        for (index, item) in list.iter().enumerate() {
            collect(items, item, below(&index.to_string()), all);
        }
    }
}

impl Asked {
    /// What the author of the constraint has to say.
    pub(crate) fn own_words(&self) -> Option<String> {
        self.description.clone()
    }

    /// The text for a value that does not satisfy the constraint.
    pub(crate) fn words(&self, reason: &str) -> String {
        self.description.clone().unwrap_or_else(|| words(&self.value, reason))
    }
}

/// Heat's text for a refused value.
pub(crate) fn words(value: &Value, reason: &str) -> String {
    let value = python::text(value);
    match reason {
        "" => format!("Error validating value '{value}'"),
        reason => format!("Error validating value '{value}': {reason}"),
    }
}

/// Asks what the value alone decides; a constraint that asks the cloud holds here.
pub(crate) fn check_local(
    constraint: &str,
    value: &Value,
    now: DateTime<Utc>,
) -> Result<(), String> {
    local::check(constraint, value, now).unwrap_or(Ok(()))
}

/// The same, with Heat's whole text for an error; that there is no such constraint is one.
pub(crate) fn check_known(
    constraint: &str,
    value: &Value,
    now: DateTime<Utc>,
) -> Result<(), String> {
    match local::check(constraint, value, now) {
        Some(held) => held.map_err(|reason| words(value, &reason)),
        None if is_known(constraint) => Ok(()),
        None => Err(unknown(constraint, value)),
    }
}

/// Whether a constraint asks the cloud.
fn is_known(constraint: &str) -> bool {
    matches!(constraint, "test_constr" | "nova.network" | "nova.keypair")
        || finders::exists(constraint)
}

/// Heat's text for a constraint that nobody knows.
fn unknown(constraint: &str, value: &Value) -> String {
    let value = python::text(value);
    format!("\"{value}\" does not validate {constraint} (constraint not found)")
}

/// Asks the cloud. The error is the reason, or, for a constraint that nobody knows, the whole text.
pub(crate) async fn check(
    cloud: &Session,
    constraint: &str,
    value: &Value,
) -> Result<(), CustomError> {
    if let Some(held) = local::check(constraint, value, cloud.now()) {
        return held.map_err(CustomError::Refused);
    }
    match constraint {
        // For tests: it takes as long as the value says.
        "test_constr" | "nova.network" => {
            let pause = Duration::try_from_secs_f64(value.as_f64().unwrap_or(0.0));
            tokio::time::sleep(pause.unwrap_or_default()).await;
            Ok(())
        }
        "nova.keypair" if value == "" => Ok(()),
        finder if finders::exists(finder) => {
            match finders::find(cloud, finder, &python::text(value)).await {
                Ok(_) => Ok(()),
                Err(error) if error.transient => Err(CustomError::Unreachable(error.message)),
                Err(error) => Err(CustomError::Refused(error.message)),
            }
        }
        other => Err(CustomError::Unknown(unknown(other, value))),
    }
}

/// Why a value was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CustomError {
    /// The value does not satisfy the constraint: the reason.
    Refused(String),
    /// There is no such constraint: the whole text.
    Unknown(String),
    /// The cloud could not be asked.
    Unreachable(String),
}
