//! `hearth verify`: proves the whole log, and that it continues one that was known before.

use std::path::PathBuf;
use std::process::ExitCode;

use super::data::{FileArguments, Files, with_causes};
use crate::events::log::{Audit, Held, audit};
use crate::events::signing::{PublicKey, SigningKey};
use crate::private_files;

/// Prove that nothing in the log was changed, moved, taken out or cut off
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// A checkpoint that was taken away: today's log must continue the one of then
    #[arg(long, value_name = "FILE")]
    against: Vec<PathBuf>,
    /// The public key, where the key that signs is not at hand
    #[arg(long, value_name = "KEY")]
    public_key: Option<PublicKey>,
}

/// Reads every row and says what it found.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let found = arguments
        .files
        .files()
        .and_then(|files| prove(&files, arguments.public_key, &arguments.against));
    match found {
        Ok(found) if found.problems.is_empty() => {
            tell(&found);
            ExitCode::SUCCESS
        }
        Ok(found) => {
            for problem in &found.problems {
                eprintln!("hearth verify: {problem}");
            }
            ExitCode::FAILURE
        }
        Err(reason) => {
            eprintln!("hearth verify: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Proves a log, and that it continues those of checkpoints that were taken away.
pub(super) fn prove(
    files: &Files,
    public_key: Option<PublicKey>,
    against: &[PathBuf],
) -> Result<Audit, String> {
    let key = match public_key {
        Some(key) => Some(key),
        None => {
            let key = SigningKey::load(&files.signing_key).map_err(|error| with_causes(&error))?;
            key.map(|key| key.public())
        }
    };
    let mut held = Vec::new();
    // A log that was only ever written without a key has none beside it either.
    if let Some(text) = beside(files)? {
        let name = "the checkpoint beside the log".to_owned();
        held.push(Held { name, text, was_away: false });
    }
    for path in against {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("could not read {}: {error}", path.display()))?;
        let name = format!("the checkpoint {}", path.display());
        held.push(Held { name, text, was_away: true });
    }
    audit(&files.data.log(), key, &held).map_err(|error| with_causes(&error))
}

fn beside(files: &Files) -> Result<Option<String>, String> {
    let text =
        private_files::read(&files.data.checkpoint()).map_err(|error| with_causes(&error))?;
    Ok(text.map(|text| text.to_string()))
}

fn tell(found: &Audit) {
    let end = &found.end;
    println!("{} events in {} streams: every chain holds", end.events, end.streams);
    println!("{} blobs and {} keys are what was kept", end.blobs, end.keys);
    match found.signed_by {
        Some(key) => println!("signed up to position {} with the key {key}", end.position),
        None => println!("not signed: a log that was made anew as a whole would pass as well"),
    }
    println!("checkpoints that it passes through: {}", found.checkpoints);
    println!("digest: {}", found.digest());
}
