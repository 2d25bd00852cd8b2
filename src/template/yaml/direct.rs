//! A plain document, which many templates are, read in one pass over its text: block maps and lists,
//! scalars and flow collections of one line, blocks of text, comments; printable ASCII, every key a
//! text. It takes a fraction of the scanner's time. What is anything else, or wrong, is left to the
//! graph, which knows in which order PyYAML meets what is wrong.

use ecow::EcoString;

use super::scalars::{self, Timestamps};
use super::tag::Tag;
use super::{DEPTH_MAX, resolver};
use crate::template::node::{Form, Node, NodeMap, Place};

/// How long a key may be with all that it stands behind in its line: YAML says 1,024.
const KEY_BYTES_MAX: usize = 1_000;

/// Reads the one document of a text; `None` if it is not plain.
pub(super) fn read(text: &str) -> Option<Node> {
    if !text.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) {
        return None;
    }
    let mut reader = Reader { text, at: 0, line: 1, line_start: 0, depth: 0 };
    let indent = reader.content()?;
    reader.key()?;
    let place = reader.place();
    let root = reader.block(|reader| reader.map(indent), place)?;
    (reader.at == text.len()).then_some(root)
}

/// A reader stands at the first character of what comes next: of a node, or of a line's content.
struct Reader<'text> {
    text: &'text str,
    at: usize,
    line: u32,
    line_start: usize,
    depth: usize,
}

impl<'text> Reader<'text> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'text str {
        &self.text[self.at..]
    }

    /// What is left of the line.
    fn rest_of_line(&self) -> &'text str {
        let rest = self.rest();
        rest.split_once('\n').map_or(rest, |(line, _)| line)
    }

    fn column(&self) -> usize {
        self.at - self.line_start
    }

    fn place(&self) -> Place {
        Place { line: self.line, column: u32::try_from(self.column() + 1).unwrap_or(u32::MAX) }
    }

    fn spaces(&mut self) {
        self.at += self.rest().bytes().take_while(|byte| *byte == b' ').count();
    }

    fn next_line(&mut self) {
        self.at = (self.at + self.rest_of_line().len() + 1).min(self.text.len());
        self.line += 1;
        self.line_start = self.at;
    }

    /// Goes over spaces and a comment to the end of the line, where nothing else may stand.
    fn end_of_line(&mut self) -> Option<()> {
        let line = self.rest_of_line();
        let said = line.trim_start_matches(' ');
        let is_end = said.is_empty() || (said.starts_with('#') && said.len() < line.len());
        is_end.then(|| self.at += line.len())
    }

    /// Goes to the next content that is no comment; its column. `None` for what parts documents.
    fn content(&mut self) -> Option<usize> {
        while self.at < self.text.len() {
            self.spaces();
            match self.peek() {
                None => break,
                Some(b'\n' | b'#') => self.next_line(),
                Some(_) => {
                    let parts = self.column() == 0
                        && ["---", "..."].iter().any(|mark| self.rest().starts_with(mark));
                    return (!parts).then(|| self.column());
                }
            }
        }
        self.at = self.text.len();
        Some(0)
    }

    /// The same behind a node of one line within a collection of this column: deeper would be more
    /// of the node.
    fn content_after(&mut self, indent: usize) -> Option<usize> {
        self.end_of_line()?;
        self.next_line();
        self.content().filter(|column| *column <= indent)
    }

    fn is_item(&self) -> bool {
        self.peek() == Some(b'-') && is_blank(self.text.as_bytes().get(self.at + 1).copied())
    }

    /// A key that stands here, and the reader behind its colon; or nothing, and the reader here.
    fn key(&self) -> Option<(EcoString, usize)> {
        let line = self.rest_of_line();
        let (text, end) = match self.peek()? {
            quote @ (b'"' | b'\'') => {
                let text = quoted(line, quote)?;
                (text, text.len() + 2)
            }
            _ => {
                let end = plain_end(line, |_| false);
                (line[..end].trim_end_matches(' '), end)
            }
        };
        let colon = end + line[end..].bytes().take_while(|byte| *byte == b' ').count();
        let is_key = line.as_bytes().get(colon) == Some(&b':')
            && is_blank(line.as_bytes().get(colon + 1).copied())
            && colon < KEY_BYTES_MAX;
        let is_text = line.starts_with(['"', '\'']) || is_plain_text(text);
        (is_key && is_text).then(|| (text.into(), self.at + colon + 1))
    }

    /// A collection of lines, or one within brackets.
    fn block(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<Form>,
        place: Place,
    ) -> Option<Node> {
        self.depth += 1;
        let form = if self.depth > DEPTH_MAX { None } else { read(self) };
        self.depth -= 1;
        Some(Node { place, key_place: place, form: form?, tainted: false })
    }

    /// The entries whose keys stand at this column. The reader is then at what comes after them.
    fn map(&mut self, indent: usize) -> Option<Form> {
        let mut map = NodeMap::default();
        loop {
            let key_place = self.place();
            let (key, behind) = self.key()?;
            self.at = behind;
            let mut value = self.value(indent, true)?;
            value.key_place = key_place;
            map.insert(key, value);
            if self.at == self.text.len() || self.column() < indent {
                return Some(Form::Map(Box::new(map)));
            }
        }
    }

    /// The items whose dashes stand at this column. In a map's list they may stand at the column of
    /// the keys, of which the next may follow.
    fn list(&mut self, indent: usize) -> Option<Form> {
        let mut items = Vec::new();
        while self.at < self.text.len() && self.column() == indent && self.is_item() {
            self.at += 1;
            items.push(self.value(indent, false)?);
        }
        Some(Form::List(items))
    }

    /// What stands behind a colon or a dash, in the line or below it. The reader is then at the
    /// content after it, which stands no deeper.
    fn value(&mut self, indent: usize, in_map: bool) -> Option<Node> {
        let empty = self.place();
        if self.end_of_line().is_none() {
            self.spaces();
            let column = self.column();
            if in_map {
                return self.inline(indent);
            }
            return self.item_in_line(indent, column);
        }
        self.next_line();
        let column = self.content()?;
        let place = self.place();
        if self.at == self.text.len() || column < indent || (column == indent && !in_map) {
            return Some(Node { place: empty, key_place: empty, ..Node::default() });
        }
        match (self.is_item(), column == indent) {
            (true, _) => self.nested(indent, place, |reader| reader.list(column)),
            (false, true) => Some(Node { place: empty, key_place: empty, ..Node::default() }),
            (false, false) => self.item_in_line(indent, column),
        }
    }

    /// A node that may be a collection whose first entry stands here, deeper than the column.
    fn item_in_line(&mut self, indent: usize, column: usize) -> Option<Node> {
        let place = self.place();
        if self.is_item() {
            return self.nested(indent, place, |reader| reader.list(column));
        }
        match self.key() {
            Some(_) => self.nested(indent, place, |reader| reader.map(column)),
            None => self.inline(indent),
        }
    }

    /// A block collection, after which nothing stands deeper than what it is in.
    fn nested(
        &mut self,
        indent: usize,
        place: Place,
        read: impl FnOnce(&mut Self) -> Option<Form>,
    ) -> Option<Node> {
        let node = self.block(read, place)?;
        (self.at == self.text.len() || self.column() <= indent).then_some(node)
    }

    /// A scalar, or a collection within brackets, to the end of the line.
    fn inline(&mut self, indent: usize) -> Option<Node> {
        let place = self.place();
        let form = match self.peek()? {
            b'|' | b'>' => {
                let text = self.block_of_text(indent)?;
                return Some(Node {
                    place,
                    key_place: place,
                    form: Form::Text(text),
                    tainted: false,
                });
            }
            b'[' | b'{' | b'"' | b'\'' => self.flow()?.form,
            _ => {
                let line = self.rest_of_line();
                let end = plain_end(line, |_| false);
                if line[end..].starts_with(':') {
                    return None;
                }
                let text = line[..end].trim_end_matches(' ');
                self.at += text.len();
                plain(text, place)?
            }
        };
        self.content_after(indent)?;
        Some(Node { place, key_place: place, form, tainted: false })
    }

    /// A node within one line that ends with a bracket, a quote or before what ends a plain scalar.
    fn flow(&mut self) -> Option<Node> {
        let place = self.place();
        let form = match self.peek()? {
            b'[' => return self.block(Self::flow_list, place),
            b'{' => return self.block(Self::flow_map, place),
            quote @ (b'"' | b'\'') => {
                let text = quoted(self.rest_of_line(), quote)?;
                self.at += text.len() + 2;
                Form::Text(text.into())
            }
            _ => plain(self.flow_plain()?, place)?,
        };
        Some(Node { place, key_place: place, form, tainted: false })
    }

    fn flow_plain(&mut self) -> Option<&'text str> {
        let line = self.rest_of_line();
        let end = plain_end(line, |byte| matches!(byte, b',' | b'[' | b']' | b'{' | b'}' | b'?'));
        let text = line[..end].trim_end_matches(' ');
        let is_clear = !matches!(line.as_bytes().get(end), None | Some(b'[' | b'{' | b'?' | b'#'))
            && !line[..end].ends_with(':');
        self.at += text.len();
        is_clear.then_some(text)
    }

    fn flow_list(&mut self) -> Option<Form> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.spaces();
            if self.peek()? == b']' {
                break;
            }
            items.push(self.flow()?);
            self.spaces();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return None,
            }
        }
        self.at += 1;
        Some(Form::List(items))
    }

    fn flow_map(&mut self) -> Option<Form> {
        let mut map = NodeMap::default();
        self.at += 1;
        loop {
            self.spaces();
            if self.peek()? == b'}' {
                break;
            }
            let key = self.flow()?;
            let Form::Text(text) = key.form else { return None };
            self.spaces();
            if !self.rest().starts_with(": ") || self.at - self.line_start > KEY_BYTES_MAX {
                return None;
            }
            self.at += 1;
            self.spaces();
            let mut value = self.flow()?;
            value.key_place = key.place;
            map.insert(text, value);
            self.spaces();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return None,
            }
        }
        self.at += 1;
        Some(Form::Map(Box::new(map)))
    }

    /// The lines below `|`, or `>` which makes spaces of single line breaks, that stand deeper than
    /// the column. Blank lines at the end are clipped, to one line break or with `-` to none.
    fn block_of_text(&mut self, parent: usize) -> Option<EcoString> {
        let (folds, strips) = match self.rest_of_line().trim_end_matches(' ') {
            "|" => (false, false),
            "|-" => (false, true),
            ">" => (true, false),
            ">-" => (true, true),
            _ => return None,
        };
        self.next_line();
        self.spaces();
        let indent = self.column();
        if indent <= parent || matches!(self.peek(), None | Some(b'\n')) {
            return None;
        }
        self.at = self.line_start;
        let mut text = String::new();
        let mut breaks = 0;
        let mut was_deeper = false;
        while self.at < self.text.len() {
            let line = self.rest_of_line();
            let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
            if spaces < indent && spaces < line.len() {
                break;
            }
            match line.get(indent..).filter(|line| !line.is_empty()) {
                None => breaks += 1,
                Some(line) => {
                    let is_deeper = line.starts_with(' ');
                    let folded = folds && breaks > 0 && !is_deeper && !was_deeper;
                    if folded && breaks == 1 {
                        text.push(' ');
                    }
                    text.extend(std::iter::repeat_n('\n', breaks - usize::from(folded)));
                    text.push_str(line);
                    (breaks, was_deeper) = (1, is_deeper);
                }
            }
            // Without a line break at the end of the text there is none to keep.
            breaks -= usize::from(self.at + line.len() == self.text.len() && breaks > 0);
            self.next_line();
        }
        if !strips && breaks > 0 {
            text.push('\n');
        }
        self.content().filter(|column| *column <= parent)?;
        Some(text.into())
    }
}

/// Whether nothing, a space or a line break stands here.
fn is_blank(byte: Option<u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\n'))
}

/// What stands between the quotes that a line begins with, without escapes.
fn quoted(line: &str, quote: u8) -> Option<&str> {
    let (text, rest) = line[1..].split_once(char::from(quote))?;
    let has_escapes = if quote == b'"' { text.contains('\\') } else { rest.starts_with('\'') };
    (!has_escapes).then_some(text)
}

/// Where the plain scalar ends that a line begins with: before a colon and a space, a space and a
/// hash, the end of the line, or one of these bytes. Spaces before that are in it.
fn plain_end(line: &str, ends: impl Fn(u8) -> bool) -> usize {
    let bytes = line.as_bytes();
    let is_end = |at: &usize| match bytes[*at] {
        b':' => is_blank(bytes.get(at + 1).copied()),
        b'#' => *at > 0 && bytes[at - 1] == b' ',
        byte => ends(byte),
    };
    (0..bytes.len()).find(is_end).unwrap_or(bytes.len())
}

/// Whether a plain scalar may begin like this: what begins with an indicator is not plain.
fn begins_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'-') => {
            bytes.get(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        }
        first => first.is_some_and(|byte| !b" ?:,[]{}#&*!|>'\"%@`".contains(byte)),
    }
}

fn is_plain_text(text: &str) -> bool {
    begins_plain(text) && resolver::implicit_tag(text) == Tag::Str
}

/// The value of a plain scalar.
fn plain(text: &str, place: Place) -> Option<Form> {
    if !begins_plain(text) {
        return None;
    }
    let tag = resolver::implicit_tag(text);
    scalars::scalar(&tag, &mut text.into(), place, Timestamps::Text)?.ok()
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::template::yaml::read_by_graph;

    const PLAIN: &str = r#"# A template
heat_template_version: 2018-08-31
description: Where it's at - http://example.org/#top  # or not

parameters:
  "name": { type: string, default: '', tags: [a, "b c", -1.5] }
  list:
    default:
    - 1
    - - nested
      - text: yes
    -
    - |-
        more

         text
    - >
      folded
      text

      that
       is
      long
    - >-
      short


resources:
  server:
    type: OS::Nova::Server
    properties:
      name : {get_param: name}
      user_data: |
        #!/bin/sh
        echo "a: b"

    # nothing else
  other: {type: OS::Heat::None}
outputs:
"#;

    #[test]
    fn what_templates_are_made_of_is_plain() {
        for text in [PLAIN, PLAIN.trim_end()] {
            let node = read(text).map(|node| format!("{node:?}"));
            let by_graph = read_by_graph(text).unwrap().map(|node| format!("{node:?}"));
            assert!(node.is_some());
            assert_eq!(node, by_graph);
        }
    }
}
