//! What every event carries besides its body: where it stands, when, who, and because of what.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{DecodeError, Event};
use crate::model::{
    AlarmId, Caller, CommandId, ConfigId, DeploymentId, ProjectId, RequestId, ResourceId, StackId,
};

/// The stream of one entity: `project-{id}`, `stack-{uuid}`, `resource-{uuid}`, `config-{uuid}`,
/// `deployment-{uuid}`, `alarm-{uuid}`, `metrics-{uuid}`, `outlet-{name}`, `purge-log`,
/// `server-writer`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StreamId(pub Arc<str>);

impl StreamId {
    /// The names in use and the quotas of a project.
    pub fn project(id: &ProjectId) -> Self {
        Self(format!("project-{id}").into())
    }

    /// A stack: its revisions and traversals.
    pub fn stack(id: StackId) -> Self {
        Self(format!("stack-{id}").into())
    }

    /// One incarnation of a resource.
    pub fn resource(id: ResourceId) -> Self {
        Self(format!("resource-{id}").into())
    }

    /// A software configuration.
    pub fn config(id: ConfigId) -> Self {
        Self(format!("config-{id}").into())
    }

    /// A software deployment.
    pub fn deployment(id: DeploymentId) -> Self {
        Self(format!("deployment-{id}").into())
    }

    /// An alarm.
    pub fn alarm(id: AlarmId) -> Self {
        Self(format!("alarm-{id}").into())
    }

    /// The metric data that come to a project in an hour.
    pub fn metrics(project: &ProjectId, hour: i64) -> Self {
        let digest = Sha256::digest(format!("{hour}/{project}"));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        let id = uuid::Builder::from_random_bytes(bytes).into_uuid();
        Self(format!("metrics-{id}").into())
    }

    /// What goes out to others by one way.
    pub fn outlet(name: &str) -> Self {
        Self(format!("outlet-{name}").into())
    }

    /// Which server writes the log.
    pub fn servers() -> Self {
        Self("server-writer".into())
    }

    /// What was taken away of the log.
    pub fn purges() -> Self {
        Self("purge-log".into())
    }

    /// What the stream is of: `stack`, `resource`, `project`.
    pub fn kind(&self) -> &str {
        self.0.split_once('-').map_or(&*self.0, |(kind, _)| kind)
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A place in the whole log, from 1 on; 0 is before the first event.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Position(pub u64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place in one stream, from 0 on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct StreamRevision(pub u64);

/// What led to an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A command of this id.
    Command(CommandId),
    /// The event at this position (a recovery after a restart, say).
    Event(Position),
}

/// Who asked, in which request, because of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Meta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Arc<Caller>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The command at the root of all that led here: what it led to in resources, nested stacks
    /// and deployments bears its id. Logs from before it was kept have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<CommandId>,
}

impl Meta {
    /// Of a command that nothing else led to.
    pub fn of_command(id: CommandId) -> Self {
        let cause = Some(Cause::Command(id));
        Self { caller: None, request_id: None, cause, correlation: Some(id) }
    }
}

/// An event on its way into the log.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    pub event_type: &'static str,
    pub version: u16,
    pub at: DateTime<Utc>,
    pub meta: Arc<Meta>,
    /// JSON text.
    pub body: String,
}

impl NewEvent {
    /// Wraps a typed event.
    pub fn of<E: Event>(
        event: &E,
        at: DateTime<Utc>,
        meta: Arc<Meta>,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            event_type: event.event_type(),
            version: event.version(),
            at,
            meta,
            body: event.encode()?,
        })
    }
}

/// An event that has its place in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    pub position: Position,
    pub stream: StreamId,
    pub revision: StreamRevision,
    pub event_type: Arc<str>,
    pub version: u16,
    /// Microsecond precision.
    pub at: DateTime<Utc>,
    pub meta: Arc<Meta>,
    /// JSON text.
    pub body: Arc<str>,
    /// SHA-256 over the previous hash of the stream and this event; see `log::chain`.
    pub hash: [u8; 32],
}

impl RecordedEvent {
    /// The typed event.
    pub fn decode<E: Event>(&self) -> Result<E, DecodeError> {
        E::decode(&self.event_type, self.version, &self.body)
    }
}
