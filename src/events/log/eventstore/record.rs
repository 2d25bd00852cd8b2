//! How an event of ours lies in an event of the server's: the body as its data, all else beside it.

use std::sync::Arc;

use chrono::DateTime;
use serde::{Deserialize, Serialize};

use super::super::chain::{self, Content, Hash, link};
use super::super::heads::Tip;
use super::super::{BlobId, LogError};
use super::reads::Found;
use super::wire::Proposed;
use crate::clock::{Clock, SystemClock};
use crate::events::{Meta, NewEvent, Position, RecordedEvent, StreamId, StreamRevision};

/// The type of the event that closes a stream to appends.
pub(super) const CLOSED: &str = "hearth-stream-closed";

/// What stands beside the body.
#[derive(Serialize, Deserialize)]
struct Beside {
    version: u16,
    /// Microseconds since 1970.
    at: i64,
    meta: Meta,
    hash: String,
    /// Which of how many events of one append it is: the server shows the first before the last.
    index: u32,
    size: u32,
    /// Where the body is, if it is too large to lie here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<BlobId>,
    /// Its position in the log of which it was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    /// What is added to the server's position where it was written here, after a copy.
    #[serde(default, skip_serializing_if = "is_nothing")]
    added: u64,
}

impl Beside {
    fn position(&self, found: &Found) -> u64 {
        self.position.unwrap_or(found.position.saturating_add(self.added))
    }

    fn ends_group(&self) -> bool {
        self.index.saturating_add(1) >= self.size
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn is_nothing(added: &u64) -> bool {
    *added == 0
}

/// An event on its way to the server.
pub(super) struct Due {
    pub(super) proposed: Proposed,
    pub(super) hash: Hash,
}

/// An event that was read, and whether its append ends with it.
pub(super) struct Read {
    pub(super) event: RecordedEvent,
    pub(super) ends_group: bool,
    pub(super) body: Option<BlobId>,
}

fn unwritable(stream: &StreamId, error: &dyn std::fmt::Display) -> LogError {
    LogError::Damaged(format!("an event of {stream} cannot be written: {error}"))
}

/// Events that were copied, of one stream, as they are sent: each keeps its position.
pub(super) fn copied(
    events: &[RecordedEvent],
    aside: &[Option<BlobId>],
) -> Result<Vec<Proposed>, LogError> {
    let mut all = Vec::with_capacity(events.len());
    for (index, (event, aside)) in events.iter().zip(aside).enumerate() {
        let failed = |error: &dyn std::fmt::Display| unwritable(&event.stream, error);
        let beside = Beside {
            version: event.version,
            at: event.at.timestamp_micros(),
            meta: (*event.meta).clone(),
            hash: chain::hex(&event.hash),
            index: u32::try_from(index).map_err(|error| failed(&error))?,
            size: u32::try_from(events.len()).map_err(|error| failed(&error))?,
            body: aside.clone(),
            position: Some(event.position.0),
            added: 0,
        };
        let beside = serde_json::to_vec(&beside).map_err(|error| failed(&error))?;
        let body = if aside.is_some() { String::new() } else { event.body.to_string() };
        let id = SystemClock.fresh_id();
        all.push(Proposed::new(id, &event.event_type, beside, body.into()));
    }
    Ok(all)
}

/// The events as they are sent; `aside` has where bodies lie that are too large, `added` is what
/// their positions are more than the server's.
pub(super) fn due(
    stream: &StreamId,
    tip: &Tip,
    events: &[NewEvent],
    aside: &[Option<BlobId>],
    added: u64,
) -> Result<Vec<Due>, LogError> {
    let unwritable = |error: &dyn std::fmt::Display| unwritable(stream, error);
    let size = u32::try_from(events.len()).map_err(|error| unwritable(&error))?;
    let mut previous = tip.hash;
    let mut all = Vec::with_capacity(events.len());
    for (index, (event, aside)) in (0..size).zip(events.iter().zip(aside)) {
        let meta = chain::meta_text(&event.meta).map_err(|error| unwritable(&error))?;
        let at = event.at.timestamp_micros();
        let content = Content {
            stream,
            revision: tip.next + u64::from(index),
            event_type: event.event_type,
            version: event.version,
            at: DateTime::from_timestamp_micros(at).unwrap_or(event.at),
            meta: &meta,
            body: &event.body,
        };
        previous = link(&previous, &content.digest());
        let beside = Beside {
            version: event.version,
            at,
            meta: (*event.meta).clone(),
            hash: chain::hex(&previous),
            index,
            size,
            body: aside.clone(),
            position: None,
            added,
        };
        let beside = serde_json::to_vec(&beside).map_err(|error| unwritable(&error))?;
        let body = if aside.is_some() { String::new() } else { event.body.clone() };
        let id = SystemClock.fresh_id();
        let proposed = Proposed::new(id, event.event_type, beside, body.into());
        all.push(Due { proposed, hash: previous });
    }
    Ok(all)
}

/// An event of the server's as one of ours.
pub(super) fn read(stream: StreamId, found: &Found) -> Result<Read, LogError> {
    let damaged = |error: &dyn std::fmt::Display| {
        let (position, revision) = (found.position, found.revision);
        LogError::Damaged(format!(
            "revision {revision} of stream {stream} (position {position}) is none of ours: {error}"
        ))
    };
    let beside: Beside =
        serde_json::from_slice(&found.custom_metadata).map_err(|error| damaged(&error))?;
    let hash = unhex(&beside.hash).ok_or_else(|| damaged(&"no hash"))?;
    let at = DateTime::from_timestamp_micros(beside.at).ok_or_else(|| damaged(&"no time"))?;
    let body = std::str::from_utf8(&found.data).map_err(|error| damaged(&error))?;
    let ends_group = beside.ends_group();
    let event = RecordedEvent {
        position: Position(beside.position(found)),
        revision: StreamRevision(found.revision),
        event_type: found.event_type.as_str().into(),
        version: beside.version,
        at,
        meta: Arc::new(beside.meta),
        body: body.into(),
        hash,
        stream,
    };
    Ok(Read { event, ends_group, body: beside.body })
}

fn beside(found: &Found) -> Option<Beside> {
    serde_json::from_slice(&found.custom_metadata).ok()
}

/// Where an event of ours stands in the log.
pub(super) fn position(found: &Found) -> Option<u64> {
    beside(found).map(|beside| beside.position(found))
}

/// Whether an append ends with it.
pub(super) fn ends_group(found: &Found) -> bool {
    beside(found).is_some_and(|beside| beside.ends_group())
}

/// Where the body of an event lies that was too large to lie with it.
pub(super) fn body_of(found: &Found) -> Option<BlobId> {
    beside(found)?.body
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != 2 * hash.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}
