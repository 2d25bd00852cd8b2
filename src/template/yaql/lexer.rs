//! The words of an expression, found one by one, so that what is wrong first is said first.

use super::failure;
use crate::template::error::{Outcome, TemplateError};
use crate::template::python;

/// A word with its place, counted in characters from 0.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) word: Word,
    pub(super) at: usize,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// `$`, `$1`, `$name`, as written.
    Variable(String),
    Int(i128),
    Float(f64),
    Text(String),
    True,
    False,
    Null,
    /// A bare name.
    Keyword(String),
    /// A name with the parenthesis that opens its arguments.
    Function(String),
    Operator(&'static str),
    /// `=>`.
    Arrow,
    /// One of `()[]{},`.
    Mark(char),
}

/// Operators made of signs, the longest first.
const SIGNS: [&str; 16] =
    ["?.", "=~", "!~", ">=", "<=", "!=", "->", "=>", ".", "+", "-", "*", "/", ">", "<", "="];

/// Operators that are names.
const NAMES: [&str; 5] = ["mod", "in", "not", "and", "or"];

/// The words of a text.
pub(super) struct Lexer {
    chars: Vec<char>,
    at: usize,
}

impl Lexer {
    pub(super) fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), at: 0 }
    }

    /// The next word; none at the end.
    pub(super) fn next(&mut self) -> Outcome<Option<Token>> {
        while matches!(self.peek(0), Some(' ' | '\t' | '\r' | '\n')) {
            self.at += 1;
        }
        let at = self.at;
        let Some(first) = self.peek(0) else { return Ok(None) };
        let word = match first {
            '$' => {
                let length = 1 + self.name_length(1);
                Some(Word::Variable(self.take(length)))
            }
            '\'' | '"' => self.quoted(first)?,
            '`' => self.verbatim(),
            '(' | ')' | '[' | ']' | '{' | '}' | ',' => {
                self.at += 1;
                Some(Word::Mark(first))
            }
            first if is_digit(first) => self.number()?,
            first if is_name(first) => self.name(),
            _ => self.sign(),
        };
        match word {
            Some(word) => Ok(Some(Token { word, at })),
            None => {
                let message =
                    format!("Lexical error: illegal character '{first}' at position {at}");
                Err(TemplateError::new(failure::LEXICAL, message))
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn take(&mut self, length: usize) -> String {
        let end = (self.at + length).min(self.chars.len());
        let text = self.chars[self.at..end].iter().collect();
        self.at = end;
        text
    }

    fn name_length(&self, from: usize) -> usize {
        self.chars[self.at + from..].iter().take_while(|c| is_name(**c)).count()
    }

    fn digits(&self, from: usize) -> usize {
        self.chars[self.at + from..].iter().take_while(|c| is_digit(**c)).count()
    }

    /// A number ends where no letter follows.
    fn number(&mut self) -> Outcome<Option<Word>> {
        let ends = |length: usize| !self.peek(length).is_some_and(is_name);
        let whole = self.digits(0);
        if self.peek(whole) == Some('.') {
            let fraction = self.digits(whole + 1);
            let length = whole + 1 + fraction;
            if fraction > 0 && ends(length) {
                let text = self.take(length);
                return Ok(python::float_of(&text).map(Word::Float));
            }
        }
        if !ends(whole) {
            return Ok(None);
        }
        let text = self.take(whole);
        python::int_of(&text).map(Word::Int).map(Some).ok_or_else(failure::too_large)
    }

    fn name(&mut self) -> Option<Word> {
        let length = self.name_length(0);
        if self.peek(length) == Some('(') {
            let name = self.take(length);
            self.at += 1;
            return Some(Word::Function(name));
        }
        if self.peek(0) == Some('_') && self.peek(1) == Some('_') {
            return None;
        }
        let name = self.take(length);
        let operator = NAMES.iter().find(|operator| **operator == name);
        Some(match (name.as_str(), operator) {
            ("true", _) => Word::True,
            ("false", _) => Word::False,
            ("null", _) => Word::Null,
            (_, Some(operator)) => Word::Operator(operator),
            (_, None) => Word::Keyword(name),
        })
    }

    fn sign(&mut self) -> Option<Word> {
        let is_next = |sign: &str| sign.chars().enumerate().all(|(n, c)| self.peek(n) == Some(c));
        let sign = SIGNS.iter().find(|sign| is_next(sign))?;
        self.at += sign.len();
        Some(if *sign == "=>" { Word::Arrow } else { Word::Operator(sign) })
    }

    /// The length of what stands between two quotes; none where the second is missing.
    fn inside(&self, quote: char) -> Option<usize> {
        let mut length = 0;
        loop {
            match self.peek(1 + length)? {
                c if c == quote => return Some(length),
                '\\' if self.peek(2 + length)? != '\n' => length += 2,
                '\\' => return None,
                _ => length += 1,
            }
        }
    }

    fn between(&mut self, length: usize) -> Vec<char> {
        let inside = self.chars[self.at + 1..=self.at + length].to_vec();
        self.at += length + 2;
        inside
    }

    fn verbatim(&mut self) -> Option<Word> {
        let length = self.inside('`')?;
        let text: String = self.between(length).into_iter().collect();
        Some(Word::Text(text.replace("\\`", "`")))
    }

    fn quoted(&mut self, quote: char) -> Outcome<Option<Word>> {
        let Some(length) = self.inside(quote) else { return Ok(None) };
        let inside = self.between(length);
        unescaped(&inside).map(Word::Text).map(Some)
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && python::int_of(c.encode_utf8(&mut [0; 4])).is_some())
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Python's escapes; a backslash before anything else stays.
fn unescaped(chars: &[char]) -> Outcome<String> {
    let mut out = String::with_capacity(chars.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        if c != '\\' {
            out.push(c);
            continue;
        }
        let escape = chars.get(at).copied().unwrap_or('\\');
        let rest = &chars[(at + 1).min(chars.len())..];
        let (decoded, length) = match escape {
            '\\' | '\'' | '"' => (escape, 1),
            'a' => ('\x07', 1),
            'b' => ('\x08', 1),
            'f' => ('\x0c', 1),
            'n' => ('\n', 1),
            'r' => ('\r', 1),
            't' => ('\t', 1),
            'v' => ('\x0b', 1),
            '0'..='7' => {
                let digits = chars[at..].iter().take(3).take_while(|c| c.is_digit(8)).count();
                (coded(&chars[at..at + digits], 8)?, digits)
            }
            'x' if rest.len() >= 2 => (coded(&rest[..2], 16)?, 3),
            'u' if rest.len() >= 4 => (coded(&rest[..4], 16)?, 5),
            'U' if rest.len() >= 8 => (coded(&rest[..8], 16)?, 9),
            'N' if rest.first() == Some(&'{') && rest.iter().skip(2).any(|c| *c == '}') => {
                let message = "characters by name (\\N{...}) are not supported in an expression";
                return Err(TemplateError::new("UnicodeDecodeError", message));
            }
            _ => ('\\', 0),
        };
        out.push(decoded);
        at += length;
    }
    Ok(out)
}

fn coded(digits: &[char], radix: u32) -> Outcome<char> {
    let code = digits.iter().try_fold(0_u32, |code, digit| {
        code.checked_mul(radix)?.checked_add(digit.to_digit(radix)?)
    });
    code.and_then(char::from_u32).ok_or_else(|| {
        let digits: String = digits.iter().collect();
        let message = format!("no character has the number {digits}");
        TemplateError::new("UnicodeDecodeError", message)
    })
}
