//! `str_split`: the parts of a text between delimiters, or one of them.

use std::sync::Arc;

use super::{Call, Function, Scope, misuse};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::Form;
use crate::template::subscript::index;
use crate::template::value::Datum;
use crate::template::{python, walk};

#[derive(Debug)]
struct StrSplit(Call);

/// Parses `[delimiter, text, index]`.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    if matches!(call.args.form, Form::Text(_) | Form::Map(_)) {
        return Err(TemplateError::kind(usage(&call.name)));
    }
    Ok(Arc::new(StrSplit(call)))
}

fn usage(name: &str) -> String {
    misuse(name, &example(name))
}

fn example(name: &str) -> String {
    format!("\"{name}\" : [ \",\", \"apples,pears\", <index>]")
}

/// Python's `int()` of an index.
fn position(value: &Datum, name: &str) -> Outcome<i128> {
    let wrong = || {
        let example = example(name);
        TemplateError::value(format!("Incorrect index to \"{name}\" should be: {example}"))
    };
    match value {
        Datum::Int(number) => Ok(*number),
        Datum::Bool(truth) => Ok(i128::from(*truth)),
        Datum::Float(number) if number.is_finite() => Ok(number.trunc() as i128),
        Datum::Text(text) => python::int_of(text).ok_or_else(wrong),
        Datum::Float(_) => Err(wrong()),
        Datum::Null | Datum::List(_) | Datum::Map(_) => Err(TemplateError::kind(format!(
            "int() argument must be a string, a bytes-like object or a real number, not '{}'",
            python::type_name(value)
        ))),
    }
}

impl Function for StrSplit {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let Datum::List(args) = walk::args(self, scope)? else {
            return Err(TemplateError::value(usage(name)));
        };
        let [delimiter, text, rest @ ..] = args.as_slice() else {
            return Err(TemplateError::value(usage(name)));
        };
        let text = match text {
            Datum::Null => return Ok(Some(Datum::Null)),
            Datum::Text(text) => text,
            other => {
                let kind = python::type_name(other);
                let message = format!("'{kind}' object has no attribute 'split'");
                return Err(TemplateError::new("AttributeError", message));
            }
        };
        let parts: Vec<&str> = match delimiter {
            Datum::Text(delimiter) if delimiter.is_empty() => {
                return Err(TemplateError::value("empty separator"));
            }
            Datum::Text(delimiter) => text.split(delimiter.as_str()).collect(),
            // Python splits at white space when the delimiter is None.
            Datum::Null => text.split_whitespace().collect(),
            other => {
                let kind = python::type_name(other);
                return Err(TemplateError::kind(format!("must be str or None, not {kind}")));
            }
        };
        let Some(wanted) = rest.first() else {
            return Ok(Some(Datum::List(parts.into_iter().map(Datum::from).collect())));
        };
        match index(parts.len(), position(wanted, name)?) {
            Some(at) => Ok(Some(Datum::from(parts[at]))),
            None => Err(TemplateError::value(format!(
                "Incorrect index to \"{name}\" should be between 0 and {}",
                parts.len() as i128 - 1
            ))),
        }
    }
}
