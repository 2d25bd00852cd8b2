//! Shows a tree while it changes: drawn over itself on a terminal, line by line elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};

use chrono::{DateTime, Utc};

use super::tree::{Line, LineKind, Tree};

/// A taller tree is told line by line, since it would scroll away from under its own redrawing.
const DRAWN_LINES_MAX: usize = 45;

/// Where the tree is shown.
pub(super) struct Screen {
    stack: String,
    terminal: bool,
    drawn: usize,
}

impl Screen {
    /// Standard output, whatever it is.
    pub(super) fn of_stack(stack: String) -> Screen {
        Screen { stack, terminal: std::io::stdout().is_terminal(), drawn: 0 }
    }

    /// Tells of a change where the tree is not drawn.
    pub(super) fn tell(&self, tree: &Tree, line: &Line, now: DateTime<Utc>) {
        if self.draws(tree, now) {
            return;
        }
        let (_, since_start) = tree.head(now);
        let took = match (line.kind, line.secs) {
            (LineKind::Done | LineKind::Failed, Some(secs)) => format!("  ({secs:.1} s)"),
            _ => String::new(),
        };
        let note = line.note.as_ref().map(|note| format!("  {note}")).unwrap_or_default();
        say(&format!("{since_start:7.1} s  {:<24} {}{took}{note}\n", line.branch, line.state));
    }

    /// Draws the tree over what was drawn before.
    pub(super) fn draw(&mut self, tree: &Tree, now: DateTime<Utc>) {
        if !self.draws(tree, now) {
            return;
        }
        let lines = tree.lines(now);
        let mut text = String::new();
        if self.drawn > 0 {
            let _ = write!(text, "\x1b[{}A", self.drawn);
        }
        // Without wrapping a line stays one line, however narrow the terminal is.
        text.push_str("\r\x1b[J\x1b[?7l");
        let (state, secs) = tree.head(now);
        let _ = writeln!(text, "\x1b[1m{}\x1b[0m  {state}  {secs:.1} s", self.stack);
        let width = |of: fn(&Line) -> &str| {
            lines.iter().map(|line| of(line).chars().count()).max().unwrap_or(0)
        };
        let (branches, types) = (width(|line| &line.branch), width(|line| &line.type_name));
        for line in &lines {
            let _ = writeln!(text, "{}", colored(line, branches, types));
        }
        text.push_str("\x1b[?7h");
        self.drawn = lines.len() + 1;
        say(&text);
    }

    fn draws(&self, tree: &Tree, now: DateTime<Utc>) -> bool {
        self.terminal && tree.lines(now).len() < DRAWN_LINES_MAX
    }
}

fn colored(line: &Line, branches: usize, types: usize) -> String {
    let (color, mark) = match line.kind {
        LineKind::Waiting => ("2", "·"),
        LineKind::Working => ("33", "▸"),
        LineKind::Done => ("32", "✓"),
        LineKind::Failed => ("31", "✗"),
    };
    let secs = line.secs.map(|secs| format!("{secs:6.1} s")).unwrap_or_default();
    let note = line.note.as_ref().map(|note| format!("  {note}")).unwrap_or_default();
    format!(
        "{:<branches$}  \x1b[2m{:<types$}\x1b[0m  \x1b[{color}m{mark} {:<18}\x1b[0m {secs}{note}",
        line.branch, line.type_name, line.state
    )
}

/// Output that nobody reads any more (a closed pipe) is no reason to stop.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
