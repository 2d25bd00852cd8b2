//! The rules of constraints, made of what both languages write of them.

use serde_json::{Number, Value};

use crate::template::constraints::{self, Broken, Rule};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Node, NodeMap};
use crate::template::pattern::{self, Unusable};
use crate::template::value::Datum;
use crate::template::work;

pub(super) fn range(min: Option<Number>, max: Option<Number>) -> Outcome<Rule> {
    if min.is_none() && max.is_none() {
        return Err(TemplateError::schema(
            "A range constraint must have a min value and/or a max value specified.",
        ));
    }
    Ok(Rule::Range { min, max })
}

pub(super) fn length(min: Option<Number>, max: Option<Number>) -> Outcome<Rule> {
    if min.is_none() && max.is_none() {
        return Err(TemplateError::schema(
            "A length constraint must have a min value and/or a max value specified.",
        ));
    }
    if [&min, &max].into_iter().flatten().any(Number::is_f64) {
        return Err(TemplateError::schema("min/max length must be integral"));
    }
    Ok(Rule::Length { min, max })
}

pub(super) fn allowed_values(node: &Node) -> Outcome<Rule> {
    match node.to_json() {
        Value::Array(allowed) => Ok(Rule::AllowedValues(allowed)),
        _ => Err(TemplateError::schema("AllowedValues must be a list")),
    }
}

pub(super) fn allowed_pattern(node: &Node) -> Outcome<Rule> {
    let Some(text) = node.as_text() else {
        return Err(TemplateError::schema("AllowedPattern must be a string"));
    };
    work::step_of_request(pattern::steps_to_compile(text))?;
    pattern::compile(text).map_err(|unusable| match unusable {
        Unusable { is_too_large: true, message } => {
            let message = format!("Request limit exceeded: {message}");
            TemplateError::new("RequestLimitExceeded", message)
        }
        Unusable { message, .. } => TemplateError::new("RemoteError", message),
    })?;
    Ok(Rule::AllowedPattern(text.to_owned()))
}

/// A bound among the keys of a map, if it is there and not null.
pub(super) fn bound(map: &NodeMap, key: &str) -> Outcome<Option<Number>> {
    let Some(node) = map.get(key).filter(|node| !node.is_null()) else { return Ok(None) };
    let number = constraints::number(&node.to_datum()).map_err(|broken| match broken {
        Broken::Rule(message) => TemplateError::value(message),
        Broken::Kind(message) => TemplateError::kind(message),
    })?;
    Ok(match number {
        Datum::Bool(truth) => Some(Number::from(u8::from(truth))),
        other => match other.to_json() {
            Value::Number(number) => Some(number),
            // An infinite bound bounds nothing.
            _ => None,
        },
    })
}
