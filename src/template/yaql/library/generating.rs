//! Collections out of nothing but a rule.

use std::collections::VecDeque;

use super::{Entry, function, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::{Call, Lambda};
use crate::template::yaql::failure;
use crate::template::yaql::machine::Machine;
use crate::template::yaql::size;
use crate::template::yaql::value::stream::Cursor;
use crate::template::yaql::value::{Members, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    function("range", "stop: int", |call| {
        let stop = call.int(0);
        count(call, 0, Some(stop), 1)
    }),
    function("range", "start: int, stop: int, step: int = 1", |call| {
        let (start, stop, step) = (call.int(0), call.int(1), call.int(2));
        count(call, start, Some(stop), step)
    }),
    function("sequence", "start: int = 0, step: int = 1", |call| {
        let (start, step) = (call.int(0), call.int(1));
        count(call, start, None, step)
    }),
    method("repeat", "value: any?, times: int = -1", |call| {
        let value = call.value(0);
        let mut left = usize::try_from(call.int(1)).ok();
        Ok(call.machine.stream(move |_| match &mut left {
            Some(0) => Ok(None),
            Some(left) => {
                *left -= 1;
                Ok(Some(value.clone()))
            }
            None => Ok(Some(value.clone())),
        }))
    }),
    function(
        "generate",
        "initial: any?, predicate: lambda, producer: lambda, selector: lambda = null, \
         decycle: bool = false",
        generate,
    ),
    function(
        "generateMany",
        "initial: any?, producer: lambda, selector: lambda = null, decycle: bool = false, \
         depthFirst: bool = false",
        generate_many,
    ),
];

fn count(call: &mut Call<'_>, start: i128, stop: Option<i128>, step: i128) -> Outcome<Value> {
    if step == 0 && stop.is_some() {
        return Err(TemplateError::value("range() arg 3 must not be zero"));
    }
    let mut next = Some(start);
    Ok(call.machine.stream(move |_| {
        let number = next.ok_or_else(failure::too_large)?;
        let is_over =
            stop.is_some_and(|stop| if step > 0 { number >= stop } else { number <= stop });
        if is_over {
            return Ok(None);
        }
        next = number.checked_add(step);
        Ok(Some(Value::Int(number)))
    }))
}

/// What was seen already, where a cycle is to be broken.
fn memory(call: &Call<'_>, at: usize) -> Option<Members> {
    call.truth(at).then(Members::new)
}

/// Whether an item is seen for the first time.
fn is_new(machine: &mut Machine, seen: &mut Option<Members>, item: &Value) -> Outcome<bool> {
    let Some(seen) = seen else { return Ok(true) };
    let is_new = seen.insert(item.clone().hashable()?);
    machine.limit_bytes(size::set_bytes(seen.len()))?;
    Ok(is_new)
}

fn selected(machine: &mut Machine, selector: Option<&Lambda>, item: &Value) -> Outcome<Value> {
    match selector {
        Some(selector) => machine.invoke(selector, std::slice::from_ref(item)),
        None => Ok(item.clone()),
    }
}

fn lambda(call: &Call<'_>, at: usize) -> Outcome<Lambda> {
    call.lambda(at).ok_or_else(|| TemplateError::kind("'NoneType' object is not callable"))
}

fn generate(call: &mut Call<'_>) -> Outcome<Value> {
    let mut current = call.value(0);
    let (predicate, producer) = (lambda(call, 1)?, lambda(call, 2)?);
    let selector = call.lambda(3);
    let mut seen = memory(call, 4);
    let mut is_first = true;
    Ok(call.machine.stream(move |machine| {
        if !std::mem::take(&mut is_first) {
            current = machine.invoke(&producer, &[current.clone()])?;
        }
        if !machine.invoke(&predicate, &[current.clone()])?.is_truthy()
            || !is_new(machine, &mut seen, &current)?
        {
            return Ok(None);
        }
        selected(machine, selector.as_ref(), &current).map(Some)
    }))
}

fn generate_many(call: &mut Call<'_>) -> Outcome<Value> {
    let mut queue = VecDeque::from([call.value(0)]);
    let producer = lambda(call, 1)?;
    let selector = call.lambda(2);
    let mut seen = memory(call, 3);
    let depth_first = call.truth(4);
    let mut last: Option<Value> = None;
    Ok(call.machine.stream(move |machine| {
        // The children of an item are made when the one after it is asked for.
        if let Some(item) = last.take() {
            let produced = machine.invoke(&producer, &[item])?;
            let mut cursor = Cursor::over(machine, &produced)?;
            let before = queue.len();
            while let Some(child) = cursor.next(machine)? {
                queue.push_back(child);
            }
            if depth_first {
                queue.rotate_left(before);
            }
            // Python's queue takes its memory in blocks of 64 items.
            machine.limit_bytes(232 + 528 * (queue.len() / 64 + 1))?;
        }
        while let Some(item) = queue.pop_front() {
            if is_new(machine, &mut seen, &item)? {
                last = Some(item.clone());
                return selected(machine, selector.as_ref(), &item).map(Some);
            }
        }
        Ok(None)
    }))
}
