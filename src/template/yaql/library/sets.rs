//! Sets.

use super::comparison::members;
use super::lists::flattened_iterators;
use super::{Entry, either, function, method};
use crate::template::error::Outcome;
use crate::template::yaql::call::Call;
use crate::template::yaql::failure;
use crate::template::yaql::value::{Members, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    function("isSet", "arg: any?", |call| {
        Ok(Value::Bool(crate::template::yaql::signature::is_set(&call.value(0))))
    }),
    function("set", "*args: any?", |call| {
        let items = flattened_iterators(call)?;
        from_items(items)
    }),
    method("toSet", "collection: iterable", |call| {
        let items = call.items(0)?;
        from_items(items)
    }),
    either("len", "set: set", |call| Ok(Value::Int(members(&call.value(0))?.len() as i128))),
    method("union", "left: set, right: set", |call| {
        let (left, right) = sides(call, "union")?;
        Value::set(left.union(&right).cloned().collect())
    }),
    method("intersect", "left: set, right: set", |call| {
        let (left, right) = sides(call, "intersection")?;
        Value::set(left.intersection(&right).cloned().collect())
    }),
    method("difference", "left: set, right: set", difference),
    function("#operator_-", "left: set, right: set", difference),
    method("symmetricDifference", "left: set, right: set", |call| {
        let (left, right) = sides(call, "symmetric_difference")?;
        Value::set(left.symmetric_difference(&right).cloned().collect())
    }),
    method("add", "set: set, *values: any?", |call| {
        let mut members = own_members(call, "union")?;
        for value in call.rest() {
            members.insert(value.hashable()?);
        }
        Value::set(members)
    }),
    method("remove", "set: set, *values: any?", |call| {
        let mut members = own_members(call, "difference")?;
        for value in call.rest() {
            members.shift_remove(&value.hashable()?);
        }
        Value::set(members)
    }),
];

fn from_items(items: Vec<Value>) -> Outcome<Value> {
    Value::set(items.into_iter().map(Value::hashable).collect::<Outcome<Members>>()?)
}

/// The members of a set proper: keys and items of a map lack these operations.
fn own_members(call: &Call<'_>, operation: &str) -> Outcome<Members> {
    match call.value(0) {
        Value::Set(set) => Ok(set.members.clone()),
        other => Err(failure::attribute(other.kind(), operation)),
    }
}

fn sides(call: &Call<'_>, operation: &str) -> Outcome<(Members, Members)> {
    Ok((own_members(call, operation)?, members(&call.value(1))?))
}

fn difference(call: &mut Call<'_>) -> Outcome<Value> {
    let (left, right) = sides(call, "difference")?;
    Value::set(left.difference(&right).cloned().collect())
}
