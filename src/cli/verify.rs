//! `hearth verify`: proves the whole log, and that it continues one that was known before.

use std::path::PathBuf;
use std::process::ExitCode;

use futures::executor::block_on;

use super::data::{FileArguments, Files, with_causes};
use super::log_place::LogPlace;
use super::{ended, print};
use crate::events::Position;
use crate::events::log::chain::Verifier;
use crate::events::log::{Address, Audit, Filter, Held, audit, copy_out};
use crate::events::signing::{PublicKey, SigningKey};
use crate::private_files;

/// How many events are read at a time, where they are read as such.
const PAGE: usize = 1_000;

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
    let files = arguments.files.files();
    if let Ok(files) = &files
        && matches!(files.log, LogPlace::Events(_))
    {
        let proved = match arguments.against.is_empty() && arguments.public_key.is_none() {
            true => chains(files),
            false => Err(format!("{} has no checkpoints to hold it to", files.log)),
        };
        return ended("verify", proved.map(|text| print(&text)));
    }
    let found = files.and_then(|files| prove(&files, arguments.public_key, &arguments.against));
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
    match &files.log {
        LogPlace::File(path) => audit(path, key, &held).map_err(|error| with_causes(&error)),
        LogPlace::Database(address) => audit_copy(address, files, key, &held),
        LogPlace::Events(_) => Err("a log on EventStoreDB has no end that is signed".to_owned()),
    }
}

/// Proves a log in a database: all of its rows, as they stand at one moment, in a file that is gone
/// with this command.
fn audit_copy(
    address: &Address,
    files: &Files,
    key: Option<PublicKey>,
    held: &[Held],
) -> Result<Audit, String> {
    let path = files.data.0.join("verify.db");
    let remove = || {
        for beside in ["", "-wal", "-shm"] {
            // It may not be there.
            let _ = std::fs::remove_file(private_files::beside(&path, beside));
        }
    };
    remove();
    let found = copy_out(address, &path)
        .and_then(|()| audit(&path, key, held).map_err(|error| with_causes(&error)));
    remove();
    found
}

/// Proves the chains of a log that has no checkpoint as a whole; what there is to tell.
fn chains(files: &Files) -> Result<String, String> {
    let log = files.log.open_read_only().map_err(|error| with_causes(&error))?;
    let mut verifier = Verifier::default();
    let mut after = Position(0);
    loop {
        let page = block_on(log.read_all(after, &Filter::default(), PAGE));
        let page = page.map_err(|error| with_causes(&error))?;
        let Some(last) = page.last() else { break };
        after = last.position;
        for event in &page {
            verifier.check(event).map_err(|broken| with_causes(&broken))?;
        }
    }
    Ok(format!(
        "{} events in {} streams: every chain holds\n\
         not signed as a whole: that no stream is missing is not proved\n",
        verifier.events(),
        verifier.streams()
    ))
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
