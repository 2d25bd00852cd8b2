//! Sorting by one key and then by others.

use std::rc::Rc;

use super::{Entry, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::{Call, Lambda, apply};
use crate::template::yaql::value::Value;
use crate::template::yaql::value::ordering::{Key, Ordering};

pub(super) const FUNCTIONS: &[Entry] = &[
    method("orderBy", "collection: iterable, selector: lambda", |call| order_by(call, true)),
    method("orderByDescending", "collection: iterable, selector: lambda", |call| {
        order_by(call, false)
    }),
    method("thenBy", "collection: ordering, selector: lambda", |call| then_by(call, true)),
    method("thenByDescending", "collection: ordering, selector: lambda", |call| {
        then_by(call, false)
    }),
];

fn selector(call: &Call<'_>) -> Outcome<Lambda> {
    call.lambda(1).ok_or_else(|| TemplateError::kind("'NoneType' object is not callable"))
}

fn order_by(call: &mut Call<'_>, ascending: bool) -> Outcome<Value> {
    let collection = call.cursor(0)?;
    let key = key(selector(call)?, ascending);
    let context = Rc::clone(&call.context);
    Ok(call.machine.ordering(Ordering::new(context, collection, key)))
}

fn then_by(call: &mut Call<'_>, ascending: bool) -> Outcome<Value> {
    let value = call.value(0);
    if let Value::Ordering(ordering) = &value {
        ordering.then(key(selector(call)?, ascending));
    }
    Ok(value)
}

/// Which of two items comes first by what a lambda says of each.
fn key(selector: Lambda, ascending: bool) -> Key {
    Rc::new(move |machine, context, left, right| {
        let left = machine.invoke(&selector, std::slice::from_ref(left))?;
        let right = machine.invoke(&selector, std::slice::from_ref(right))?;
        let pair = vec![left, right];
        if apply(machine, "#operator_<", None, pair.clone(), context)?.is_truthy() {
            return Ok(Some(ascending));
        }
        let is_after = apply(machine, "#operator_>", None, pair, context)?.is_truthy();
        Ok(is_after.then_some(!ascending))
    })
}
