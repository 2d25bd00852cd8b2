//! What is proved of a log whatever keeps it: with what its end is signed, and whether the end that
//! is found is the one that was signed last.

use std::path::{Path, PathBuf};

use super::checkpoint::{Checkpoint, ReadCheckpoint};
use crate::events::signing::SigningKey;
use crate::private_files;

/// How many events lie between checkpoints that are kept in the log.
pub(super) const KEPT_EVERY_EVENTS: u64 = 10_000;

/// With what a log is signed, and where its checkpoint lies beside it.
pub struct Signing {
    pub key: SigningKey,
    /// A copy of the newest checkpoint outside the log's own files: a log that was cut does not
    /// reach it.
    pub beside: PathBuf,
}

/// What the end of a log that is opened turns out to be.
pub(super) enum Found {
    /// Nothing was ever proved of this log.
    None,
    End(Checkpoint),
    Broken(String),
}

/// Compares the checkpoint at the end with the place where the log ends (its last position and its
/// last note), with the key that signs it, and with the checkpoint that is kept beside it.
pub(super) fn judge(
    head: Option<&str>,
    is: (u64, u64),
    signer: Option<&SigningKey>,
    beside: Option<&ReadCheckpoint>,
) -> Found {
    let own = signer.map(SigningKey::public);
    let beside = beside.filter(|it| own.is_some() && it.signed_by == own);
    let Some(text) = head else {
        return match beside {
            Some(_) => Found::Broken("its last checkpoint is gone".to_owned()),
            None => Found::None,
        };
    };
    let head = match ReadCheckpoint::parse(text) {
        Ok(head) => head,
        Err(error) => {
            return Found::Broken(format!("the checkpoint at its end is damaged: {error}"));
        }
    };
    match (own, head.signed_by) {
        (Some(own), Some(found)) if own != found => {
            return Found::Broken(format!("it was signed with the key {found}, not with {own}"));
        }
        (Some(_), None) if beside.is_some() => {
            return Found::Broken("its end is not signed".to_owned());
        }
        _ => {}
    }
    let signed = head.checkpoint.place();
    if is != signed {
        return Found::Broken(format!(
            "it ends at position {} (note {}), and position {} (note {}) was signed",
            is.0, is.1, signed.0, signed.1
        ));
    }
    if let Some(beside) = beside.filter(|beside| beside.checkpoint.place() > is) {
        let (was, count) = (beside.checkpoint.position, beside.checkpoint.events);
        return Found::Broken(format!(
            "it ends at position {}, and a checkpoint at position {was} ({count} events) was kept",
            is.0
        ));
    }
    Found::End(head.checkpoint)
}

/// The checkpoint that is kept beside the log, if there is one that can be read.
pub(super) fn read_beside(path: &Path) -> Option<ReadCheckpoint> {
    match private_files::read(path).map(|text| text.map(|text| ReadCheckpoint::parse(&text))) {
        Ok(None) => None,
        Ok(Some(Ok(read))) => Some(read),
        Ok(Some(Err(error))) => {
            tracing::warn!(%error, path = %path.display(), "the checkpoint beside the log is no use");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "the checkpoint beside the log is no use");
            None
        }
    }
}
