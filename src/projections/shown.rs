//! Events as they are told to others.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::events::RecordedEvent;
use crate::events::vault::Vault;

/// An event as JSON, secrets masked.
pub fn event_shown(event: &RecordedEvent) -> Bytes {
    let body: Value = serde_json::from_str(&event.body).unwrap_or(Value::Null);
    let shown = json!({
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
    shown.to_string().into()
}
