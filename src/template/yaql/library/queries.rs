//! Queries over collections: most give their items lazily, and fail when they are gone through.

use super::lists::chain;
use super::strings::slice;
use super::{Entry, either, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::{Call, Lambda};
use crate::template::yaql::failure;
use crate::template::yaql::size;
use crate::template::yaql::value::stream::Cursor;
use crate::template::yaql::value::{List, Members, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    method("where filter", "collection: iterable, predicate: lambda", where_),
    method("select map", "collection: iterable, selector: lambda", select),
    method("selectMany", "collection: iterable, selector: lambda", select_many),
    method("skip", "collection: iterable, count: int", skip),
    method("limit take", "collection: iterable, count: int", limit),
    method("takeWhile", "collection: iterable, predicate: lambda", take_while),
    method("skipWhile", "collection: iterable, predicate: lambda", skip_while),
    either("append", "collection: iterable, *args: any?", |call| {
        let more = Value::list(call.rest())?;
        chain(call.machine, vec![call.value(0), more])
    }),
    either("concat", "*collections: iterable", |call| chain(call.machine, call.rest())),
    either("distinct", "collection: iterable, keySelector: lambda = null", distinct),
    either("enumerate", "collection: iterable, start: int? = 0", enumerate),
    method("memorize", "collection: iterable", |call| match call.value(0) {
        Value::Stream(_) => {
            let cursor = call.cursor(0)?;
            Ok(call.machine.remembering(cursor))
        }
        other => Ok(other),
    }),
    method("first", "collection: iterable, default: any? = none", |call| {
        let first = call.cursor(0)?.next(call.machine)?;
        first.or_else(|| call.given(1)).ok_or_else(|| failure::stop(""))
    }),
    method("last", "collection: iterable, default: any? = none", |call| {
        let last = call.items(0)?.pop();
        last.or_else(|| call.given(1)).ok_or_else(|| failure::stop(""))
    }),
    method("single", "collection: iterable", |call| {
        let mut cursor = call.cursor(0)?;
        let only = cursor.next(call.machine)?.ok_or_else(|| failure::stop(""))?;
        match cursor.next(call.machine)? {
            None => Ok(only),
            Some(_) => Err(failure::stop("Collection contains more than one item")),
        }
    }),
    method("slice", "collection: iterable, length: int", slices),
    method("splitWhere", "collection: iterable, predicate: lambda", split_where),
    method("sliceWhere", "collection: iterable, predicate: lambda", slice_where),
    method("splitAt", "collection: iterable, index: int", |call| {
        let items = call.items(0)?;
        let middle = slice(items.len(), 0, call.int(1)).end;
        Value::list(vec![
            Value::tuple(items[..middle].to_vec())?,
            Value::tuple(items[middle..].to_vec())?,
        ])
    }),
    method("reverse", "collection: iterable", |call| {
        let mut items = call.items(0)?;
        Ok(call.machine.stream(move |_| Ok(items.pop())))
    }),
    method("zip", "*collections: iterable", zip),
    method("zipLongest", "*collections: iterable, **named: any?", zip_longest),
    method(
        "join",
        "collection1: iterable, collection2: iterable, predicate: lambda, selector: lambda",
        join,
    ),
    method("cycle", "collection: iterable", cycle),
    method("defaultIfEmpty", "collection: iterable, default: iterable", |call| {
        let cursor = call.cursor(0)?;
        let collection = match call.value(0) {
            Value::Stream(_) => call.machine.remembering(cursor),
            other => other,
        };
        let mut cursor = Cursor::over(call.machine, &collection)?;
        Ok(if cursor.next(call.machine)?.is_some() { collection } else { call.value(1) })
    }),
];

/// What a parameter that must be given is called with. Where it is null Python cannot call it.
fn required(call: &Call<'_>, at: usize) -> Outcome<Lambda> {
    let missing = || TemplateError::kind("'NoneType' object is not callable");
    call.lambda(at).ok_or_else(missing)
}

fn where_(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let predicate = call.lambda(1);
    Ok(call.machine.stream(move |machine| {
        while let Some(item) = cursor.next(machine)? {
            // Without a predicate Python's `filter` asks the item itself.
            let holds = match &predicate {
                Some(predicate) => {
                    machine.invoke(predicate, std::slice::from_ref(&item))?.is_truthy()
                }
                None => item.is_truthy(),
            };
            if holds {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }))
}

fn select(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let selector = required(call, 1)?;
    Ok(call.machine.stream(move |machine| match cursor.next(machine)? {
        Some(item) => machine.invoke(&selector, &[item]).map(Some),
        None => Ok(None),
    }))
}

fn select_many(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let selector = required(call, 1)?;
    let mut inner: Option<Cursor> = None;
    Ok(call.machine.stream(move |machine| {
        loop {
            if let Some(cursor) = &mut inner
                && let Some(item) = cursor.next(machine)?
            {
                return Ok(Some(item));
            }
            inner = None;
            let Some(item) = cursor.next(machine)? else { return Ok(None) };
            let value = machine.invoke(&selector, &[item])?;
            if !crate::template::yaql::signature::is_iterable(&value) {
                return Ok(Some(value));
            }
            inner = Some(Cursor::over(machine, &value)?);
        }
    }))
}

fn skip(call: &mut Call<'_>) -> Outcome<Value> {
    let Ok(mut left) = usize::try_from(call.int(1)) else {
        let message = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.";
        return Err(TemplateError::value(message));
    };
    let mut cursor = call.cursor(0)?;
    Ok(call.machine.stream(move |machine| {
        while left > 0 {
            left -= 1;
            if cursor.next(machine)?.is_none() {
                return Ok(None);
            }
        }
        cursor.next(machine)
    }))
}

/// How many items `islice` may take.
fn stop_of(call: &Call<'_>, at: usize) -> Outcome<usize> {
    let message = "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.";
    usize::try_from(call.int(at)).map_err(|_| TemplateError::value(message))
}

fn limit(call: &mut Call<'_>) -> Outcome<Value> {
    let mut left = stop_of(call, 1)?;
    let mut cursor = call.cursor(0)?;
    Ok(call.machine.stream(move |machine| {
        if left == 0 {
            return Ok(None);
        }
        left -= 1;
        cursor.next(machine)
    }))
}

fn take_while(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let predicate = required(call, 1)?;
    Ok(call.machine.stream(move |machine| {
        let Some(item) = cursor.next(machine)? else { return Ok(None) };
        let holds = machine.invoke(&predicate, std::slice::from_ref(&item))?.is_truthy();
        Ok(holds.then_some(item))
    }))
}

fn skip_while(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let predicate = required(call, 1)?;
    let mut is_skipping = true;
    Ok(call.machine.stream(move |machine| {
        while let Some(item) = cursor.next(machine)? {
            if is_skipping {
                is_skipping = machine.invoke(&predicate, std::slice::from_ref(&item))?.is_truthy();
            }
            if !is_skipping {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }))
}

fn distinct(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let key_of = call.lambda(1);
    let mut seen = Members::new();
    Ok(call.machine.stream(move |machine| {
        while let Some(item) = cursor.next(machine)? {
            let key = match &key_of {
                Some(key_of) => machine.invoke(key_of, std::slice::from_ref(&item))?,
                None => item.clone(),
            };
            if seen.insert(key.hashable()?) {
                machine.limit_bytes(size::set_bytes(seen.len()))?;
                return Ok(Some(item));
            }
        }
        Ok(None)
    }))
}

fn enumerate(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let mut place = match call.value(1) {
        Value::Null => {
            let message = "'NoneType' object cannot be interpreted as an integer";
            return Err(TemplateError::kind(message));
        }
        start => start.as_whole().unwrap_or_default(),
    };
    Ok(call.machine.stream(move |machine| {
        let Some(item) = cursor.next(machine)? else { return Ok(None) };
        place += 1;
        Value::list(vec![Value::Int(place - 1), item]).map(Some)
    }))
}

fn slices(call: &mut Call<'_>) -> Outcome<Value> {
    let length = call.int(1);
    let mut cursor = call.cursor(0)?;
    Ok(call.machine.stream(move |machine| {
        if length < 0 {
            let message =
                "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.";
            return Err(TemplateError::value(message));
        }
        let mut items = Vec::new();
        while (items.len() as i128) < length {
            match cursor.next(machine)? {
                Some(item) => items.push(item),
                None => break,
            }
        }
        if items.is_empty() { Ok(None) } else { Value::tuple(items).map(Some) }
    }))
}

/// The pieces between items for which a predicate holds.
fn split_where(call: &mut Call<'_>) -> Outcome<Value> {
    let mut items = call.items(0)?.into_iter();
    let predicate = required(call, 1)?;
    let mut is_over = false;
    Ok(call.machine.stream(move |machine| {
        let mut piece = Vec::new();
        for item in items.by_ref() {
            if machine.invoke(&predicate, std::slice::from_ref(&item))?.is_truthy() {
                return Value::tuple(piece).map(Some);
            }
            piece.push(item);
        }
        if is_over || piece.is_empty() {
            return Ok(None);
        }
        is_over = true;
        Value::tuple(piece).map(Some)
    }))
}

/// The pieces within which a predicate gives the same.
fn slice_where(call: &mut Call<'_>) -> Outcome<Value> {
    let mut items = call.items(0)?.into_iter();
    let predicate = required(call, 1)?;
    let mut held: Option<(Value, Value)> = None;
    Ok(call.machine.stream(move |machine| {
        let mut piece = Vec::new();
        let mut before: Option<Value> = None;
        if let Some((item, key)) = held.take() {
            piece.push(item);
            before = Some(key);
        }
        for item in items.by_ref() {
            let key = machine.invoke(&predicate, std::slice::from_ref(&item))?;
            if before.as_ref().is_some_and(|before| *before != key) {
                held = Some((item, key));
                return Value::tuple(piece).map(Some);
            }
            before = Some(key);
            piece.push(item);
        }
        if piece.is_empty() { Ok(None) } else { Value::tuple(piece).map(Some) }
    }))
}

fn cursors(call: &mut Call<'_>) -> Outcome<Vec<Cursor>> {
    let collections = call.rest();
    collections.iter().map(|collection| Cursor::over(call.machine, collection)).collect()
}

fn zip(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursors = cursors(call)?;
    Ok(call.machine.stream(move |machine| {
        let mut items = Vec::with_capacity(cursors.len());
        for cursor in &mut cursors {
            let Some(item) = cursor.next(machine)? else { return Ok(None) };
            items.push(item);
        }
        Value::tuple(items).map(Some)
    }))
}

fn zip_longest(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursors = cursors(call)?;
    let named = std::mem::take(&mut call.named);
    let fill = named.into_iter().find_map(|(name, slot)| match slot {
        crate::template::yaql::call::Slot::Value(value) if name == "default" => Some(value),
        _ => None,
    });
    let fill = fill.unwrap_or(Value::Null);
    Ok(call.machine.stream(move |machine| {
        let mut items = Vec::with_capacity(cursors.len());
        let mut is_over = true;
        for cursor in &mut cursors {
            let item = cursor.next(machine)?;
            is_over &= item.is_none();
            items.push(item.unwrap_or_else(|| fill.clone()));
        }
        if is_over { Ok(None) } else { Value::tuple(items).map(Some) }
    }))
}

fn join(call: &mut Call<'_>) -> Outcome<Value> {
    let mut outer = call.cursor(0)?;
    let inner = call.cursor(1)?;
    let others = match call.value(1) {
        Value::Stream(_) => call.machine.remembering(inner),
        other => other,
    };
    let (predicate, selector) = (required(call, 2)?, required(call, 3)?);
    let mut current: Option<(Value, Cursor)> = None;
    Ok(call.machine.stream(move |machine| {
        loop {
            let Some((left, inner)) = &mut current else {
                let Some(item) = outer.next(machine)? else { return Ok(None) };
                current = Some((item, Cursor::over(machine, &others)?));
                continue;
            };
            let Some(right) = inner.next(machine)? else {
                current = None;
                continue;
            };
            let pair = [left.clone(), right];
            if machine.invoke(&predicate, &pair)?.is_truthy() {
                return machine.invoke(&selector, &pair).map(Some);
            }
        }
    }))
}

fn cycle(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = Some(call.cursor(0)?);
    let mut seen: Vec<Value> = Vec::new();
    let mut at = 0;
    Ok(call.machine.stream(move |machine| {
        if let Some(open) = &mut cursor {
            if let Some(item) = open.next(machine)? {
                seen.push(item.clone());
                return Ok(Some(item));
            }
            cursor = None;
        }
        let item = seen.get(at).cloned();
        at = (at + 1) % seen.len().max(1);
        Ok(item)
    }))
}

/// The first length items of a list, for those that look at lists only.
pub(super) fn is_pair_with(list: &List, first: &Value) -> bool {
    matches!(list.items.as_slice(), [one, _] if one == first)
}
