//! `Ref`: what stands for a resource, if there is one of that name, and else a parameter's value.

use std::sync::Arc;

use super::{Call, Function, Scope, get_resource, type_name, unhashable};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::Form;
use crate::template::value::Datum;
use crate::template::{python, walk};

/// A `Ref` to a parameter.
#[derive(Debug)]
struct ParameterReference(Call);

/// Parses a call; what it refers to is decided here.
pub(super) fn parse(call: Call, scope: &Scope<'_>) -> Outcome<Arc<dyn Function>> {
    match &call.args.form {
        Form::Text(name) if scope.resources.contains_key(name.as_str()) => {
            get_resource::parse(Call { class: "GetResource", ..call })
        }
        Form::List(_) | Form::Map(_) | Form::Call(_) => {
            let message = format!("unhashable type: '{}'", type_name(&call.args));
            Err(TemplateError::kind(message))
        }
        _ => parse_parameter(call),
    }
}

/// Parses a call where only parameters can be referred to: in conditions.
pub(super) fn parse_parameter(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(ParameterReference(call)))
}

impl Function for ParameterReference {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = walk::args(self, scope)?;
        if let Some(error) = unhashable(&name) {
            return Err(error);
        }
        match name.as_text().filter(|name| scope.parameters.contains(name)) {
            Some(name) => Ok(Some(scope.parameter(name)?.clone())),
            None => Err(TemplateError::reference(&python::text_of(&name), "unknown")),
        }
    }
}
