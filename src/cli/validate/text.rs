//! Findings for people: each with its line, what is meant underlined.

use std::fmt::Write;

use super::super::columns::width;
use super::{count, help, word};
use crate::template::{Diagnosis, Documents, Finding, Severity, Span};

/// How a report looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) is_colored: bool,
}

/// The parts of a report that have colors, with their codes.
#[derive(Clone, Copy)]
enum Part {
    Error,
    Warning,
    Help,
    Frame,
    Message,
}

impl Style {
    fn paint(self, part: Part, text: &str) -> String {
        if !self.is_colored || text.is_empty() {
            return text.to_owned();
        }
        let code = match part {
            Part::Error => "1;31",
            Part::Warning => "1;33",
            Part::Help => "1;36",
            Part::Frame => "1;34",
            Part::Message => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// All findings, and how many there are.
pub(super) fn report(documents: &Documents, diagnosis: &Diagnosis, style: &Style) -> String {
    let mut out = String::new();
    for finding in &diagnosis.findings {
        out.push_str(&shown(finding, documents, *style));
        out.push('\n');
    }
    let name = &documents.template.0;
    let errors = count(diagnosis, Severity::Error);
    let warnings = count(diagnosis, Severity::Warning);
    let mut parts = Vec::new();
    match &diagnosis.definition {
        Some(definition) => {
            let resources = counted(definition.resources().len(), "resource");
            let outputs = counted(definition.outputs().len(), "output");
            parts.push(format!("valid, {resources}, {outputs}"));
        }
        None => parts.push(style.paint(Part::Error, &counted(errors, "error"))),
    }
    if warnings > 0 {
        parts.push(style.paint(Part::Warning, &counted(warnings, "warning")));
    }
    let _ = writeln!(out, "{name}: {}", parts.join(", "));
    out
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A finding with its line and a pointer under it.
fn shown(finding: &Finding, documents: &Documents, style: Style) -> String {
    let part = match finding.severity {
        Severity::Error => Part::Error,
        Severity::Warning => Part::Warning,
    };
    let head = format!("{}[{}]", word(finding.severity), finding.code);
    let mut lines = finding.message.lines();
    let message = style.paint(Part::Message, &format!(": {}", lines.next().unwrap_or_default()));
    let mut out = format!("{}{message}\n", style.paint(part, &head));
    for line in lines {
        let _ = writeln!(out, "  {line}");
    }
    let number = finding.span.map(|span| span.line.to_string()).unwrap_or_default();
    let margin = " ".repeat(number.len());
    let arrow = style.paint(Part::Frame, "-->");
    let place = finding.span.map(|span| format!(":{}:{}", span.line, span.column));
    let _ = writeln!(out, "{margin}{arrow} {}{}", finding.document, place.unwrap_or_default());
    let bar = style.paint(Part::Frame, &format!("{margin} |"));
    let mut help = help(finding);
    if let Some(span) = finding.span
        && let Some(source) = source_line(documents, finding, span)
    {
        let line = style.paint(Part::Frame, &format!("{number} |"));
        let pointer = pointer(source, span);
        let under = match help.take() {
            Some(help) => style.paint(part, &pointer.1) + " " + &style.paint(Part::Help, &help),
            None => style.paint(part, &pointer.1),
        };
        let _ = writeln!(out, "{bar}\n{line} {}\n{bar} {}{under}", shown_tabs(source), pointer.0);
    }
    let equals = style.paint(Part::Frame, &format!("{margin} ="));
    let at = (!finding.path.is_empty()).then(|| format!("at: {}", finding.path));
    let note = finding.note.as_ref().map(|note| format!("note: {note}"));
    let help = help.map(|help| format!("help: {help}"));
    for remark in [at, note, help].into_iter().flatten() {
        let _ = writeln!(out, "{equals} {remark}");
    }
    out
}

fn source_line<'d>(documents: &'d Documents, finding: &Finding, span: Span) -> Option<&'d str> {
    let mut all = std::iter::once(&documents.template).chain(&documents.environments);
    let (_, text) = all.find(|(name, _)| *name == finding.document)?;
    text.lines().nth(span.line as usize - 1)
}

/// The space before the pointer, and the pointer.
fn pointer(source: &str, span: Span) -> (String, String) {
    let before: String = source.chars().take(span.column as usize - 1).collect();
    let length = (span.end_column - span.column).max(1) as usize;
    (" ".repeat(width(&shown_tabs(&before))), "^".repeat(length))
}

/// Tabs have a width of their own on each terminal; here they are four.
fn shown_tabs(source: &str) -> String {
    source.replace('\t', "    ")
}
