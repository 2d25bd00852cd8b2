//! `get_param`: a parameter's value, or what a path leads to within it.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::subscript::index;
use crate::template::value::Datum;
use crate::template::{python, walk};

#[derive(Debug)]
struct GetParam(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(GetParam(call)))
}

impl Function for GetParam {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let args = walk::args(self, scope)?;
        if !args.is_truthy() {
            return Err(TemplateError::value(format!("Function \"{name}\" must have arguments")));
        }
        let (parameter, path) = match &args {
            Datum::List(items) => match items.as_slice() {
                [first, path @ ..] => (first, path),
                [] => (&args, [].as_slice()),
            },
            other => (other, [].as_slice()),
        };
        let Datum::Text(parameter) = parameter else {
            let message = match args {
                Datum::List(_) => format!("Parameter name in \"{name}\" must be string"),
                _ => format!("Argument to \"{name}\" must be string or list"),
            };
            return Err(TemplateError::kind(message));
        };
        let value = scope.parameter(parameter)?;
        // A path that leads nowhere gives the empty text.
        Ok(Some(walk(value, path).unwrap_or_else(|| Datum::Text("".into()))))
    }
}

/// Follows a path. Text is a sequence of characters here, and text in the path may be an index.
fn walk(value: &Datum, path: &[Datum]) -> Option<Datum> {
    let Some((key, rest)) = path.split_first() else { return Some(value.clone()) };
    let position = match key {
        Datum::Text(text) => python::int_of(text),
        Datum::Int(number) => Some(*number),
        Datum::Bool(truth) => Some(i128::from(*truth)),
        Datum::Null | Datum::Float(_) | Datum::List(_) | Datum::Map(_) => return None,
    };
    match (value, key) {
        (Datum::Map(map), Datum::Text(key)) => walk(map.get(key.as_str())?, rest),
        (Datum::List(items), _) => walk(&items[index(items.len(), position?)?], rest),
        (Datum::Text(text), _) => {
            let at = index(text.chars().count(), position?)?;
            let character = text.chars().nth(at)?;
            walk(&Datum::Text(character.to_string().into()), rest)
        }
        _ => None,
    }
}
