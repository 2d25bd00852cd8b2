//! `resource_facade`: metadata or a policy of the resource that a nested stack stands for.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::{python, walk};

#[derive(Debug)]
struct ResourceFacade {
    call: Call,
    fields: &'static [(&'static str, Field)],
}

#[derive(Clone, Copy, Debug)]
enum Field {
    Metadata,
    DeletionPolicy,
    UpdatePolicy,
}

static HOT: [(&str, Field); 3] = [
    ("metadata", Field::Metadata),
    ("deletion_policy", Field::DeletionPolicy),
    ("update_policy", Field::UpdatePolicy),
];

static CFN: [(&str, Field); 3] = [
    ("Metadata", Field::Metadata),
    ("DeletionPolicy", Field::DeletionPolicy),
    ("UpdatePolicy", Field::UpdatePolicy),
];

/// Parses the name of a field, in HOT's words.
pub(super) fn parse(call: Call, scope: &Scope<'_>) -> Outcome<Arc<dyn Function>> {
    new(call, &HOT, scope)
}

/// Parses the name of a field, in CloudFormation's words.
pub(super) fn parse_cfn(call: Call, scope: &Scope<'_>) -> Outcome<Arc<dyn Function>> {
    new(call, &CFN, scope)
}

fn new(
    call: Call,
    fields: &'static [(&'static str, Field)],
    scope: &Scope<'_>,
) -> Outcome<Arc<dyn Function>> {
    let facade = ResourceFacade { call, fields };
    // Heat compares a call by what it gives; one that gives nothing yet is no field.
    let field = match walk::args(&facade, scope) {
        Err(error) if matches!(error.class.as_ref(), "ValueError" | "TypeError") => None,
        resolved => facade.field(&resolved?),
    };
    if field.is_none() {
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        return Err(TemplateError::value(format!(
            "Incorrect arguments to \"{}\" should be one of: {}",
            facade.name(),
            names.join(", ")
        )));
    }
    Ok(Arc::new(facade))
}

impl ResourceFacade {
    fn field(&self, name: &Datum) -> Option<Field> {
        let name = name.as_text()?;
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}

impl Function for ResourceFacade {
    fn call(&self) -> &Call {
        &self.call
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let Some(field) = self.field(&walk::args(self, scope)?) else {
            return Ok(Some(Datum::Null));
        };
        let Some(facade) = scope.facade else {
            let attribute = match field {
                Field::Metadata => "metadata_get",
                Field::DeletionPolicy | Field::UpdatePolicy => "t",
            };
            let quoted = python::quoted(attribute);
            let message = format!("'NoneType' object has no attribute {quoted}");
            return Err(TemplateError::new("AttributeError", message));
        };
        Ok(Some(match field {
            Field::Metadata => scope.read(&facade.metadata),
            Field::DeletionPolicy => Datum::Text(facade.deletion_policy.clone().into()),
            Field::UpdatePolicy => scope.read(&facade.update_policy),
        }))
    }
}
