//! `hearth checkpoint`: what the log has come to, to be taken away.

use std::process::ExitCode;

use super::data::{FileArguments, with_causes};
use super::{ended, print};

/// What the log has come to, signed
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print the newest signed checkpoint, to be kept elsewhere for `hearth verify --against`
    Print(FileArguments),
}

/// Prints it.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let What::Print(files) = &arguments.what;
    ended("checkpoint", newest(files).map(|text| print(&text)))
}

fn newest(files: &FileArguments) -> Result<String, String> {
    let log = files.files()?.log.open_read_only().map_err(|error| with_causes(&error))?;
    let text = log.checkpoint().map_err(|error| with_causes(&error))?;
    text.ok_or_else(|| {
        "the log was written by a version of Hearth that signed nothing; start the server once"
            .to_owned()
    })
}
