//! Lines that begin with `%`.

use super::scanner::Scanner;
use super::source::{ends_field, ends_line, is_name};
use super::token::{Directive, Token, TokenKind};
use crate::template::place::Place;
use crate::template::yaml::error::YamlError;

const DOING: &str = "while scanning a directive";

impl Scanner {
    pub(super) fn scan_directive(&mut self) -> Result<Token, YamlError> {
        let start = self.source.place();
        self.source.skip(1);
        let name = self.source.take_while(is_name);
        if name.is_empty() || !ends_field(self.source.peek()) {
            return Err(self.unexpected("alphabetic or numeric character", DOING, start));
        }
        let (directive, end) = match name.as_str() {
            "YAML" => (self.yaml_version(start)?, self.source.place()),
            "TAG" => (self.tag_prefix(start)?, self.source.place()),
            _ => {
                let end = self.source.place();
                self.source.skip_while(|c| !ends_line(c));
                (Directive::Other, end)
            }
        };
        self.end_of_header(DOING, start)?;
        Ok(Token { start, end, kind: TokenKind::Directive(directive) })
    }

    fn yaml_version(&mut self, start: Place) -> Result<Directive, YamlError> {
        self.source.skip_while(|c| c == ' ');
        let major = self.version_number(start)?;
        if self.source.peek() != '.' {
            return Err(self.unexpected("a digit or '.'", DOING, start));
        }
        self.source.skip(1);
        self.version_number(start)?;
        if !ends_field(self.source.peek()) {
            return Err(self.unexpected("a digit or ' '", DOING, start));
        }
        Ok(Directive::Yaml { major })
    }

    fn version_number(&mut self, start: Place) -> Result<String, YamlError> {
        let digits = self.source.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.unexpected("a digit", DOING, start));
        }
        Ok(digits)
    }

    fn tag_prefix(&mut self, start: Place) -> Result<Directive, YamlError> {
        self.source.skip_while(|c| c == ' ');
        let handle = self.scan_tag_handle("directive", start)?;
        if self.source.peek() != ' ' {
            return Err(self.unexpected("' '", DOING, start));
        }
        self.source.skip_while(|c| c == ' ');
        let prefix = self.scan_tag_uri("directive", start)?;
        if !ends_field(self.source.peek()) {
            return Err(self.unexpected("' '", DOING, start));
        }
        Ok(Directive::Tag { handle, prefix })
    }

    /// Goes over a comment and the end of the line, which is all that may follow.
    pub(super) fn end_of_header(&mut self, doing: &str, start: Place) -> Result<(), YamlError> {
        self.source.skip_while(|c| c == ' ');
        if self.source.peek() == '#' {
            self.source.skip_while(|c| !ends_line(c));
        }
        if !ends_line(self.source.peek()) {
            return Err(self.unexpected("a comment or a line break", doing, start));
        }
        self.source.take_break();
        Ok(())
    }

    /// Something else stands here than was expected.
    pub(super) fn unexpected(&self, expected: &str, doing: &str, start: Place) -> YamlError {
        let found = self.source.peek_quoted();
        self.error(format!("expected {expected}, but found {found}")).since(doing, start)
    }
}
