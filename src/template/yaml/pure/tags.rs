//! Anchors, aliases and tags.

use super::scanner::Scanner;
use super::source::{ends_field, ends_word, is_name};
use super::token::{Token, TokenKind};
use crate::template::place::Place;
use crate::template::python;
use crate::template::yaml::error::YamlError;

impl Scanner {
    /// `&name` or `*name`.
    pub(super) fn scan_anchor(&mut self) -> Result<Token, YamlError> {
        let start = self.source.place();
        let is_alias = self.source.peek() == '*';
        let doing = if is_alias { "while scanning an alias" } else { "while scanning an anchor" };
        self.source.skip(1);
        let name = self.source.take_while(is_name);
        let next = self.source.peek();
        if name.is_empty() || !(ends_word(next) || "?:,]}%@`".contains(next)) {
            return Err(self.unexpected("alphabetic or numeric character", doing, start));
        }
        let kind = if is_alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) };
        Ok(Token { start, end: self.source.place(), kind })
    }

    /// `!`, `!suffix`, `!handle!suffix` or `!<whole>`.
    pub(super) fn scan_tag(&mut self) -> Result<Token, YamlError> {
        let start = self.source.place();
        let (handle, suffix) = match self.source.peek_at(1) {
            '<' => {
                self.source.skip(2);
                let whole = self.scan_tag_uri("tag", start)?;
                if self.source.peek() != '>' {
                    return Err(self.unexpected("'>'", "while parsing a tag", start));
                }
                self.source.skip(1);
                (None, whole)
            }
            next if ends_word(next) => {
                self.source.skip(1);
                (None, "!".to_owned())
            }
            _ => {
                let handle = match self.has_handle() {
                    true => self.scan_tag_handle("tag", start)?,
                    false => {
                        self.source.skip(1);
                        "!".to_owned()
                    }
                };
                (Some(handle), self.scan_tag_uri("tag", start)?)
            }
        };
        if !ends_field(self.source.peek()) {
            return Err(self.unexpected("' '", "while scanning a tag", start));
        }
        Ok(Token { start, end: self.source.place(), kind: TokenKind::Tag { handle, suffix } })
    }

    /// Whether a second `!` follows within the word.
    fn has_handle(&self) -> bool {
        let mut word =
            (1..).map(|ahead| self.source.peek_at(ahead)).take_while(|c| !ends_field(*c));
        word.any(|c| c == '!')
    }

    pub(super) fn scan_tag_handle(&mut self, of: &str, start: Place) -> Result<String, YamlError> {
        let doing = format!("while scanning a {of}");
        if self.source.peek() != '!' {
            return Err(self.unexpected("'!'", &doing, start));
        }
        self.source.skip(1);
        if self.source.peek() == ' ' {
            return Ok("!".to_owned());
        }
        let name = self.source.take_while(is_name);
        if self.source.peek() != '!' {
            return Err(self.unexpected("'!'", &doing, start));
        }
        self.source.skip(1);
        Ok(format!("!{name}!"))
    }

    pub(super) fn scan_tag_uri(&mut self, of: &str, start: Place) -> Result<String, YamlError> {
        let mut uri = String::new();
        loop {
            uri.push_str(&self.source.take_while(is_uri));
            if self.source.peek() != '%' {
                break;
            }
            uri.push_str(&self.uri_escapes(of, start)?);
        }
        if uri.is_empty() {
            return Err(self.unexpected("URI", &format!("while parsing a {of}"), start));
        }
        Ok(uri)
    }

    /// A run of `%xx`, which is text in UTF-8.
    fn uri_escapes(&mut self, of: &str, start: Place) -> Result<String, YamlError> {
        let doing = format!("while scanning a {of}");
        let place = self.source.place();
        let mut bytes = Vec::new();
        while self.source.peek() == '%' {
            self.source.skip(1);
            let digit = |ahead| self.source.peek_at(ahead).to_digit(16);
            let (Some(high), Some(low)) = (digit(0), digit(1)) else {
                let wrong = usize::from(digit(0).is_some());
                let found = super::source::quoted(self.source.peek_at(wrong));
                let problem = format!(
                    "expected URI escape sequence of 2 hexadecimal numbers, but found {found}"
                );
                return Err(self.error(problem).since(doing, start));
            };
            bytes.push((high * 16 + low) as u8);
            self.source.skip(2);
        }
        python::utf8(bytes).map_err(|problem| YamlError::at(place, problem).since(doing, start))
    }
}

fn is_uri(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-;/?:@&=+$,_.!~*'()[]".contains(c)
}
