//! Scalars: plain ones, quoted ones, blocks.

use super::scanner::Scanner;
use super::source::{END, ends_field, ends_line, ends_word, quoted};
use super::token::{Token, TokenKind};
use crate::template::place::Place;
use crate::template::yaml::error::{YamlError, is_break};

const IN_QUOTES: &str = "while scanning a quoted scalar";
const IN_DOUBLE_QUOTES: &str = "while scanning a double-quoted scalar";
const IN_BLOCK: &str = "while scanning a block scalar";

/// What is left of the line breaks at the end of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

impl Scanner {
    // Plain scalars.

    pub(super) fn scan_plain(&mut self) -> Result<Token, YamlError> {
        let start = self.source.place();
        let mut end = start;
        let indent = self.indent + 1;
        let mut text = String::new();
        let mut spaces = String::new();
        loop {
            let part = match self.source.peek() {
                '#' => String::new(),
                _ => self.plain_word(),
            };
            if part.is_empty() {
                break;
            }
            self.allow_simple_key = false;
            text.push_str(&spaces);
            text.push_str(&part);
            end = self.source.place();
            spaces = self.plain_spaces();
            let outside = !self.in_flow() && self.source.column() < indent;
            if spaces.is_empty() || self.source.peek() == '#' || outside {
                break;
            }
        }
        Ok(Token { start, end, kind: TokenKind::Scalar { text, plain: true } })
    }

    fn plain_word(&mut self) -> String {
        let mut word = String::new();
        loop {
            let c = self.source.peek();
            let next = self.source.peek_at(1);
            let colon_ends = ends_word(next) || (self.in_flow() && ",[]{}".contains(next));
            let ends = ends_word(c)
                || (c == ':' && colon_ends)
                || (self.in_flow() && ",?[]{}".contains(c));
            if ends {
                return word;
            }
            word.push(c);
            self.source.skip(1);
        }
    }

    /// What stands between two words: nothing where the scalar ends.
    fn plain_spaces(&mut self) -> String {
        let spaces = self.source.take_while(|c| c == ' ');
        if !is_break(self.source.peek()) {
            return spaces;
        }
        let first = self.source.take_break();
        self.allow_simple_key = true;
        if self.source.at_separator() {
            return String::new();
        }
        let mut breaks = String::new();
        loop {
            if self.source.peek() == ' ' {
                self.source.skip(1);
            } else if is_break(self.source.peek()) {
                breaks.push_str(self.source.take_break());
                if self.source.at_separator() {
                    return String::new();
                }
            } else {
                return folded(first, &breaks);
            }
        }
    }

    // Quoted scalars.

    pub(super) fn scan_quoted(&mut self) -> Result<Token, YamlError> {
        let start = self.source.place();
        let quote = self.source.peek();
        self.source.skip(1);
        let mut text = Wide::default();
        self.quoted_words(quote == '"', start, &mut text)?;
        while self.source.peek() != quote {
            self.quoted_spaces(start, &mut text)?;
            self.quoted_words(quote == '"', start, &mut text)?;
        }
        self.source.skip(1);
        let end = self.source.place();
        let text = text.joined().ok_or_else(|| {
            YamlError::value(start, "half of a surrogate pair stands alone in a quoted scalar")
        })?;
        Ok(Token { start, end, kind: TokenKind::Scalar { text, plain: false } })
    }

    fn quoted_words(
        &mut self,
        double: bool,
        start: Place,
        text: &mut Wide,
    ) -> Result<(), YamlError> {
        loop {
            text.push_str(&self.source.take_while(|c| !(ends_word(c) || "'\"\\".contains(c))));
            match self.source.peek() {
                '\'' if !double && self.source.peek_at(1) == '\'' => {
                    text.push('\'');
                    self.source.skip(2);
                }
                c @ '\'' if double => self.literally(c, text),
                c @ ('"' | '\\') if !double => self.literally(c, text),
                '\\' => self.escape(start, text)?,
                _ => return Ok(()),
            }
        }
    }

    fn literally(&mut self, c: char, text: &mut Wide) {
        text.push(c);
        self.source.skip(1);
    }

    fn escape(&mut self, start: Place, text: &mut Wide) -> Result<(), YamlError> {
        self.source.skip(1);
        let c = self.source.peek();
        let plain = match c {
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            't' | '\t' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            'e' => '\u{1b}',
            ' ' | '"' | '\\' | '/' => c,
            'N' => '\u{85}',
            '_' => '\u{a0}',
            'L' => '\u{2028}',
            'P' => '\u{2029}',
            'x' => return self.code(2, start, text),
            'u' => return self.code(4, start, text),
            'U' => return self.code(8, start, text),
            c if is_break(c) => {
                self.source.take_break();
                let breaks = self.quoted_breaks(start)?;
                text.push_str(&breaks);
                return Ok(());
            }
            c => {
                let problem = format!("found unknown escape character {}", quoted(c));
                return Err(self.error(problem).since(IN_DOUBLE_QUOTES, start));
            }
        };
        self.literally(plain, text);
        Ok(())
    }

    /// A character by its code in so many digits.
    fn code(&mut self, length: usize, start: Place, text: &mut Wide) -> Result<(), YamlError> {
        self.source.skip(1);
        let mut code = 0_u32;
        for ahead in 0..length {
            let c = self.source.peek_at(ahead);
            let Some(digit) = c.to_digit(16) else {
                let problem = format!(
                    "expected escape sequence of {length} hexadecimal numbers, but found {}",
                    quoted(c)
                );
                return Err(self.error(problem).since(IN_DOUBLE_QUOTES, start));
            };
            code = code << 4 | digit;
        }
        if code > u32::from(char::MAX) {
            let place = self.source.place();
            return Err(YamlError::value(place, "chr() arg not in range(0x110000)"));
        }
        text.0.push(code);
        self.source.skip(length);
        Ok(())
    }

    fn quoted_spaces(&mut self, start: Place, text: &mut Wide) -> Result<(), YamlError> {
        let spaces = self.source.take_while(|c| matches!(c, ' ' | '\t'));
        match self.source.peek() {
            END => Err(self.error("found unexpected end of stream").since(IN_QUOTES, start)),
            c if is_break(c) => {
                let first = self.source.take_break();
                let breaks = self.quoted_breaks(start)?;
                text.push_str(&folded(first, &breaks));
                Ok(())
            }
            _ => {
                text.push_str(&spaces);
                Ok(())
            }
        }
    }

    fn quoted_breaks(&mut self, start: Place) -> Result<String, YamlError> {
        let mut breaks = String::new();
        loop {
            if self.source.at_separator() {
                let problem = "found unexpected document separator";
                return Err(self.error(problem).since(IN_QUOTES, start));
            }
            self.source.skip_while(|c| matches!(c, ' ' | '\t'));
            if !is_break(self.source.peek()) {
                return Ok(breaks);
            }
            breaks.push_str(self.source.take_break());
        }
    }

    // Blocks.

    pub(super) fn scan_block(&mut self) -> Result<Token, YamlError> {
        let start = self.source.place();
        let is_folded = self.source.peek() == '>';
        self.source.skip(1);
        let (chomping, increment) = self.block_header(start)?;
        self.end_of_header(IN_BLOCK, start)?;

        let least = (self.indent + 1).max(1);
        let (indent, mut breaks, mut end) = match increment {
            Some(increment) => {
                let indent = least + increment - 1;
                let (breaks, end) = self.block_breaks(indent);
                (indent, breaks, end)
            }
            None => {
                let (breaks, deepest, end) = self.block_indentation();
                (least.max(deepest), breaks, end)
            }
        };

        let mut text = String::new();
        let mut line_break = "";
        while self.source.column() == indent && self.source.peek() != END {
            text.push_str(&breaks);
            let starts_with_word = !matches!(self.source.peek(), ' ' | '\t');
            text.push_str(&self.source.take_while(|c| !ends_line(c)));
            line_break = self.source.take_break();
            (breaks, end) = self.block_breaks(indent);
            if self.source.column() != indent || self.source.peek() == END {
                break;
            }
            let goes_on = starts_with_word && !matches!(self.source.peek(), ' ' | '\t');
            if is_folded && line_break == "\n" && goes_on {
                text.push_str(if breaks.is_empty() { " " } else { "" });
            } else {
                text.push_str(line_break);
            }
        }
        if chomping != Chomping::Strip {
            text.push_str(line_break);
        }
        if chomping == Chomping::Keep {
            text.push_str(&breaks);
        }
        Ok(Token { start, end, kind: TokenKind::Scalar { text, plain: false } })
    }

    /// How the end is chomped, and by how much the block is indented if that is said.
    fn block_header(&mut self, start: Place) -> Result<(Chomping, Option<i64>), YamlError> {
        let mut chomping = self.block_chomping();
        let increment = self.source.peek().to_digit(10);
        if increment == Some(0) {
            let problem = "expected indentation indicator in the range 1-9, but found 0";
            return Err(self.error(problem).since(IN_BLOCK, start));
        }
        if increment.is_some() {
            self.source.skip(1);
            chomping = chomping.or_else(|| self.block_chomping());
        }
        if !ends_field(self.source.peek()) {
            return Err(self.unexpected("chomping or indentation indicators", IN_BLOCK, start));
        }
        Ok((chomping.unwrap_or(Chomping::Clip), increment.map(i64::from)))
    }

    fn block_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.source.peek() {
            '+' => Chomping::Keep,
            '-' => Chomping::Strip,
            _ => return None,
        };
        self.source.skip(1);
        Some(chomping)
    }

    /// Goes to the first line with text: the breaks before it, and its column.
    fn block_indentation(&mut self) -> (String, i64, Place) {
        let mut breaks = String::new();
        let mut deepest = 0;
        let mut end = self.source.place();
        loop {
            if self.source.peek() == ' ' {
                self.source.skip(1);
                deepest = deepest.max(self.source.column());
            } else if is_break(self.source.peek()) {
                breaks.push_str(self.source.take_break());
                end = self.source.place();
            } else {
                return (breaks, deepest, end);
            }
        }
    }

    fn block_breaks(&mut self, indent: i64) -> (String, Place) {
        let mut breaks = String::new();
        let mut end = self.source.place();
        loop {
            while self.source.column() < indent && self.source.peek() == ' ' {
                self.source.skip(1);
            }
            if !is_break(self.source.peek()) {
                return (breaks, end);
            }
            breaks.push_str(self.source.take_break());
            end = self.source.place();
        }
    }
}

/// A line break between words is a space, unless it is of another kind or more follow.
fn folded(first: &str, breaks: &str) -> String {
    match (first, breaks) {
        ("\n", "") => " ".to_owned(),
        ("\n", breaks) => breaks.to_owned(),
        (other, breaks) => format!("{other}{breaks}"),
    }
}

/// Text that may have halves of surrogate pairs in it, as Python's may.
#[derive(Default)]
struct Wide(Vec<u32>);

impl Wide {
    fn push(&mut self, c: char) {
        self.0.push(u32::from(c));
    }

    fn push_str(&mut self, text: &str) {
        self.0.extend(text.chars().map(u32::from));
    }

    /// The text with its pairs joined, as they are on their way through JSON; `None` if a half
    /// stands alone.
    fn joined(self) -> Option<String> {
        let mut codes = self.0.into_iter().peekable();
        let mut text = String::new();
        while let Some(code) = codes.next() {
            let code = match (code, codes.peek()) {
                (0xd800..=0xdbff, Some(&low @ 0xdc00..=0xdfff)) => {
                    codes.next();
                    0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                }
                _ => code,
            };
            text.push(char::from_u32(code)?);
        }
        Some(text)
    }
}
