//! What the whole log has come to, in a few lines that can be signed and taken away.
//!
//! The digest runs over every event in the order of the log and over the notes between them: the
//! keys that were made, sealed anew and destroyed, the streams that were closed. An event enters by
//! its hash, which covers all of it, so that the digest still follows when its body is purged.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat, Utc};
use sha2::{Digest, Sha256};

use super::chain::{GENESIS, Hash, hex};
use crate::events::signing::{PublicKey, SigningKey};

const TITLE: &str = "hearth checkpoint 1";
const SIGNATURE: &str = "signature: ";

/// Where the log stands, and what it has come to by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last event's.
    pub position: u64,
    /// The number of the last note.
    pub notes: u64,
    pub digest: Hash,
    /// How many events there were, purged ones too.
    pub events: u64,
    /// How many streams they belong to.
    pub streams: u64,
    /// How many large bodies are kept.
    pub blobs: u64,
    /// How many sealed keys are kept.
    pub keys: u64,
    /// When the last event happened.
    pub at: DateTime<Utc>,
}

impl Default for Checkpoint {
    /// Before the first event.
    fn default() -> Self {
        Self {
            position: 0,
            notes: 0,
            digest: GENESIS,
            events: 0,
            streams: 0,
            blobs: 0,
            keys: 0,
            at: DateTime::UNIX_EPOCH,
        }
    }
}

/// What is noted beside the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteKind {
    /// A scope has this sealed key from here on; the hash is of that.
    Key = 1,
    /// A scope's key was destroyed.
    Destroyed = 2,
    /// A stream takes no more events.
    Closed = 3,
    /// The log was opened with another end than the one that was signed last; the name says how.
    Broken = 4,
}

impl NoteKind {
    pub(super) fn of(number: i64) -> Option<Self> {
        [Self::Key, Self::Destroyed, Self::Closed, Self::Broken]
            .into_iter()
            .find(|kind| *kind as i64 == number)
    }
}

impl Checkpoint {
    /// Takes in the next event.
    pub(super) fn event(&mut self, position: u64, hash: &Hash) {
        let mut hasher = Sha256::new();
        hasher.update(self.digest);
        hasher.update([0]);
        hasher.update(position.to_be_bytes());
        hasher.update(hash);
        self.digest = hasher.finalize().into();
        self.position = position;
        self.events += 1;
    }

    /// Takes in the next note.
    pub(super) fn note(&mut self, kind: NoteKind, name: &str, hash: &[u8]) {
        self.notes += 1;
        let mut hasher = Sha256::new();
        hasher.update(self.digest);
        hasher.update([1, kind as u8]);
        hasher.update(self.notes.to_be_bytes());
        hasher.update((name.len() as u64).to_be_bytes());
        hasher.update(name);
        hasher.update(hash);
        self.digest = hasher.finalize().into();
    }

    /// The place of it in the order of events and notes.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.position, self.notes)
    }

    /// The checkpoint as text, signed if there is a key.
    pub fn to_text(&self, key: Option<&SigningKey>) -> String {
        let Self { position, notes, events, streams, blobs, keys, .. } = self;
        let (digest, at) =
            (hex(&self.digest), self.at.to_rfc3339_opts(SecondsFormat::Micros, true));
        let mut text = format!(
            "{TITLE}\nposition: {position}\nnotes: {notes}\nevents: {events}\n\
             streams: {streams}\nblobs: {blobs}\nkeys: {keys}\nat: {at}\ndigest: {digest}\n"
        );
        if let Some(key) = key {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "key: {}", key.public());
            let signature = STANDARD.encode(key.sign(text.as_bytes()));
            let _ = writeln!(text, "{SIGNATURE}{signature}");
        }
        text
    }
}

/// A checkpoint that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadCheckpoint {
    pub checkpoint: Checkpoint,
    /// Whose signature it carries; it was checked.
    pub signed_by: Option<PublicKey>,
}

/// Why a text is no checkpoint.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    #[error("it is not a checkpoint")]
    Malformed,
    #[error("its signature is not that of the key it names")]
    Signature,
}

impl ReadCheckpoint {
    /// Reads a checkpoint and checks its signature against the key that it names.
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let (signed, signature) = match text.split_once(SIGNATURE) {
            Some((signed, signature)) => (signed, Some(signature)),
            None => (text, None),
        };
        let mut lines = signed.lines();
        if lines.next() != Some(TITLE) {
            return Err(CheckpointError::Malformed);
        }
        let mut value = |name: &str| {
            let (found, value) = lines.next()?.split_once(": ")?;
            (found == name).then_some(value)
        };
        let mut read = || {
            Some(Checkpoint {
                position: value("position")?.parse().ok()?,
                notes: value("notes")?.parse().ok()?,
                events: value("events")?.parse().ok()?,
                streams: value("streams")?.parse().ok()?,
                blobs: value("blobs")?.parse().ok()?,
                keys: value("keys")?.parse().ok()?,
                at: value("at")?.parse().ok()?,
                digest: unhex(value("digest")?)?,
            })
        };
        let checkpoint = read().ok_or(CheckpointError::Malformed)?;
        let signed_by = match signature {
            None => None,
            Some(signature) => {
                let key: PublicKey = value("key")
                    .and_then(|key| key.parse().ok())
                    .ok_or(CheckpointError::Malformed)?;
                let signature =
                    STANDARD.decode(signature.trim()).map_err(|_| CheckpointError::Signature)?;
                if !key.has_signed(signed.as_bytes(), &signature) {
                    return Err(CheckpointError::Signature);
                }
                Some(key)
            }
        };
        Ok(Self { checkpoint, signed_by })
    }
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = GENESIS;
    if text.len() != hash.len() * 2 {
        return None;
    }
    for (place, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(place * 2..place * 2 + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimulatedClock;

    fn some() -> Checkpoint {
        let mut end = Checkpoint { streams: 2, blobs: 1, keys: 1, ..Checkpoint::default() };
        end.event(3, &[7; 32]);
        end.note(NoteKind::Key, "stack-1", &[8; 32]);
        end
    }

    fn key(seed: u64) -> SigningKey {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signing.key");
        SigningKey::load_or_create(&path, &SimulatedClock::new(seed)).unwrap()
    }

    #[test]
    fn a_signed_checkpoint_reads_back() {
        let key = key(1);
        let read = ReadCheckpoint::parse(&some().to_text(Some(&key))).unwrap();
        assert_eq!((read.checkpoint, read.signed_by), (some(), Some(key.public())));
        let read = ReadCheckpoint::parse(&some().to_text(None)).unwrap();
        assert_eq!((read.checkpoint, read.signed_by), (some(), None));
    }

    #[test]
    fn no_changed_character_of_a_signed_checkpoint_passes() {
        let key = key(1);
        let text = some().to_text(Some(&key));
        for place in 0..text.trim_end().len() {
            let mut forged = text.clone().into_bytes();
            forged[place] ^= 1;
            let forged = String::from_utf8(forged).unwrap();
            let passes = ReadCheckpoint::parse(&forged)
                .is_ok_and(|read| read.signed_by == Some(key.public()));
            assert!(!passes, "{forged}");
        }
    }

    #[test]
    fn the_digest_tells_orders_and_kinds_apart() {
        let mut other = Checkpoint { streams: 2, blobs: 1, keys: 1, ..Checkpoint::default() };
        other.note(NoteKind::Key, "stack-1", &[8; 32]);
        other.event(3, &[7; 32]);
        assert_ne!(other.digest, some().digest);
        let mut destroyed = Checkpoint { streams: 2, blobs: 1, keys: 1, ..Checkpoint::default() };
        destroyed.event(3, &[7; 32]);
        destroyed.note(NoteKind::Destroyed, "stack-1", &[8; 32]);
        assert_ne!(destroyed.digest, some().digest);
    }
}
