//! `not`, `and`, `or`: conditions made of conditions. `and` and `or` stop at the item that
//! decides, so that what follows is never looked at.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::Form;
use crate::template::value::Datum;
use crate::template::walk;

#[derive(Debug)]
struct Not {
    call: Call,
    /// Whether the condition stands in a list, alone.
    in_list: bool,
}

/// `and` ends at the first item that is false, `or` at the first that is true.
#[derive(Debug)]
struct Chain {
    call: Call,
    ends_at: bool,
}

/// Parses `not: condition`.
pub(super) fn parse_not(call: Call) -> Outcome<Arc<dyn Function>> {
    if call.args.is_null() {
        let message = format!("Argument to \"{}\" must be a condition", call.name);
        return Err(TemplateError::value(message));
    }
    Ok(Arc::new(Not { call, in_list: false }))
}

/// Parses `Fn::Not: [condition]`.
pub(super) fn parse_not_of_list(call: Call) -> Outcome<Arc<dyn Function>> {
    if call.args.as_list().is_none_or(|items| items.len() != 1) {
        let message = format!("Arguments to \"{}\" must be of the form: [condition]", call.name);
        return Err(TemplateError::value(message));
    }
    Ok(Arc::new(Not { call, in_list: true }))
}

/// Parses `and: [condition, condition, …]`.
pub(super) fn parse_and(call: Call) -> Outcome<Arc<dyn Function>> {
    chain(call, false)
}

/// Parses `or: [condition, condition, …]`.
pub(super) fn parse_or(call: Call) -> Outcome<Arc<dyn Function>> {
    chain(call, true)
}

fn chain(call: Call, ends_at: bool) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    let Form::List(items) = &call.args.form else {
        let message = format!("Arguments to \"{name}\" must be a list of conditions");
        return Err(TemplateError::value(message));
    };
    if items.len() < 2 {
        let message = format!("The minimum number of condition arguments to \"{name}\" is 2.");
        return Err(TemplateError::value(message));
    }
    Ok(Arc::new(Chain { call, ends_at }))
}

/// The end of an iterator is an accident in Python's generators, in which Heat looks at a chain.
fn in_generator(error: TemplateError) -> TemplateError {
    match error.class.as_ref() {
        "StopIteration" => TemplateError::new("RuntimeError", "generator raised StopIteration"),
        _ => error,
    }
}

impl Function for Not {
    fn call(&self) -> &Call {
        &self.call
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let condition = match self.args().as_list() {
            Some([condition]) if self.in_list => walk::resolve(condition, scope)?,
            _ => walk::args(self, scope)?,
        };
        Ok(Some(Datum::Bool(!scope.holds(&condition)?)))
    }
}

impl Function for Chain {
    fn call(&self) -> &Call {
        &self.call
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let resolved = walk::args(self, scope).map_err(in_generator)?;
        let Datum::List(conditions) = resolved else { return Ok(Some(Datum::Null)) };
        for condition in &conditions {
            if scope.holds(condition)? == self.ends_at {
                return Ok(Some(Datum::Bool(self.ends_at)));
            }
        }
        Ok(Some(Datum::Bool(!self.ends_at)))
    }
}
