//! Grouping by a key, and merging maps into each other.

use super::queries::is_pair_with;
use super::{Entry, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::{Call, Lambda};
use crate::template::yaql::failure;
use crate::template::yaql::limits;
use crate::template::yaql::machine::Machine;
use crate::template::yaql::size;
use crate::template::yaql::value::{Entries, List, Members, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    method(
        "groupBy",
        "collection: iterable, keySelector: lambda, valueSelector: lambda = null, \
         aggregator: lambda = null",
        group_by,
    ),
    method(
        "mergeWith",
        "dict: map, another: map, listMerger: lambda = null, itemMerger: lambda = null, \
         maxLevels: int = 0",
        merge_with,
    ),
];

fn group_by(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cursor = call.cursor(0)?;
    let (key_of, value_of) = (call.lambda(1), call.lambda(2));
    let mut aggregator = call.lambda(3).map(Aggregator::new);
    let mut groups: indexmap::IndexMap<Value, Vec<Value>> = indexmap::IndexMap::new();
    while let Some(item) = cursor.next(call.machine)? {
        let args = [item];
        let value = match &value_of {
            Some(value_of) => call.invoke(value_of, &args)?,
            None => args[0].clone(),
        };
        let key = match &key_of {
            Some(key_of) => call.invoke(key_of, &args)?.hashable()?,
            None => return Err(TemplateError::kind("'NoneType' object is not callable")),
        };
        let is_text = matches!(key, Value::Text(_));
        groups.entry(key).or_default().push(value);
        call.machine.limit_bytes(size::dict_bytes(groups.len(), is_text))?;
    }
    let mut groups = groups.into_iter();
    Ok(call.machine.stream(move |machine| {
        let Some((key, values)) = groups.next() else { return Ok(None) };
        let values = Value::list(values)?;
        let item = match &mut aggregator {
            Some(aggregator) => aggregator.run(machine, key, values)?,
            None => Value::tuple(vec![key, values])?,
        };
        Ok(Some(item))
    }))
}

/// An aggregator takes the values of a group. Older expressions have one that takes the key as
/// well: it is tried on that when it fails on values alone, unless it did give something of them.
struct Aggregator {
    lambda: Lambda,
    may_take_key: bool,
    failure: Option<TemplateError>,
}

impl Aggregator {
    fn new(lambda: Lambda) -> Self {
        Self { lambda, may_take_key: true, failure: None }
    }

    fn run(&mut self, machine: &mut Machine, key: Value, values: Value) -> Outcome<Value> {
        if self.failure.is_none() {
            match machine.invoke(&self.lambda, std::slice::from_ref(&values)) {
                Ok(result) => {
                    self.may_take_key &= looks_like_group(&values, &result);
                    return Value::tuple(vec![key, result]);
                }
                Err(error) if failure::is_mismatch(&error) => self.failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        let group = Value::tuple(vec![key, values])?;
        if self.may_take_key {
            match machine.invoke(&self.lambda, std::slice::from_ref(&group)) {
                Ok(result) if length(&result) == Some(2) => return Ok(result),
                Err(error) if failure::is_bound(&error) => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        match &self.failure {
            Some(error) => Err(error.clone()),
            None => Ok(group),
        }
    }
}

/// Whether two values of a group were taken for its key and values.
fn looks_like_group(values: &Value, result: &Value) -> bool {
    let (Value::List(values), Value::List(result)) = (values, result) else { return false };
    let [first, _] = values.items.as_slice() else { return false };
    is_pair_with(result, first)
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Text(text) => Some(text.chars().count()),
        Value::List(list) => Some(list.items.len()),
        Value::Map(map) => Some(map.entries.len()),
        Value::Set(set) => Some(set.members.len()),
        Value::View(view) => Some(view.of.entries.len()),
        _ => None,
    }
}

fn merge_with(call: &mut Call<'_>) -> Outcome<Value> {
    let (left, right) = (call.entries(0), call.entries(1));
    let merge = Merge { lists: call.lambda(2), items: call.lambda(3) };
    merge.maps(call, &left, &right, call.int(4))
}

/// How two values of one key become one.
struct Merge {
    lists: Option<Lambda>,
    items: Option<Lambda>,
}

impl Merge {
    fn maps(
        &self,
        call: &mut Call<'_>,
        left: &Entries,
        right: &Entries,
        levels: i128,
    ) -> Outcome<Value> {
        let mut merged = left.clone();
        for (key, one) in left {
            let Some(other) = right.get(key) else { continue };
            call.machine.step(1)?;
            let value = match (one, other) {
                (Value::Map(one), Value::Map(other)) if levels != 1 => {
                    let levels = if levels == 0 { 0 } else { levels - 1 };
                    self.maps(call, &one.entries, &other.entries, levels)?
                }
                (Value::List(one), Value::List(other)) if levels != 1 => {
                    self.lists(call, one, other)?
                }
                (one, other @ (Value::Map(_) | Value::List(_))) if levels != 1 => {
                    let (one, other) = (class(one), class(other));
                    let message = format!("Cannot merge {one} with {other}");
                    return Err(TemplateError::kind(message));
                }
                (one, other) => match &self.items {
                    Some(items) => call.invoke(items, &[one.clone(), other.clone()])?,
                    None => other.clone(),
                },
            };
            merged.insert(key.clone(), value);
        }
        for (key, value) in right {
            merged.entry(key.clone()).or_insert_with(|| value.clone());
        }
        Value::dict(merged)
    }

    fn lists(
        &self,
        call: &mut Call<'_>,
        one: &std::rc::Rc<List>,
        other: &std::rc::Rc<List>,
    ) -> Outcome<Value> {
        if let Some(lists) = &self.lists {
            let pair = [Value::List(one.clone()), Value::List(other.clone())];
            return call.invoke(lists, &pair);
        }
        if one.is_tuple != other.is_tuple {
            let (one, other) = if one.is_tuple { ("tuple", "list") } else { ("list", "tuple") };
            let message = format!("can only concatenate {one} (not \"{other}\") to {one}");
            return Err(TemplateError::kind(message));
        }
        let mut members = Members::new();
        for item in one.items.iter().chain(&other.items) {
            call.machine.step(1)?;
            members.insert(item.clone().hashable()?);
            if members.len() > limits::iterators() {
                return Err(failure::collection(limits::iterators()));
            }
        }
        Value::tuple(members.into_iter().collect())
    }
}

/// A value's Python class, as Python prints it.
fn class(value: &Value) -> String {
    match value.kind() {
        "FrozenDict" => "<class 'yaql.language.utils.FrozenDict'>".to_owned(),
        kind => format!("<class '{kind}'>"),
    }
}
