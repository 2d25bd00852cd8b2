//! Choosing between values, and boolean logic.

use super::{Entry, function, method};
use crate::template::error::Outcome;
use crate::template::yaql::call::{Call, Lambda, Slot};
use crate::template::yaql::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    function("#operator_and", "left: lambda, right: lambda", and),
    function("#operator_or", "left: lambda, right: lambda", or),
    function("#unary_operator_not", "arg: any?", |call| Ok(Value::Bool(!call.truth(0)))),
    function("bool", "value: any?", |call| Ok(Value::Bool(call.truth(0)))),
    function("isBoolean", "value: any?", |call| {
        Ok(Value::Bool(matches!(call.value(0), Value::Bool(_))))
    }),
    function("switch", "*args: lazy_rule", switch).without_names(),
    function("selectCase", "*args: lambda", select_case),
    function("selectAllCases", "*args: lambda", select_all_cases),
    function("examine", "*args: lambda", examine),
    function("coalesce", "*args: lambda", coalesce),
    method("switchCase", "case: int, *args: lambda", switch_case),
];

fn side(call: &mut Call<'_>, at: usize) -> Outcome<Value> {
    match call.lambda(at) {
        Some(lambda) => call.invoke(&lambda, &[]),
        None => Ok(Value::Null),
    }
}

fn and(call: &mut Call<'_>) -> Outcome<Value> {
    let left = side(call, 0)?;
    if left.is_truthy() { side(call, 1) } else { Ok(left) }
}

fn or(call: &mut Call<'_>) -> Outcome<Value> {
    let left = side(call, 0)?;
    if left.is_truthy() { Ok(left) } else { side(call, 1) }
}

fn switch(call: &mut Call<'_>) -> Outcome<Value> {
    for slot in std::mem::take(&mut call.rest) {
        let Slot::Rule(condition, result) = slot else { continue };
        if call.machine.invoke_within(&condition, &condition.context)?.is_truthy() {
            return call.machine.invoke_within(&result, &result.context);
        }
    }
    Ok(Value::Null)
}

fn select_case(call: &mut Call<'_>) -> Outcome<Value> {
    let cases = call.lambdas();
    let mut index = 0;
    for case in &cases {
        if call.invoke(case, &[])?.is_truthy() {
            break;
        }
        index += 1;
    }
    Ok(Value::Int(index))
}

fn select_all_cases(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cases = call.lambdas().into_iter().enumerate();
    Ok(call.machine.stream(move |machine| {
        for (index, case) in cases.by_ref() {
            if machine.invoke(&case, &[])?.is_truthy() {
                return Ok(Some(Value::Int(index as i128)));
            }
        }
        Ok(None)
    }))
}

fn examine(call: &mut Call<'_>) -> Outcome<Value> {
    let mut cases = call.lambdas().into_iter();
    Ok(call.machine.stream(move |machine| match cases.next() {
        Some(case) => Ok(Some(Value::Bool(machine.invoke(&case, &[])?.is_truthy()))),
        None => Ok(None),
    }))
}

fn coalesce(call: &mut Call<'_>) -> Outcome<Value> {
    for lambda in call.lambdas() {
        let value = call.invoke(&lambda, &[])?;
        if !matches!(value, Value::Null) {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

fn switch_case(call: &mut Call<'_>) -> Outcome<Value> {
    let case = call.int(0);
    let cases: Vec<Lambda> = call.lambdas();
    let chosen = usize::try_from(case).ok().and_then(|case| cases.get(case)).or(cases.last());
    match chosen {
        Some(lambda) => call.invoke(lambda, &[]),
        None => Ok(Value::Null),
    }
}
