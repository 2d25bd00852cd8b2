//! A notification, whatever carries it.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::JsonMap;

/// A notification, as a message bus would carry it.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// The same where the same one is sent again.
    pub id: Uuid,
    pub publisher_id: String,
    /// `orchestration.stack.create.start`.
    pub event_type: String,
    pub priority: String,
    pub payload: Value,
    pub at: DateTime<Utc>,
    /// The request that led to it, with the keys of Heat's context; there is no credential in it.
    pub context: JsonMap,
}

impl Notification {
    /// The message with the keys of oslo.messaging.
    pub fn to_json(&self) -> Value {
        json!({
            "message_id": self.id,
            "publisher_id": self.publisher_id,
            "event_type": self.event_type,
            "priority": self.priority,
            "payload": self.payload,
            "timestamp": self.at.format("%Y-%m-%d %H:%M:%S%.6f").to_string(),
        })
    }
}
