//! What a terminal's user asks of all programs.

/// Whether output is to have no colors: `NO_COLOR` is set to anything (no-color.org).
pub fn colors_refused() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether the terminal can do no more than print: `TERM` is `dumb` or not set.
pub fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_none_or(|value| value.is_empty() || value == "dumb")
}
