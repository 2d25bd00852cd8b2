//! Lists: making them, their elements, and putting in and taking out.

use super::strings::limit_product;
use super::{Entry, either, function, method};
use crate::template::error::Outcome;
use crate::template::yaql::call::Call;
use crate::template::yaql::failure;
use crate::template::yaql::limits;
use crate::template::yaql::machine::Machine;
use crate::template::yaql::signature::is_iterable;
use crate::template::yaql::size;
use crate::template::yaql::value::Value;
use crate::template::yaql::value::stream::Cursor;

pub(super) const FUNCTIONS: &[Entry] = &[
    function("list", "*args: any?", |call| {
        let items = flattened_iterators(call)?;
        Value::tuple(items)
    }),
    function("#list", "*args: any?", |call| {
        let items = call.rest();
        call.machine.limit_bytes(items.iter().map(size::bytes).sum())?;
        Value::tuple(items)
    }),
    method("toList", "collection: iterable", to_list),
    method("flatten", "collection: iterable", flatten),
    function("#indexer", "list: sequence, index: int", indexer),
    function("#operator_in", "value: any?, collection: iterable", |call| is_in(call, 0, 1)),
    method("contains", "collection: iterable, value: any?", |call| is_in(call, 1, 0)),
    function("#operator_+", "left: iterable, right: iterable", combine),
    function("#operator_*", "left: sequence, right: int", |call| times(call, 0, 1)),
    function("#operator_*", "left: int, right: sequence", |call| times(call, 1, 0)),
    function("isList", "arg: any?", |call| {
        Ok(Value::Bool(matches!(call.value(0), Value::List(_))))
    }),
    function("isIterable", "value: any?", |call| Ok(Value::Bool(is_iterable(&call.value(0))))),
    either("len", "sequence: sequence", |call| {
        Ok(Value::Int(call.list(0).map_or(0, |list| list.items.len() as i128)))
    }),
    method("delete", "collection: iterable, position: int, count: int = 1", delete),
    method("replace", "collection: iterable, position: int, value: any?, count: int = 1", |call| {
        let value = call.value(2);
        replace(call, vec![value])
    }),
    method(
        "replaceMany",
        "collection: iterable, position: int, values: iterable, count: int = 1",
        replace_many,
    ),
    method("insert", "collection: unset, position: int, value: any?", insert),
    method("insert", "collection: sequence, position: int, value: any?", insert_into_list),
    method("insertMany", "collection: iterable, position: int, values: iterable", insert_many),
];

/// The arguments, what iterators among them give in their place.
pub(super) fn flattened_iterators(call: &mut Call<'_>) -> Outcome<Vec<Value>> {
    let mut items = Vec::new();
    for arg in call.rest() {
        push_flattened(call.machine, arg, &mut items)?;
    }
    Ok(items)
}

fn push_flattened(machine: &mut Machine, value: Value, items: &mut Vec<Value>) -> Outcome<()> {
    if !matches!(value, Value::Stream(_)) {
        items.push(value);
        let is_over = items.len() > limits::iterators();
        return if is_over { Err(failure::collection(limits::iterators())) } else { Ok(()) };
    }
    let mut cursor = Cursor::over(machine, &value)?;
    while let Some(item) = cursor.next(machine)? {
        machine.enter()?;
        let pushed = push_flattened(machine, item, items);
        machine.leave();
        pushed?;
    }
    Ok(())
}

fn to_list(call: &mut Call<'_>) -> Outcome<Value> {
    match call.list(0) {
        Some(list) if list.is_tuple => Ok(call.value(0)),
        _ => Value::tuple(call.items(0)?),
    }
}

fn flatten(call: &mut Call<'_>) -> Outcome<Value> {
    let mut open = vec![call.cursor(0)?];
    Ok(call.machine.stream(move |machine| {
        while let Some(cursor) = open.last_mut() {
            match cursor.next(machine)? {
                None => {
                    open.pop();
                }
                Some(item) if is_iterable(&item) => open.push(Cursor::over(machine, &item)?),
                Some(item) => return Ok(Some(item)),
            }
        }
        Ok(None)
    }))
}

fn indexer(call: &mut Call<'_>) -> Outcome<Value> {
    let Some(list) = call.list(0) else { return Ok(Value::Null) };
    let kind = if list.is_tuple { "tuple" } else { "list" };
    let place = crate::template::subscript::index(list.items.len(), call.int(1));
    place
        .and_then(|place| list.items.get(place).cloned())
        .ok_or_else(|| failure::index(&format!("{kind} index out of range")))
}

fn is_in(call: &mut Call<'_>, value: usize, collection: usize) -> Outcome<Value> {
    let value = call.value(value);
    let collection = call.value(collection);
    if let Value::Set(set) = &collection {
        let value = value.hashable()?;
        return Ok(Value::Bool(set.members.contains(&value)));
    }
    let mut cursor = Cursor::over(call.machine, &collection)?;
    while let Some(item) = cursor.next(call.machine)? {
        if item == value {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn combine(call: &mut Call<'_>) -> Outcome<Value> {
    let (left, right) = (call.value(0), call.value(1));
    match (&left, &right) {
        (Value::List(one), Value::List(other)) if one.is_tuple && other.is_tuple => {
            call.machine.limit_bytes(size::bytes(&left) + size::bytes(&right))?;
            Value::tuple([one.items.as_slice(), other.items.as_slice()].concat())
        }
        (Value::Set(one), Value::Set(other)) => {
            call.machine.limit_bytes(size::bytes(&left) + size::bytes(&right))?;
            Value::set(one.members.union(&other.members).cloned().collect())
        }
        _ => chain(call.machine, vec![left, right]),
    }
}

/// The items of collections, one after another.
pub(super) fn chain(machine: &mut Machine, collections: Vec<Value>) -> Outcome<Value> {
    let mut left = collections.into_iter();
    let mut cursor: Option<Cursor> = None;
    Ok(machine.stream(move |machine| {
        loop {
            if let Some(cursor) = &mut cursor
                && let Some(item) = cursor.next(machine)?
            {
                return Ok(Some(item));
            }
            let Some(next) = left.next() else { return Ok(None) };
            cursor = Some(Cursor::over(machine, &next)?);
        }
    }))
}

fn times(call: &mut Call<'_>, list: usize, count: usize) -> Outcome<Value> {
    let Some(list) = call.list(list) else { return Ok(Value::Null) };
    let count = call.int(count);
    let bytes = if list.is_tuple { 40 } else { 56 } + 8 * list.items.len();
    limit_product(count, bytes, 56)?;
    let copies = usize::try_from(count).unwrap_or(0);
    let items = std::iter::repeat_n(&list.items, copies).flatten().cloned().collect();
    if list.is_tuple { Value::tuple(items) } else { Value::list(items) }
}

/// Whether a place is among those from a position on; a negative count is all of them.
fn is_among(place: i128, position: i128, count: i128) -> bool {
    let is_from = position <= place;
    if count < 0 { is_from } else { is_from && place < position.saturating_add(count) }
}

fn delete(call: &mut Call<'_>) -> Outcome<Value> {
    let (position, count) = (call.int(1), call.int(2));
    let mut cursor = call.cursor(0)?;
    let mut place = -1;
    Ok(call.machine.stream(move |machine| {
        while let Some(item) = cursor.next(machine)? {
            place += 1;
            if !is_among(place, position, count) {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }))
}

fn replace_many(call: &mut Call<'_>) -> Outcome<Value> {
    let values = call.items(2)?;
    replace(call, values)
}

/// Puts values in the place of those from a position on.
fn replace(call: &mut Call<'_>, values: Vec<Value>) -> Outcome<Value> {
    let (position, count) = (call.int(1), call.int(3));
    let mut cursor = call.cursor(0)?;
    let mut values = Some(values);
    let mut ready: std::vec::IntoIter<Value> = Vec::new().into_iter();
    let mut place = -1;
    Ok(call.machine.stream(move |machine| {
        loop {
            if let Some(value) = ready.next() {
                return Ok(Some(value));
            }
            let Some(item) = cursor.next(machine)? else { return Ok(None) };
            place += 1;
            if !is_among(place, position, count) {
                return Ok(Some(item));
            }
            ready = values.take().unwrap_or_default().into_iter();
        }
    }))
}

fn insert_into_list(call: &mut Call<'_>) -> Outcome<Value> {
    let mut items = call.items(0)?;
    let place = super::strings::slice(items.len(), call.int(1), call.int(1)).start;
    items.insert(place, call.value(2));
    Value::list(items)
}

fn insert(call: &mut Call<'_>) -> Outcome<Value> {
    let value = call.value(2);
    insert_values(call, vec![value], false)
}

fn insert_many(call: &mut Call<'_>) -> Outcome<Value> {
    let values = call.items(2)?;
    insert_values(call, values, true)
}

/// Puts values before the item at a position; beyond the end, after all.
fn insert_values(call: &mut Call<'_>, values: Vec<Value>, before_negative: bool) -> Outcome<Value> {
    let position = call.int(1);
    let mut cursor = call.cursor(0)?;
    let mut ready = Vec::new().into_iter();
    if position < 0 && before_negative {
        ready = values.clone().into_iter();
    }
    let mut place = -1;
    let mut held = None;
    let mut is_over = false;
    Ok(call.machine.stream(move |machine| {
        loop {
            if let Some(value) = ready.next() {
                return Ok(Some(value));
            }
            if held.is_some() {
                return Ok(held.take());
            }
            if is_over {
                return Ok(None);
            }
            match cursor.next(machine)? {
                Some(item) => {
                    place += 1;
                    held = Some(item);
                    if place == position {
                        ready = values.clone().into_iter();
                    }
                }
                None => {
                    is_over = true;
                    if position > place {
                        ready = values.clone().into_iter();
                    }
                }
            }
        }
    }))
}
