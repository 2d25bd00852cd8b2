//! How many bytes Python says that a value takes, not counting what it refers to: the measure of
//! yaql's memory quota.

use super::machine::Machine;
use super::value::{Part, Value};
use crate::template::error::Outcome;

/// The values within a value that cost as much as a step.
const WEIGHT_PER_STEP: usize = 32;

/// What an object of no particular size takes.
const OBJECT_BYTES: usize = 64;

impl Machine {
    /// Refuses a value over the memory quota.
    pub(super) fn limit_memory(&mut self, value: &Value) -> Outcome<()> {
        self.step(value.weight() / WEIGHT_PER_STEP)?;
        self.limit_bytes(bytes(value))
    }
}

/// `sys.getsizeof(value)`, near enough for a quota of some thousand bytes.
pub(super) fn bytes(value: &Value) -> usize {
    match value {
        Value::Null => 16,
        Value::Bool(_) | Value::Float(_) => 24,
        Value::Int(number) => {
            let bits = (128 - number.unsigned_abs().leading_zeros()) as usize;
            24 + 4 * bits.div_ceil(30)
        }
        Value::Text(text) => text_bytes(text),
        Value::List(list) if list.is_tuple => 40 + 8 * list.items.len(),
        Value::List(list) => 56 + 8 * list.items.len(),
        Value::Map(map) if map.is_frozen => 48,
        Value::Map(map) => {
            let is_text = map.entries.keys().all(|key| matches!(key, Value::Text(_)));
            dict_bytes(map.entries.len(), is_text)
        }
        Value::Set(set) => set_bytes(set.members.len()),
        Value::View(view) if view.part == Part::Values => OBJECT_BYTES,
        Value::View(_)
        | Value::Stream(_)
        | Value::Ordering(_)
        | Value::Regex(_)
        | Value::Moment(_)
        | Value::Span(_)
        | Value::Context(_)
        | Value::Rule(_) => OBJECT_BYTES,
    }
}

/// A text takes the width of its widest character for each.
pub(super) fn text_bytes(text: &str) -> usize {
    if text.is_ascii() {
        return 49 + text.len();
    }
    let (mut length, mut widest) = (0, 0);
    for c in text.chars() {
        length += 1;
        widest = widest.max(u32::from(c));
    }
    match widest {
        0..=0xff => 73 + length,
        0x100..=0xffff => 74 + 2 * length,
        _ => 76 + 4 * length,
    }
}

/// A dict has a table of a power of two, two thirds of which may be used.
pub(super) fn dict_bytes(entries: usize, is_text: bool) -> usize {
    if entries == 0 {
        return 64;
    }
    let mut table = 8;
    while table * 2 / 3 < entries {
        table *= 2;
    }
    let index = if table <= 128 { 1 } else { 2 };
    96 + table * index + table * 2 / 3 * if is_text { 16 } else { 24 }
}

/// A set grows fourfold when three fifths are used.
pub(super) fn set_bytes(members: usize) -> usize {
    let mut table = 8;
    while members * 5 >= (table - 1) * 3 {
        table *= 4;
    }
    if table == 8 { 216 } else { 216 + 16 * table }
}
