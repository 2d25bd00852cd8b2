//! What users see of parameters: their values as text in a stack's show, their schemas in the
//! body of a validation.

use serde_json::{Value, json};

use super::{Parameter, ParameterType, Parameters};
use crate::model::JsonMap;
use crate::template::constraints::Rule;
use crate::template::environment::HIDDEN;
use crate::template::python;
use crate::template::value::Datum;

/// Every parameter as text, pseudo parameters included, hidden ones masked.
pub(crate) fn values(parameters: &Parameters) -> JsonMap {
    parameters
        .iter()
        .filter_map(|(name, parameter)| Some((name.to_owned(), text(parameter)?.into())))
        .collect()
}

fn text(parameter: &Parameter) -> Option<String> {
    let value = parameter.value().ok()?;
    if parameter.is_secret {
        return Some(HIDDEN.to_owned());
    }
    Some(match (parameter.schema.kind, value) {
        (ParameterType::CommaDelimitedList, Datum::List(items)) => {
            items.iter().map(python::text_of).collect::<Vec<_>>().join(",")
        }
        (ParameterType::Json, value) => python::json_text(value, false),
        (_, value) => python::text_of(value),
    })
}

/// Every declared parameter as the body of a validation describes it.
pub(crate) fn schemas(parameters: &Parameters) -> JsonMap {
    parameters
        .declared()
        .map(|(name, parameter)| (name.to_owned(), Value::Object(schema(name, parameter))))
        .collect()
}

fn schema(name: &str, parameter: &Parameter) -> JsonMap {
    let schema = &parameter.schema;
    let or = |value: &Datum, other: &str| match value.is_truthy() {
        true => value.to_json(),
        false => Value::from(other),
    };
    let mut shown = JsonMap::new();
    let mut set = |key: &str, value: Value| shown.insert(key.to_owned(), value);
    set("Type", schema.kind.api_name().into());
    set("Description", or(&schema.description, ""));
    set("NoEcho", if schema.hidden { "true" } else { "false" }.into());
    set("Label", or(&schema.label, name));
    if let Some(default) = parameter.default() {
        set("Default", default.to_json());
    }
    if let Some(given) = parameter.given.as_ref().filter(|value| value.is_truthy()) {
        set("Value", given.to_json());
    }
    if !schema.tags.is_empty() {
        set("Tags", Datum::List(schema.tags.clone()).to_json());
    }
    let mut descriptions = Vec::new();
    for constraint in &schema.constraints {
        let number = |number: &serde_json::Number| Value::Number(number.clone());
        match &constraint.rule {
            Rule::Length { min, max } => {
                min.iter().for_each(|min| drop(set("MinLength", number(min))));
                max.iter().for_each(|max| drop(set("MaxLength", number(max))));
            }
            Rule::Range { min, max } => {
                min.iter().for_each(|min| drop(set("MinValue", number(min))));
                max.iter().for_each(|max| drop(set("MaxValue", number(max))));
            }
            Rule::Modulo { step, offset } => {
                set("Step", number(step));
                set("Offset", number(offset));
            }
            Rule::AllowedValues(allowed) => {
                set("AllowedValues", json!(allowed));
            }
            Rule::AllowedPattern(pattern) => {
                set("AllowedPattern", pattern.as_str().into());
            }
            Rule::CustomConstraint(name) => {
                set("CustomConstraint", name.as_str().into());
            }
        }
        descriptions.extend(constraint.description.as_deref().filter(|text| !text.is_empty()));
    }
    if !descriptions.is_empty() {
        set("ConstraintDescription", descriptions.join(" ").into());
    }
    shown
}
