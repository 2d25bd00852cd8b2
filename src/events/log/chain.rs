//! The hash chain of a stream: each event's hash covers its own content and the hash before it,
//! so that no event of a stream can be changed, moved or taken out without breaking all that
//! follow. `hearth verify` walks it.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::LogError;
use crate::events::{Meta, RecordedEvent, StreamId};

/// SHA-256.
pub type Hash = [u8; 32];

/// What the first event of a stream follows.
pub const GENESIS: Hash = [0; 32];

/// The fields of an event that its hash covers. The position is not among them: it is the log's.
pub(super) struct Content<'a> {
    pub(super) stream: &'a StreamId,
    pub(super) revision: u64,
    pub(super) event_type: &'a str,
    pub(super) version: u16,
    pub(super) at: DateTime<Utc>,
    pub(super) meta: &'a str,
    pub(super) body: &'a str,
}

impl Content<'_> {
    /// The digest of the content alone, which needs no knowledge of the event before.
    pub(super) fn digest(&self) -> Hash {
        let mut hasher = Sha256::new();
        let mut text = |field: &str| {
            // The length keeps two neighbors from trading characters.
            hasher.update((field.len() as u64).to_be_bytes());
            hasher.update(field.as_bytes());
        };
        text(self.stream.as_str());
        text(self.event_type);
        text(self.meta);
        text(self.body);
        hasher.update(self.revision.to_be_bytes());
        hasher.update(self.version.to_be_bytes());
        hasher.update(self.at.timestamp_micros().to_be_bytes());
        hasher.finalize().into()
    }
}

/// The hash of an event: over the hash before it and the digest of its content.
pub(super) fn link(previous: &Hash, content: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    hasher.update(content);
    hasher.finalize().into()
}

/// Meta as the chain and the store have it.
pub(super) fn meta_text(meta: &Meta) -> Result<String, serde_json::Error> {
    serde_json::to_string(meta)
}

/// How a chain is broken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("stream {stream} goes on at revision {found} where {expected} is due")]
    Revision { stream: StreamId, expected: u64, found: u64 },
    #[error("revision {revision} of stream {stream} is not what was written (position {position})")]
    Hash { stream: StreamId, revision: u64, position: u64 },
    #[error("position {found} stands after {before}")]
    Position { before: u64, found: u64 },
}

/// Walks the whole log, or one stream of it, and proves every link.
#[derive(Default)]
pub struct Verifier {
    heads: HashMap<StreamId, (u64, Hash)>,
    position: u64,
    events: u64,
}

impl Verifier {
    /// Proves the next event, in the order of the log.
    pub fn check(&mut self, event: &RecordedEvent) -> Result<(), Broken> {
        if event.position.0 <= self.position {
            return Err(Broken::Position { before: self.position, found: event.position.0 });
        }
        let (next, previous) = self.heads.get(&event.stream).copied().unwrap_or((0, GENESIS));
        if event.revision.0 != next {
            return Err(Broken::Revision {
                stream: event.stream.clone(),
                expected: next,
                found: event.revision.0,
            });
        }
        if recompute(&previous, event) != Some(event.hash) {
            return Err(Broken::Hash {
                stream: event.stream.clone(),
                revision: event.revision.0,
                position: event.position.0,
            });
        }
        self.position = event.position.0;
        self.events += 1;
        self.heads.insert(event.stream.clone(), (next + 1, event.hash));
        Ok(())
    }

    /// How many events were proved.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many streams they belong to.
    pub fn streams(&self) -> usize {
        self.heads.len()
    }

    /// One hash over the ends of all streams: kept elsewhere, it shows later that no stream was
    /// cut short, which the chains alone cannot.
    pub fn digest(&self) -> String {
        let mut ends: Vec<_> = self.heads.iter().collect();
        ends.sort_unstable_by(|a, b| a.0.cmp(b.0));
        let mut hasher = Sha256::new();
        for (stream, (_, hash)) in ends {
            hasher.update(stream.as_str().as_bytes());
            hasher.update(hash);
        }
        hex(&hasher.finalize())
    }
}

/// Proves what was read of a stream from its first event on. Errors: `Damaged`, which names the
/// first event that is not what was written.
pub(super) fn check_stream(events: &[Arc<RecordedEvent>]) -> Result<(), LogError> {
    let mut verifier = Verifier::default();
    for event in events {
        verifier.check(event).map_err(|broken| LogError::Damaged(broken.to_string()))?;
    }
    Ok(())
}

fn recompute(previous: &Hash, event: &RecordedEvent) -> Option<Hash> {
    let meta = meta_text(&event.meta).ok()?;
    let content = Content {
        stream: &event.stream,
        revision: event.revision.0,
        event_type: &event.event_type,
        version: event.version,
        at: event.at,
        meta: &meta,
        body: &event.body,
    };
    Some(link(previous, &content.digest()))
}

/// Lower-case hexadecimal.
pub(in crate::events) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Position, StreamRevision};

    fn event(position: u64, revision: u64, previous: &Hash, body: &str) -> RecordedEvent {
        let mut event = RecordedEvent {
            position: Position(position),
            stream: StreamId("stack-1".into()),
            revision: StreamRevision(revision),
            event_type: "StackCreated".into(),
            version: 1,
            at: DateTime::from_timestamp_micros(1_000_001).unwrap(),
            meta: Arc::default(),
            body: body.into(),
            hash: GENESIS,
        };
        event.hash = recompute(previous, &event).unwrap();
        event
    }

    #[test]
    fn an_untouched_chain_holds() {
        let first = event(1, 0, &GENESIS, "{}");
        let second = event(5, 1, &first.hash, "{}");
        let mut verifier = Verifier::default();
        assert_eq!(verifier.check(&first), Ok(()));
        assert_eq!(verifier.check(&second), Ok(()));
        assert_eq!((verifier.events(), verifier.streams()), (2, 1));
    }

    #[test]
    fn a_changed_event_breaks_its_chain() {
        let mut first = event(1, 0, &GENESIS, "{}");
        first.body = "{ }".into();
        let broken = Verifier::default().check(&first);
        assert!(matches!(broken, Err(Broken::Hash { revision: 0, .. })));
    }

    #[test]
    fn an_event_taken_out_breaks_its_chain() {
        let first = event(1, 0, &GENESIS, "{}");
        let second = event(2, 1, &first.hash, "{}");
        let third = event(3, 2, &second.hash, "{}");
        let mut verifier = Verifier::default();
        assert_eq!(verifier.check(&first), Ok(()));
        assert!(matches!(verifier.check(&third), Err(Broken::Revision { expected: 1, .. })));
    }

    #[test]
    fn a_chain_rewritten_from_the_middle_breaks_where_the_old_one_goes_on() {
        let first = event(1, 0, &GENESIS, "{}");
        let second = event(2, 1, &first.hash, "{}");
        let third = event(3, 2, &second.hash, "{}");
        let forged = event(2, 1, &first.hash, "{\"a\":1}");
        let mut verifier = Verifier::default();
        assert_eq!(verifier.check(&first), Ok(()));
        assert_eq!(verifier.check(&forged), Ok(()));
        assert!(matches!(verifier.check(&third), Err(Broken::Hash { revision: 2, .. })));
    }
}
