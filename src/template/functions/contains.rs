//! `contains`: whether a value is in a list, or a text in a text.

use std::sync::Arc;

use super::{Call, Function, Scope, is_in, misuse};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::walk;

#[derive(Debug)]
struct Contains(Call);

/// Parses `[value, sequence]`.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    match call.args.as_list() {
        Some([_, _]) => Ok(Arc::new(Contains(call))),
        Some([_, ..]) => Err(TemplateError::value(format!(
            "Arguments to \"{name}\" must be of the form: [value1, [value1, value2]]"
        ))),
        Some([]) | None => {
            let example = format!("\"{name}\" : [ \"value1\", [ \"value1\", \"value2\"]]");
            Err(TemplateError::kind(misuse(name, &example)))
        }
    }
}

impl Function for Contains {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let Some([value, sequence]) = self.args().as_list() else { return Ok(Some(Datum::Null)) };
        let value = walk::resolve(value, scope)?;
        let sequence = walk::resolve(sequence, scope)?;
        if !matches!(sequence, Datum::List(_) | Datum::Text(_)) {
            let message = format!("Second argument to \"{}\" should be a sequence.", self.name());
            return Err(TemplateError::kind(message));
        }
        Ok(Some(Datum::Bool(is_in(&value, &sequence)?)))
    }
}
