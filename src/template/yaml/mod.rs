//! Reading YAML as PyYAML's safe loader reads it: YAML 1.1 scalars, merge keys, the last of
//! duplicate keys wins, dates stay text as Heat wants them. Everything is bounded: bytes by the
//! caller, depth and what aliases expand to here.

mod compose;
mod construct;
pub(crate) mod emit;
mod resolver;
mod scalars;
mod scanner;

use std::fmt;

use super::node::{Node, Place};

/// How deep collections may nest. Stored templates pass a JSON reader that stops at 128.
pub(super) const DEPTH_MAX: usize = 100;

/// How many nodes aliases may add to a document.
pub(super) const ALIAS_NODES_MAX: usize = 100_000;

/// How many bytes of text aliases may add to a document.
pub(super) const ALIAS_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Reads the one document of a text; an empty text is `None`.
pub(super) fn read(text: &str) -> Result<Option<Node>, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let composed = match compose::compose(text) {
        // PyYAML's own scanner, which Heat tries next, joins two escapes to one character.
        Err(error) if error.problem == INVALID_ESCAPE => match joined_surrogates(text) {
            Some(joined) => compose::compose(&joined)?,
            None => return Err(error),
        },
        other => other?,
    };
    let Some(graph) = composed else { return Ok(None) };
    construct::construct(graph).map(Some)
}

const INVALID_ESCAPE: &str = "found invalid Unicode character escape code";

/// The text with escaped surrogate pairs (`\ud83d\ude00`) escaped as what they mean
/// (`\U0001f600`); `None` if it has none.
fn joined_surrogates(text: &str) -> Option<String> {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    while let Some(at) = rest.find("\\u") {
        let (before, escape) = rest.split_at(at);
        joined.push_str(before);
        let pair = unit(escape).zip(escape.get(6..).and_then(unit));
        match pair {
            Some((high @ 0xd800..=0xdbff, low @ 0xdc00..=0xdfff)) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                joined.push_str(&format!("\\U{code:08x}"));
                rest = &escape[12..];
            }
            _ => {
                joined.push_str("\\u");
                rest = &escape[2..];
            }
        }
    }
    joined.push_str(rest);
    (joined != text).then_some(joined)
}

/// Why a text is no YAML, as PyYAML words it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    pub(super) context: String,
    pub(super) context_place: Option<Place>,
    pub(super) problem: String,
    pub(super) place: Option<Place>,
}

impl YamlError {
    fn plain(problem: &str) -> Self {
        Self {
            context: String::new(),
            context_place: None,
            problem: problem.to_owned(),
            place: None,
        }
    }

    fn at(place: Place, problem: impl Into<String>) -> Self {
        Self {
            context: String::new(),
            context_place: None,
            problem: problem.into(),
            place: Some(place),
        }
    }

    fn during(mut self, context: &str, place: Place) -> Self {
        context.clone_into(&mut self.context);
        self.context_place = Some(place);
        self
    }

    /// The whole message, with the lines that it is about.
    pub(super) fn message(&self, text: &str) -> String {
        let mut lines = Vec::new();
        if !self.context.is_empty() {
            lines.push(self.context.clone());
            let same_line = self.place.map(|p| p.line) == self.context_place.map(|p| p.line);
            if let Some(place) = self.context_place.filter(|_| !same_line || self.place.is_none()) {
                lines.push(mark(text, place));
            }
        }
        if !self.problem.is_empty() {
            lines.push(self.problem.clone());
        }
        lines.extend(self.place.map(|place| mark(text, place)));
        lines.join("\n")
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(""))
    }
}

/// A place with its line and a pointer, as PyYAML prints it.
fn mark(text: &str, place: Place) -> String {
    let head = format!("  in \"<unicode string>\", line {}, column {}:", place.line, place.column);
    let Some(line) = text.lines().nth(place.line as usize - 1) else { return head };
    let (snippet, pointer) = window(line, place.column as usize - 1);
    format!("{head}\n    {snippet}\n    {}^", " ".repeat(pointer))
}

/// The part of a long line around a column, and where the column is in it.
fn window(line: &str, column: usize) -> (String, usize) {
    const HALF: usize = 36;
    let chars: Vec<char> = line.chars().collect();
    let (mut start, mut end) = (0, chars.len());
    let (mut head, mut tail) = ("", "");
    if column > HALF {
        (head, start) = (" ... ", column - HALF + 5);
    }
    if end > column + HALF {
        (tail, end) = (" ... ", column + HALF - 5);
    }
    start = start.min(chars.len());
    let middle: String = chars[start..end.max(start)].iter().collect();
    (format!("{head}{middle}{tail}"), (head.len() + column).saturating_sub(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::python;

    fn check(text: &str, expected: &str) {
        let value = read(text).unwrap().unwrap().to_datum();
        assert_eq!(python::repr(&value), expected, "{text}");
    }

    fn refused(text: &str, problem: &str) {
        let error = read(text).unwrap_err();
        assert!(error.problem.contains(problem), "{text}: {error:?}");
    }

    #[test]
    fn plain_scalars_are_those_of_yaml_1_1() {
        check(
            "[yes, No, on, y, ~, null, '', Null]",
            "[True, False, True, 'y', None, None, '', None]",
        );
        check("[1:30, 0777, 1_000, 0x1F, 0b11, -5, +5]", "[90, 511, 1000, 31, 3, -5, 5]");
        check(
            "[08, 0o17, 1e3, 1.e3, 5e-324, 1:60]",
            "['08', '0o17', '1e3', '1.e3', '5e-324', '1:60']",
        );
        check(
            "[1.0e+3, 190:20:30.15, .5, 1., .inf, -.INF]",
            "[1000.0, 685230.15, 0.5, 1.0, inf, -inf]",
        );
        check(
            "[2013-05-23, 2001-12-14t21:59:43.10-05:00]",
            "['2013-05-23', '2001-12-14t21:59:43.10-05:00']",
        );
        check("['1', \"yes\", !!str 1, !!int '7', ! 5]", "['1', 'yes', '1', 7, 5]");
    }

    #[test]
    fn merge_keys_and_duplicates_are_pythons() {
        check("{a: 1, b: 2, a: 3}", "{'a': 3, 'b': 2}");
        check(
            "x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}",
            "{'x': {'a': 1, 'b': 2}, 'y': {'a': 1, 'b': 3}}",
        );
        check("y: {<<: [{a: 1}, {a: 2, c: 3}]}", "{'y': {'a': 1, 'c': 3}}");
        check("{'<<': 1}", "{'<<': 1}");
        check("{1: a, yes: b, 1.0: c}", "{'1': 'c'}");
        check("{1: a, '1': b}", "{'1': 'b'}");
        check("{~: a, true: b, 1.5: c}", "{'null': 'a', 'true': 'b', '1.5': 'c'}");
    }

    #[test]
    fn rarer_tags_become_what_the_safe_loader_and_json_make_of_them() {
        check("!!set {a, b}", "['a', 'b']");
        check("!!omap [a: 1, b: 2]", "[['a', 1], ['b', 2]]");
        check("!!pairs [a: 1, a: 2]", "[['a', 1], ['a', 2]]");
        check("!!binary aGVsbG8=", "'hello'");
        check("\"\\ud83d\\ude00 \\u00e9\"", "'😀 é'");
    }

    #[test]
    fn what_pyyaml_refuses_is_refused() {
        refused("a: =", "could not determine a constructor for the tag 'tag:yaml.org,2002:value'");
        refused("a: <<", "could not determine a constructor for the tag 'tag:yaml.org,2002:merge'");
        refused("!foo a", "could not determine a constructor for the tag '!foo'");
        refused("[a]: b\n", "found unhashable key");
        refused("a: *b", "found undefined alias 'b'");
        refused("a\n---\nb", "but found another document");
        refused("&a [*a]", "recursive");
        refused("a: [", "did not find expected node content");
    }

    #[test]
    fn depth_and_aliases_are_bounded() {
        refused(&"[".repeat(200), "nested deeper");
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        for level in 1..30 {
            bomb += &format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1);
        }
        refused(&bomb, "aliases");
    }

    #[test]
    fn nodes_know_where_they_stand() {
        let node = read("a:\n  bc: [1, two]\n").unwrap().unwrap();
        let list = node.get("a").and_then(|a| a.get("bc")).unwrap();
        assert_eq!(list.key_place, Place { line: 2, column: 3 });
        assert_eq!(list.as_list().unwrap()[1].place, Place { line: 2, column: 11 });
    }
}
