//! What the agents of servers are to know, to the objects and queues where those look for it: all of
//! it, whenever the configurations of a server change, or the way by which its agent is told them.
//!
//! Each server is told by itself, one thing after the other, so that one whose store is away holds up
//! no other; the outlet's place goes no further than what all have been told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};

use super::place::Place;
use super::{Broken, OutletParts};
use crate::events::log::{EventLog, Filter, LogError};
use crate::events::software::DeploymentEvent;
use crate::events::{Position, RecordedEvent, StreamRevision};
use crate::model::{ProjectId, Refusal, ResourceId, ResourceName, StackId};

/// How many events are read at a time.
const PAGE: usize = 256;
/// How many events are passed without a word before that goes on record.
const PASSED_MAX: usize = 10_000;
/// While so many servers are being told, no more of the log is read. How many calls are out at once
/// is bounded for each service of the cloud.
const SERVERS_MAX: usize = 1_024;
/// How long it is tried to tell an agent something at most, in seconds.
const TRIED_MAX_SECS: i64 = 600;
/// The pauses between tries: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

pub(super) async fn follow(parts: &OutletParts, place: &mut Place) -> Result<(), Broken> {
    let filter = Filter { kinds: vec!["resource", "deployment"] };
    let mut events = parts.log.subscribe(place.reached, filter).ready_chunks(PAGE);
    let mut due = Due::new(parts);
    let (mut read, mut passed, mut told) = (place.reached, 0, 0);
    loop {
        let has_room = due.has_room();
        let step = async {
            tokio::select! {
                told = due.one_told() => told.map(|()| None),
                page = events.next(), if has_room => Ok(Some(page)),
            }
        };
        match place.awaits(step).await?? {
            None => told += 1,
            Some(None) => return Ok(()),
            Some(Some(page)) => {
                let page = page.into_iter().collect::<Result<Vec<_>, _>>()?;
                read = page.last().map_or(read, |last| last.position);
                passed += page.len();
                look_through(parts, &mut due, &page).await?;
            }
        }
        let reached = due.reached(read);
        if reached > place.reached {
            place.move_to(reached, std::mem::take(&mut told)).await?;
        }
        if passed > PASSED_MAX {
            place.move_to(reached, 1).await?;
            place.record().await?;
            passed = 0;
        }
    }
}

/// Looks through some events for servers that are to be told something.
async fn look_through(
    parts: &OutletParts,
    due: &mut Due<'_>,
    events: &[Arc<RecordedEvent>],
) -> Result<(), Broken> {
    let Some(last) = events.last() else { return Ok(()) };
    parts.views.after(last.position).await?;
    for event in events {
        for server in told_anew(parts, event).await? {
            due.add(server, event.position);
        }
    }
    Ok(())
}

/// A server by its stack and the name of its resource.
type Server = (StackId, ResourceName);

/// The servers that are being told something.
struct Due<'a> {
    parts: &'a OutletParts,
    servers: BTreeMap<Server, Since>,
    telling: FuturesUnordered<LocalBoxFuture<'a, (Server, Result<(), Broken>)>>,
}

/// Where in the log it is said that a server is to be told what it is being told, and where, since
/// that has begun, it was first said again.
struct Since {
    told: Position,
    again: Option<Position>,
}

impl<'a> Due<'a> {
    fn new(parts: &'a OutletParts) -> Self {
        Self { parts, servers: BTreeMap::new(), telling: FuturesUnordered::new() }
    }

    fn has_room(&self) -> bool {
        self.servers.len() < SERVERS_MAX
    }

    /// Has a server told what there is to know: now, or once it knows what it is being told.
    fn add(&mut self, server: Server, at: Position) {
        if let Some(since) = self.servers.get_mut(&server) {
            since.again.get_or_insert(at);
            return;
        }
        self.servers.insert(server.clone(), Since { told: at, again: None });
        let parts = self.parts;
        self.telling.push(Box::pin(async move {
            let until = parts.clock.now() + TimeDelta::seconds(TRIED_MAX_SECS);
            let told = tell(parts, server.0, &server.1, until).await;
            (server, told)
        }));
    }

    /// Waits until a server has been told, which is never where none is being told anything.
    async fn one_told(&mut self) -> Result<(), Broken> {
        let Some((server, told)) = self.telling.next().await else {
            return std::future::pending().await;
        };
        told?;
        if let Some(Since { again: Some(again), .. }) = self.servers.remove(&server) {
            self.add(server, again);
        }
        Ok(())
    }

    /// Up to where all have been told what the log has for them, of which so much was read.
    fn reached(&self, read: Position) -> Position {
        let first = self.servers.values().map(|since| since.told.0).min();
        first.map_or(read, |first| Position(first.saturating_sub(1)))
    }
}

/// The servers whose agents are to be told something by an event.
async fn told_anew(
    parts: &OutletParts,
    event: &RecordedEvent,
) -> Result<Vec<(StackId, ResourceName)>, Broken> {
    if event.stream.kind() == "resource" {
        // Where the agent asks is among what the type itself adds to the metadata.
        let tells =
            &*event.event_type == "ActionSettled" && event.body.contains("os-collect-config");
        let id = event.stream.as_str().strip_prefix("resource-").and_then(|id| id.parse().ok());
        return match id.filter(|_| tells) {
            Some(id) => Ok(parts.views.owner_of(ResourceId(id)).await?.into_iter().collect()),
            None => Ok(Vec::new()),
        };
    }
    match deployed_on(parts.log.as_ref(), event).await {
        Ok(Some((project, server))) => Ok(parts.views.with_physical_id(project, server).await?),
        Ok(None) => Ok(Vec::new()),
        // As the views do it: it would be read in vain for ever, and hold up all others.
        Err(LogError::Damaged(reason)) => {
            tracing::error!(position = %event.position, reason, "an event is damaged; no agent is told");
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}

/// The project and the server of a deployment, if its server is to be told something by an event.
async fn deployed_on(
    log: &dyn EventLog,
    event: &RecordedEvent,
) -> Result<Option<(ProjectId, String)>, LogError> {
    let decoded = |event: &RecordedEvent| {
        event.decode::<DeploymentEvent>().map_err(|error| LogError::Damaged(error.to_string()))
    };
    let changes = match decoded(event)? {
        DeploymentEvent::DeploymentCreated(_) | DeploymentEvent::DeploymentDeleted(_) => true,
        DeploymentEvent::DeploymentUpdated(body) => body.change.config_id.is_some(),
    };
    if !changes {
        return Ok(None);
    }
    let slice = log.read(&event.stream, StreamRevision(0)).await?;
    match slice.events.first().map(|first| decoded(first)).transpose()? {
        Some(DeploymentEvent::DeploymentCreated(body)) => {
            Ok(Some((body.project_id, body.server_id)))
        }
        _ => Ok(None),
    }
}

/// Tells an agent what there is to know by now. What cannot be told is passed over, once it is clear
/// that another try would not help.
async fn tell(
    parts: &OutletParts,
    stack: StackId,
    name: &ResourceName,
    until: DateTime<Utc>,
) -> Result<(), Broken> {
    let mut pause = PAUSES.0;
    loop {
        // What there is to know is read once nobody else is at the server.
        let told = match parts.engine.turn_at_agent(stack, name).await {
            Ok(None) => return Ok(()),
            Ok(Some(turn)) => match deployments(parts, stack, name).await? {
                Ok(deployments) => parts.engine.tell_agent(turn, deployments).await,
                Err(refusal) => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        };
        match told {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            // Another try is worth it, too, where a part of the engine does not answer.
            Err(error) if error.is_unavailable() => {}
            Err(error) => {
                tracing::warn!(stack.id = %stack, resource = %name, %error,
                    "an agent could not be told");
                return Ok(());
            }
        }
        if parts.clock.now() >= until {
            tracing::warn!(stack.id = %stack, resource = %name, "an agent is out of reach");
            return Ok(());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// The configurations of a server, in the form that agents know.
async fn deployments(
    parts: &OutletParts,
    stack: StackId,
    name: &ResourceName,
) -> Result<Result<Vec<Value>, Refusal>, Broken> {
    let Some(project) = parts.views.stack(stack).await?.map(|stack| stack.project_id) else {
        return Ok(Ok(Vec::new()));
    };
    let resources = parts.views.resources(stack).await?;
    let server = resources.into_iter().find(|resource| resource.name == *name);
    let Some(server) = server.and_then(|resource| resource.physical_id) else {
        return Ok(Ok(Vec::new()));
    };
    let mut deployments = Vec::new();
    for row in parts.views.configs_of_server(Some(project.clone()), &server).await? {
        match parts.engine.software().told(&project, row.id).await {
            Ok(Some(mut told)) => {
                told["creation_time"] =
                    json!(row.created_at.format("%Y-%m-%dT%H:%M:%SZ").to_string());
                deployments.push(told);
            }
            Ok(None) => {}
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
    Ok(Ok(deployments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::log::{Head, MemoryLog};
    use crate::events::software::{DeploymentChange, DeploymentCreated};
    use crate::events::{NewEvent, StreamId};
    use crate::model::DeploymentId;

    #[tokio::test]
    async fn a_deployment_says_on_which_server_it_is_unless_it_is_damaged() {
        let (log, at) = (MemoryLog::new(), DateTime::UNIX_EPOCH);
        let created = DeploymentCreated {
            deployment_id: DeploymentId::default(),
            project_id: "p".into(),
            stack_user_project_id: None,
            server_id: "server".to_owned(),
            state: DeploymentChange::default(),
        };
        let created = NewEvent::of(&DeploymentEvent::from(created), at, Arc::default()).unwrap();
        let damaged = NewEvent { body: "null".to_owned(), ..created.clone() };
        let stream = StreamId::deployment(DeploymentId::default());
        log.append(&stream, Head::default(), vec![created, damaged]).await.unwrap();
        let events = log.read(&stream, StreamRevision(0)).await.unwrap().events;
        let on = deployed_on(&log, &events[0]).await.unwrap();
        assert_eq!(on, Some(("p".into(), "server".to_owned())));
        let on = deployed_on(&log, &events[1]).await;
        assert!(matches!(on, Err(LogError::Damaged(_))), "{on:?}");
    }
}
