//! What is found in a document: what is wrong or doubtful there, where, and what may be meant.

use super::span;
use crate::template::error::TemplateError;
use crate::template::place::Place;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Heat would refuse the template.
    Error,
    /// Heat takes it, but its author may not have meant it.
    Warning,
}

/// A part of a line. Columns count characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub line: u32,
    pub column: u32,
    /// The column after the last.
    pub end_column: u32,
}

/// Something found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    /// Heat's exception class of an error, the name of the rule of a warning.
    pub code: String,
    pub message: String,
    /// Where in the document, name by name (`resources.a.properties.b`); may be empty.
    pub path: String,
    /// The name of the document.
    pub document: String,
    /// Where in its text, if that is known.
    pub span: Option<Span>,
    /// A name that is near the wrong one.
    pub suggestion: Option<String>,
    /// A sentence on what the message leaves out.
    pub note: Option<String>,
}

impl Finding {
    /// An error of the language. Its headline says nothing that the path does not.
    pub(super) fn error(document: &str, error: &TemplateError) -> Self {
        Self {
            severity: Severity::Error,
            code: error.class.to_string(),
            message: error.message.clone(),
            path: error.joined_path(),
            document: document.to_owned(),
            span: None,
            suggestion: None,
            note: None,
        }
    }

    /// At a place in the document's text.
    pub(super) fn at(mut self, place: Option<Place>, text: &str) -> Self {
        self.span = place.filter(|place| place.line > 0).and_then(|place| {
            // What is missed at the end of a text is missed after its last line.
            let last = text.lines().count();
            let (line, column) = match place.line as usize > last {
                true => (last, text.lines().last()?.chars().count() + 1),
                false => (place.line as usize, place.column as usize),
            };
            let (line, column) = (u32::try_from(line).ok()?, u32::try_from(column).ok()?);
            let (column, end_column) = span::columns(text, line, column)?;
            Some(Span { line, column, end_column })
        });
        self
    }

    /// Without the lines of the text that PyYAML's messages quote: they are shown anyway.
    pub(super) fn with_yaml_lines_left_out(mut self) -> Self {
        let mut words = Vec::new();
        let mut began = None;
        for line in self.message.lines() {
            match line.strip_prefix("  in \"<unicode string>\", ") {
                Some(place) if words.len() == 1 => began = Some(place.trim_end_matches(':')),
                Some(_) => {}
                None if line.starts_with(' ') => {}
                None => words.push(line),
            }
        }
        if words.len() > 1 {
            self.note = began.map(|place| format!("this began at {place}"));
        }
        self.message = words.join(": ");
        self
    }
}
