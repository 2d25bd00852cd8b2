//! `hearth types`: resource types of an operator's own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::data::with_causes;
use super::print;
use crate::model::JsonMap;
use crate::resource_types::recorded::Recording;
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
    /// Print what Hearth asks of the services in the lives of resources that were recorded elsewhere
    Replay {
        /// A file of recorded lives: what was given, asked and answered, by types
        #[arg(value_name = "RECORDED.json")]
        recorded: PathBuf,
        /// These types alone
        #[arg(value_name = "TYPE")]
        types: Vec<String>,
    },
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.what {
        What::Check { paths } => check(paths),
        What::Replay { recorded, types } => match replay(recorded, types) {
            Ok(played) => {
                print(&format!("{played:#}\n"));
                ExitCode::SUCCESS
            }
            Err(reason) => {
                eprintln!("hearth types: {reason}");
                ExitCode::from(2)
            }
        },
    }
}

/// The requests of the types that Hearth makes, in the shape of the file.
fn replay(path: &Path, types: &[String]) -> Result<Value, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let recording = Recording::read(&text)
        .map_err(|error| format!("{} is no recording: {error}", path.display()))?;
    let registry = Registry::built_in().map_err(|error| with_causes(&error))?;
    let mut played = JsonMap::new();
    for (name, _) in recording.types() {
        if !types.is_empty() && !types.contains(name) {
            continue;
        }
        if let Some(life) = recording.play(&registry, name) {
            played.insert(name.clone(), json!(life));
        }
    }
    Ok(json!({ "types": played }))
}

/// Prints what is wrong: 0 where nothing is, 1 where something is, 2 where files cannot be read.
fn check(paths: &[PathBuf]) -> ExitCode {
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
