//! A collection in an order, which is found when it is first gone through.

use std::cell::RefCell;
use std::rc::Rc;

use super::Value;
use super::context::Context;
use super::stream::Cursor;
use crate::template::error::Outcome;
use crate::template::yaql::machine::{Held, Machine};

/// Whether the first of two items comes before the second; none where they are equal by this key.
/// Operators are looked up in the context.
pub(in crate::template::yaql) type Key =
    Rc<dyn Fn(&mut Machine, &Rc<Context>, &Value, &Value) -> Outcome<Option<bool>>>;

/// A collection that is sorted when it is first gone through.
pub(in crate::template::yaql) struct Ordering {
    /// Where operators are looked up.
    context: Rc<Context>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    collection: Option<Cursor>,
    keys: Vec<Key>,
    sorted: Option<Rc<[Value]>>,
}

impl Ordering {
    pub(in crate::template::yaql) fn new(
        context: Rc<Context>,
        collection: Cursor,
        key: Key,
    ) -> Self {
        let state = State { collection: Some(collection), keys: vec![key], sorted: None };
        Self { context, state: RefCell::new(state) }
    }

    /// Sorts by another key what is equal by those before it.
    pub(in crate::template::yaql) fn then(&self, key: Key) {
        self.state.borrow_mut().keys.push(key);
    }

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
        keys: &[Key],
        left: &Value,
        right: &Value,
    ) -> Outcome<bool> {
        for key in keys {
            if let Some(is_before) = key(machine, &self.context, left, right)? {
                return Ok(is_before);
            }
        }
        Ok(false)
    }
}

impl Held for Ordering {
    fn clear(&self) {
        self.state.take();
    }
}

impl Machine {
    /// An ordering, held until the end.
    pub(in crate::template::yaql) fn ordering(&mut self, ordering: Ordering) -> Value {
        let ordering = Rc::new(ordering);
        self.hold(Rc::<Ordering>::clone(&ordering));
        Value::Ordering(ordering)
    }
}
