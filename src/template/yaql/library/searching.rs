//! What a whole collection comes to: tests, counts, places and sums.

use super::{Entry, either, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::{Call, Lambda};
use crate::template::yaql::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    either("any", "collection: iterable, predicate: lambda = null", |call| {
        let mut cursor = call.cursor(0)?;
        let predicate = call.lambda(1);
        while let Some(item) = cursor.next(call.machine)? {
            // Any item at all will do where nothing is asked of it.
            let holds = match &predicate {
                Some(predicate) => call.invoke(predicate, &[item])?.is_truthy(),
                None => true,
            };
            if holds {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }),
    either("all", "collection: iterable, predicate: lambda = null", |call| {
        let mut cursor = call.cursor(0)?;
        let predicate = call.lambda(1);
        while let Some(item) = cursor.next(call.machine)? {
            let holds = match &predicate {
                Some(predicate) => call.invoke(predicate, &[item])?.is_truthy(),
                None => item.is_truthy(),
            };
            if !holds {
                return Ok(Value::Bool(false));
            }
        }
        Ok(Value::Bool(true))
    }),
    either("len", "collection: iterator", count),
    method("count", "collection: iterable", count),
    method("indexOf", "collection: iterable, item: any?", |call| find(call, false)),
    method("lastIndexOf", "collection: iterable, item: any?", |call| find(call, true)),
    method("indexWhere", "collection: iterable, predicate: lambda", |call| find_where(call, false)),
    method("lastIndexWhere", "collection: iterable, predicate: lambda", |call| {
        find_where(call, true)
    }),
    method("sum", "collection: iterable, initial: any? = none", |call| {
        reduce(call, |call, total, item| call.apply("#operator_+", vec![total, item]))
    }),
    method("max", "collection: iterable, initial: any? = none", |call| {
        reduce(call, |call, total, item| call.apply("max", vec![total, item]))
    }),
    method("min", "collection: iterable, initial: any? = none", |call| {
        reduce(call, |call, total, item| call.apply("min", vec![total, item]))
    }),
    method(
        "aggregate reduce",
        "collection: iterable, selector: lambda, seed: any? = none",
        |call| {
            let selector = selector(call)?;
            reduce_from(call, 2, |call, total, item| call.invoke(&selector, &[total, item]))
        },
    ),
    method("accumulate", "collection: iterable, selector: lambda, seed: any? = none", accumulate),
];

fn count(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let mut count = 0;
    while cursor.next(call.machine)?.is_some() {
        count += 1;
    }
    Ok(Value::Int(count))
}

fn find(call: &mut Call<'_>, is_last: bool) -> Outcome<Value> {
    let wanted = call.value(1);
    place_of(call, is_last, |_, item| Ok(item == wanted))
}

fn find_where(call: &mut Call<'_>, is_last: bool) -> Outcome<Value> {
    let predicate = selector(call)?;
    place_of(call, is_last, |call, item| Ok(call.invoke(&predicate, &[item])?.is_truthy()))
}

/// The place of the first or the last item that fits, or -1.
fn place_of(
    call: &mut Call<'_>,
    is_last: bool,
    fits: impl Fn(&mut Call<'_>, Value) -> Outcome<bool>,
) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let (mut place, mut found) = (0, -1);
    while let Some(item) = cursor.next(call.machine)? {
        if fits(call, item)? {
            found = place;
            if !is_last {
                break;
            }
        }
        place += 1;
    }
    Ok(Value::Int(found))
}

fn selector(call: &Call<'_>) -> Outcome<Lambda> {
    call.lambda(1).ok_or_else(|| TemplateError::kind("'NoneType' object is not callable"))
}

fn reduce(
    call: &mut Call<'_>,
    join: impl Fn(&mut Call<'_>, Value, Value) -> Outcome<Value>,
) -> Outcome<Value> {
    reduce_from(call, 1, join)
}

/// Joins all items into one, from a seed where the argument is given.
fn reduce_from(
    call: &mut Call<'_>,
    seed: usize,
    join: impl Fn(&mut Call<'_>, Value, Value) -> Outcome<Value>,
) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let mut total = match call.given(seed) {
        Some(seed) => seed,
        None => cursor.next(call.machine)?.ok_or_else(|| {
            TemplateError::kind("reduce() of empty iterable with no initial value")
        })?,
    };
    while let Some(item) = cursor.next(call.machine)? {
        total = join(call, total, item)?;
    }
    Ok(total)
}

fn accumulate(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let selector = selector(call)?;
    let mut seed = call.given(2);
    let mut total: Option<Value> = None;
    Ok(call.machine.stream(move |machine| {
        let next = match total.take() {
            Some(total) => match cursor.next(machine)? {
                Some(item) => machine.invoke(&selector, &[total, item])?,
                None => return Ok(None),
            },
            None => match seed.take() {
                Some(seed) => seed,
                None => cursor.next(machine)?.ok_or_else(|| {
                    TemplateError::kind("accumulate() of empty sequence with no initial value")
                })?,
            },
        };
        total = Some(next.clone());
        Ok(Some(next))
    }))
}
