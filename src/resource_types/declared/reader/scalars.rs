//! What a plain scalar means in a type's file: YAML 1.2's core schema.

use serde::de::Visitor;

use super::failure::Failure;

pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A whole number: decimal, or `0x`, `0o` and `0b`.
pub(super) fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let bases = [("0x", 16), ("0o", 8), ("0b", 2)];
    let based = bases.iter().find_map(|(start, base)| Some((digits.strip_prefix(start)?, *base)));
    let (digits, base) = based.unwrap_or((digits, 10));
    let is_number = digits.starts_with(|first: char| first.is_digit(base));
    // A number that begins with 0 is a text: a mask, a code.
    let is_text = base == 10 && digits.len() > 1 && digits.starts_with('0');
    if !is_number || is_text {
        return None;
    }
    i128::from_str_radix(&format!("{sign}{digits}"), base).ok()
}

fn float(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(['-', '+']);
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    let is_text = digits.len() > 1
        && digits.starts_with('0')
        && digits.bytes().all(|digit| digit.is_ascii_digit());
    let finite = |number: &f64| number.is_finite();
    (is_number && !is_text).then(|| text.parse().ok().filter(finite)).flatten()
}

/// Hands a plain scalar to whoever takes any value.
pub(super) fn visit<'de, V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, Failure> {
    if is_null(text) {
        visitor.visit_unit()
    } else if let Some(truth) = boolean(text) {
        visitor.visit_bool(truth)
    } else if let Some(number) = integer(text) {
        match (u64::try_from(number), i64::try_from(number)) {
            (Ok(number), _) => visitor.visit_u64(number),
            (_, Ok(number)) => visitor.visit_i64(number),
            _ => visitor.visit_f64(number as f64),
        }
    } else if let Some(number) = float(text) {
        visitor.visit_f64(number)
    } else {
        visitor.visit_str(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::input::{Input, Notes};

    #[test]
    fn scalars_are_those_of_yaml_1_2() {
        let text = "[yes, true, ~, 12, -3, 0x1F, 0o17, 0777, '5', 1.5, 1e3, .5, 1_000, -, .]";
        let root = crate::template::written(text).unwrap().unwrap();
        let notes = std::cell::RefCell::new(Notes::default());
        let read: Value = serde::Deserialize::deserialize(Input::of(&root, &notes)).unwrap();
        let expected = json!([
            "yes", true, null, 12, -3, 31, 15, "0777", "5", 1.5, 1000.0, 0.5, "1_000", "-", "."
        ]);
        assert_eq!(read, expected);
        assert_eq!(serde_yaml::from_str::<Value>(text).unwrap(), expected);
    }
}
