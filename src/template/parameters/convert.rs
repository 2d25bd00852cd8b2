//! From the value that was given to the value that a template sees, by the parameter's type.

use super::ParameterType;
use crate::template::constraints::{self, Broken};
use crate::template::error::{Outcome, TemplateError};
use crate::template::json;
use crate::template::python;
use crate::template::value::Datum;

/// The value of a parameter of this type.
pub(super) fn value(kind: ParameterType, raw: &Datum) -> Outcome<Datum> {
    match kind {
        ParameterType::String => Ok(Datum::Text(python::text_of(raw).into())),
        ParameterType::Number => constraints::number(raw).map_err(|broken| match broken {
            Broken::Rule(message) => TemplateError::value(message),
            Broken::Kind(message) => TemplateError::kind(message),
        }),
        ParameterType::Boolean => boolean(raw),
        ParameterType::CommaDelimitedList => list(raw),
        ParameterType::Json => parsed_json(raw),
    }
}

/// A boolean, by the words that Heat takes for one.
pub(super) fn boolean(raw: &Datum) -> Outcome<Datum> {
    if let Datum::Bool(truth) = raw {
        return Ok(Datum::Bool(*truth));
    }
    let text = python::text_of(raw);
    constraints::boolean(&text).map(Datum::Bool).ok_or_else(|| {
        TemplateError::value(format!(
            "Unrecognized value '{text}', acceptable values are: '0', '1', 'f', 'false', 'n', \
             'no', 'off', 'on', 't', 'true', 'y', 'yes'"
        ))
    })
}

/// A list: split at commas, or the items of a list as text.
pub(super) fn list(raw: &Datum) -> Outcome<Datum> {
    let texts = match raw {
        Datum::List(items) => items.iter().map(python::text_of).map(Datum::from).collect(),
        Datum::Text(text) if text.is_empty() => Vec::new(),
        Datum::Text(text) => text.split(',').map(Datum::from).collect(),
        other => {
            let kind = python::type_name(other);
            return Err(TemplateError::value(format!(
                "Value must be a comma-delimited list string: '{kind}' object has no attribute \
                 'split'"
            )));
        }
    };
    Ok(Datum::List(texts))
}

/// A map or list: parsed where it is text, but for the empty one.
pub(super) fn parsed_json(raw: &Datum) -> Outcome<Datum> {
    match raw {
        Datum::Text(text) if !text.is_empty() => json::parse(text)
            .map(|node| node.to_datum())
            .map_err(|error| TemplateError::value(format!("Value must be valid JSON: {error}"))),
        other => Ok(other.clone()),
    }
}
