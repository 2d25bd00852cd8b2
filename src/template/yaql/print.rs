//! Values as Python prints them.

use super::value::{List, Map, Part, Value};
use crate::template::python;

/// `str(value)`.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::Moment(moment) => moment.to_string(),
        Value::Span(span) => span.to_string(),
        other => repr(other),
    }
}

/// `repr(value)`.
pub(super) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&python::float_text(*number)),
        Value::Text(text) => out.push_str(&python::quoted(text)),
        Value::List(list) => write_list(out, list),
        Value::Map(map) => write_map(out, map),
        Value::Set(set) if set.members.is_empty() => out.push_str("frozenset()"),
        Value::Set(set) => {
            out.push_str("frozenset({");
            write_items(out, &set.members);
            out.push_str("})");
        }
        Value::View(view) => {
            out.push_str(value.kind());
            out.push('(');
            match (view.of.is_frozen, view.part) {
                (true, _) => write_map(out, &view.of),
                (false, Part::Keys) => write_bracketed(out, view.of.entries.keys()),
                (false, Part::Values) => write_bracketed(out, view.of.entries.values()),
                (false, Part::Items) => {
                    write_bracketed(out, &view.items().unwrap_or_default());
                }
            }
            out.push(')');
        }
        Value::Regex(pattern) => out.push_str(&pattern.repr()),
        Value::Moment(moment) => out.push_str(&moment.repr()),
        Value::Span(span) => out.push_str(&span.repr()),
        // Python shows an address as well, another one each time.
        Value::Stream(_) | Value::Ordering(_) | Value::Context(_) | Value::Rule(_) => {
            out.push_str(&format!("<{} object>", value.kind()));
        }
    }
}

fn write_items<'a>(out: &mut String, items: impl IntoIterator<Item = &'a Value>) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

fn write_bracketed<'a>(out: &mut String, items: impl IntoIterator<Item = &'a Value>) {
    out.push('[');
    write_items(out, items);
    out.push(']');
}

fn write_list(out: &mut String, list: &List) {
    if !list.is_tuple {
        return write_bracketed(out, &list.items);
    }
    out.push('(');
    write_items(out, &list.items);
    out.push_str(if list.items.len() == 1 { ",)" } else { ")" });
}

fn write_map(out: &mut String, map: &Map) {
    out.push('{');
    for (index, (key, item)) in map.entries.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, key);
        out.push_str(": ");
        write(out, item);
    }
    out.push('}');
}
