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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_keys_of_oslo_messaging_and_its_context_is_for_the_bus_to_add() {
        let notification = Notification {
            id: Uuid::from_u128(7),
            publisher_id: "hearth".to_owned(),
            event_type: "orchestration.stack.create.start".to_owned(),
            priority: "INFO".to_owned(),
            payload: json!({ "stack_name": "web" }),
            at: DateTime::from_timestamp_micros(1_500_000).unwrap(),
            context: [("user".to_owned(), "alice".into())].into_iter().collect(),
        };
        let expected = json!({
            "message_id": "00000000-0000-0000-0000-000000000007",
            "publisher_id": "hearth",
            "event_type": "orchestration.stack.create.start",
            "priority": "INFO",
            "payload": { "stack_name": "web" },
            "timestamp": "1970-01-01 00:00:01.500000",
        });
        assert_eq!(notification.to_json(), expected);
    }
}
