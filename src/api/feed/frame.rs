//! One event as a frame of the feed.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::events::RecordedEvent;
use crate::events::vault::Vault;

/// The frame: the position as its id, so that a client that comes back says how far it was.
pub(super) fn of(event: &RecordedEvent) -> Bytes {
    let body: Value = serde_json::from_str(&event.body).unwrap_or(Value::Null);
    let data = json!({
        "position": event.position,
        "stream": event.stream,
        "revision": event.revision,
        "type": event.event_type.as_ref(),
        "version": event.version,
        "at": event.at,
        "caller": event.meta.caller,
        "request_id": event.meta.request_id,
        "cause": event.meta.cause,
        "correlation": event.meta.correlation,
        "body": Vault::masked(&body),
    });
    // JSON text has no line breaks, so one data line holds it.
    Bytes::from(format!("id: {}\nevent: {}\ndata: {data}\n\n", event.position, event.event_type))
}
