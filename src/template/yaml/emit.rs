//! Writing values as YAML in block style, so that reading the text gives the same values: what
//! YAML 1.1 would take for something else than text is quoted.

use std::fmt::Write;

use super::resolver;
use super::tag::Tag;
use crate::template::python;
use crate::template::value::{Datum, DatumMap};

/// Longer keys are written after a `?`, because a reader looks for their colon only so far.
const SIMPLE_KEY_CHARS_MAX: usize = 128;

const INDENT: &str = "  ";

/// A value as a YAML document. Maps keep their order.
pub(crate) fn emit(value: &Datum) -> String {
    let mut out = String::new();
    match value {
        Datum::Map(map) if !map.is_empty() => entries(&mut out, map, 0),
        Datum::List(list) if !list.is_empty() => items(&mut out, list, 0),
        other => {
            scalar(&mut out, other, 0);
            out.push('\n');
        }
    }
    out
}

fn entries(out: &mut String, map: &DatumMap, depth: usize) {
    for (index, (key, value)) in map.iter().enumerate() {
        // The first entry goes on behind the dash of the list around it.
        if index > 0 || !out.ends_with("- ") {
            indent(out, depth);
        }
        let start = out.len();
        inline_text(out, key);
        if out[start..].chars().count() > SIMPLE_KEY_CHARS_MAX {
            out.insert_str(start, "? ");
            out.push('\n');
            indent(out, depth);
        }
        out.push(':');
        match value {
            Datum::Map(map) if !map.is_empty() => {
                out.push('\n');
                entries(out, map, depth + 1);
            }
            Datum::List(list) if !list.is_empty() => {
                out.push('\n');
                items(out, list, depth);
            }
            other => {
                out.push(' ');
                scalar(out, other, depth);
                out.push('\n');
            }
        }
    }
}

/// The items of a list, whose dashes stand where the key above them does.
fn items(out: &mut String, list: &[Datum], depth: usize) {
    for (index, item) in list.iter().enumerate() {
        if index > 0 || !out.ends_with("- ") {
            indent(out, depth);
        }
        out.push_str("- ");
        match item {
            Datum::Map(map) if !map.is_empty() => entries(out, map, depth + 1),
            Datum::List(list) if !list.is_empty() => items(out, list, depth + 1),
            other => {
                scalar(out, other, depth);
                out.push('\n');
            }
        }
    }
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str(INDENT);
    }
}

fn scalar(out: &mut String, value: &Datum, depth: usize) {
    match value {
        Datum::Null => out.push_str("null"),
        Datum::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Datum::Int(number) => out.push_str(&number.to_string()),
        Datum::Float(number) => float(out, *number),
        Datum::Text(text) if is_block(text) => block(out, text, depth + 1),
        Datum::Text(text) => inline_text(out, text),
        // The others were not empty.
        Datum::List(_) => out.push_str("[]"),
        Datum::Map(_) => out.push_str("{}"),
    }
}

/// A float with the point that YAML 1.1 wants in one.
fn float(out: &mut String, number: f64) {
    if number.is_nan() {
        out.push_str(".nan");
    } else if number.is_infinite() {
        out.push_str(if number > 0.0 { ".inf" } else { "-.inf" });
    } else {
        let text = python::float_text(number);
        match text.split_once('e') {
            Some((digits, exponent)) if !digits.contains('.') => {
                let _ = write!(out, "{digits}.0e{exponent}");
            }
            _ => out.push_str(&text),
        }
    }
}

/// A text on one line: plain where that is read as the same text, else quoted.
fn inline_text(out: &mut String, text: &str) {
    if !text.chars().all(is_shown) {
        escaped(out, text);
    } else if is_plain(text) {
        out.push_str(text);
    } else {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    }
}

/// Whether a text of shown characters needs no quotes in block style.
fn is_plain(text: &str) -> bool {
    let indicator = text.starts_with(|c| "#,[]{}&*!|>'\"%@`".contains(c))
        || text.starts_with("---")
        || text.starts_with("...");
    let dashed =
        text.starts_with(['-', '?', ':']) && text.chars().nth(1).is_none_or(|next| next == ' ');
    let ends = text.starts_with(' ') || text.ends_with(' ') || text.ends_with(':');
    let inside = text.contains(": ") || text.contains(" #");
    let is_text = resolver::implicit_tag(text) == Tag::Str;
    is_text && !indicator && !dashed && !ends && !inside
}

/// A character that YAML and its readers leave as it is on a line.
fn is_shown(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn escaped(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_shown(c) => out.push(c),
            c => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02X}"),
                    0x100..=0xffff => write!(out, "\\u{code:04X}"),
                    _ => write!(out, "\\U{code:08X}"),
                };
            }
        }
    }
    out.push('"');
}

/// Whether a text of several lines can stand as a literal block without an indentation indicator.
fn is_block(text: &str) -> bool {
    let shown = text.chars().all(|c| c == '\n' || is_shown(c));
    let blank = |line: &str| !line.is_empty() && line.trim_matches(' ').is_empty();
    text.contains('\n') && shown && !text.starts_with(['\n', ' ']) && !text.split('\n').any(blank)
}

fn block(out: &mut String, text: &str, depth: usize) {
    let body = text.trim_end_matches('\n');
    out.push_str(match text.len() - body.len() {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    let kept = text.strip_suffix('\n').unwrap_or(text);
    for line in kept.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            indent(out, depth);
            out.push_str(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::yaml::read;

    /// Writes, compares with what is expected, and reads it back.
    fn check(json: serde_json::Value, expected: &str) {
        let value = Datum::from(&json);
        let text = emit(&value);
        assert_eq!(text, expected);
        assert_eq!(read(&text).unwrap().to_json(), json, "{text}");
    }

    #[test]
    fn collections_are_written_in_blocks_and_in_order() {
        check(
            serde_json::json!({ "b": [1, [2, { "c": null, "d": [] }]], "a": { "x": {}, "y": true } }),
            "b:\n- 1\n- - 2\n  - c: null\n    d: []\na:\n  x: {}\n  y: true\n",
        );
        check(serde_json::json!([[[1]]]), "- - - 1\n");
        check(serde_json::json!({}), "{}\n");
    }

    #[test]
    fn what_would_be_read_otherwise_is_quoted() {
        let texts = [
            ("yes", "'yes'"),
            ("1:30", "'1:30'"),
            ("0777", "'0777'"),
            ("2013-05-23", "'2013-05-23'"),
            ("1e3", "1e3"),
            ("<<", "'<<'"),
            ("=", "'='"),
            ("", "''"),
            ("a: b", "'a: b'"),
            ("a:b", "a:b"),
            ("it's", "it's"),
            ("'", "''''"),
            ("- x", "'- x'"),
            ("-x", "-x"),
            ("--- x", "'--- x'"),
            ("a #b", "'a #b'"),
            ("\t", "\"\\t\""),
            ("日本", "日本"),
            ("\u{85}", "\"\\x85\""),
        ];
        for (text, expected) in texts {
            check(serde_json::json!({ "k": text }), &format!("k: {expected}\n"));
            check(serde_json::json!({ text: 1 }), &format!("{expected}: 1\n"));
        }
    }

    #[test]
    fn lines_are_literal_blocks() {
        check(serde_json::json!({ "a": "x\n  y\n" }), "a: |\n  x\n    y\n");
        check(serde_json::json!({ "a": "x\n\ny" }), "a: |-\n  x\n\n  y\n");
        check(serde_json::json!(["x\n\n"]), "- |+\n  x\n\n");
        check(serde_json::json!("x\n---\n"), "|\n  x\n  ---\n");
        check(serde_json::json!({ "a": " x\ny" }), "a: \" x\\ny\"\n");
    }

    #[test]
    fn numbers_keep_their_kind() {
        check(
            serde_json::json!([1, 1.0, 1e16, 1e-7, -0.0]),
            "- 1\n- 1.0\n- 1.0e+16\n- 1.0e-07\n- -0.0\n",
        );
        assert_eq!(emit(&Datum::Float(f64::NEG_INFINITY)), "-.inf\n");
    }

    #[test]
    fn a_long_key_is_found_again() {
        let key = "k".repeat(2000);
        check(
            serde_json::json!([{ key.clone(): { "a": 1 } }]),
            &format!("- ? {key}\n  :\n    a: 1\n"),
        );
    }
}
