//! The ways in which a text is written where it is quoted, sent or kept.

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use url::form_urlencoded;

use super::python;

/// What is encoded in a part of a URL.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The same in a path, which keeps its slashes.
const PATH: &AsciiSet = &PART.remove(b'/');
/// Fewer characters out of base64 may be there by chance.
const BASE64_MIN_CHARS: usize = 8;

/// How else a text may be written: as Python and JSON escape it, as URLs and forms encode it, and in
/// base64, by itself or within what is longer.
pub(super) fn spellings(text: &str) -> BTreeSet<String> {
    let repr = inside(&python::quoted(text));
    let json = inside(&Value::from(text).to_string());
    let mut all = BTreeSet::from([
        // Python escapes a single quote where there is a double one beside it.
        repr.replace('\'', "\\'"),
        repr,
        in_ascii(&json),
        json,
        utf8_percent_encode(text, PART).to_string(),
        utf8_percent_encode(text, PATH).to_string(),
        form_urlencoded::byte_serialize(text.as_bytes()).collect(),
        STANDARD.encode(text),
    ]);
    let within = (0..3).map(|before| within_base64(text, before));
    all.extend(within.filter(|it| it.len() >= BASE64_MIN_CHARS));
    all.remove(text);
    all
}

/// A text without the quotes around it.
fn inside(quoted: &str) -> String {
    quoted[1..quoted.len() - 1].to_owned()
}

/// JSON's text as Python writes it.
fn in_ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// The characters that the text alone decides where some bytes stand before it, and others behind.
fn within_base64(text: &str, bytes_before: usize) -> String {
    let bytes = [&[0; 2][..bytes_before], text.as_bytes()].concat();
    let encoded = STANDARD_NO_PAD.encode(&bytes);
    let shared_before = [0, 2, 3][bytes_before];
    let shared_behind = usize::from(bytes.len() % 3 > 0);
    encoded[shared_before..encoded.len() - shared_behind].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_however_it_is_written() {
        let text = "p\\w'\"\n/ü ";
        let all = spellings(text);
        let written = [
            r#"p\\w\'"\n/ü "#,
            r#"p\\w'\"\n/ü "#,
            r#"p\\w'\"\n/\u00fc "#,
            "p%5Cw%27%22%0A%2F%C3%BC%20",
            "p%5Cw%27%22%0A/%C3%BC%20",
            "p%5Cw%27%22%0A%2F%C3%BC+",
            "cFx3JyIKL8O8IA==",
        ];
        for written in written {
            assert!(all.contains(written), "{written} in {all:?}");
        }
        for before in ["", "1", "12", "123"] {
            let kept = STANDARD.encode(format!("{before}{text}behind"));
            assert!(all.iter().any(|it| kept.contains(it)), "{kept} in {all:?}");
        }
        assert!(spellings("abc").iter().all(|it| it == "YWJj"));
    }
}
