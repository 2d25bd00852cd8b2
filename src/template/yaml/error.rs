//! Why a text is no YAML, as PyYAML words it: a problem, what was being done, and the lines that
//! both are about, with a pointer below.

use std::fmt;

use crate::template::place::Place;

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::template) enum YamlError {
    /// The text is wrong at a place; the context is what was being read, and since where.
    Marked { context: Option<String>, since: Option<Place>, problem: String, place: Place },
    /// A character that no YAML text has, by its code and its number in the text.
    Character { code: u32, position: usize },
    /// A Python error in the reader of Heat, which it does not take for one of YAML.
    Value { message: String, place: Place },
    /// More than Hearth takes.
    Limit { message: String, place: Place },
}

impl YamlError {
    pub(super) fn at(place: Place, problem: impl Into<String>) -> Self {
        Self::Marked { context: None, since: None, problem: problem.into(), place }
    }

    pub(super) fn value(place: Place, message: impl Into<String>) -> Self {
        Self::Value { message: message.into(), place }
    }

    pub(super) fn limit(place: Place, message: impl Into<String>) -> Self {
        Self::Limit { message: message.into(), place }
    }

    /// Says what was being read.
    pub(super) fn during(self, doing: impl Into<String>) -> Self {
        self.within(Some(doing.into()), None)
    }

    /// Says what was being read, and since where.
    pub(super) fn since(self, doing: impl Into<String>, start: Place) -> Self {
        self.within(Some(doing.into()), Some(start))
    }

    fn within(self, context: Option<String>, since: Option<Place>) -> Self {
        match self {
            Self::Marked { problem, place, .. } => Self::Marked { context, since, problem, place },
            other => other,
        }
    }

    /// Where it is; `None` for a character, whose message has its number.
    pub(in crate::template) fn place(&self) -> Option<Place> {
        match self {
            Self::Marked { place, .. } | Self::Value { place, .. } | Self::Limit { place, .. } => {
                Some(*place)
            }
            Self::Character { .. } => None,
        }
    }

    /// Whether it is about YAML, so that another reader may have another view.
    pub(in crate::template) fn is_of_syntax(&self) -> bool {
        matches!(self, Self::Marked { .. } | Self::Character { .. })
    }

    /// The whole message, with the lines of the text that it is about.
    pub(in crate::template) fn message(&self, text: &str) -> String {
        match self {
            Self::Marked { context, since, problem, place } => {
                let mut lines: Vec<String> = context.iter().cloned().collect();
                lines.extend(since.filter(|since| since != place).map(|since| mark(text, since)));
                lines.push(problem.clone());
                lines.push(mark(text, *place));
                lines.join("\n")
            }
            Self::Character { code, position } => format!(
                "unacceptable character #x{code:04x}: special characters are not allowed\n  \
                 in \"<unicode string>\", position {position}"
            ),
            Self::Value { message, .. } => message.clone(),
            Self::Limit { message, place } => {
                format!("{message}, at line {}, column {}.", place.line, place.column)
            }
        }
    }
}

impl YamlError {
    /// The message without lines of the text.
    pub(super) fn in_one_line(&self) -> String {
        match self {
            Self::Marked { context: Some(context), since, problem, .. } => {
                let since = since.map(|place| format!(" since line {}", place.line));
                format!("{context}{}: {problem}", since.unwrap_or_default())
            }
            Self::Marked { context: None, problem, .. } => problem.clone(),
            Self::Character { code, .. } => format!("the character #x{code:04x} is in no YAML"),
            Self::Value { message, .. } | Self::Limit { message, .. } => message.clone(),
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(""))
    }
}

/// A place with its line and a pointer.
fn mark(text: &str, place: Place) -> String {
    let (snippet, pointer) = window(line_of(text, place.line), place.column as usize - 1);
    let pointer = " ".repeat(pointer);
    format!(
        "  in \"<unicode string>\", line {}, column {}:\n    {snippet}\n    {pointer}^",
        place.line, place.column
    )
}

/// A line by its number from 1, as YAML ends lines.
fn line_of(text: &str, number: u32) -> &str {
    let mut rest = text;
    for _ in 1..number {
        let Some(end) = rest.find(is_break) else { return "" };
        let width = if rest[end..].starts_with("\r\n") { 2 } else { width_of(&rest[end..]) };
        rest = &rest[end + width..];
    }
    rest.split(is_break).next().unwrap_or_default()
}

fn width_of(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Whether a character ends a line.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The part of a long line around a column, and where the column is in it.
fn window(line: &str, column: usize) -> (String, usize) {
    const REACH: usize = 37;
    const CUT: usize = 5;
    let chars: Vec<char> = line.chars().collect();
    let column = pointed(&chars, column);
    let (head, start) = match column >= REACH {
        true => (" ... ", column - REACH + CUT),
        false => ("", 0),
    };
    let (tail, end) = match chars.len() >= column + REACH {
        true => (" ... ", column + REACH - CUT),
        false => ("", chars.len()),
    };
    let middle: String = chars[start..end].iter().collect();
    (format!("{head}{middle}{tail}"), head.len() + column - start)
}

/// The number of the character in a column; byte order marks take none.
fn pointed(chars: &[char], column: usize) -> usize {
    let columns = chars.iter().enumerate().filter(|(_, c)| **c != '\u{feff}');
    columns.map(|(index, _)| index).nth(column).unwrap_or(chars.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_on_both_sides_of_the_pointer() {
        let line: String = ('a'..='z').cycle().take(100).collect();
        let error = YamlError::at(Place { line: 2, column: 51 }, "found something");
        assert_eq!(
            error.message(&format!("x\r\n{line}")),
            "found something\n  in \"<unicode string>\", line 2, column 51:\n     ... \
             stuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcd ... \n         \
             \x20                               ^"
        );
    }

    #[test]
    fn the_end_of_the_text_is_an_empty_line() {
        let error = YamlError::at(Place { line: 2, column: 1 }, "found the end")
            .since("while reading", Place { line: 1, column: 1 });
        assert_eq!(
            error.message("a\n"),
            "while reading\n  in \"<unicode string>\", line 1, column 1:\n    a\n    ^\n\
             found the end\n  in \"<unicode string>\", line 2, column 1:\n    \n    ^"
        );
    }
}
