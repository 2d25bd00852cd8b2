//! The text of OS::Heat::MultipartMime: several texts in one MIME message, laid out as Python's
//! library lays it out, which cloud-init takes apart again.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

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

/// A message of these parts, with a boundary of the given digits between them.
pub(crate) fn message(parts: &[Part], digits: u128) -> String {
    let boundary = format!("==============={:019}==", digits % 10_u128.pow(19));
    let mut out =
        format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n");
    for part in parts {
        let _ = write!(out, "--{boundary}\n{}\n", part.shown());
    }
    if parts.is_empty() {
        let _ = write!(out, "--{boundary}\n\n");
    }
    let _ = writeln!(out, "--{boundary}--");
    out
}

impl Part {
    fn shown(&self) -> String {
        let stem = || self.filename.rsplit_once('.').map_or(&*self.filename, |(stem, _)| stem);
        let subtype = match (self.subtype.as_str(), self.filename.is_empty()) {
            ("", true) => "plain",
            ("", false) => stem(),
            (subtype, _) => subtype,
        };
        let (charset, encoding, body) = match self.text.is_ascii() {
            true => ("us-ascii", "7bit", self.text.clone()),
            false => ("utf-8", "base64", encoded(&self.text)),
        };
        let mut out = format!(
            "Content-Type: text/{subtype}; charset=\"{charset}\"\nMIME-Version: 1.0\n\
             Content-Transfer-Encoding: {encoding}\n"
        );
        if !self.filename.is_empty() {
            let name = &self.filename;
            let _ = writeln!(out, "Content-Disposition: attachment; filename=\"{name}\"");
        }
        let _ = write!(out, "\n{body}");
        out
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

/// A parameter of a header's value.
fn parameter(value: &str, name: &str) -> Option<String> {
    let mut parameters = value.split(';').skip(1).filter_map(|part| part.split_once('='));
    let found = parameters.find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().trim_matches('"').to_owned())
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
        assert_eq!(message(&parts, 7), expected);
    }

    #[test]
    fn the_parts_of_a_message_are_read_back() {
        let parts = [part("a\nb", "x-sh", ""), part("ü", "plain", "u.txt")];
        let read = parts_of(&message(&parts, 7));
        assert_eq!(read[0], parts[0]);
        assert_eq!((&read[1].text, &read[1].filename), (&parts[1].text, &parts[1].filename));
        assert!(parts_of("no message").is_empty());
    }
}
