//! `get_resource`: what stands for a resource, most often its physical id.

use std::sync::Arc;

use super::{Call, Function, Read, Scope, unhashable};
use crate::model::ResourceName;
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::{python, walk};

#[derive(Debug)]
struct GetResource(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(GetResource(call)))
}

impl GetResource {
    fn resource(&self, scope: &Scope<'_>) -> Outcome<String> {
        let name = walk::args(self, scope)?;
        match unhashable(&name) {
            Some(error) => Err(error),
            None => Ok(python::text_of(&name)),
        }
    }
}

impl Function for GetResource {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.resource(scope)?;
        if !scope.resources.contains_key(&name) {
            return Err(TemplateError::reference(&name, "unknown"));
        }
        let resource = ResourceName(name);
        let reference = scope.values.reference(&resource);
        Ok(Some(match reference {
            Some(value) => scope.read(&value),
            None => Datum::Text(resource.0.into()),
        }))
    }

    fn reads(&self, scope: &Scope<'_>) -> Outcome<Option<Read>> {
        Ok(Some(Read { resource: self.resource(scope)?, attribute: None }))
    }
}
