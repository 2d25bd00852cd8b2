//! What is to be told of a log, to compare it with what somebody heard.

use std::collections::BTreeSet;
use std::sync::Arc;

use hearth::events::{RecordedEvent, StreamId};
use hearth::outlets::Notification;
use serde_json::Value;
use tokio::sync::watch;
use uuid::Uuid;

/// What was notified, oldest first.
pub(crate) type Received = Arc<watch::Sender<Vec<Notification>>>;

/// A log's events, oldest first.
pub(crate) type Events = [Arc<RecordedEvent>];

pub(crate) fn body(event: &RecordedEvent) -> Value {
    serde_json::from_str(&event.body).unwrap()
}

/// Each as it came first; what comes again is a repetition after a crash.
pub(crate) fn firsts<T: Ord + Clone>(heard: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known = BTreeSet::new();
    heard.into_iter().filter(|it| known.insert(it.clone())).collect()
}

/// The position of what a notification tells of, by which its id begins.
pub(crate) fn position_of(notification: Uuid) -> u64 {
    let mut position = [0; 8];
    position[2..].copy_from_slice(&notification.as_bytes()[..6]);
    u64::from_be_bytes(position)
}

/// The positions of what is notified, from where that began: how actions of stacks begin and end,
/// and how the sizes of groups change.
pub(crate) fn notified(events: &Events) -> Vec<u64> {
    let place = StreamId::outlet("notifications");
    let begin = events.iter().find(|event| event.stream == place);
    let Some(begin) = begin.map(|begin| body(begin)["position"].as_u64().unwrap()) else {
        return Vec::new();
    };
    let later = events.iter().filter(|event| event.position.0 > begin);
    let mut resized = BTreeSet::new();
    let is_notified = |event: &&Arc<RecordedEvent>| match event.event_type.as_ref() {
        "TraversalStarted" | "TraversalSettled" => event.stream.kind() == "stack",
        "ResizeTaken" => resized.insert(body(event)["signal"].to_string()),
        "SignalHandled" => resized.contains(&body(event)["signal"].to_string()),
        _ => false,
    };
    later.filter(is_notified).map(|event| event.position.0).collect()
}
