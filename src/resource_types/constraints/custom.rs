//! Custom constraints, by name: some need nothing but the value, others ask the cloud whether
//! something of that name or id exists.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::local;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::finders::Finders;
use crate::resource_types::python;
use crate::resource_types::schema::{Properties, PropertySchema};
use crate::template::constraints::Rule;

/// A value of a property that a custom constraint is asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Where in the properties.
    pub(crate) path: Vec<String>,
    pub(crate) constraint: String,
    pub(crate) value: Value,
    /// The text for a value that does not satisfy it, where the schema has one.
    pub(crate) description: Option<String>,
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

/// Heat's text for a refused value.
pub(crate) fn words(value: &Value, reason: &str) -> String {
    let value = python::text(value);
    match reason {
        "" => format!("Error validating value '{value}'"),
        reason => format!("Error validating value '{value}': {reason}"),
    }
}

/// Asks what the value alone decides; a constraint that asks the cloud holds here. The error is
/// Heat's text.
pub(crate) fn check_local(
    finders: &Finders,
    constraint: &str,
    value: &Value,
    now: DateTime<Utc>,
) -> Result<(), String> {
    match local::check(constraint, value, now) {
        Some(held) => held.map_err(|reason| words(value, &reason)),
        None if constraint == "zaqar.queue" => queue(value),
        None if is_of_cloud(finders, constraint) => Ok(()),
        None => Err(unknown(constraint, value)),
    }
}

/// Zaqar makes a queue with its first message: any name that it can have will do.
fn queue(value: &Value) -> Result<(), String> {
    let chars = value.as_str().map(|name| name.chars().count());
    match chars.is_some_and(|chars| (1..=QUEUE_CHARS_MAX).contains(&chars)) {
        true => Ok(()),
        false => Err(format!("Queue name length must be 1-{QUEUE_CHARS_MAX}")),
    }
}

/// Whether there is a constraint of this name.
pub(crate) fn exists(finders: &Finders, constraint: &str) -> bool {
    let is_local = local::check(constraint, &Value::Null, DateTime::UNIX_EPOCH).is_some();
    is_local || is_of_cloud(finders, constraint)
}

fn is_of_cloud(finders: &Finders, constraint: &str) -> bool {
    finders.constrains(constraint) || LOOKING_NOTHING_UP.contains(&constraint)
}

/// Heat's text for a constraint that nobody knows.
fn unknown(constraint: &str, value: &Value) -> String {
    format!("\"{}\" does not validate {constraint} (constraint not found)", python::text(value))
}

/// Asks the cloud.
pub(crate) fn check(
    cloud: &Asks<'_>,
    finders: &Finders,
    constraint: &str,
    value: &Value,
) -> Result<(), CustomError> {
    check_local(finders, constraint, value, cloud.now()).map_err(CustomError::Refused)?;
    match constraint {
        "test_constr" | "nova.network" => {
            let seconds = value.as_f64().unwrap_or(0.0);
            if seconds < 0.0 {
                let reason = "sleep length must be non-negative";
                return Err(CustomError::Refused(reason.to_owned()));
            }
            let pause = Duration::try_from_secs_f64(seconds);
            let paused = cloud.pause(pause.unwrap_or_default());
            paused.map_err(|error| CustomError::Unreachable(error.to_string()))
        }
        "nova.keypair" if value == "" => Ok(()),
        finder if finders.constrains(finder) => {
            match finders.find(cloud, finder, &python::text(value)) {
                Ok(_) => Ok(()),
                Err(error) if error.is_transient() => {
                    Err(CustomError::Unreachable(error.to_string()))
                }
                Err(error) => Err(CustomError::Refused(words(value, &error.to_string()))),
            }
        }
        _ => Ok(()),
    }
}

/// Why a value was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CustomError {
    /// The value does not satisfy the constraint: Heat's text.
    Refused(String),
    /// The cloud could not be asked.
    Unreachable(String),
}

/// Heat's constraints that look nothing up, though they are no matter of the value alone: one for
/// what is there as soon as it is named, and two for tests, which take as long as the value says.
const LOOKING_NOTHING_UP: [&str; 3] = ["nova.network", "test_constr", "zaqar.queue"];

/// The longest name of a queue.
const QUEUE_CHARS_MAX: usize = 64;
