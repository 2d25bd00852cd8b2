//! `hearth key`: the master key and the key that signs the log.

use std::process::ExitCode;

use super::admin::{self, Answer, Order};
use super::data::{FileArguments, with_causes};
use super::ended;
use crate::events::master_key::KeyRing;
use crate::events::signing::SigningKey;

/// The master key and the key that signs the log
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print the master key's id and the public half of the signing key
    Show(FileArguments),
    /// Seal the keys of all stacks under a new master key, also while the server serves
    Rotate(FileArguments),
}

/// Does what is asked.
pub(super) async fn run(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.what {
        What::Show(files) => show(files),
        What::Rotate(files) => rotate(files).await,
    };
    ended("key", done)
}

fn show(files: &FileArguments) -> Result<(), String> {
    let files = files.files()?;
    match KeyRing::load(&files.master_key).map_err(|error| with_causes(&error))? {
        None => println!("there is no master key at {}", files.master_key.display()),
        Some(ring) => {
            for (place, id) in ring.ids().iter().enumerate() {
                let since = if place == 0 { "master key" } else { "being replaced" };
                println!("{since:<15} {id}");
            }
        }
    }
    match SigningKey::load(&files.signing_key).map_err(|error| with_causes(&error))? {
        None => println!("there is no signing key at {}", files.signing_key.display()),
        Some(key) => println!("{:<15} {}", "public key", key.public()),
    }
    Ok(())
}

async fn rotate(files: &FileArguments) -> Result<(), String> {
    let files = files.files()?;
    let answer = admin::order(&files, Order::RotateMasterKey).await?;
    let Answer::Rotated { keys } = answer else {
        return Err(format!("the server answered something else: {answer:?}"));
    };
    let ring = KeyRing::load(&files.master_key).map_err(|error| with_causes(&error))?;
    let id = ring.and_then(|ring| ring.ids().first().copied());
    let id = id.map_or(String::new(), |id| format!(" under the master key {id}"));
    println!("{keys} keys were sealed anew{id}");
    Ok(())
}
