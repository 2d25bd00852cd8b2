//! Names, contexts and calls.

use std::rc::Rc;

use super::{Entry, function, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::{Call, Lambda, Slot};
use crate::template::yaql::failure;
use crate::template::yaql::print;
use crate::template::yaql::signature::Arg;
use crate::template::yaql::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    function("with", "*args: any?", |call| {
        for (index, value) in call.rest().into_iter().enumerate() {
            call.context.set(&(index + 1).to_string(), value);
        }
        Ok(Value::Context(Rc::clone(&call.context)))
    }),
    function("let", "*args: any?, **named: any?", |call| {
        for (index, value) in call.rest().into_iter().enumerate() {
            call.context.set(&(index + 1).to_string(), value);
        }
        for (name, slot) in std::mem::take(&mut call.named) {
            if let Slot::Value(value) = slot {
                call.context.set(&name, value);
            }
        }
        Ok(Value::Context(Rc::clone(&call.context)))
    }),
    method("unpack", "sequence: iterable, *args: text", unpack),
    function("def", "name: text, func: lambda", def),
    function("#operator_->", "left: context, right: lambda", |call| {
        match (call.value(0), call.lambda(1)) {
            (Value::Context(context), Some(body)) => call.machine.invoke_within(&body, &context),
            _ => Ok(Value::Null),
        }
    }),
    method("assert", "obj: any?, condition: lambda, message: text = 'Assertion failed'", assert),
    function("call", "name: text, args: sequence, kwargs: map, receiver: any? = none", call_named),
];

fn unpack(call: &mut Call<'_>) -> Outcome<Value> {
    let names = call.rest();
    let mut cursor = call.cursor(0)?;
    let mut values = Vec::new();
    // One more than there are names, to see whether there are too many.
    while names.is_empty() || values.len() <= names.len() {
        match cursor.next(call.machine)? {
            Some(value) => values.push(value),
            None => break,
        }
    }
    if !names.is_empty() && names.len() != values.len() {
        let (count, names) = (values.len(), names.len());
        let message = format!("Cannot unpack {count} elements into {names}");
        return Err(TemplateError::value(message));
    }
    for (index, value) in values.into_iter().enumerate() {
        let name = names.get(index).map_or_else(|| (index + 1).to_string(), print::text);
        call.context.set(&name, value);
    }
    Ok(Value::Context(Rc::clone(&call.context)))
}

fn def(call: &mut Call<'_>) -> Outcome<Value> {
    let name = registered_name(&call.string(0));
    if let Some(Lambda { body: Arg::Expression(body), .. }) = call.lambda(1) {
        call.context.define(name, body);
    }
    Ok(Value::Context(Rc::clone(&call.context)))
}

/// A function's name as yaql registers it: `my_name` is `myName`. A name that starts with no letter
/// keeps all up to the second time that its first character stands in it.
fn registered_name(name: &str) -> String {
    let name = name.trim_end_matches('_');
    let Some(first) = name.chars().next() else { return String::new() };
    if first.is_alphabetic() {
        return camel_case(name);
    }
    let length = first.len_utf8();
    match name[length..].find(first) {
        None | Some(0) => name.to_owned(),
        Some(at) => {
            let (start, rest) = name.split_at(length + at + length);
            start.to_owned() + &camel_case(rest)
        }
    }
}

fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
        match chars.peek() {
            Some(next) if c == '_' && !out.is_empty() && is_word(next) => {
                out.extend(next.to_uppercase());
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// Runs a function that `def` made.
pub(in crate::template::yaql) fn run_defined(
    call: &mut Call<'_>,
    lambda: &Lambda,
) -> Outcome<Value> {
    let context = call.machine.context(&lambda.context);
    let places = (1..).map(|place: usize| place.to_string());
    let args = places.zip(std::mem::take(&mut call.rest));
    for (name, slot) in args.chain(std::mem::take(&mut call.named)) {
        if let Slot::Value(value) = slot {
            context.set(&name, value);
        }
    }
    call.machine.invoke_within(lambda, &context)
}

fn assert(call: &mut Call<'_>) -> Outcome<Value> {
    let object = match call.value(0) {
        Value::Stream(_) => {
            let cursor = call.cursor(0)?;
            call.machine.remembering(cursor)
        }
        other => other,
    };
    let holds = match call.lambda(1) {
        Some(condition) => call.invoke(&condition, std::slice::from_ref(&object))?.is_truthy(),
        None => return Err(TemplateError::kind("'NoneType' object is not callable")),
    };
    if holds {
        return Ok(object);
    }
    Err(TemplateError::new("AssertionError", &*call.string(2)))
}

fn call_named(call: &mut Call<'_>) -> Outcome<Value> {
    let args = call.list(1).map(|list| list.items.clone()).unwrap_or_default();
    let mut named = Vec::new();
    for (key, value) in call.entries(2) {
        let name = match &key {
            Value::Text(name) => name.to_string(),
            other => return Err(failure::argument(&print::text(other))),
        };
        named.push((name, value));
    }
    let (name, receiver, context) = (call.string(0), call.given(3), &call.context);
    context.evaluator().call(call.machine, &name, receiver, args, named, context)
}
