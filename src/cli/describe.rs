//! `hearth completions` and `hearth man`: what shells and readers of manuals are told of the
//! command line, by its own description.

use std::path::PathBuf;
use std::process::ExitCode;

use clap_complete::Shell;

use super::{command, print};

/// Print the completions of the command line for a shell
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Write the manual pages, one for each command
#[derive(Debug, clap::Args)]
pub(super) struct ManArguments {
    /// Where they are written; made where it is not there
    directory: PathBuf,
}

/// Prints what the shell reads.
pub(super) fn completions(arguments: &CompletionsArguments) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "hearth", &mut script);
    print(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}

/// Writes the pages.
pub(super) fn man(arguments: &ManArguments) -> ExitCode {
    let directory = &arguments.directory;
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command(), directory));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hearth man: {}: {error}", directory.display());
            ExitCode::FAILURE
        }
    }
}
