//! Values with parts that must not be seen. Such a part is wrapped in a mark, which goes with the
//! value wherever that is copied, and comes off where the value is used. Marks are in memory alone:
//! in the log what is marked is sealed (`events/seal.rs`).

use std::cell::OnceCell;
use std::collections::BTreeSet;

use serde_json::Value;

use super::spellings::spellings;
use super::{JsonMap, Secret};

/// The one key of a mark. Of a user's value that has it itself, no more comes than a secret.
pub const MARK: &str = "\u{0}tainted";
/// What stands where a secret is not shown, as in Heat.
pub const MASK: &str = "******";
/// Shorter texts are no evidence: a count or a flag may be the same by chance.
const TELLING_MIN_CHARS: usize = 4;

/// The value as one that must not be seen.
pub fn taint(value: Value) -> Value {
    Value::Object(JsonMap::from_iter([(MARK.to_owned(), plain(value))]))
}

/// What is within a mark, if this is one.
pub fn marked(value: &Value) -> Option<&Value> {
    value.as_object().filter(|map| map.len() == 1)?.get(MARK)
}

/// The value without marks.
pub fn plain(value: Value) -> Value {
    match value {
        Value::Object(mut map) if map.len() == 1 && map.contains_key(MARK) => {
            map.shift_remove(MARK).unwrap_or_default()
        }
        Value::Object(map) => Value::Object(plain_map(map)),
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// A map's values without marks.
pub fn plain_map(map: JsonMap) -> JsonMap {
    map.into_iter().map(|(key, value)| (key, plain(value))).collect()
}

/// Whether any part must not be seen.
pub fn is_tainted(value: &Value) -> bool {
    match value {
        Value::Object(map) => marked(value).is_some() || map.values().any(is_tainted),
        Value::Array(items) => items.iter().any(is_tainted),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The value with `******` in place of what must not be seen.
pub fn masked(value: &Value) -> Value {
    if marked(value).is_some() {
        return MASK.into();
    }
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), masked(value))).collect(),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Puts the marks of a value on another one that was made of it without them, part by part. False
/// where there was no such part for one of them.
pub fn mark_like(value: &mut Value, like: &Value) -> bool {
    if marked(like).is_some() {
        *value = taint(std::mem::take(value));
        return true;
    }
    match (value, like) {
        (Value::Object(map), Value::Object(likes)) => {
            likes.iter().fold(true, |all, (key, like)| {
                let landed = match map.get_mut(key) {
                    Some(value) => mark_like(value, like),
                    None => !is_tainted(like),
                };
                all && landed
            })
        }
        (Value::Array(items), Value::Array(likes)) if items.len() == likes.len() => {
            let pairs = items.iter_mut().zip(likes);
            pairs.fold(true, |all, (item, like)| mark_like(item, like) && all)
        }
        (_, like) => !is_tainted(like),
    }
}

/// A map read by a schema, with the marks of what was given: an entry in which a mark has no place
/// of its own is marked whole, and so is what was given under another name.
pub fn mark_map_like(mut map: JsonMap, given: &JsonMap) -> JsonMap {
    let mut is_lost = false;
    for (name, like) in given {
        match map.get_mut(name) {
            Some(value) => {
                if !mark_like(value, like) {
                    *value = taint(std::mem::take(value));
                }
            }
            None => is_lost |= is_tainted(like),
        }
    }
    if is_lost {
        for (name, value) in &mut map {
            let is_as_given =
                given.get(name).is_some_and(|given| plain(given.clone()) == plain(value.clone()));
            if marked(value).is_none() && !is_as_given {
                *value = taint(std::mem::take(value));
            }
        }
    }
    map
}

/// Puts the marks of properties on the map that stands at a path in others made of them. Where one
/// stands higher up, every entry of the map is marked.
pub fn mark_entries_at(properties: &mut JsonMap, like: &JsonMap, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    let (Some(mut value), Some(mut like)) = (properties.get_mut(*first), like.get(*first)) else {
        return;
    };
    for step in rest {
        let Some(within) = value.get_mut(*step) else { return };
        value = within;
        if marked(like).is_none() {
            let Some(within) = like.get(*step) else { return };
            like = within;
        }
    }
    let Value::Object(entries) = value else { return };
    match like {
        Value::Object(like) if !like.contains_key(MARK) => {
            *entries = mark_map_like(std::mem::take(entries), like);
        }
        like if is_tainted(like) => {
            entries.values_mut().for_each(|entry| *entry = taint(entry.take()))
        }
        _ => {}
    }
}

/// The texts within what must not be seen, numbers as text.
pub fn texts(value: &Value) -> Vec<Secret<String>> {
    let mut found = Vec::new();
    collect(value, false, &mut found);
    found
}

fn collect(value: &Value, is_secret: bool, into: &mut Vec<Secret<String>>) {
    if let Some(within) = marked(value) {
        return collect(within, true, into);
    }
    match value {
        Value::String(text) if is_secret && !text.is_empty() => {
            into.push(Secret::new(text.clone()));
        }
        Value::Number(number) if is_secret => into.push(Secret::new(number.to_string())),
        Value::Object(map) => map.values().for_each(|value| collect(value, is_secret, into)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, is_secret, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What came from where nothing is known of it, with the leaves marked that repeat a secret which
/// is long enough to tell.
pub fn taint_repeated(value: Value, secrets: &[Secret<String>]) -> Value {
    taint_telling(value, &telling(secrets))
}

fn taint_telling(value: Value, secrets: &[Telling<'_>]) -> Value {
    if secrets.is_empty() || marked(&value).is_some() {
        return value;
    }
    let repeats = |text: &str| secrets.iter().any(|secret| secret.is_in(text));
    match value {
        Value::String(text) if repeats(&text) => taint(text.into()),
        Value::Number(number) if repeats(&number.to_string()) => taint(number.into()),
        Value::Object(map) if map.keys().any(|key| repeats(key)) => taint(Value::Object(map)),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (key, taint_telling(value, secrets))).collect()
        }
        Value::Array(items) => items.into_iter().map(|item| taint_telling(item, secrets)).collect(),
        other => other,
    }
}

/// A text with `******` in place of secrets that it repeats.
pub fn mask_repeated(text: &str, secrets: &[Secret<String>]) -> String {
    let known = telling(secrets);
    let found = known.iter().flat_map(|secret| secret.written_in(text));
    let mut found: Vec<&str> = found.collect();
    // A secret within another one must not leave the rest of that one.
    found.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
    found.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
}

/// A secret that is long enough to tell, and how else it may be written.
struct Telling<'a> {
    secret: &'a str,
    spellings: OnceCell<BTreeSet<String>>,
}

impl Telling<'_> {
    /// The spellings of it that stand in a text.
    fn written_in(&self, text: &str) -> impl Iterator<Item = &str> {
        // No spelling is shorter, and those of the longest secrets are seldom needed.
        let may_be_there = self.secret.len() <= text.len();
        let spellings = may_be_there.then(|| self.spellings.get_or_init(|| spellings(self.secret)));
        let others = spellings.into_iter().flatten().map(String::as_str);
        std::iter::once(self.secret).chain(others).filter(|written| text.contains(written))
    }

    fn is_in(&self, text: &str) -> bool {
        self.written_in(text).next().is_some()
    }
}

fn telling(secrets: &[Secret<String>]) -> Vec<Telling<'_>> {
    let secrets = secrets.iter().map(|secret| secret.reveal().as_str());
    let telling = secrets.filter(|secret| secret.chars().nth(TELLING_MIN_CHARS - 1).is_some());
    telling.map(|secret| Telling { secret, spellings: OnceCell::new() }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> JsonMap {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_mark_goes_with_its_part_and_comes_off() {
        let value = json!({ "a": ["x", taint("hunter2".into())], "b": 1 });
        assert!(is_tainted(&value));
        assert_eq!(masked(&value), json!({ "a": ["x", "******"], "b": 1 }));
        assert_eq!(plain(value.clone()), json!({ "a": ["x", "hunter2"], "b": 1 }));
        assert_eq!(texts(&value), [Secret::new("hunter2".to_owned())]);
        assert!(!is_tainted(&plain(value)));
    }

    #[test]
    fn what_a_schema_reads_keeps_the_marks_of_what_was_given() {
        let given = map(json!({ "port": taint("4711".into()), "m": { "k": taint("v".into()) },
                                "old_name": taint("x".into()), "plain": "y" }));
        let read = map(json!({ "port": 4711, "m": { "k": "v" }, "new_name": "x", "plain": "y" }));
        let marked = Value::Object(mark_map_like(read, &given));
        assert_eq!(
            masked(&marked),
            json!({ "port": "******", "m": { "k": "******" }, "new_name": "******", "plain": "y" })
        );
    }

    #[test]
    fn an_entry_in_which_a_mark_finds_no_place_is_marked_whole() {
        let given = map(json!({ "m": { "k": taint("v".into()) } }));
        let read = map(json!({ "m": "k=v" }));
        assert_eq!(masked(&Value::Object(mark_map_like(read, &given))), json!({ "m": "******" }));
    }

    #[test]
    fn what_repeats_a_secret_is_marked_but_not_what_repeats_two_letters() {
        let secrets = ["hunter2", "ab", "4711"].map(|it| Secret::new(it.to_owned()));
        let told = json!({ "a": "pw hunter2!", "b": "abc", "c": "ab", "d": [4711], "hunter2": 1 });
        assert_eq!(masked(&taint_repeated(told, &secrets)), "******");
        let told = json!({ "a": "pw hunter2!", "b": "abc", "c": "ab", "d": [4711] });
        assert_eq!(
            masked(&taint_repeated(told, &secrets)),
            json!({ "a": "******", "b": "abc", "c": "ab", "d": ["******"] })
        );
        assert_eq!(mask_repeated("abc: hunter2 is wrong", &secrets), "abc: ****** is wrong");
    }

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        let secrets = [Secret::new("pa'ss\"w\\ord\n".to_owned())];
        for written in [
            r#"'pa\'ss"w\\ord\n' is wrong"#,
            r#"{"pw":"pa'ss\"w\\ord\n"}"#,
            "http://h/?pw=pa%27ss%22w%5Cord%0A&x=1",
            "cGEnc3Mid1xvcmQK",
        ] {
            let masked = mask_repeated(written, &secrets);
            assert!(masked.contains(MASK) && !masked.contains("ord"), "{masked}");
            assert!(is_tainted(&taint_repeated(written.into(), &secrets)), "{written}");
        }
        assert_eq!(mask_repeated("word for word", &secrets), "word for word");
    }
}
