//! Actions of stacks and of resources as spans, told once they are over.
//!
//! What began before this process is left out, and so is what happens while it starts over: the log
//! is the record, and a trace a picture of it.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use futures::StreamExt;

use super::{Broken, OutletParts};
use crate::events::log::Filter;
use crate::events::resource::ResourceEvent;
use crate::events::stack::StackEvent;
use crate::events::{RecordedEvent, StreamId};
use crate::model::{Action, RequestId, ResourceId, Status};
use crate::traces::{Span, SpanContext, SpanId, SpanKind, TraceId};

/// How many actions are kept in mind until they end; those beyond it are not told.
const OPEN_MAX: usize = 100_000;

/// An action that has begun.
struct Begun {
    at: DateTime<Utc>,
    /// What it is of: `stack`, or the type of a resource.
    of: String,
}

/// How an action ended.
struct Over {
    span: SpanId,
    parent: SpanId,
    action: Action,
    status: Status,
}

/// Follows what happens from now on.
pub(super) async fn follow(parts: &OutletParts) -> Result<(), Broken> {
    let filter = Filter { kinds: vec!["stack", "resource"] };
    let mut events = parts.log.subscribe(parts.log.durable_position(), filter);
    let mut open: HashMap<StreamId, Begun> = HashMap::new();
    while let Some(event) = events.next().await {
        let event = event?;
        if let Some(of) = begun(&event) {
            if open.len() < OPEN_MAX {
                open.insert(event.stream.clone(), Begun { at: event.at, of });
            }
        } else if let Some(request) = &event.meta.request_id
            && let Some(over) = over(&event, request)
            && let Some(begun) = open.remove(&event.stream)
        {
            parts.tracer.tell(|| span(begun, &over, &event, request));
        }
    }
    Ok(())
}

/// What an action that begins with the event is of.
fn begun(event: &RecordedEvent) -> Option<String> {
    match event.event_type.as_ref() {
        "TraversalStarted" => Some("stack".to_owned()),
        "ActionStarted" => match event.decode::<ResourceEvent>() {
            Ok(ResourceEvent::ActionStarted(started)) => Some(started.type_name),
            _ => None,
        },
        _ => None,
    }
}

/// How the action ended that ends with the event.
fn over(event: &RecordedEvent, request: &RequestId) -> Option<Over> {
    match event.event_type.as_ref() {
        "TraversalSettled" => match event.decode::<StackEvent>() {
            Ok(StackEvent::TraversalSettled(settled)) => Some(Over {
                span: SpanId::of_traversal(settled.traversal),
                parent: SpanId::of_request(request),
                action: settled.action,
                status: settled.status,
            }),
            _ => None,
        },
        "ActionSettled" => match event.decode::<ResourceEvent>() {
            Ok(ResourceEvent::ActionSettled(settled)) => Some(Over {
                span: SpanId::of_resource(resource_of(event)?, settled.traversal),
                parent: SpanId::of_traversal(settled.traversal),
                action: settled.action,
                status: settled.status,
            }),
            _ => None,
        },
        _ => None,
    }
}

fn resource_of(event: &RecordedEvent) -> Option<ResourceId> {
    let id = event.stream.as_str().strip_prefix("resource-")?;
    id.parse().ok().map(ResourceId)
}

fn span(begun: Begun, over: &Over, event: &RecordedEvent, request: &RequestId) -> Span {
    Span {
        context: SpanContext { trace: TraceId::of(request), span: over.span },
        parent: Some(over.parent),
        link: None,
        kind: SpanKind::Internal,
        name: format!("{} {}", over.action, begun.of),
        began: begun.at,
        ended: event.at,
        attributes: vec![
            ("hearth.action", over.action.as_str().into()),
            ("hearth.status", over.status.as_str().into()),
            ("hearth.stream", event.stream.as_str().into()),
        ],
        failed: over.status == Status::Failed,
    }
}
