//! Names that a version knows but does not let be called: those removed from the language, and
//! those that have no place where they stand.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::walk;

/// A function that former versions had. It is refused when it is checked, not before.
#[derive(Debug)]
struct Removed(Call);

/// Parses a call of a function that is gone from this version.
pub(crate) fn removed(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(Removed(call)))
}

/// Refuses a call where only condition functions may stand.
pub(super) fn misplaced(call: Call) -> Outcome<Arc<dyn Function>> {
    let message = format!("The function \"{}\" is invalid in this context", call.name);
    Err(TemplateError::value(message))
}

impl Function for Removed {
    fn call(&self) -> &Call {
        &self.0
    }

    fn refusal(&self) -> Option<TemplateError> {
        Some(TemplateError::version(format_args!(
            "The function {} is not supported in this version of HOT.",
            self.0.name
        )))
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let written = (self.0.name.as_str().into(), walk::args(self, scope)?);
        Ok(Some(Datum::Map([written].into_iter().collect())))
    }
}
