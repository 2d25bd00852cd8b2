//! The text of OS::Heat::MultipartMime: several texts in one MIME message, laid out as Python's
//! library lays it out, which cloud-init takes apart again.

use std::borrow::Cow;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::model::decoded;

/// The longest line of encoded text.
const LINE_MAX: usize = 76;

/// A text in a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) text: String,
    /// Empty: the file's name without its ending, or plain.
    pub(crate) subtype: String,
    /// Empty: none.
    pub(crate) filename: String,
}

/// Why a part cannot be written: its header would end there, and another begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {0} of a part may not have control characters")]
pub(crate) struct ControlCharacter(&'static str);

/// A message of these parts, with a boundary of the given digits between them.
pub(crate) fn message(parts: &[Part], digits: u128) -> Result<String, ControlCharacter> {
    let boundary = format!("==============={:019}==", digits % 10_u128.pow(19));
    let mut out =
        format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n");
    for part in parts {
        let _ = write!(out, "--{boundary}\n{}\n", part.shown()?);
    }
    if parts.is_empty() {
        let _ = write!(out, "--{boundary}\n\n");
    }
    let _ = writeln!(out, "--{boundary}--");
    Ok(out)
}

/// How many parts a message has, and a message of the same ones; none where they cannot be written.
#[doc(hidden)]
pub fn rewritten(text: &str) -> Option<(usize, String)> {
    let parts = parts_of(text);
    let is_free = |digits: &u128| !text.contains(&format!("{digits:019}"));
    let digits = (0..1000).find(is_free)?;
    Some((parts.len(), message(&parts, digits).ok()?))
}

/// A text as a part has it.
pub(crate) struct Sent<'a> {
    pub(crate) charset: &'static str,
    /// The transfer encoding.
    pub(crate) encoding: &'static str,
    pub(crate) body: Cow<'a, str>,
}

/// A text in ASCII: cloud-init reads a message as text, in which other bytes are lost.
pub(crate) fn sent(text: &str) -> Sent<'_> {
    match text.is_ascii() {
        true => Sent { charset: "us-ascii", encoding: "7bit", body: text.into() },
        false => Sent { charset: "utf-8", encoding: "base64", body: encoded(text).into() },
    }
}

/// The header that says what a part is.
pub(crate) fn content_type(subtype: &str, charset: &str) -> Result<String, ControlCharacter> {
    if subtype.contains(char::is_control) {
        return Err(ControlCharacter("subtype"));
    }
    let value = format!("text/{subtype}; charset=\"{charset}\"");
    Ok(format!("Content-Type: {}", encoded_word(value)))
}

/// The header that says of which file a part is.
pub(crate) fn disposition(filename: &str) -> Result<String, ControlCharacter> {
    if filename.contains(char::is_control) {
        return Err(ControlCharacter("filename"));
    }
    let parameter = match filename.is_ascii() {
        true => format!("=\"{}\"", filename.replace('\\', "\\\\").replace('"', "\\\"")),
        false => {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte);
            let mut name = "*=utf-8''".to_owned();
            for byte in filename.bytes() {
                match is_plain(byte) {
                    true => name.push(byte.into()),
                    false => drop(write!(name, "%{byte:02X}")),
                }
            }
            name
        }
    };
    Ok(format!("Content-Disposition: attachment; filename{parameter}"))
}

/// The value of a header, encoded where it is not ASCII: by the shorter of both ways.
fn encoded_word(value: String) -> String {
    if value.is_ascii() {
        return value;
    }
    let mut quoted = String::new();
    for byte in value.bytes() {
        match byte {
            b' ' => quoted.push('_'),
            b'-' | b'!' | b'*' | b'+' | b'/' => quoted.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => quoted.push(byte.into()),
            _ => drop(write!(quoted, "={byte:02X}")),
        }
    }
    let whole = STANDARD.encode(&value);
    match whole.len() < quoted.len() {
        true => format!("=?utf-8?b?{whole}?="),
        false => format!("=?utf-8?q?{quoted}?="),
    }
}

impl Part {
    fn shown(&self) -> Result<String, ControlCharacter> {
        let stem = || self.filename.rsplit_once('.').map_or(&*self.filename, |(stem, _)| stem);
        let subtype = match (self.subtype.as_str(), self.filename.is_empty()) {
            ("", true) => "plain",
            ("", false) => stem(),
            (subtype, _) => subtype,
        };
        let Sent { charset, encoding, body } = sent(&self.text);
        let mut out = format!(
            "{}\nMIME-Version: 1.0\nContent-Transfer-Encoding: {encoding}\n",
            content_type(subtype, charset)?
        );
        if !self.filename.is_empty() {
            let _ = writeln!(out, "{}", disposition(&self.filename)?);
        }
        let _ = write!(out, "\n{body}");
        Ok(out)
    }
}

fn encoded(text: &str) -> String {
    let encoded = STANDARD.encode(text);
    let mut out = String::new();
    for line in encoded.as_bytes().chunks(LINE_MAX) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out
}

/// The parts of a message that somebody else has put together; none where it is not one of several
/// parts.
pub(crate) fn parts_of(message: &str) -> Vec<Part> {
    let message = message.replace("\r\n", "\n");
    let (head, body) = split(&message);
    let Some(boundary) = parameter(&header(head, "content-type"), "boundary") else {
        return Vec::new();
    };
    let marker = format!("--{boundary}");
    let end = format!("{marker}--");
    let mut parts: Vec<Vec<&str>> = Vec::new();
    for line in body.split('\n') {
        if line.trim_end() == end {
            break;
        }
        if line.trim_end() == marker {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(line);
        }
    }
    parts.into_iter().map(|lines| part_of(&lines.join("\n"))).collect()
}

fn part_of(text: &str) -> Part {
    let (head, body) = split(text);
    let content_type = header(head, "content-type");
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
    let subtype = kind.split_once('/').map_or("plain", |(_, subtype)| subtype).to_owned();
    let is_encoded =
        header(head, "content-transfer-encoding").trim().eq_ignore_ascii_case("base64");
    let decoded = is_encoded
        .then(|| STANDARD.decode(body.split_whitespace().collect::<String>()).ok())
        .flatten();
    let text = match decoded {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => body.to_owned(),
    };
    let filename = parameter(&header(head, "content-disposition"), "filename");
    Part { text, subtype, filename: filename.unwrap_or_default() }
}

/// The headers and what follows the empty line behind them.
fn split(text: &str) -> (&str, &str) {
    match text.strip_prefix('\n') {
        Some(body) => ("", body),
        None => text.split_once("\n\n").unwrap_or((text, "")),
    }
}

/// A header's value, its folded lines joined.
fn header(head: &str, name: &str) -> String {
    let unfolded = head.replace("\n ", " ").replace("\n\t", " ");
    let mut lines = unfolded.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

/// A parameter of a header's value; one that is not ASCII has an asterisk behind its name.
fn parameter(value: &str, name: &str) -> Option<String> {
    let parameters: Vec<(&str, &str)> =
        of_header(value).into_iter().skip(1).filter_map(|part| part.split_once('=')).collect();
    let find = |name: &str| {
        let found = parameters.iter().find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    };
    if let Some(text) = find(&format!("{name}*")).and_then(|value| value.splitn(3, '\'').nth(2)) {
        return Some(decoded(text));
    }
    let value = find(name)?;
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let Some(quoted) = quoted else { return Some(value.trim_matches('"').to_owned()) };
    let mut characters = quoted.chars();
    let next = || match characters.next()? {
        '\\' => characters.next(),
        other => Some(other),
    };
    Some(std::iter::from_fn(next).collect())
}

/// The parts of a header's value, between semicolons that are not within quotes.
fn of_header(value: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, character) in value.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_quoted,
            '"' => is_quoted = !is_quoted,
            ';' if !is_quoted => {
                parts.push(&value[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&value[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, subtype: &str, filename: &str) -> Part {
        Part { text: text.into(), subtype: subtype.into(), filename: filename.into() }
    }

    #[test]
    fn a_message_is_laid_out_as_python_does_it() {
        let expected = "Content-Type: multipart/mixed; \
                        boundary=\"===============0000000000000000007==\"\nMIME-Version: 1.0\n\n\
                        --===============0000000000000000007==\n\
                        Content-Type: text/plain; charset=\"us-ascii\"\nMIME-Version: 1.0\n\
                        Content-Transfer-Encoding: 7bit\n\nls\n\
                        --===============0000000000000000007==\n\
                        Content-Type: text/part-handler; charset=\"utf-8\"\nMIME-Version: 1.0\n\
                        Content-Transfer-Encoding: base64\n\
                        Content-Disposition: attachment; filename=\"part-handler.py\"\n\n\
                        w7w=\n\n\
                        --===============0000000000000000007==--\n";
        let parts = [part("ls", "", ""), part("ü", "", "part-handler.py")];
        assert_eq!(message(&parts, 7).unwrap(), expected);
    }

    #[test]
    fn the_parts_of_a_message_are_read_back() {
        let parts = [part("a\nb", "x-sh", ""), part("ü", "plain", "u.txt")];
        let read = parts_of(&message(&parts, 7).unwrap());
        assert_eq!(read[0], parts[0]);
        assert_eq!((&read[1].text, &read[1].filename), (&parts[1].text, &parts[1].filename));
        assert!(parts_of("no message").is_empty());
        for name in ["a\"b.sh", "a\\\"b", "a; b=c", "ünï \"x\".txt", "a'b"] {
            let read = parts_of(&message(&[part("x", "plain", name)], 7).unwrap());
            assert_eq!(read[0].filename, name);
        }
    }

    #[test]
    fn names_and_types_are_written_as_python_does_it_and_end_no_header() {
        for (name, expected) in [
            ("a.sh", "=\"a.sh\""),
            ("a\"b.sh", "=\"a\\\"b.sh\""),
            ("a\\b", "=\"a\\\\b\""),
            ("a;b c", "=\"a;b c\""),
            ("ünï.txt", "*=utf-8''%C3%BCn%C3%AF.txt"),
            ("😀 a/b(c)", "*=utf-8''%F0%9F%98%80%20a%2Fb%28c%29"),
        ] {
            let expected = format!("Content-Disposition: attachment; filename{expected}");
            assert_eq!(disposition(name).unwrap(), expected);
        }
        for (subtype, expected) in [
            ("X-Sh", "text/X-Sh; charset=\"us-ascii\"".to_owned()),
            ("ü", "=?utf-8?b?dGV4dC/DvDsgY2hhcnNldD0idXMtYXNjaWki?=".to_owned()),
            (
                &format!("{}ü", "x".repeat(100)),
                format!("=?utf-8?q?text/{}=C3=BC=3B_charset=3D=22us-ascii=22?=", "x".repeat(100)),
            ),
        ] {
            let expected = format!("Content-Type: {expected}");
            assert_eq!(content_type(subtype, "us-ascii").unwrap(), expected);
        }
        for wrong in ["a\nX-Evil: 1", "a\r", "\0", "ü\u{85}", "a\n b"] {
            assert!(message(&[part("x", "plain", wrong)], 7).is_err(), "{wrong:?}");
            assert!(message(&[part("x", wrong, "")], 7).is_err(), "{wrong:?}");
        }
    }
}
