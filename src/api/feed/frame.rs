//! How a feed is written: as Server-Sent Events, or as a line of JSON each.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT;
use bytes::Bytes;
use serde_json::json;

use crate::events::{Position, RecordedEvent};
use crate::projections::event_shown;

const NDJSON: &str = "application/x-ndjson";

/// What of the newest events is kept as text, for all who follow the log.
const KEPT_MAX_BYTES: usize = 4 << 20;

/// How a feed is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    ServerSentEvents,
    JsonLines,
}

impl Format {
    /// The one that a client accepts: Server-Sent Events where it does not ask for lines.
    pub(super) fn of(request: &HttpRequest) -> Self {
        let accepts = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
        match accepts.is_some_and(|accepts| accepts.to_ascii_lowercase().contains(NDJSON)) {
            true => Format::JsonLines,
            false => Format::ServerSentEvents,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::ServerSentEvents => "text/event-stream",
            Format::JsonLines => NDJSON,
        }
    }

    /// What comes first, so that a client knows that it is connected. It says to browsers how long
    /// to wait before they come back.
    pub(super) fn greeting(self) -> Bytes {
        match self {
            Format::ServerSentEvents => Bytes::from_static(b"retry: 1000\n\n"),
            Format::JsonLines => self.heartbeat(),
        }
    }

    /// What clients pass over.
    pub(super) fn heartbeat(self) -> Bytes {
        match self {
            Format::ServerSentEvents => Bytes::from_static(b": still here\n\n"),
            Format::JsonLines => Bytes::from_static(b"\n"),
        }
    }

    /// Writes an event; the position is its id, so that a client that comes back says how far it
    /// was.
    pub(super) fn write_event(self, event: &RecordedEvent, data: &[u8], frames: &mut Vec<u8>) {
        if self == Format::ServerSentEvents {
            let RecordedEvent { position, event_type, .. } = event;
            frames.extend(format!("id: {position}\nevent: {event_type}\ndata: ").bytes());
        }
        // JSON text has no line breaks, so one line holds it.
        frames.extend_from_slice(data);
        frames.extend_from_slice(self.end_of_frame());
    }

    /// That the feed ends here, why, and after which position it can be taken up again.
    pub(super) fn end(self, after: Position, why: &str) -> Bytes {
        let told = json!({ "after": after, "why": why });
        match self {
            Format::ServerSentEvents => format!("id: {after}\nevent: end\ndata: {told}\n\n").into(),
            Format::JsonLines => format!("{}\n", json!({ "end": told })).into(),
        }
    }

    fn end_of_frame(self) -> &'static [u8] {
        match self {
            Format::ServerSentEvents => b"\n\n",
            Format::JsonLines => b"\n",
        }
    }
}

/// The newest events as JSON: made once, whoever follows the log.
#[derive(Default)]
pub(in crate::api) struct Frames(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    bytes: usize,
    by_position: BTreeMap<Position, Bytes>,
}

impl Frames {
    pub(super) fn data(&self, event: &RecordedEvent) -> Bytes {
        let known = self.lock().by_position.get(&event.position).cloned();
        if let Some(known) = known {
            return known;
        }
        let made = event_shown(event);
        let mut kept = self.lock();
        if kept.by_position.insert(event.position, made.clone()).is_none() {
            kept.bytes += made.len();
        }
        while kept.bytes > KEPT_MAX_BYTES {
            let Some((_, oldest)) = kept.by_position.pop_first() else { break };
            kept.bytes -= oldest.len();
        }
        made
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
