//! Python's ways with values that users see through Heat: `str`, `repr`, `json.dumps`, `int`,
//! `float`. Texts that functions print and errors quote are made of them.

use std::cmp::Ordering;
use std::fmt::Write;

use super::key::Key;
use super::value::Datum;
pub(crate) use crate::model::python::quoted;
use crate::model::python::write_escaped;

/// `str(value)`: text as it is, everything else as `repr`.
pub(crate) fn text_of(value: &Datum) -> String {
    match value {
        Datum::Text(text) => text.to_string(),
        other => repr(other),
    }
}

/// `repr(value)`.
pub(crate) fn repr(value: &Datum) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

fn write_repr(out: &mut String, value: &Datum) {
    match value {
        Datum::Null => out.push_str("None"),
        Datum::Bool(true) => out.push_str("True"),
        Datum::Bool(false) => out.push_str("False"),
        Datum::Int(number) => _ = write!(out, "{number}"),
        Datum::Float(number) => out.push_str(&float_text(*number)),
        Datum::Text(text) => out.push_str(&quoted(text)),
        Datum::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(out, item);
            }
            out.push(']');
        }
        Datum::Map(map) => {
            out.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(out, &key.datum());
                out.push_str(": ");
                write_repr(out, item);
            }
            out.push('}');
        }
    }
}

/// `repr` of a float: the shortest digits, with an exponent from 1e16 up and below 1e-4.
pub(crate) fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let scientific = format!("{number:e}");
        let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(rest) => ('-', rest),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let plain = format!("{number}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// Whether `json.dumps(value, sort_keys=True)` fails: a key is none of JSON's, or keys have no order.
pub(crate) fn is_beyond_json(value: &Datum) -> bool {
    match value {
        Datum::Null | Datum::Bool(_) | Datum::Int(_) | Datum::Float(_) | Datum::Text(_) => false,
        Datum::List(items) => items.iter().any(is_beyond_json),
        Datum::Map(map) => {
            let is_ordered = |(left, right): (&Key, &Key)| left.order(right).is_some();
            !map.keys().all(Key::is_json)
                || !map.keys().zip(map.keys().skip(1)).all(is_ordered)
                || map.values().any(is_beyond_json)
        }
    }
}

/// `json.dumps(value, sort_keys=…)`: `", "` and `": "`, `\u` escapes for all that is not ASCII.
pub(crate) fn json_text(value: &Datum, sorted: bool) -> String {
    let mut out = String::new();
    write_json(&mut out, value, Layout { sorted, depth: None });
    out
}

/// `json.dumps(value, indent=2)`.
pub(crate) fn indented_json_text(value: &Datum) -> String {
    let mut out = String::new();
    write_json(&mut out, value, Layout { sorted: false, depth: Some(0) });
    out
}

/// How JSON is written.
#[derive(Clone, Copy)]
struct Layout {
    sorted: bool,
    /// How deep the value lies, where every item has a line of its own.
    depth: Option<usize>,
}

impl Layout {
    fn deeper(self) -> Self {
        Self { depth: self.depth.map(|depth| depth + 1), ..self }
    }

    /// Begins the line of an item, or of the end of what holds it.
    fn begin_line(self, out: &mut String) {
        if let Some(depth) = self.depth {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        }
    }

    fn begin_item(self, out: &mut String, index: usize) {
        if index > 0 {
            out.push_str(if self.depth.is_some() { "," } else { ", " });
        }
        self.begin_line(out);
    }
}

fn write_json(out: &mut String, value: &Datum, layout: Layout) {
    match value {
        Datum::Null => out.push_str("null"),
        Datum::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Datum::Int(number) => _ = write!(out, "{number}"),
        Datum::Float(number) if number.is_nan() => out.push_str("NaN"),
        Datum::Float(number) if number.is_infinite() => {
            out.push_str(if *number > 0.0 { "Infinity" } else { "-Infinity" });
        }
        Datum::Float(number) => out.push_str(&float_text(*number)),
        Datum::Text(text) => write_json_text(out, text),
        Datum::List(items) if items.is_empty() => out.push_str("[]"),
        Datum::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                layout.deeper().begin_item(out, index);
                write_json(out, item, layout.deeper());
            }
            layout.begin_line(out);
            out.push(']');
        }
        Datum::Map(map) if map.is_empty() => out.push_str("{}"),
        Datum::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            if layout.sorted {
                entries.sort_by(|left, right| left.0.order(right.0).unwrap_or(Ordering::Equal));
            }
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                layout.deeper().begin_item(out, index);
                write_json_text(out, key);
                out.push_str(": ");
                write_json(out, item, layout.deeper());
            }
            layout.begin_line(out);
            out.push('}');
        }
    }
}

fn write_json_text(out: &mut String, text: &str) {
    let is_plain = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c| !is_plain(c)) {
        out.push_str(&rest[..at]);
        let Some(c) = rest[at..].chars().next() else { break };
        rest = &rest[at + c.len_utf8()..];
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push_str(rest);
    out.push('"');
}

/// The refusal of an integer that does not fit here; Python's have no bound.
pub(crate) const INT_TOO_LARGE: &str = "An integer has more than the 38 digits that are supported";

/// What Python says of a text that cannot be encoded: a run of characters from a code up.
pub(crate) fn encode_problem(text: &str, codec: &str, limit: u32) -> String {
    let is_outside = |c: &char| u32::from(*c) >= limit;
    let start = text.chars().position(|c| is_outside(&c)).unwrap_or_default();
    let run: String = text.chars().skip(start).take_while(is_outside).collect();
    let what = match run.chars().count() {
        0 | 1 => format!("character {} in position {start}", escaped(&run)),
        more => format!("characters in position {start}-{}", start + more - 1),
    };
    format!("'{codec}' codec can't encode {what}: ordinal not in range({limit})")
}

/// A text as Python writes it in ASCII.
fn escaped(text: &str) -> String {
    let mut out = String::from("'");
    text.chars().for_each(|c| write_escaped(&mut out, c));
    out + "'"
}

/// `bytes.decode("utf-8")`; the error is Python's.
pub(crate) fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let rest = &error.as_bytes()[start..];
        let length = error.utf8_error().error_len();
        let reason = match (length, rest[0]) {
            (None, _) => "unexpected end of data",
            (Some(_), 0xc2..=0xf4) => "invalid continuation byte",
            (Some(_), _) => "invalid start byte",
        };
        let what = match length.unwrap_or(rest.len()) {
            1 => format!("byte 0x{:02x} in position {start}", rest[0]),
            more => format!("bytes in position {start}-{}", start + more - 1),
        };
        format!("'utf-8' codec can't decode {what}: {reason}")
    })
}

/// `type(value).__name__`.
pub(crate) fn type_name(value: &Datum) -> &'static str {
    match value {
        Datum::Null => "NoneType",
        Datum::Bool(_) => "bool",
        Datum::Int(_) => "int",
        Datum::Float(_) => "float",
        Datum::Text(_) => "str",
        Datum::List(_) => "list",
        Datum::Map(_) => "dict",
    }
}

/// `int(text)`: spaces around, a sign, underscores between digits, digits of any script.
pub(crate) fn int_of(text: &str) -> Option<i128> {
    ascii_number(text)?.parse().ok()
}

/// `float(text)`, which also takes `nan`, `inf` and `infinity`.
pub(crate) fn float_of(text: &str) -> Option<f64> {
    let ascii = ascii_number(text)?;
    let unsigned = ascii.trim_start_matches(['+', '-']);
    let word = unsigned.to_ascii_lowercase();
    let named = matches!(word.as_str(), "nan" | "inf" | "infinity");
    if !named && !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    ascii.parse().ok()
}

/// A number's text without surrounding space and separating underscores, in ASCII digits.
fn ascii_number(text: &str) -> Option<String> {
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c));
    let mut out = String::with_capacity(trimmed.len());
    let chars: Vec<char> = trimmed.chars().collect();
    for (index, &c) in chars.iter().enumerate() {
        if c == '_' {
            let digit_at = |at: Option<&char>| at.copied().and_then(digit_value).is_some();
            let before = index.checked_sub(1).and_then(|at| chars.get(at));
            if !(digit_at(before) && digit_at(chars.get(index + 1))) {
                return None;
            }
        } else if let Some(value) = digit_value(c) {
            out.push(char::from_digit(value, 10)?);
        } else if c.is_ascii() {
            out.push(c);
        } else {
            return None;
        }
    }
    Some(out)
}

/// The value of a decimal digit in the scripts that Unicode lays out in tens.
fn digit_value(c: char) -> Option<u32> {
    const ZEROS: [u32; 24] = [
        0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
        0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0xff10,
    ];
    let code = u32::from(c);
    ZEROS.iter().find(|&&zero| (zero..zero + 10).contains(&code)).map(|zero| code - zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_prints_them() {
        let cases = [
            (1.0, "1.0"),
            (1e16, "1e+16"),
            (1e-5, "1e-05"),
            (0.1, "0.1"),
            (1e22, "1e+22"),
            (123456789.125, "123456789.125"),
            (0.0001, "0.0001"),
            (-0.0, "-0.0"),
            (1.5e300, "1.5e+300"),
        ];
        for (number, text) in cases {
            assert_eq!(float_text(number), text);
        }
    }

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        assert_eq!(int_of("1_000"), Some(1000));
        assert_eq!(int_of(" 7 "), Some(7));
        assert_eq!(int_of("٣"), Some(3));
        assert_eq!(int_of("1__0"), None);
        assert_eq!(int_of("1.0"), None);
        assert_eq!(float_of("1e3"), Some(1000.0));
        assert!(float_of("nan").is_some_and(f64::is_nan));
        assert_eq!(float_of("e3"), None);
        assert_eq!(float_of(""), None);
    }

    #[test]
    fn text_is_quoted_as_python_quotes_it() {
        assert_eq!(quoted("a'b"), "\"a'b\"");
        assert_eq!(quoted("a'\"b"), "'a\\'\"b'");
        assert_eq!(quoted("é\n\u{1}"), "'é\\n\\x01'");
        assert_eq!(quoted("e\u{301}日\u{e000}"), "'e\u{301}日\\ue000'");
        assert_eq!(quoted("\u{a0}\u{378}\u{61c}"), "'\\xa0\\u0378\\u061c'");
    }
}
