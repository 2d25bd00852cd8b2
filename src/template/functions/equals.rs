//! `equals`: whether two values are the same, in Python's sense.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::walk;

#[derive(Debug)]
struct Equals(Call);

/// Parses `[value, value]`.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    match call.args.as_list() {
        Some([_, _]) => Ok(Arc::new(Equals(call))),
        _ => Err(TemplateError::value(format!(
            "Arguments to \"{}\" must be of the form: [value_1, value_2]",
            call.name
        ))),
    }
}

impl Function for Equals {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let Some([left, right]) = self.args().as_list() else { return Ok(Some(Datum::Null)) };
        let equal = walk::resolve(left, scope)? == walk::resolve(right, scope)?;
        Ok(Some(Datum::Bool(equal)))
    }
}
