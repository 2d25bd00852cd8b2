//! Equality, and the order of numbers, texts, sets, times and null.

use super::{Entry, function};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::Call;
use crate::template::yaql::value::{Members, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    function("*equal", "left: any?, right: any?", |call| {
        Ok(Value::Bool(call.value(0) == call.value(1)))
    }),
    function("*not_equal", "left: any?, right: any?", |call| {
        Ok(Value::Bool(call.value(0) != call.value(1)))
    }),
    // Null is less than everything else.
    function("#operator_< #operator_<=", "left: any, right: null", |_| Ok(Value::Bool(false))),
    function("#operator_> #operator_>=", "left: any, right: null", |_| Ok(Value::Bool(true))),
    function("#operator_< #operator_<=", "left: null, right: any", |_| Ok(Value::Bool(true))),
    function("#operator_> #operator_>=", "left: null, right: any", |_| Ok(Value::Bool(false))),
    function("#operator_< #operator_>", "left: null, right: null", |_| Ok(Value::Bool(false))),
    function("#operator_<= #operator_>=", "left: null, right: null", |_| Ok(Value::Bool(true))),
    function("#operator_<", "left: number, right: number", less),
    function("#operator_<=", "left: number, right: number", less_or_equal),
    function("#operator_>", "left: number, right: number", greater),
    function("#operator_>=", "left: number, right: number", greater_or_equal),
    function("#operator_<", "left: text, right: text", less),
    function("#operator_<=", "left: text, right: text", less_or_equal),
    function("#operator_>", "left: text, right: text", greater),
    function("#operator_>=", "left: text, right: text", greater_or_equal),
    function("#operator_<", "left: set, right: set", |call| within(call, 0, 1, true)),
    function("#operator_<=", "left: set, right: set", |call| within(call, 0, 1, false)),
    function("#operator_>", "left: set, right: set", |call| within(call, 1, 0, true)),
    function("#operator_>=", "left: set, right: set", |call| within(call, 1, 0, false)),
    function("#operator_<", "left: moment, right: moment", less),
    function("#operator_<=", "left: moment, right: moment", less_or_equal),
    function("#operator_>", "left: moment, right: moment", greater),
    function("#operator_>=", "left: moment, right: moment", greater_or_equal),
    function("#operator_<", "left: span, right: span", less),
    function("#operator_<=", "left: span, right: span", less_or_equal),
    function("#operator_>", "left: span, right: span", greater),
    function("#operator_>=", "left: span, right: span", greater_or_equal),
];

/// How two values of one kind compare. NaN does not.
fn compare(left: &Value, right: &Value) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Int(left), Value::Float(right)) => compare_mixed(*left, *right),
        (Value::Float(left), Value::Int(right)) => {
            compare_mixed(*right, *left).map(std::cmp::Ordering::reverse)
        }
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Moment(left), Value::Moment(right)) => Some(left.utc().cmp(&right.utc())),
        (Value::Span(left), Value::Span(right)) => Some(left.0.cmp(&right.0)),
        _ => None,
    }
}

/// Exact where the integer has more digits than a float.
fn compare_mixed(int: i128, float: f64) -> Option<std::cmp::Ordering> {
    let near = (int as f64).partial_cmp(&float)?;
    if near.is_eq() && float.abs() < 1e38 {
        return Some(int.cmp(&(float as i128)));
    }
    Some(near)
}

fn compared(call: &Call<'_>) -> Option<std::cmp::Ordering> {
    compare(&call.value(0), &call.value(1))
}

fn less(call: &mut Call<'_>) -> Outcome<Value> {
    Ok(Value::Bool(compared(call).is_some_and(std::cmp::Ordering::is_lt)))
}

fn less_or_equal(call: &mut Call<'_>) -> Outcome<Value> {
    Ok(Value::Bool(compared(call).is_some_and(std::cmp::Ordering::is_le)))
}

fn greater(call: &mut Call<'_>) -> Outcome<Value> {
    Ok(Value::Bool(compared(call).is_some_and(std::cmp::Ordering::is_gt)))
}

fn greater_or_equal(call: &mut Call<'_>) -> Outcome<Value> {
    Ok(Value::Bool(compared(call).is_some_and(std::cmp::Ordering::is_ge)))
}

/// Whether one set is within another, and with `strictly` not equal to it.
fn within(call: &mut Call<'_>, small: usize, large: usize, strictly: bool) -> Outcome<Value> {
    let small = members(&call.value(small))?;
    let large = members(&call.value(large))?;
    let is_within = small.iter().all(|member| large.contains(member));
    Ok(Value::Bool(is_within && (!strictly || small.len() < large.len())))
}

/// The members of a set, or of the keys or items of a map.
pub(super) fn members(set: &Value) -> Outcome<Members> {
    match set {
        Value::Set(set) => Ok(set.members.clone()),
        Value::View(view) => {
            view.items()?.into_iter().map(Value::hashable).collect::<Outcome<Members>>()
        }
        other => Err(TemplateError::kind(format!("'{}' object is not a set", other.kind()))),
    }
}
