//! `Fn::Split`: the parts of a text between delimiters.

use std::sync::Arc;

use super::{Call, Function, Scope, misuse, unpack};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::value::Datum;
use crate::template::{python, walk};

#[derive(Debug)]
struct Split(Call);

/// Parses `[delimiter, text]`.
pub(super) fn parse(mut call: Call) -> Outcome<Arc<dyn Function>> {
    let usage = misuse(&call.name, &format!("\"{}\" : [ \",\", \"str1,str2\"]]", call.name));
    if matches!(call.args.form, Form::Text(_) | Form::Map(_)) {
        return Err(TemplateError::kind(usage));
    }
    let parts = unpack(&call.args, 2).map_err(|error| match error.class.as_ref() {
        "ValueError" => TemplateError::value(usage),
        _ => error,
    })?;
    call.args = Node::at(&call.args, Form::List(parts));
    Ok(Arc::new(Split(call)))
}

impl Function for Split {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let Some([delimiter, text]) = self.args().as_list() else { return Ok(Some(Datum::Null)) };
        let text = walk::resolve(text, scope)?;
        // The delimiter must stand there as it is; a call that gives one will not do.
        let Some(delimiter) = delimiter.as_text() else {
            return Err(TemplateError::kind(format!("Delimiter for {name} must be string")));
        };
        let Datum::Text(text) = text else {
            let kind = python::type_name(&text);
            let message = format!("String to split must be string; got <class '{kind}'>");
            return Err(TemplateError::kind(message));
        };
        if delimiter.is_empty() {
            return Err(TemplateError::value("empty separator"));
        }
        Ok(Some(Datum::List(text.split(delimiter).map(Datum::from).collect())))
    }
}
