//! Sorting by one key and then by others.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Entry, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::{Call, Lambda, apply};
use crate::template::yaql::context::Context;
use crate::template::yaql::machine::Machine;
use crate::template::yaql::stream::Cursor;
use crate::template::yaql::value::Value;

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

/// A collection that is sorted when it is first gone through.
pub(in crate::template::yaql) struct Ordering {
    /// Where operators are looked up.
    context: Rc<Context>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    collection: Option<Cursor>,
    /// The keys, each ascending or not.
    keys: Vec<(Lambda, bool)>,
    sorted: Option<Rc<[Value]>>,
}

fn selector(call: &Call<'_>) -> Outcome<Lambda> {
    call.lambda(1).ok_or_else(|| TemplateError::kind("'NoneType' object is not callable"))
}

fn order_by(call: &mut Call<'_>, ascending: bool) -> Outcome<Value> {
    let collection = Some(call.cursor(0)?);
    let keys = vec![(selector(call)?, ascending)];
    let state = RefCell::new(State { collection, keys, sorted: None });
    let context = Rc::clone(&call.context);
    Ok(call.machine.ordering(Ordering { context, state }))
}

fn then_by(call: &mut Call<'_>, ascending: bool) -> Outcome<Value> {
    let value = call.value(0);
    if let Value::Ordering(ordering) = &value {
        let key = (selector(call)?, ascending);
        ordering.state.borrow_mut().keys.push(key);
    }
    Ok(value)
}

impl Ordering {
    /// The items in order.
    pub(in crate::template::yaql) fn sorted(&self, machine: &mut Machine) -> Outcome<Rc<[Value]>> {
        let (collection, keys) = {
            let mut state = self.state.borrow_mut();
            if let Some(sorted) = &state.sorted {
                return Ok(Rc::clone(sorted));
            }
            (state.collection.take(), state.keys.clone())
        };
        let mut sorted: Vec<Value> = Vec::new();
        if let Some(collection) = collection {
            for item in collection.rest(machine)? {
                // Each goes behind the last that is not after it, found by halving.
                let (mut low, mut high) = (0, sorted.len());
                while low < high {
                    let middle = low + (high - low) / 2;
                    if self.is_before(machine, &keys, &item, &sorted[middle])? {
                        high = middle;
                    } else {
                        low = middle + 1;
                    }
                }
                sorted.insert(low, item);
            }
        }
        let sorted: Rc<[Value]> = sorted.into();
        self.state.borrow_mut().sorted = Some(Rc::clone(&sorted));
        Ok(sorted)
    }

    fn is_before(
        &self,
        machine: &mut Machine,
        keys: &[(Lambda, bool)],
        left: &Value,
        right: &Value,
    ) -> Outcome<bool> {
        for (key, ascending) in keys {
            let left = machine.invoke(key, std::slice::from_ref(left))?;
            let right = machine.invoke(key, std::slice::from_ref(right))?;
            let pair = vec![left, right];
            if apply(machine, "#operator_<", None, pair.clone(), &self.context)?.is_truthy() {
                return Ok(*ascending);
            }
            if apply(machine, "#operator_>", None, pair, &self.context)?.is_truthy() {
                return Ok(!ascending);
            }
        }
        Ok(false)
    }

    /// Forgets everything.
    pub(in crate::template::yaql) fn clear(&self) {
        self.state.take();
    }
}
