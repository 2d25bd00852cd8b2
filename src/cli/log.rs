//! `hearth log`: a log moved from one place to another.

use std::process::ExitCode;

use super::log_place::LogPlace;
use super::{ended, print};
use crate::events::log::{Side, transfer};

/// The log as a whole
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Copy a log to a place where there is none, or bring an earlier copy up to date, and prove that
    /// both are the same
    Copy {
        /// Where it is: sqlite:PATH, mysql://USER@HOST:PORT/DATABASE?password_file=FILE or
        /// esdb://USER:PASSWORD@HOST:PORT
        from: String,
        /// Where it is to be
        to: String,
    },
}

/// Copies it.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let What::Copy { from, to } = &arguments.what;
    let copied = side(from).and_then(|from| Ok((from, side(to)?)));
    let copied = copied.and_then(|(from, to)| transfer(&from, &to));
    ended(
        "log copy",
        copied.map(|events| print(&format!("{events} events, and the copy is the log\n"))),
    )
}

fn side(text: &str) -> Result<Side, String> {
    Ok(match LogPlace::parse(text)? {
        LogPlace::File(path) => Side::File(path),
        LogPlace::Database(address) => Side::Database(*address),
        LogPlace::Events(address) => Side::Events(address),
    })
}
