//! Maps.

use super::{Entry, either, function, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::Call;
use crate::template::yaql::failure;
use crate::template::yaql::print;
use crate::template::yaql::size;
use crate::template::yaql::value::stream::Cursor;
use crate::template::yaql::value::{Entries, Part, Value, View};

pub(super) const FUNCTIONS: &[Entry] = &[
    function("dict #map", "*args: rule", |call| {
        let mut entries = Entries::new();
        add_rules(call, &mut entries)?;
        Value::map(entries)
    })
    .without_names(),
    function("dict", "items: iterable", from_pairs).without_names(),
    method(
        "toDict",
        "collection: iterable, keySelector: lambda, valueSelector: lambda = null",
        to_dict,
    ),
    function("#indexer", "dict: map, key: any?", |call| match call.value(0) {
        Value::Map(map) => {
            let key = call.value(1).hashable()?;
            map.entries.get(&key).cloned().ok_or_else(|| failure::key(print::repr(&key)))
        }
        _ => Ok(Value::Null),
    }),
    function("#indexer", "dict: map, key: any?, default: any?", get),
    method("get", "dict: map, key: any?, default: any? = null", get),
    method("set", "dict: map, key: any?, value: any?", |call| {
        let mut entries = call.entries(0);
        entries.insert(call.value(1).hashable()?, call.value(2));
        Value::map(entries)
    })
    .without_names(),
    method("set", "dict: map, replacements: map", |call| {
        let mut entries = call.entries(0);
        entries.extend(call.entries(1));
        Value::map(entries)
    })
    .without_names(),
    method("set", "dict: map, *args: rule", |call| {
        let mut entries = call.entries(0);
        add_rules(call, &mut entries)?;
        Value::map(entries)
    })
    .without_names(),
    method("keys", "dict: map", |call| Ok(view(call, Part::Keys))),
    method("values", "dict: map", |call| Ok(view(call, Part::Values))),
    method("items", "dict: map", |call| Ok(view(call, Part::Items))),
    method("containsKey", "dict: map, key: any?", |call| {
        let key = call.value(1).hashable()?;
        Ok(Value::Bool(call.entries(0).contains_key(&key)))
    }),
    method("containsValue", "dict: map, value: any?", |call| {
        let value = call.value(1);
        Ok(Value::Bool(call.entries(0).values().any(|item| *item == value)))
    }),
    function("#operator_+", "left: map, right: map", |call| {
        let mut entries = call.entries(0);
        entries.extend(call.entries(1));
        Value::map(entries)
    }),
    function("isDict", "arg: any?", |call| Ok(Value::Bool(matches!(call.value(0), Value::Map(_))))),
    either("len", "dict: map", |call| Ok(Value::Int(call.entries(0).len() as i128))),
    method("delete", "dict: map, *keys: any?", |call| {
        let keys = call.rest();
        without(call, keys)
    }),
    method("deleteAll", "dict: map, keys: iterable", |call| {
        let keys = call.items(1)?;
        without(call, keys)
    }),
];

fn add_rules(call: &Call<'_>, entries: &mut Entries) -> Outcome<()> {
    for rule in call.rest() {
        if let Value::Rule(rule) = rule {
            let (key, value) = rule.as_ref().clone();
            entries.insert(key.hashable()?, value);
        }
    }
    Ok(())
}

fn from_pairs(call: &mut Call<'_>) -> Outcome<Value> {
    let mut entries = Entries::new();
    let mut cursor = call.cursor(0)?;
    while let Some(pair) = cursor.next(call.machine)? {
        let mut pair = Cursor::over(call.machine, &pair)?;
        let key = pair.next(call.machine)?.ok_or_else(|| failure::stop(""))?;
        let value = pair.next(call.machine)?.ok_or_else(|| failure::stop(""))?;
        insert(call, &mut entries, key, value)?;
    }
    Value::map(entries)
}

fn to_dict(call: &mut Call<'_>) -> Outcome<Value> {
    let mut entries = Entries::new();
    let mut cursor = call.cursor(0)?;
    let (key_of, value_of) = (call.lambda(1), call.lambda(2));
    while let Some(item) = cursor.next(call.machine)? {
        let args = [item];
        let key = match &key_of {
            Some(key_of) => call.invoke(key_of, &args)?,
            None => return Err(TemplateError::kind("'NoneType' object is not callable")),
        };
        let value = match &value_of {
            Some(value_of) => call.invoke(value_of, &args)?,
            None => args[0].clone(),
        };
        insert(call, &mut entries, key, value)?;
    }
    Value::dict(entries)
}

fn insert(call: &mut Call<'_>, entries: &mut Entries, key: Value, value: Value) -> Outcome<()> {
    entries.insert(key.hashable()?, value);
    let is_text = entries.keys().next().is_some_and(|key| matches!(key, Value::Text(_)));
    call.machine.limit_bytes(size::dict_bytes(entries.len(), is_text))
}

fn get(call: &mut Call<'_>) -> Outcome<Value> {
    let key = call.value(1).hashable()?;
    Ok(call.entries(0).get(&key).cloned().unwrap_or_else(|| call.value(2)))
}

fn view(call: &Call<'_>, part: Part) -> Value {
    match call.value(0) {
        Value::Map(of) => Value::View(std::rc::Rc::new(View { part, of })),
        other => other,
    }
}

fn without(call: &Call<'_>, keys: Vec<Value>) -> Outcome<Value> {
    let mut entries = call.entries(0);
    for key in keys {
        entries.shift_remove(&key.hashable()?);
    }
    Value::dict(entries)
}
