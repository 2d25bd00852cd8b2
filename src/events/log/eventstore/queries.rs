//! What reads ask for, in the server's messages, and the events that they find.

use bytes::Bytes;
use uuid::Uuid;

use super::wire::{
    Empty, Expression, FilterOptions, IdsAsText, InAll, ReadOptions, Recorded, StreamName,
};

/// How many events the server looks at before it would tell how far it is.
pub(super) const WINDOW_EVENTS: u32 = 1_024;
pub(super) const BACKWARDS: i32 = 1;

/// An event of the server's.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) id: Uuid,
    pub(super) stream: String,
    pub(super) revision: u64,
    pub(super) position: u64,
    pub(super) event_type: String,
    pub(super) custom_metadata: Bytes,
    pub(super) data: Bytes,
}

impl From<Recorded> for Found {
    fn from(mut recorded: Recorded) -> Self {
        let name = recorded.stream.map(|stream| stream.name).unwrap_or_default();
        Self {
            id: recorded.id.and_then(|id| id.get()).unwrap_or_default(),
            stream: String::from_utf8_lossy(&name).into_owned(),
            revision: recorded.revision,
            position: recorded.commit,
            event_type: recorded.metadata.remove("type").unwrap_or_default(),
            custom_metadata: recorded.custom_metadata,
            data: recorded.data,
        }
    }
}

/// As the crate's subscriptions have it.
impl From<::eventstore::RecordedEvent> for Found {
    fn from(recorded: ::eventstore::RecordedEvent) -> Self {
        Self {
            id: recorded.id,
            stream: recorded.stream_id().to_owned(),
            revision: recorded.revision,
            position: recorded.position.commit,
            event_type: recorded.event_type,
            custom_metadata: recorded.custom_metadata,
            data: recorded.data,
        }
    }
}

/// What a reader of the whole log wants of it.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    /// The last event counts, whosever it is.
    Everything,
    /// Streams whose names begin so.
    Streams(Vec<String>),
    /// Events whose types begin so.
    Types(Vec<String>),
}

/// Whether what was read so far is enough; asked after each event, which it may take out again.
pub(super) type Enough<'a> = &'a (dyn Fn(&mut Vec<Found>) -> bool + Sync);

/// The last events that are wanted, the last first.
pub(super) fn last_options(wanted: &Wanted, count: u64) -> ReadOptions {
    let place = InAll { position: None, start: None, end: Some(Empty {}) };
    let options = filtered(wanted);
    ReadOptions { all: Some(place), direction: BACKWARDS, count: Some(count), ..options }
}

/// A stream's name, as the server has it.
pub(super) fn name(stream: &str) -> StreamName {
    StreamName { name: Bytes::copy_from_slice(stream.as_bytes()) }
}

/// All events of a stream or of the log, forwards.
pub(super) fn plain() -> ReadOptions {
    let ids = Some(IdsAsText { text: Some(Empty {}) });
    let count = Some(u64::MAX);
    ReadOptions { count, no_filter: Some(Empty {}), ids, ..ReadOptions::default() }
}

/// All events that are wanted.
pub(super) fn filtered(wanted: &Wanted) -> ReadOptions {
    let expression = |prefixes: &[String]| Some(Expression { prefixes: prefixes.to_vec() });
    let (stream, event_type) = match wanted {
        Wanted::Everything => return plain(),
        Wanted::Streams(prefixes) => (expression(prefixes), None),
        Wanted::Types(prefixes) => (None, expression(prefixes)),
    };
    let filter = FilterOptions { stream, event_type, window: WINDOW_EVENTS, multiplier: 1 };
    ReadOptions { filter: Some(filter), no_filter: None, ..plain() }
}
