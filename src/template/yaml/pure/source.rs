//! The characters of a text, one after the other, with the place of the next one.

use crate::template::place::Place;
use crate::template::python;
use crate::template::yaml::error::{YamlError, is_break};

/// Stands after the last character; no text has it inside.
pub(super) const END: char = '\0';

/// A text and how far it has been read.
pub(super) struct Source {
    chars: Vec<char>,
    index: usize,
    place: Place,
}

impl Source {
    /// The text, if it has only characters that YAML allows.
    pub(super) fn new(text: &str) -> Result<Self, YamlError> {
        let chars: Vec<char> = text.chars().collect();
        if let Some(position) = chars.iter().position(|c| !is_allowed(*c)) {
            let code = u32::from(chars[position]);
            return Err(YamlError::Character { code, position });
        }
        Ok(Self { chars, index: 0, place: Place { line: 1, column: 1 } })
    }

    /// How many characters were read.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Where the next character stands.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// The column of the next character, from 0.
    pub(super) fn column(&self) -> i64 {
        i64::from(self.place.column) - 1
    }

    /// The next character.
    pub(super) fn peek(&self) -> char {
        self.peek_at(0)
    }

    /// The character after so many others.
    pub(super) fn peek_at(&self, ahead: usize) -> char {
        self.chars.get(self.index + ahead).copied().unwrap_or(END)
    }

    /// The next character as Python writes it.
    pub(super) fn peek_quoted(&self) -> String {
        quoted(self.peek())
    }

    /// Whether this comes next.
    pub(super) fn starts_with(&self, token: &str) -> bool {
        token.chars().enumerate().all(|(ahead, c)| self.peek_at(ahead) == c)
    }

    /// Goes on by so many characters.
    pub(super) fn skip(&mut self, count: usize) {
        for _ in 0..count {
            let Some(c) = self.chars.get(self.index).copied() else { return };
            self.index += 1;
            if is_break(c) && !(c == '\r' && self.peek() == '\n') {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else if c != '\u{feff}' {
                self.place.column += 1;
            }
        }
    }

    /// Goes over what fits.
    pub(super) fn skip_while(&mut self, fits: impl Fn(char) -> bool) {
        while self.peek() != END && fits(self.peek()) {
            self.skip(1);
        }
    }

    /// Takes what fits.
    pub(super) fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let start = self.index;
        self.skip_while(fits);
        self.chars[start..self.index].iter().collect()
    }

    /// Takes one line break; none is the empty text.
    pub(super) fn take_break(&mut self) -> &'static str {
        match self.peek() {
            '\r' if self.peek_at(1) == '\n' => {
                self.skip(2);
                "\n"
            }
            '\r' | '\n' | '\u{85}' => {
                self.skip(1);
                "\n"
            }
            '\u{2028}' => {
                self.skip(1);
                "\u{2028}"
            }
            '\u{2029}' => {
                self.skip(1);
                "\u{2029}"
            }
            _ => "",
        }
    }

    /// Whether a document begins or ends here.
    pub(super) fn at_separator(&self) -> bool {
        (self.starts_with("---") || self.starts_with("...")) && ends_word(self.peek_at(3))
    }
}

/// A character as Python writes it.
pub(super) fn quoted(c: char) -> String {
    python::quoted(c.encode_utf8(&mut [0; 4]))
}

/// Whether a line ends with this.
pub(super) fn ends_line(c: char) -> bool {
    c == END || is_break(c)
}

/// Whether a word ends before this, a tab aside.
pub(super) fn ends_field(c: char) -> bool {
    c == ' ' || ends_line(c)
}

/// Whether a word ends before this.
pub(super) fn ends_word(c: char) -> bool {
    c == '\t' || ends_field(c)
}

/// What names of anchors, handles and directives are made of.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}
