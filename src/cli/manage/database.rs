//! Where Heat has a database there is a log, which has formats and no revisions.

use crate::cli::data::{FileArguments, with_causes};
use crate::clock::SystemClock;
use crate::events::log::OpenError;

/// What is said instead of encrypting or decrypting.
#[derive(Debug, clap::Args)]
pub(super) struct UpdateParams {
    crypt_operation: CryptOperation,
    /// Taken and not looked at: the keys of old secrets are in the master key's file
    previous_encryption_key: Option<String>,
    /// Taken, and without effect
    #[arg(long)]
    verbose_update_params: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CryptOperation {
    Encrypt,
    Decrypt,
}

pub(super) fn version(files: &FileArguments) -> Result<(), String> {
    let format = files.files()?.log.format().map_err(|error| with_causes(&error))?;
    println!("{format}");
    Ok(())
}

/// Opening a log for writing brings it to the newest format; a server that works with it has done
/// so.
pub(super) fn sync(files: &FileArguments, version: Option<&str>) -> Result<(), String> {
    let files = files.named()?;
    let newest = files.log.newest_format();
    let is_newest = |text: &str| text.starts_with("head") || text == newest.to_string();
    if !version.is_none_or(is_newest) {
        return Err(format!(
            "a log is brought to the newest format alone, which is {newest}; docs/upgrades.md says \
             how one goes back"
        ));
    }
    let data = &files.data;
    data.prepare().map_err(|error| format!("{}: {error}", data.0.display()))?;
    match files.open_log(&SystemClock) {
        Ok((log, _lock)) => log.close(),
        Err(OpenError::InUse { .. } | OpenError::Held { .. }) => {}
        Err(error) => return Err(with_causes(&error)),
    }
    println!("the log has format {newest}");
    Ok(())
}

pub(super) fn update_params(given: &UpdateParams) -> Result<(), String> {
    match (given.crypt_operation, &given.previous_encryption_key) {
        (CryptOperation::Encrypt, None) => {
            println!("secrets are always sealed in the log: there is nothing to encrypt");
            Ok(())
        }
        (CryptOperation::Encrypt, Some(_)) => {
            Err("`hearth key rotate` seals all secrets under a new master key".to_owned())
        }
        (CryptOperation::Decrypt, _) => {
            Err("secrets are never in the log in the clear; `hearth backup` copies it with the \
                 keys that open it"
                .to_owned())
        }
    }
}
