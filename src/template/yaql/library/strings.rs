//! Text. Places in it are counted in characters, from the end where they are negative.

use super::{Entry, either, function, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::call::Call;
use crate::template::yaql::limits;
use crate::template::yaql::value::Value;
use crate::template::yaql::value::stream::characters as split_characters;
use crate::template::yaql::{failure, print, size};

pub(super) const FUNCTIONS: &[Entry] = &[
    function("concat #operator_+", "*args: text", concat),
    method("toUpper", "string: text", |call| Ok(Value::text(call.string(0).to_uppercase()))),
    method("toLower", "string: text", |call| Ok(Value::text(call.string(0).to_lowercase()))),
    either("len", "string: text", |call| Ok(Value::Int(call.string(0).chars().count() as i128))),
    method("split", "string: text, separator: text = null, maxSplits: int = -1", |call| {
        split(call, false)
    }),
    method("rightSplit", "string: text, separator: text = null, maxSplits: int = -1", |call| {
        split(call, true)
    }),
    method("join", "sequence: iterable, separator: text", |call| join(call, 0, 1)),
    method("join", "separator: text, sequence: iterable", |call| join(call, 1, 0)),
    function("str", "value: any?", |call| Ok(Value::text(yaql_text(&call.value(0))))),
    method("trim", "string: text, chars: text = null", |call| trim(call, true, true)),
    method("trimLeft", "string: text, chars: text = null", |call| trim(call, true, false)),
    method("trimRight", "string: text, chars: text = null", |call| trim(call, false, true)),
    either("norm", "string: text?, chars: text = null", norm),
    either("isEmpty", "string: text?, trim: bool = true, chars: text = null", is_empty),
    method("replace", "string: text, old: text, new: text, count: int = -1", replace),
    method("replace", "string: text, replacements: map, count: int = -1", replace_many),
    function("#operator_*", "left: text, right: int", |call| times(call, 0, 1)),
    function("#operator_*", "left: int, right: text", |call| times(call, 1, 0)),
    function("#operator_in", "left: text, right: text", |call| {
        Ok(Value::Bool(call.string(1).contains(&*call.string(0))))
    }),
    method("substring", "string: text, start: int, length: int = -1", substring),
    method("indexOf", "string: text, sub: text, start: int = 0", |call| find(call, false)),
    method("indexOf", "string: text, sub: text, start: int, length: int", |call| find(call, false)),
    method("lastIndexOf", "string: text, sub: text, start: int = 0", |call| find(call, true)),
    method("lastIndexOf", "string: text, sub: text, start: int, length: int", |call| {
        find(call, true)
    }),
    method("toCharArray", "string: text", |call| Value::tuple(split_characters(&call.string(0)))),
    function(
        "characters",
        "digits: bool? = false, hexdigits: bool? = false, asciiLowercase: bool? = false, \
         asciiUppercase: bool? = false, asciiLetters: bool? = false, letters: bool? = false, \
         octdigits: bool? = false, punctuation: bool? = false, printable: bool? = false, \
         lowercase: bool? = false, uppercase: bool? = false, whitespace: bool? = false",
        characters,
    ),
    function("isString", "arg: any?", |call| {
        Ok(Value::Bool(matches!(call.value(0), Value::Text(_))))
    }),
    method("startsWith", "string: text, *prefixes: text", |call| {
        let string = call.string(0);
        Ok(Value::Bool(parts(call).iter().any(|part| string.starts_with(part.as_str()))))
    }),
    method("endsWith", "string: text, *suffixes: text", |call| {
        let string = call.string(0);
        Ok(Value::Bool(parts(call).iter().any(|part| string.ends_with(part.as_str()))))
    }),
    function("hex", "num: number?", hex),
];

/// As the function `str` prints it.
pub(super) fn yaql_text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        other => print::text(other),
    }
}

fn parts(call: &Call<'_>) -> Vec<String> {
    call.rest().iter().map(print::text).collect()
}

fn concat(call: &mut Call<'_>) -> Outcome<Value> {
    Ok(Value::text(parts(call).concat()))
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

fn split(call: &mut Call<'_>, from_right: bool) -> Outcome<Value> {
    let string = call.string(0);
    let splits = usize::try_from(call.int(2)).unwrap_or(usize::MAX);
    let limit = splits.saturating_add(1);
    let parts: Vec<&str> = match call.text(1) {
        Some(separator) if separator.is_empty() => {
            return Err(TemplateError::value("empty separator"));
        }
        Some(separator) if from_right => {
            let mut parts: Vec<&str> = string.rsplitn(limit, &*separator).collect();
            parts.reverse();
            parts
        }
        Some(separator) => string.splitn(limit, &*separator).collect(),
        None => split_spaces(&string, splits, from_right),
    };
    // Each part is a value of its own.
    call.machine.step(parts.len())?;
    Value::list(parts.into_iter().map(Value::text).collect())
}

/// Splits at runs of space; what is left over keeps its inner space, and that at its far end.
fn split_spaces(string: &str, splits: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = string;
    loop {
        rest = trimmed(rest, None, !from_right, from_right);
        if rest.is_empty() {
            break;
        }
        let place = if from_right { rest.rfind(is_space) } else { rest.find(is_space) };
        let (part, left) = match place.filter(|_| parts.len() < splits) {
            None => (rest, ""),
            Some(place) if from_right => {
                (rest[place..].trim_start_matches(is_space), &rest[..place])
            }
            Some(place) => rest.split_at(place),
        };
        parts.push(part);
        rest = left;
    }
    if from_right {
        parts.reverse();
    }
    parts
}

fn join(call: &mut Call<'_>, sequence: usize, separator: usize) -> Outcome<Value> {
    let separator = call.string(separator);
    let mut cursor = call.cursor(sequence)?;
    let mut out = String::new();
    let mut is_first = true;
    while let Some(item) = cursor.next(call.machine)? {
        if !std::mem::take(&mut is_first) {
            out.push_str(&separator);
        }
        out.push_str(&yaql_text(&item));
        // All of it would be over the quota.
        if out.len() > 4 * limits::memory_quota() {
            return Err(failure::memory());
        }
    }
    Ok(Value::text(out))
}

fn trimmed<'a>(string: &'a str, chars: Option<&str>, left: bool, right: bool) -> &'a str {
    let is_cut = |c: char| match chars {
        Some(chars) => chars.contains(c),
        None => is_space(c),
    };
    let string = if left { string.trim_start_matches(is_cut) } else { string };
    if right { string.trim_end_matches(is_cut) } else { string }
}

fn trim(call: &mut Call<'_>, left: bool, right: bool) -> Outcome<Value> {
    Ok(Value::text(trimmed(&call.string(0), call.text(1).as_deref(), left, right)))
}

fn norm(call: &mut Call<'_>) -> Outcome<Value> {
    let Some(string) = call.text(0) else { return Ok(Value::Null) };
    let string = trimmed(&string, call.text(1).as_deref(), true, true);
    Ok(if string.is_empty() { Value::Null } else { Value::text(string) })
}

fn is_empty(call: &mut Call<'_>) -> Outcome<Value> {
    let Some(string) = call.text(0) else { return Ok(Value::Bool(true)) };
    let string = match call.truth(1) {
        true => trimmed(&string, call.text(2).as_deref(), true, true),
        false => &string,
    };
    Ok(Value::Bool(string.is_empty()))
}

fn replace(call: &mut Call<'_>) -> Outcome<Value> {
    let count = call.int(3);
    let replaced = replaced(&call.string(0), &call.string(1), &call.string(2), count)?;
    Ok(Value::text(replaced))
}

fn replace_many(call: &mut Call<'_>) -> Outcome<Value> {
    let count = call.int(2);
    let mut string = call.string(0).to_string();
    for (old, new) in call.entries(1) {
        string = replaced(&string, &yaql_text(&old), &yaql_text(&new), count)?;
        call.machine.step(string.len() / 64)?;
    }
    Ok(Value::text(string))
}

/// Python's `replace`: a negative count is all.
fn replaced(string: &str, old: &str, new: &str, count: i128) -> Outcome<String> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let found = string.matches(old).count().min(count);
    // Far over the quota: it is not even built.
    if string.len() + found * new.len() > 100 * limits::memory_quota() {
        return Err(failure::memory());
    }
    Ok(string.replacen(old, new, count))
}

/// Refuses a product over the quota before it is made.
pub(super) fn limit_product(count: i128, one: usize, empty: usize) -> Outcome<()> {
    let quota = limits::memory_quota() as i128;
    let empties = count.checked_neg().and_then(|count| (count + 1).checked_mul(empty as i128));
    let all = count.checked_mul(one as i128);
    match (empties, all) {
        (Some(empties), Some(all)) if empties <= quota && empties + all <= quota => Ok(()),
        _ => Err(failure::memory()),
    }
}

fn times(call: &mut Call<'_>, string: usize, count: usize) -> Outcome<Value> {
    let (string, count) = (call.string(string), call.int(count));
    limit_product(count, size::text_bytes(&string), size::text_bytes(""))?;
    Ok(Value::text(string.repeat(usize::try_from(count).unwrap_or(0))))
}

/// Python's `[from:to]` of a length: the places where it starts and ends.
pub(super) fn slice(length: usize, from: i128, to: i128) -> std::ops::Range<usize> {
    let place = |at: i128| {
        let at = if at < 0 { at.saturating_add(length as i128) } else { at };
        usize::try_from(at.max(0)).unwrap_or(usize::MAX).min(length)
    };
    let from = place(from);
    from..place(to).max(from)
}

fn substring(call: &mut Call<'_>) -> Outcome<Value> {
    let chars: Vec<char> = call.string(0).chars().collect();
    let size = chars.len() as i128;
    let (start, length) = (call.int(1), call.int(2));
    let length = if length < 0 { size } else { length };
    let start = if start < 0 { start.saturating_add(size) } else { start };
    let range = slice(chars.len(), start, start.saturating_add(length));
    Ok(Value::text(chars[range].iter().collect::<String>()))
}

fn find(call: &mut Call<'_>, from_right: bool) -> Outcome<Value> {
    let chars: Vec<char> = call.string(0).chars().collect();
    let sub: Vec<char> = call.string(1).chars().collect();
    let size = chars.len() as i128;
    let mut start = call.int(2);
    let mut end = size;
    if let Some(length) = call.given(3).and_then(|length| length.as_whole()) {
        start = if start < 0 { start.saturating_add(size) } else { start };
        let length = if length < 0 { size.saturating_sub(start) } else { length };
        end = start.saturating_add(length);
    }
    let is_beyond = start > size;
    let range = slice(chars.len(), start, end);
    if is_beyond || range.len() < sub.len() {
        return Ok(Value::Int(-1));
    }
    call.machine.step(range.len() * sub.len().max(1) / 64)?;
    let mut places = range.start..=range.end - sub.len();
    let matches = |at: &usize| chars[*at..].starts_with(&sub);
    let found = if from_right { places.rfind(matches) } else { places.find(matches) };
    Ok(Value::Int(found.map_or(-1, |at| at as i128)))
}

/// The characters of each kind, by parameter; Python has no such list of those left out.
const CHARACTERS: [Option<&str>; 12] = [
    Some("0123456789"),
    Some("0123456789abcdefABCDEF"),
    Some("abcdefghijklmnopqrstuvwxyz"),
    Some("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    Some("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    None,
    Some("01234567"),
    Some("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    Some(concat!(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\n\r\x0b\x0c"
    )),
    None,
    None,
    Some(" \t\n\r\x0b\x0c"),
];

const MISSING: [(usize, &str); 3] = [(5, "letters"), (9, "lowercase"), (10, "uppercase")];

fn characters(call: &mut Call<'_>) -> Outcome<Value> {
    let mut found: Vec<char> = Vec::new();
    for (index, characters) in CHARACTERS.iter().enumerate() {
        if !call.truth(index) {
            continue;
        }
        let Some(characters) = characters else {
            let name = MISSING.iter().find(|(at, _)| *at == index).map_or("", |(_, name)| name);
            let message = format!("module 'string' has no attribute '{name}'");
            return Err(TemplateError::new("AttributeError", message));
        };
        for c in characters.chars() {
            if !found.contains(&c) {
                found.push(c);
            }
        }
    }
    Value::tuple(split_characters(&found.into_iter().collect::<String>()))
}

fn hex(call: &mut Call<'_>) -> Outcome<Value> {
    match call.value(0) {
        Value::Int(number) => {
            let sign = if number < 0 { "-" } else { "" };
            Ok(Value::text(format!("{sign}{:#x}", number.unsigned_abs())))
        }
        other => {
            let message = format!("'{}' object cannot be interpreted as an integer", other.kind());
            Err(TemplateError::kind(message))
        }
    }
}
