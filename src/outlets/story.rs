//! Events as the log has them, for the stories of what is told of them.

use std::sync::Arc;

use chrono::DateTime;

use crate::events::{Event, Meta, NewEvent, Position, RecordedEvent, StreamId, StreamRevision};

/// An event at a position, which is its second and its revision as well.
pub(super) fn recorded<E: Event>(
    stream: StreamId,
    position: u64,
    event: impl Into<E>,
    meta: Meta,
) -> Arc<RecordedEvent> {
    let at = DateTime::from_timestamp(position as i64, 0).unwrap();
    let new = NewEvent::of::<E>(&event.into(), at, Arc::new(meta)).unwrap();
    Arc::new(RecordedEvent {
        position: Position(position),
        stream,
        revision: StreamRevision(position),
        event_type: new.event_type.into(),
        version: new.version,
        at,
        meta: new.meta,
        body: new.body.into(),
        hash: [0; 32],
    })
}
