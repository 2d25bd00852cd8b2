//! `get_file`: the content of a file that was sent with the template.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::walk;

#[derive(Debug)]
struct GetFile(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(GetFile(call)))
}

impl Function for GetFile {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let Datum::Text(file) = walk::args(self, scope)? else {
            return Err(TemplateError::kind(format!("Argument to \"{name}\" must be a string")));
        };
        let content = scope.files.get(file.as_str()).ok_or_else(|| {
            TemplateError::value(format!(
                "No content found in the \"files\" section for {name} path: {file}"
            ))
        })?;
        Ok(Some(Datum::Text(content.as_str().into())))
    }
}
