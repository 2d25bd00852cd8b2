//! `Fn::Base64`: the text as it is. Heat takes user data in plain text, so nothing is encoded.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::walk;

#[derive(Debug)]
struct Base64(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(Base64(call)))
}

impl Function for Base64 {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        match walk::args(self, scope)? {
            Datum::Text(text) => Ok(Some(Datum::Text(text))),
            _ => {
                let message = format!("\"{}\" argument must be a string", self.name());
                Err(TemplateError::kind(message))
            }
        }
    }
}
