//! What happens in the servers' stream: which of them writes the log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::log::{EventLog, LogError};
use super::{Meta, NewEvent, StreamId, StreamRevision};
use crate::clock::Clock;

events! {
    /// The facts of servers.
    ServerEvent {
        ServerStarted = 1,
    }
}

/// A server has begun to write the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStarted {
    /// Where its Orchestration API is reached.
    pub api: String,
    /// The name of its host.
    pub host: String,
    /// Of Hearth.
    pub version: String,
}

/// Puts on record that a server has begun.
pub async fn announce(
    log: &dyn EventLog,
    clock: &dyn Clock,
    started: ServerStarted,
) -> Result<(), LogError> {
    let event = NewEvent::of(&ServerEvent::from(started), clock.now(), Arc::new(Meta::default()))
        .map_err(|error| LogError::Unavailable(error.to_string()))?;
    let head = log.head(&StreamId::servers()).await?;
    let appended = log.append(&StreamId::servers(), head, vec![event]).await?;
    log.durable(appended.position).await
}

/// The server that was the last to begin; `None` where none ever said so.
pub async fn writer(log: &dyn EventLog) -> Result<Option<ServerStarted>, LogError> {
    let end = log.head(&StreamId::servers()).await?;
    let Some(last) = end.next.checked_sub(1) else { return Ok(None) };
    let slice = log.read(&StreamId::servers(), StreamRevision(last)).await?;
    let last = slice.events.last().map(|event| event.decode::<ServerEvent>()).transpose();
    let last = last.map_err(|error| LogError::Damaged(error.to_string()))?;
    Ok(last.map(|ServerEvent::ServerStarted(started)| started))
}
