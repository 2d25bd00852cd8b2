//! A compiled regular expression, whose matching counts as steps.

use std::ops::Range;

use super::machine::Machine;
use crate::template::error::{Outcome, TemplateError};
use crate::template::pattern::{self, Flags, Match, Unanswered};
use crate::template::python;

/// A compiled expression.
pub(super) struct Pattern {
    text: String,
    flags: Flags,
    pub(super) compiled: pattern::Pattern,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.flags == other.flags
    }
}

/// Python's class of errors about patterns.
pub(super) fn error(message: impl Into<String>) -> TemplateError {
    TemplateError::new("error", message)
}

impl Pattern {
    /// Compiles a text.
    pub(super) fn new(machine: &mut Machine, text: &str, flags: Flags) -> Outcome<Self> {
        machine.step(pattern::steps_to_compile(text))?;
        let compiled = pattern::searching(text, flags).map_err(|it| error(it.message))?;
        Ok(Self { text: text.to_owned(), flags, compiled })
    }

    /// As Python's `repr` shows it.
    pub(super) fn repr(&self) -> String {
        let flags = [
            (self.flags.ignore_case, "re.IGNORECASE"),
            (self.flags.multi_line, "re.MULTILINE"),
            (self.flags.dot_all, "re.DOTALL"),
        ];
        let set: Vec<&str> = flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
        let text = python::quoted(&self.text);
        if set.is_empty() {
            return format!("re.compile({text})");
        }
        format!("re.compile({text}, {})", set.join("|"))
    }

    /// The first match from a place on.
    pub(super) fn find(
        &self,
        machine: &mut Machine,
        string: &str,
        from: usize,
    ) -> Outcome<Option<Match>> {
        let found = self.compiled.find(string, from, |steps| machine.step(steps));
        found.map_err(|unanswered| match unanswered {
            Unanswered::Refused(failure) => failure,
            Unanswered::GaveUp(why) => error(format!("a regular expression gave up: {why}")),
        })
    }

    /// The match after another one. An empty one is not found twice.
    pub(super) fn find_after(
        &self,
        machine: &mut Machine,
        string: &str,
        before: &Range<usize>,
    ) -> Outcome<Option<Match>> {
        let mut from = before.end;
        if before.is_empty() {
            match string[from..].chars().next() {
                Some(c) => from += c.len_utf8(),
                None => return Ok(None),
            }
        }
        self.find(machine, string, from)
    }

    /// At most so many matches; 0 is all.
    pub(super) fn all(
        &self,
        machine: &mut Machine,
        string: &str,
        count: i128,
    ) -> Outcome<Vec<Match>> {
        let mut matches: Vec<Match> = Vec::new();
        let mut next = self.find(machine, string, 0)?;
        while let Some(found) = next {
            let place = whole(&found);
            matches.push(found);
            if count > 0 && matches.len() as i128 >= count {
                break;
            }
            next = self.find_after(machine, string, &place)?;
        }
        Ok(matches)
    }
}

/// Where the whole of a match stands.
pub(super) fn whole(found: &Match) -> Range<usize> {
    found.first().cloned().flatten().unwrap_or(0..0)
}
