//! A terminal on which a picture changes in place, on a page of its own, so that nothing of it is
//! left among what was there before. Only lines that changed are written.

use std::io::{IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::sync::mpsc;

use super::draw::Line;
use crate::cli::output::Output;
use crate::config::{colors_refused, is_dumb_terminal};

/// A page of its own, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// How many columns and lines the terminal has; `None` where standard output is none.
pub(in crate::cli) fn size() -> Option<(usize, usize)> {
    let out = std::io::stdout();
    if !out.is_terminal() || is_dumb_terminal() {
        return None;
    }
    let size = tcgetwinsize(&out).ok()?;
    // A terminal that does not know is taken for a usual one.
    let or = |given: u16, usual: usize| if given == 0 { usual } else { usize::from(given) };
    Some((or(size.ws_col, 80), or(size.ws_row, 24)))
}

/// How many columns text may take; `None` where nothing is to be cut.
pub(in crate::cli) fn columns() -> Option<usize> {
    size().map(|(columns, _)| columns)
}

/// Whether what is printed has colors.
pub(in crate::cli) fn is_colored() -> bool {
    size().is_some() && !colors_refused()
}

/// The terminal while a picture is on it.
pub(super) struct Screen {
    /// What each line shows, with its colors.
    shown: Vec<String>,
    size: (usize, usize),
    is_colored: bool,
    single_keys: Option<Keys>,
}

/// Standard input of a terminal, whose keys come one by one until this is dropped.
pub(in crate::cli) struct Keys {
    /// How the terminal read them before.
    before: Termios,
}

impl Keys {
    /// Takes the terminal's keys, where it shows what is printed as well.
    pub(in crate::cli) fn take() -> Option<Keys> {
        size()?;
        read_single_keys().map(|before| Keys { before })
    }

    /// Waits for a key; `None` once there are no more.
    pub(in crate::cli) fn next(&self) -> Option<u8> {
        let mut bytes = [0; 64];
        let read = rustix::io::read(std::io::stdin(), &mut bytes).ok()?;
        bytes.first().copied().filter(|_| read > 0)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

impl Screen {
    /// Takes the terminal, if there is one.
    pub(super) fn take() -> Option<Screen> {
        let size = size()?;
        say(ENTER);
        let single_keys = Keys::take();
        Some(Screen { shown: Vec::new(), size, is_colored: !colors_refused(), single_keys })
    }

    /// The size now. Where it has changed, everything is drawn anew.
    pub(super) fn size(&mut self) -> (usize, usize) {
        if let Some(size) = size()
            && size != self.size
        {
            self.size = size;
            self.shown.clear();
            say("\x1b[2J");
        }
        self.size
    }

    /// The keys that are pressed, where the terminal gives them one by one.
    pub(super) fn keys(&self) -> Option<mpsc::UnboundedReceiver<Key>> {
        self.single_keys.as_ref().map(|_| keys())
    }

    /// Shows the lines in place of the former ones.
    pub(super) fn show(&mut self, lines: &[Line]) {
        let paint = |line: &Line| if self.is_colored { line.painted() } else { line.plain() };
        let lines: Vec<String> = lines.iter().map(paint).collect();
        let text = difference(&self.shown, &lines);
        if !text.is_empty() {
            say(&text);
        }
        self.shown = lines;
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.single_keys.take();
        say(LEAVE);
    }
}

/// What is to be written where one picture takes the place of another.
pub(super) fn difference(before: &[String], after: &[String]) -> String {
    let mut text = String::new();
    for at in 0..before.len().max(after.len()) {
        let (old, new) = (before.get(at), after.get(at).map(String::as_str));
        if old.map(String::as_str) != new {
            text.push_str(&format!("\x1b[{};1H{}\x1b[K", at + 1, new.unwrap_or_default()));
        }
    }
    text
}

/// Keys come one by one and are not shown; Ctrl-C stays a signal.
fn read_single_keys() -> Option<Termios> {
    let before = tcgetattr(std::io::stdin()).ok()?;
    let mut single = before.clone();
    single.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    tcsetattr(std::io::stdin(), OptionalActions::Now, &single).ok()?;
    Some(before)
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    /// To what is at work.
    Follow,
    Leave,
}

/// The keys that are pressed, for as long as the process lasts.
fn keys() -> mpsc::UnboundedReceiver<Key> {
    let (sender, keys) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while let Ok(read @ 1..) = rustix::io::read(std::io::stdin(), &mut bytes) {
            if key(&bytes[..read]).is_some_and(|key| sender.send(key).is_err()) {
                return;
            }
        }
    });
    keys
}

fn key(bytes: &[u8]) -> Option<Key> {
    Some(match bytes {
        b"k" | b"\x1b[A" | b"\x1bOA" => Key::Up,
        b"j" | b"\x1b[B" | b"\x1bOB" => Key::Down,
        b"b" | b"\x1b[5~" => Key::PageUp,
        b" " | b"\x1b[6~" => Key::PageDown,
        b"g" | b"\x1b[H" | b"\x1b[1~" => Key::First,
        b"G" | b"\x1b[F" | b"\x1b[4~" => Key::Last,
        b"f" => Key::Follow,
        b"q" => Key::Leave,
        _ => return None,
    })
}

/// Output that nobody reads any more is no reason to stop; the command's exit code tells of it.
pub(super) fn say(text: &str) {
    let _ = Output.write_all(text.as_bytes()).and_then(|()| Output.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_changed_are_written() {
        let lines = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let before = lines(&["web", "a  1s", "b"]);
        assert_eq!(difference(&before, &before), "");
        assert_eq!(difference(&before, &lines(&["web", "a  2s", "b"])), "\x1b[2;1Ha  2s\x1b[K");
        assert_eq!(difference(&before, &lines(&["web", "a  1s"])), "\x1b[3;1H\x1b[K");
    }

    #[test]
    fn keys_are_known_by_their_letters_and_their_sequences() {
        assert_eq!(key(b"\x1b[A"), Some(Key::Up));
        assert_eq!(key(b"q"), Some(Key::Leave));
        assert_eq!(key(b"x"), None);
    }
}
