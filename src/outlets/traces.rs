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

#[cfg(test)]
mod tests {
    use super::super::story::recorded;
    use super::*;
    use crate::events::Meta;
    use crate::events::resource::ActionSettled;
    use crate::events::stack::TraversalSettled;
    use crate::model::{StackId, TraversalId};

    fn request() -> RequestId {
        RequestId::from("req-1")
    }

    fn settled(status: Status) -> TraversalSettled {
        TraversalSettled {
            traversal: TraversalId::default(),
            action: Action::Create,
            status,
            reason: String::new(),
            outputs: Vec::new(),
            rows: None,
        }
    }

    fn of_stack(status: Status) -> Span {
        let stream = StreamId::stack(StackId::default());
        let event = recorded::<StackEvent>(stream, 5, settled(status), Meta::default());
        let began = Begun { at: DateTime::from_timestamp(2, 0).unwrap(), of: "stack".to_owned() };
        span(began, &over(&event, &request()).unwrap(), &event, &request())
    }

    #[test]
    fn a_request_leads_to_a_stacks_action_and_that_to_those_of_its_resources() {
        let stack = of_stack(Status::Complete);
        assert_eq!(stack.parent, Some(SpanId::of_request(&request())));
        let stream = StreamId::resource(ResourceId::default());
        let settled = ActionSettled::new(
            Action::Create,
            TraversalId::default(),
            Status::Complete,
            String::new(),
        );
        let event = recorded::<ResourceEvent>(stream, 4, settled, Meta::default());
        let resource = over(&event, &request()).unwrap();
        assert_eq!(resource.parent, stack.context.span);
        assert_ne!(resource.span, stack.context.span);
    }

    #[test]
    fn a_span_lasts_from_the_start_of_an_action_to_its_end_and_says_how_that_was() {
        let span = of_stack(Status::Failed);
        assert_eq!((span.ended - span.began).num_seconds(), 3);
        assert_eq!(span.name, "CREATE stack");
        assert!(span.failed && !of_stack(Status::Complete).failed);
    }
}
