//! `hearth types`: resource types of an operator's own.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::data::with_causes;
use super::print;
use crate::resource_types::{Registry, type_files};

/// Look over resource types of your own
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say the line and column of every mistake in type files
    Check {
        /// Type files, and directories of them
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

/// Prints what is wrong: 0 where nothing is, 1 where something is, 2 where files cannot be read.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let What::Check { paths } = &arguments.what;
    let checked = Registry::built_in().and_then(|registry| type_files::check(paths, &registry));
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => {
            eprintln!("hearth types: {}", with_causes(&error));
            return ExitCode::from(2);
        }
    };
    let mut count = 0;
    for file in &checked {
        for mistake in &file.mistakes {
            print(&format!("{}:{mistake}\n", file.path.display()));
            count += 1;
        }
    }
    let files = checked.len();
    print(&format!("{files} file{}, {count} mistake{}\n", plural(files), plural(count)));
    if count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
