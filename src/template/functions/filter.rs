//! `filter`: a list without the items of another.

use std::sync::Arc;

use super::{Call, Function, ITEMS_PER_STEP, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::{walk, work};

#[derive(Debug)]
struct Filter(Call);

/// Parses `[values, list]`.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    match call.args.as_list() {
        None => Err(TemplateError::kind(format!("Argument to \"{name}\" must be a list"))),
        Some([_, _]) => Ok(Arc::new(Filter(call))),
        Some(other) => Err(TemplateError::value(format!(
            "\"{name}\" expected 2 arguments of the form [values, sequence] but got {} arguments \
             instead",
            other.len()
        ))),
    }
}

impl Function for Filter {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let Some([values, sequence]) = self.args().as_list() else { return Ok(Some(Datum::Null)) };
        let sequence = walk::resolve(sequence, scope)?;
        if !sequence.is_truthy() {
            return Ok(Some(sequence));
        }
        let Datum::List(mut items) = sequence else {
            return Err(TemplateError::kind(format!("\"{name}\" only works with lists")));
        };
        match walk::resolve(values, scope)? {
            values if !values.is_truthy() => {}
            Datum::List(values) => {
                work::step(items.len().saturating_mul(1 + values.len() / ITEMS_PER_STEP))?;
                items.retain(|item| !values.contains(item));
            }
            _ => {
                return Err(TemplateError::kind(format!("\"{name}\" filters a list of values")));
            }
        }
        Ok(Some(Datum::List(items)))
    }
}
