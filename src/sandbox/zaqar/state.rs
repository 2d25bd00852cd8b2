//! What Zaqar holds.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::store::{Rows, Table};
use crate::model::JsonMap;

/// What Zaqar holds.
#[derive(Clone)]
pub(in crate::sandbox) struct Zaqar {
    /// By moment and number, which is their order.
    pub(super) messages: Table<Message>,
    /// By `PROJECT/QUEUE`.
    pub(super) metadata: Table<JsonMap>,
    pub(super) subscriptions: Table<Subscription>,
}

/// Who is to get the messages of a queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Subscription {
    pub(super) project_id: String,
    pub(super) queue: String,
    /// `subscriber`, `ttl` and `options`.
    pub(super) fields: JsonMap,
}

/// A message in a queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sandbox) struct Message {
    pub(super) project_id: String,
    pub(super) queue: String,
    pub(super) body: Value,
    pub(super) ttl_secs: i64,
    /// The client that posted it, which does not hear itself.
    pub(super) client: String,
    pub(super) posted_at: DateTime<Utc>,
}

impl Message {
    pub(super) fn lives(&self, now: DateTime<Utc>) -> bool {
        now < self.posted_at + TimeDelta::seconds(self.ttl_secs)
    }

    pub(super) fn shown(&self, id: &str, now: DateTime<Utc>) -> Value {
        json!({
            "id": id,
            "href": format!("/v2/queues/{}/messages/{id}", self.queue),
            "ttl": self.ttl_secs,
            "age": (now - self.posted_at).num_seconds(),
            "body": self.body,
        })
    }
}

impl Zaqar {
    pub(in crate::sandbox) fn new() -> Self {
        Self {
            messages: Table::new("messages"),
            metadata: Table::new("queues"),
            subscriptions: Table::new("subscriptions"),
        }
    }

    pub(in crate::sandbox) fn tables(&mut self) -> [&mut dyn Rows; 3] {
        [&mut self.messages, &mut self.metadata, &mut self.subscriptions]
    }
}
