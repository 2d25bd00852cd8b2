//! `hearth backup` and `hearth restore`: a whole copy of what cannot be lost, and back.

use std::path::PathBuf;
use std::process::ExitCode;

use super::admin::{self, Answer, Order};
use super::data::{DataDir, FileArguments, Files, with_causes};
use super::{ended, verify};
use crate::events::backup::{self, Copied};

/// Copy the log and the keys into a directory, also while the server serves
#[derive(Debug, clap::Args)]
pub(super) struct BackupArgs {
    /// The directory to make: it must be empty or missing
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Leave the keys out, where they are kept elsewhere
    #[arg(long)]
    without_keys: bool,
    #[command(flatten)]
    files: FileArguments,
}

/// Make a data directory of a backup
#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// The directory that `hearth backup` made
    #[arg(value_name = "DIR")]
    from: PathBuf,
    #[command(flatten)]
    files: FileArguments,
}

/// Makes a backup and says how far it reaches.
pub(super) async fn run(arguments: &BackupArgs) -> ExitCode {
    ended("backup", back_up(arguments).await)
}

async fn back_up(arguments: &BackupArgs) -> Result<(), String> {
    // A server has a working directory of its own.
    let to = std::path::absolute(&arguments.to)
        .map_err(|error| format!("could not use {}: {error}", arguments.to.display()))?;
    let with_keys = !arguments.without_keys;
    let order = Order::Backup { to: to.clone(), with_keys };
    let answer = admin::order(&arguments.files.files()?, order).await?;
    let Answer::BackedUp { position, master_key, signing_key } = answer else {
        return Err(format!("the server answered something else: {answer:?}"));
    };
    println!("backed up to position {position} in {}", to.display());
    for (is_there, name) in [(master_key, "master key"), (signing_key, "signing key")] {
        if !is_there {
            println!("without the {name}: keep it elsewhere");
        }
    }
    Ok(())
}

/// Restores a backup, and says how far it reaches and what is wrong with it.
pub(super) fn restore(arguments: &RestoreArgs) -> ExitCode {
    match put_back(arguments) {
        Ok(problems) => {
            for problem in &problems {
                eprintln!("hearth restore: {problem}");
            }
            if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(reason) => {
            eprintln!("hearth restore: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// What `hearth verify` says of the backup; it is restored all the same.
fn put_back(arguments: &RestoreArgs) -> Result<Vec<String>, String> {
    let to = arguments.files.named()?;
    if let Some(reason) = to.log.backed_up_otherwise() {
        return Err(reason.to_owned());
    }
    let mut from = Files::in_directory(DataDir(arguments.from.clone()));
    if !from.data.log().exists() {
        return Err(format!("there is no whole backup at {}", arguments.from.display()));
    }
    let copied = backup::copy(&from.parts(), &to.parts(), true);
    let Copied { position, master_key, .. } = copied.map_err(|error| with_causes(&error))?;
    println!("restored up to position {position} in {}", to.data.0.display());
    if !master_key && !to.master_key.exists() {
        println!("without the master key, which belongs at {}", to.master_key.display());
    }
    // Of the backup itself: the copy does not know what was beside it.
    if !from.signing_key.exists() {
        from.signing_key = to.signing_key;
    }
    Ok(verify::prove(&from, None, &[])?.problems)
}
