//! Regular expressions, as Python reads them.

use std::ops::Range;
use std::rc::Rc;

use super::{Entry, function, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::pattern::{Flags, Match};
use crate::template::python;
use crate::template::yaql::call::Call;
use crate::template::yaql::failure;
use crate::template::yaql::limits;
use crate::template::yaql::machine::Machine;
use crate::template::yaql::matcher::{Pattern, error, whole};
use crate::template::yaql::value::context::Context;
use crate::template::yaql::value::{Entries, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    function(
        "regex",
        "pattern: text, ignoreCase: bool? = false, multiLine: bool? = false, \
         dotAll: bool? = false",
        |call| {
            let flags = Flags {
                ignore_case: call.truth(1),
                multi_line: call.truth(2),
                dot_all: call.truth(3),
            };
            let text = call.string(0);
            Ok(Value::Regex(Rc::new(Pattern::new(call.machine, &text, flags)?)))
        },
    ),
    method("matches", "regexp: regex, string: text", |call| is_found(call, 0, 1)),
    method("matches", "string: text, regexp: text", |call| is_found(call, 1, 0)),
    function("#operator_=~", "string: text, regexp: regex", |call| is_found(call, 1, 0)),
    function("#operator_=~", "string: text, pattern: text", |call| is_found(call, 1, 0)),
    function("#operator_!~", "string: text, regexp: regex", |call| {
        is_found(call, 1, 0).map(|found| Value::Bool(!found.is_truthy()))
    }),
    function("#operator_!~", "string: text, pattern: text", |call| {
        is_found(call, 1, 0).map(|found| Value::Bool(!found.is_truthy()))
    }),
    method("search", "regexp: regex, string: text, selector: lambda = null", search),
    method("searchAll", "regexp: regex, string: text, selector: lambda = null", search_all),
    method("split", "regexp: regex, string: text, maxSplit: int = 0", |call| split(call, 0, 1)),
    method("split", "string: text, regexp: regex, maxSplit: int = 0", |call| split(call, 1, 0)),
    method("replace", "regexp: regex, string: text, repl: text, count: int = 0", |call| {
        replace(call, 0, 1)
    }),
    method("replace", "string: text, regexp: regex, repl: text, count: int = 0", |call| {
        replace(call, 1, 0)
    }),
    method("replaceBy", "regexp: regex, string: text, repl: lambda, count: int = 0", |call| {
        replace_by(call, 0, 1)
    }),
    method("replaceBy", "string: text, regexp: regex, repl: lambda, count: int = 0", |call| {
        replace_by(call, 1, 0)
    }),
    function("escapeRegex", "string: text", |call| {
        let mut out = String::new();
        for c in call.string(0).chars() {
            if "()[]{}?*+-|^$\\.&~# \t\n\r\x0b\x0c".contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
        Ok(Value::text(out))
    }),
    function("isRegex", "value: any?", |call| {
        Ok(Value::Bool(matches!(call.value(0), Value::Regex(_))))
    }),
];

impl Pattern {
    /// The expression that an argument is or says.
    fn of(machine: &mut Machine, value: &Value) -> Outcome<Rc<Self>> {
        match value {
            Value::Regex(pattern) => Ok(Rc::clone(pattern)),
            Value::Text(text) => Pattern::new(machine, text, Flags::default()).map(Rc::new),
            _ => Err(error("no regular expression")),
        }
    }
}

fn is_found(call: &mut Call<'_>, pattern: usize, string: usize) -> Outcome<Value> {
    let pattern = Pattern::of(call.machine, &call.value(pattern))?;
    let found = pattern.find(call.machine, &call.string(string), 0)?;
    Ok(Value::Bool(found.is_some()))
}

/// Makes a match known as `$1` for the whole and `$2`, … for its groups.
fn publish(context: &Context, pattern: &Pattern, string: &str, found: &Match) -> Outcome<()> {
    for (index, group) in found.iter().enumerate() {
        let place = |at: usize| Value::Int(string[..at].chars().count() as i128);
        let (value, start, end) = match group {
            Some(range) => {
                let text = Value::text(&string[range.clone()]);
                (text, place(range.start), place(range.end))
            }
            None => (Value::Null, Value::Int(-1), Value::Int(-1)),
        };
        let entries = Entries::from([
            (Value::text("value"), value),
            (Value::text("start"), start),
            (Value::text("end"), end),
        ]);
        context.set(&(index + 1).to_string(), Value::dict(entries)?);
    }
    // Heat's yaql takes the text of each group with a name for a pair, and so fails on the first.
    let Some(named) = pattern.compiled.group_names().iter().position(Option::is_some) else {
        return Ok(());
    };
    match found.get(named).cloned().flatten().map(|range| string[range].chars().count()) {
        None => Err(TemplateError::kind("cannot unpack non-iterable NoneType object")),
        Some(2) => Err(failure::index("no such group")),
        Some(count) if count < 2 => Err(TemplateError::value(format!(
            "not enough values to unpack (expected 2, got {count})"
        ))),
        Some(_) => Err(TemplateError::value("too many values to unpack (expected 2)")),
    }
}

fn search(call: &mut Call<'_>) -> Outcome<Value> {
    let (pattern, string) = (Pattern::of(call.machine, &call.value(0))?, call.string(1));
    let Some(found) = pattern.find(call.machine, &string, 0)? else { return Ok(Value::Null) };
    let Some(selector) = call.lambda(2) else { return Ok(Value::text(&string[whole(&found)])) };
    let context = call.machine.context(&call.context);
    publish(&context, &pattern, &string, &found)?;
    call.machine.invoke_within(&selector, &context)
}

fn search_all(call: &mut Call<'_>) -> Outcome<Value> {
    let (pattern, string) = (Pattern::of(call.machine, &call.value(0))?, call.string(1));
    let selector = call.lambda(2);
    let around = Rc::clone(&call.context);
    let mut before: Option<Range<usize>> = None;
    Ok(call.machine.stream(move |machine| {
        let found = match &before {
            None => pattern.find(machine, &string, 0)?,
            Some(before) => pattern.find_after(machine, &string, before)?,
        };
        let Some(found) = found else { return Ok(None) };
        let place = whole(&found);
        before = Some(place.clone());
        let Some(selector) = &selector else { return Ok(Some(Value::text(&string[place]))) };
        let context = machine.context(&around);
        publish(&context, &pattern, &string, &found)?;
        machine.invoke_within(selector, &context).map(Some)
    }))
}

fn split(call: &mut Call<'_>, pattern: usize, string: usize) -> Outcome<Value> {
    let (pattern, string) = (Pattern::of(call.machine, &call.value(pattern))?, call.string(string));
    let count = call.int(2);
    let mut parts = Vec::new();
    let mut end = 0;
    if count >= 0 {
        for found in pattern.all(call.machine, &string, count)? {
            let place = whole(&found);
            parts.push(Value::text(&string[end..place.start]));
            parts.extend(found.into_iter().skip(1).map(|group| match group {
                Some(range) => Value::text(&string[range]),
                None => Value::Null,
            }));
            end = place.end;
        }
    }
    parts.push(Value::text(&string[end..]));
    Value::list(parts)
}

/// A piece of a replacement.
enum Piece {
    Text(String),
    Group(usize),
}

fn replace(call: &mut Call<'_>, pattern: usize, string: usize) -> Outcome<Value> {
    let (pattern, string) = (Pattern::of(call.machine, &call.value(pattern))?, call.string(string));
    let pieces = pieces(&call.string(2), &pattern)?;
    let found = matches(call, &pattern, &string)?;
    let mut out = String::new();
    let mut end = 0;
    for found in found {
        let place = whole(&found);
        out.push_str(&string[end..place.start]);
        for piece in &pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Group(group) => {
                    let range = found.get(*group).cloned().flatten().unwrap_or(0..0);
                    out.push_str(&string[range]);
                }
            }
        }
        end = place.end;
        // Far over the quota: the rest is not even built.
        if out.len() > 100 * limits::memory_quota() {
            return Err(failure::memory());
        }
    }
    out.push_str(&string[end..]);
    Ok(Value::text(out))
}

/// The matches that are to be replaced; a negative count is none.
fn matches(call: &mut Call<'_>, pattern: &Pattern, string: &str) -> Outcome<Vec<Match>> {
    match call.int(3) {
        count if count < 0 => Ok(Vec::new()),
        count => pattern.all(call.machine, string, count),
    }
}

fn replace_by(call: &mut Call<'_>, pattern: usize, string: usize) -> Outcome<Value> {
    let (pattern, string) = (Pattern::of(call.machine, &call.value(pattern))?, call.string(string));
    let found = matches(call, &pattern, &string)?;
    let Some(by) = call.lambda(2) else {
        return Err(TemplateError::kind("decoding to str: need a bytes-like object"));
    };
    let mut parts: Vec<String> = Vec::new();
    let mut end = 0;
    for found in found {
        let place = whole(&found);
        if end < place.start {
            parts.push(string[end..place.start].to_owned());
        }
        end = place.end;
        let context = call.machine.context(&call.context);
        publish(&context, &pattern, &string, &found)?;
        match call.machine.invoke_within(&by, &context)? {
            Value::Text(text) => parts.push(text.to_string()),
            Value::Null => {}
            other => {
                let (place, kind) = (parts.len(), other.kind());
                let message = format!("sequence item {place}: expected str instance, {kind} found");
                return Err(TemplateError::kind(message));
            }
        }
    }
    parts.push(string[end..].to_owned());
    Ok(Value::text(parts.concat()))
}

/// Reads a replacement: `\1`, `\g<name>` and Python's escapes.
fn pieces(text: &str, pattern: &Pattern) -> Outcome<Vec<Piece>> {
    let chars: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        if c != '\\' {
            plain.push(c);
            continue;
        }
        let start = at - 1;
        let Some(&escape) = chars.get(at) else {
            return Err(error(format!("bad escape (end of pattern) at position {start}")));
        };
        at += 1;
        let group = match escape {
            'g' => {
                let (name, length) = group_name(&chars[at..], at)?;
                at += length;
                Some(group_number(&name, pattern, at - length + 1)?)
            }
            '1'..='9' => {
                let digits = chars[at..].iter().take(1).take_while(|c| c.is_ascii_digit()).count();
                let name: String = chars[at - 1..at + digits].iter().collect();
                at += digits;
                Some(group_number(&name, pattern, start + 1)?)
            }
            _ => {
                let decoded = match escape {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\x07',
                    'b' => '\x08',
                    'f' => '\x0c',
                    'v' => '\x0b',
                    '0' => '\0',
                    '\\' => '\\',
                    letter if letter.is_ascii_alphabetic() => {
                        let message = format!("bad escape \\{letter} at position {start}");
                        return Err(error(message));
                    }
                    other => {
                        plain.push('\\');
                        other
                    }
                };
                plain.push(decoded);
                None
            }
        };
        if let Some(group) = group {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Group(group));
        }
    }
    pieces.push(Piece::Text(plain));
    Ok(pieces)
}

/// The name in `<name>`, and how many characters it takes with its brackets.
fn group_name(chars: &[char], at: usize) -> Outcome<(String, usize)> {
    if chars.first() != Some(&'<') {
        return Err(error(format!("missing < at position {at}")));
    }
    let Some(end) = chars.iter().position(|c| *c == '>') else {
        return Err(error(format!("missing >, unterminated name at position {}", at + 1)));
    };
    if end == 1 {
        return Err(error(format!("missing group name at position {}", at + 1)));
    }
    Ok((chars[1..end].iter().collect(), end + 1))
}

fn group_number(name: &str, pattern: &Pattern, at: usize) -> Outcome<usize> {
    if let Ok(number) = name.parse::<usize>() {
        if number < pattern.compiled.group_names().len() {
            return Ok(number);
        }
        return Err(error(format!("invalid group reference {number} at position {at}")));
    }
    let names = pattern.compiled.group_names();
    names.iter().position(|known| *known == Some(name)).ok_or_else(|| {
        let message = format!("unknown group name {}", python::quoted(name));
        TemplateError::new("IndexError", message)
    })
}
