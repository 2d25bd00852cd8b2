//! Events to the queues that environments name as their sinks.
//!
//! Each project is told by itself, one event after the other, so that one whose queues are out of
//! reach holds up no other; the outlet's place goes no further than what all have been told.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};

use super::place::Place;
use super::{Broken, OutletParts};
use crate::events::log::{EventLog, Filter};
use crate::events::resource::Definition;
use crate::events::vault::Vault;
use crate::events::{Position, ResourceEvent};
use crate::model::ProjectId;
use crate::model::sizes::json_bytes;
use crate::openstack::{CloudError, Request, Service, Session, path_segment};
use crate::projections::EventDue;

/// How many events are looked up at a time.
const PAGE: usize = 256;
/// While the sinks of so many projects are being told, no more of the log is read. How many calls
/// are out at once is bounded for each service of the cloud.
const PROJECTS_MAX: usize = 256;
/// How many messages Zaqar takes at a time.
const MESSAGES_MAX: usize = 20;
/// How long a request may be that posts them, where Zaqar's operator says nothing else, and how much
/// of that is around the messages.
const POST_MAX_BYTES: usize = 262_144;
const FRAME_BYTES: usize = r#"{"messages":[]}"#.len();
/// How long a message lives whose sink does not say, in seconds.
const TTL_SECS: i64 = 3_600;
/// How long it is tried to send a message at most, in seconds.
const TRIED_MAX_SECS: i64 = 3_600;
/// The pauses between tries: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

pub(super) async fn follow(parts: &OutletParts, place: &mut Place) -> Result<(), Broken> {
    let mut due = Due::new(parts);
    let (mut read, mut sent) = (place.reached, 0);
    loop {
        parts.engine.told(place.reached);
        let has_room = due.has_room();
        let step = async {
            tokio::select! {
                sent = due.some_sent() => sent.map(|sent| (sent, None)),
                page = next_page(parts, read), if has_room => page.map(|page| (0, Some(page))),
            }
        };
        let (more, page) = place.awaits(step).await??;
        sent += more;
        if let Some((events, to)) = page {
            for event in events.into_iter().filter(|due| !due.sinks.is_empty()) {
                due.add(event.project_id, event.event.position, to);
            }
            read = to;
        }
        let reached = due.reached(read);
        if reached > place.reached {
            place.move_to(reached, std::mem::take(&mut sent)).await?;
        }
    }
}

/// Waits for events after a position; up to where these are all.
async fn next_page(
    parts: &OutletParts,
    after: Position,
) -> Result<(Vec<EventDue>, Position), Broken> {
    parts.views.after(Position(after.0 + 1)).await?;
    let part = Part { after, to: parts.views.position() };
    events_due(parts, None, part, PAGE).await
}

/// A part of the log.
#[derive(Clone, Copy)]
struct Part {
    after: Position,
    to: Position,
}

/// The first events in a part of the log, of a project or of all; up to where these are all.
async fn events_due(
    parts: &OutletParts,
    project: Option<ProjectId>,
    Part { after, to }: Part,
    limit: usize,
) -> Result<(Vec<EventDue>, Position), Broken> {
    let due = parts.views.events_due(project, (after, to), limit).await?;
    // Views that are just being made anew have not shown all that they had.
    let shown = to.min(parts.views.position()).max(after);
    let last = due.last().filter(|_| due.len() == limit);
    let up_to = last.map_or(shown, |last| last.event.position);
    Ok((due, up_to))
}

/// The projects whose sinks are being told something.
struct Due<'a> {
    parts: &'a OutletParts,
    /// What of the log each is still to be told.
    projects: BTreeMap<ProjectId, Part>,
    sending: FuturesUnordered<LocalBoxFuture<'a, Result<Sent, Broken>>>,
}

/// So many events of a project were sent, which are all up to a position.
struct Sent {
    project: ProjectId,
    up_to: Position,
    events: usize,
}

impl<'a> Due<'a> {
    fn new(parts: &'a OutletParts) -> Self {
        Self { parts, projects: BTreeMap::new(), sending: FuturesUnordered::new() }
    }

    fn has_room(&self) -> bool {
        self.projects.len() < PROJECTS_MAX
    }

    /// Has a project's sinks told of an event, and of all that come after it up to a position.
    fn add(&mut self, project: ProjectId, event: Position, to: Position) {
        match self.projects.get_mut(&project) {
            Some(part) => part.to = to,
            None => self.send(project, Part { after: Position(event.0.saturating_sub(1)), to }),
        }
    }

    fn send(&mut self, project: ProjectId, part: Part) {
        self.projects.insert(project.clone(), part);
        self.sending.push(Box::pin(send_some(self.parts, project, part)));
    }

    /// Waits until something was sent, which is never where nothing is to be sent; how many events.
    async fn some_sent(&mut self) -> Result<usize, Broken> {
        let Some(sent) = self.sending.next().await else { return std::future::pending().await };
        let Sent { project, up_to, events } = sent?;
        if let Some(Part { to, .. }) = self.projects.remove(&project)
            && up_to < to
        {
            self.send(project, Part { after: up_to, to });
        }
        Ok(events)
    }

    /// Up to where all were sent what the log has for them, of which so much was read.
    fn reached(&self, read: Position) -> Position {
        self.projects.values().map(|part| part.after).min().unwrap_or(read)
    }
}

/// Sends the first of a project's events in a part of the log. They are looked up again, so that
/// those that wait for a queue out of reach take no memory.
async fn send_some(parts: &OutletParts, project: ProjectId, part: Part) -> Result<Sent, Broken> {
    parts.views.after(part.to).await?;
    let (due, up_to) = events_due(parts, Some(project.clone()), part, MESSAGES_MAX).await?;
    for events in due.chunk_by(goes_the_same_way) {
        let Some(first) = events.first() else { continue };
        for sink in &first.sinks {
            deliver(parts, sink, events).await?;
        }
    }
    let events = due.iter().filter(|due| !due.sinks.is_empty()).count();
    Ok(Sent { project, up_to, events })
}

/// Whether two events of a project go to the same queues in the same name.
fn goes_the_same_way(one: &EventDue, other: &EventDue) -> bool {
    one.trustor == other.trustor && one.event.stack == other.event.stack && one.sinks == other.sinks
}

/// A queue of Zaqar's.
struct Queue<'a> {
    name: &'a str,
    ttl_secs: i64,
}

impl<'a> Queue<'a> {
    fn of(sink: &'a Value) -> Option<Self> {
        let ttl = sink.get("ttl");
        let number = ttl.and_then(Value::as_i64);
        let text = ttl.and_then(Value::as_str).and_then(|ttl| ttl.parse().ok());
        Some(Self {
            name: sink.get("target")?.as_str()?,
            ttl_secs: number.or(text).unwrap_or(TTL_SECS),
        })
    }
}

/// Sends events of a stack to one sink. What cannot be sent is passed over, as in Heat, once it is
/// clear that another try would not help.
async fn deliver(parts: &OutletParts, sink: &Value, events: &[EventDue]) -> Result<(), Broken> {
    let Some(due) = events.first() else { return Ok(()) };
    let Some(queue) = Queue::of(sink) else {
        tracing::warn!(stack.id = %due.event.stack, "an event sink names no queue");
        return Ok(());
    };
    let mut messages = Vec::with_capacity(events.len());
    for due in events {
        messages.push(json!({ "body": body(parts, due).await?, "ttl": queue.ttl_secs }));
    }
    let newest = events.iter().map(|due| due.event.at).max().unwrap_or(due.event.at);
    let until = newest + TimeDelta::seconds(queue.ttl_secs.clamp(0, TRIED_MAX_SECS));
    let session = match parts.engine.session_of(&due.project_id, &due.trustor).await {
        Ok(session) => session,
        Err(refusal) => {
            unsent(due, &queue, &refusal);
            return Ok(());
        }
    };
    let post = |messages: &[Value]| {
        let path = format!("/v2/queues/{}/messages", path_segment(queue.name));
        Request::post(Service::of_type("messaging"), path)
            .header("client-id", due.event.stack.to_string())
            .header("x-project-id", due.project_id.as_str())
            .json(json!({ "messages": messages }))
    };
    for together in cut(&messages) {
        let mut sent = send(parts, &session, &post(together), until).await;
        if together.len() > 1 && sent.as_ref().is_err_and(may_be_too_much) {
            sent = Ok(());
            for message in together.chunks(1) {
                let one = send(parts, &session, &post(message), until).await;
                sent = sent.and(one);
            }
        }
        if let Err(error) = sent {
            unsent(due, &queue, &error);
        }
    }
    Ok(())
}

fn unsent(due: &EventDue, queue: &Queue<'_>, error: &dyn std::fmt::Display) {
    tracing::warn!(stack.id = %due.event.stack, queue = queue.name, %error,
        "events could not be sent");
}

/// Whether an error may say that less at a time would be taken.
fn may_be_too_much(error: &CloudError) -> bool {
    matches!(error.status(), Some(400 | 413))
}

/// The messages in parts that are short enough for a request; one that is too long for any is a part
/// of its own.
fn cut(messages: &[Value]) -> Vec<&[Value]> {
    let mut parts = Vec::new();
    let (mut begin, mut bytes) = (0, FRAME_BYTES);
    for (at, message) in messages.iter().enumerate() {
        // With the comma after it.
        let more = json_bytes(message) + 1;
        if at > begin && bytes + more > POST_MAX_BYTES {
            parts.push(&messages[begin..at]);
            (begin, bytes) = (at, FRAME_BYTES);
        }
        bytes += more;
    }
    parts.push(&messages[begin..]);
    parts
}

/// Makes the call until it succeeds, or cannot, or is no longer worth it.
async fn send(
    parts: &OutletParts,
    session: &Session,
    request: &Request,
    until: DateTime<Utc>,
) -> Result<(), CloudError> {
    let mut pause = PAUSES.0;
    loop {
        match session.send(request.clone()).await {
            Err(error) if error.is_transient() && parts.clock.now() < until => {
                tokio::time::sleep(error.retry_after().unwrap_or(pause).min(PAUSES.1)).await;
                pause = (pause * 2).min(PAUSES.1);
            }
            outcome => return outcome.map(|_| ()),
        }
    }
}

/// The event in the form that Heat gives it.
async fn body(parts: &OutletParts, due: &EventDue) -> Result<Value, Broken> {
    let event = &due.event;
    let definition = match event.definition {
        Some(position) => definition_at(parts.log.as_ref(), position).await?,
        None => None,
    };
    let properties = definition.map(|definition| definition.properties).unwrap_or_default();
    Ok(json!({
        "timestamp": event.at.format("%Y-%m-%dT%H:%M:%S+00:00").to_string(),
        "version": "0.1",
        "type": "os.heat.event",
        "id": event.id,
        "payload": {
            "resource_name": event.name,
            "physical_resource_id": event.physical_id,
            "stack_id": event.stack,
            "resource_action": event.action,
            "resource_status": event.status.as_str(),
            "resource_status_reason": event.reason,
            "resource_type": event.type_name,
            "resource_properties": Vault::masked(&Value::Object(properties)),
            "version": "0.1",
        },
    }))
}

/// A resource's definition, from the event that has it; what is sealed stays sealed.
async fn definition_at(
    log: &dyn EventLog,
    position: Position,
) -> Result<Option<Definition>, Broken> {
    let before = Position(position.0.saturating_sub(1));
    let events = log.read_all(before, &Filter::default(), 1).await?;
    let event = events.first().filter(|event| event.position == position);
    Ok(match event.map(|event| event.decode::<ResourceEvent>()) {
        Some(Ok(ResourceEvent::ActionStarted(started))) => started.definition,
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{StackId, Status, Trustor};
    use crate::projections::EventRow;

    fn due(position: u64, sinks: &[&str], user: &str) -> EventDue {
        let event = EventRow {
            id: Default::default(),
            stack: StackId::default(),
            stack_name: "web".to_owned(),
            position: Position(position),
            name: "a".to_owned(),
            type_name: String::new(),
            physical_id: None,
            action: "CREATE".to_owned(),
            status: Status::Complete,
            reason: String::new(),
            at: DateTime::from_timestamp(0, 0).unwrap(),
            definition: None,
        };
        let sinks = sinks.iter().map(|&name| json!({ "type": "zaqar-queue", "target": name }));
        let trustor = Trustor::of(user, Vec::new());
        EventDue { event, project_id: "p".into(), trustor, sinks: sinks.collect() }
    }

    #[test]
    fn events_go_together_that_go_to_the_same_queues_in_the_same_name() {
        let due = [
            due(1, &["q"], "alice"),
            due(2, &["q"], "alice"),
            due(3, &["q"], "bob"),
            due(4, &["q", "r"], "bob"),
            due(5, &["q"], "alice"),
        ];
        let together: Vec<usize> = due.chunk_by(goes_the_same_way).map(<[_]>::len).collect();
        assert_eq!(together, [2, 1, 1, 1]);
    }

    #[test]
    fn messages_are_cut_where_they_are_too_long_for_one_request() {
        let message = |bytes: usize| json!("x".repeat(bytes - 2));
        let lengths = |messages: &[Value]| -> Vec<usize> {
            cut(messages).into_iter().map(<[_]>::len).collect()
        };
        let half = (POST_MAX_BYTES - FRAME_BYTES) / 2 - 1;
        let [half, more, long] = [message(half), message(half + 2), message(POST_MAX_BYTES)];
        assert_eq!(lengths(&[half.clone(), half.clone(), half.clone()]), [2, 1]);
        assert_eq!(lengths(&[half.clone(), more, half.clone()]), [1, 1, 1]);
        assert_eq!(lengths(&[half.clone(), long, half.clone(), half.clone()]), [1, 1, 2]);
        let together = json!({ "messages": [half, half] });
        assert!(json_bytes(&together) <= POST_MAX_BYTES);
    }

    #[test]
    fn a_message_lives_as_long_as_its_sink_says() {
        let ttl = |sink: Value| Queue::of(&sink).map(|queue| queue.ttl_secs);
        assert_eq!(ttl(json!({ "target": "q", "ttl": 60 })), Some(60));
        assert_eq!(ttl(json!({ "target": "q", "ttl": "60" })), Some(60));
        assert_eq!(ttl(json!({ "target": "q" })), Some(TTL_SECS));
        assert_eq!(ttl(json!({ "ttl": 60 })), None, "it names no queue");
    }
}
