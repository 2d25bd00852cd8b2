//! Standard output: what a command prints, and whether all of it arrived.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

/// Why something printed did not arrive; the first time counts.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Prints. What cannot be written is noted, and `finish` makes a failure of it: until then the
/// command goes on, because it may have begun what it has to end.
pub(super) fn print(text: &str) {
    if LOST.get().is_none() {
        note(io::stdout().write_all(text.as_bytes()));
    }
}

/// Standard output for who writes and flushes himself.
pub(super) struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        noted(io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        noted(io::stdout().flush())
    }
}

/// Whether something printed did not arrive, so that more is of no use.
pub(super) fn is_lost() -> bool {
    LOST.get().is_some()
}

/// The exit code of a command that came to `code`: a failure if not all that it printed arrived.
/// A reader that went away, as `head` does, knows that and is told nothing.
pub(super) fn finish(code: ExitCode) -> ExitCode {
    note(io::stdout().flush());
    match LOST.get() {
        None => code,
        Some(error) => {
            if error.kind() != ErrorKind::BrokenPipe {
                eprintln!("hearth: the output could not be written: {error}");
            }
            if code == ExitCode::SUCCESS { ExitCode::FAILURE } else { code }
        }
    }
}

fn noted<T>(written: io::Result<T>) -> io::Result<T> {
    if let Err(error) = &written {
        let code = error.raw_os_error();
        note(Err(code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)));
    }
    written
}

fn note(written: io::Result<()>) {
    match written {
        // Whoever writes tries again.
        Err(error) if error.kind() == ErrorKind::Interrupted => {}
        Err(error) => _ = LOST.set(error),
        Ok(()) => {}
    }
}
