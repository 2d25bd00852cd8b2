//! Notifications `orchestration.stack.*` and `orchestration.autoscaling.*`, with Heat's keys.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::StreamExt;
use serde_json::{Value, json};

use super::bus::Bus;
use super::notification::Notification;
use super::place::Place;
use super::scaling::{Groups, Scaled};
use super::{Broken, OutletParts};
use crate::events::RecordedEvent;
use crate::events::log::Filter;
use crate::model::bus::BusSettings;
use crate::model::{JsonMap, StackId, Status};
use crate::projections::{StackThen, event_id};

/// The priority of what tells of a failure.
const ERROR: &str = "ERROR";

/// How notifications are sent.
#[derive(Clone)]
pub struct NotificationSettings {
    /// `default_notification_level`, in capitals.
    pub level: String,
    /// `default_publisher_id`.
    pub publisher_id: String,
    pub carrier: Carrier,
}

/// What takes notifications away.
#[derive(Clone)]
pub enum Carrier {
    Function(Arc<dyn Fn(&Notification) + Send + Sync>),
    /// One driver after the other, each by the bus that it sends to; `None` is lines of the log.
    Bus(Vec<Option<Arc<BusSettings>>>),
}

/// A carrier at work, or one of its drivers.
enum Way<'a> {
    Function(&'a (dyn Fn(&Notification) + Send + Sync)),
    Bus(Bus),
}

impl<'a> Way<'a> {
    /// Those that every notification goes, one after the other.
    fn all(carrier: &'a Carrier) -> Vec<Self> {
        match carrier {
            Carrier::Function(function) => vec![Self::Function(function.as_ref())],
            Carrier::Bus(drivers) => drivers.iter().map(Self::of).collect(),
        }
    }

    fn of(driver: &Option<Arc<BusSettings>>) -> Self {
        match driver {
            Some(settings) => Self::Bus(Bus::new(Arc::clone(settings))),
            None => Self::Function(&to_log),
        }
    }

    /// Comes back once it is out of Hearth's hands, be it hours later.
    async fn send(&mut self, notification: &Notification) {
        match self {
            Self::Function(function) => function(notification),
            Self::Bus(bus) => bus.send(notification).await,
        }
    }
}

/// The driver `log`: a line of the log, whose message is the notification as JSON.
pub fn to_log(notification: &Notification) {
    let text = notification.to_json();
    match notification.priority.as_str() {
        ERROR | "CRITICAL" => tracing::error!(target: "hearth::notification", "{text}"),
        "WARN" => tracing::warn!(target: "hearth::notification", "{text}"),
        "DEBUG" => tracing::debug!(target: "hearth::notification", "{text}"),
        _ => tracing::info!(target: "hearth::notification", "{text}"),
    }
}

pub(super) async fn follow(
    parts: &OutletParts,
    settings: &NotificationSettings,
    place: &mut Place,
) -> Result<(), Broken> {
    let filter = Filter { kinds: vec!["stack", "resource"] };
    let mut events = parts.log.subscribe(place.reached, filter);
    let mut ways = Way::all(&settings.carrier);
    let mut groups = Groups::default();
    while let Some(event) = place.awaits(events.next()).await? {
        let event = event?;
        let notification = notification(parts, settings, &mut groups, &event).await?;
        if let Some(notification) = &notification {
            // Only once all have it the place moves on, so a crash in between repeats it for all.
            for way in &mut ways {
                way.send(notification).await;
            }
        }
        place.move_to(event.position, usize::from(notification.is_some())).await?;
    }
    Ok(())
}

/// What is told of an event, if anything is.
async fn notification(
    parts: &OutletParts,
    settings: &NotificationSettings,
    groups: &mut Groups,
    event: &RecordedEvent,
) -> Result<Option<Notification>, Broken> {
    let (stack, scaled) = match event.event_type.as_ref() {
        "TraversalStarted" | "TraversalSettled" => {
            let id = event.stream.as_str().strip_prefix("stack-").and_then(|id| id.parse().ok());
            (id.map(StackId), None)
        }
        "SignalTaken" | "ResizeTaken" | "SignalHandled" => {
            let scaled = groups.scaled(parts, event).await?;
            (scaled.as_ref().map(|scaled| scaled.stack), scaled)
        }
        _ => (None, None),
    };
    let Some(id) = stack else { return Ok(None) };
    let Some(stack) = parts.views.stack_then(id, event.position).await? else { return Ok(None) };
    Ok(Some(told(settings, &stack, scaled.as_ref(), event)))
}

/// How it is told of a stack that it stands as it does, or of a group in it that its size changes.
fn told(
    settings: &NotificationSettings,
    stack: &StackThen,
    scaled: Option<&Scaled>,
    event: &RecordedEvent,
) -> Notification {
    let mut payload = body(stack, event);
    let (place, is_error) = match scaled {
        None => {
            let suffix = match stack.status {
                Status::InProgress => "start",
                Status::Complete => "end",
                Status::Failed => "error",
            };
            let action = stack.action.as_str().to_lowercase();
            (format!("stack.{action}.{suffix}"), stack.status == Status::Failed)
        }
        Some(scaled) => {
            scaled.add_to(&mut payload);
            (format!("autoscaling.{}", scaled.suffix), scaled.suffix == "error")
        }
    };
    Notification {
        id: event_id(event.position, stack.id),
        publisher_id: settings.publisher_id.clone(),
        event_type: format!("orchestration.{place}"),
        priority: if is_error { ERROR.to_owned() } else { settings.level.clone() },
        payload,
        at: event.at,
        context: context(stack, event),
    }
}

/// Whose request it was, by the keys of Heat's context of requests.
fn context(stack: &StackThen, event: &RecordedEvent) -> JsonMap {
    let caller = event.meta.caller.as_ref();
    let user = caller.map_or(&stack.owner_id, |caller| &caller.user_id);
    let project = &stack.project_id;
    let context = json!({
        "user": user,
        "user_identity": format!("{user} {project} - - -"),
        "username": caller.map_or(&stack.owner, |caller| &caller.user_name),
        "project": project,
        "project_id": project,
        "project_name": caller.map(|caller| &caller.project_name),
        "roles": caller.map_or(&[][..], |caller| &caller.roles),
        "is_admin": caller.is_some_and(|caller| caller.is_admin()),
        "request_id": event.meta.request_id,
        "auth_token": null,
        "password": null,
        "trust_id": null,
        "domain": null,
        "user_domain": null,
        "project_domain": null,
        "system_scope": null,
        "read_only": false,
        "show_deleted": false,
        "global_request_id": null,
        "resource_uuid": null,
    });
    context.as_object().cloned().unwrap_or_default()
}

/// What every notification says of its stack.
fn body(stack: &StackThen, event: &RecordedEvent) -> Value {
    let caller = event.meta.caller.as_ref();
    let name = caller.map_or(&stack.owner, |caller| &caller.user_name);
    let user_id = caller.map_or(&stack.owner_id, |caller| &caller.user_id);
    json!({
        "tenant_id": stack.project_id,
        "user_id": name,
        "user_identity": user_id,
        "username": name,
        "stack_identity": stack.id,
        "stack_name": stack.name,
        "state": format!("{}_{}", stack.action, stack.status),
        "state_reason": stack.reason,
        "create_at": time(stack.created_at),
        "description": stack.description,
        "tags": stack.tags,
        "updated_at": stack.updated_at.map(time),
    })
}

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::super::story::recorded;
    use super::*;
    use crate::events::stack::UserProjectMade;
    use crate::events::{Meta, StackEvent, StreamId};
    use crate::model::{Action, Caller};

    fn stack(action: Action, status: Status) -> StackThen {
        StackThen {
            id: StackId::default(),
            name: "web".to_owned(),
            project_id: "p".into(),
            owner: "alice".to_owned(),
            owner_id: "a1".to_owned(),
            action,
            status,
            reason: String::new(),
            created_at: DateTime::from_timestamp(0, 0).unwrap(),
            updated_at: None,
            description: String::new(),
            tags: Vec::new(),
        }
    }

    fn notified(stack: &StackThen, position: u64, caller: Option<Caller>) -> Notification {
        let settings = NotificationSettings {
            level: "INFO".to_owned(),
            publisher_id: "hearth".to_owned(),
            carrier: Carrier::Function(Arc::new(|_| {})),
        };
        let meta = Meta { caller: caller.map(Arc::new), ..Meta::default() };
        let event = UserProjectMade { project_id: "users".into() };
        let event = recorded::<StackEvent>(StreamId::stack(stack.id), position, event, meta);
        told(&settings, stack, None, &event)
    }

    #[test]
    fn a_stack_is_told_by_its_action_and_how_it_stands_and_a_failure_as_an_error() {
        for (action, status, event_type, priority) in [
            (Action::Create, Status::InProgress, "orchestration.stack.create.start", "INFO"),
            (Action::Update, Status::Complete, "orchestration.stack.update.end", "INFO"),
            (Action::Delete, Status::Failed, "orchestration.stack.delete.error", "ERROR"),
        ] {
            let told = notified(&stack(action, status), 1, None);
            assert_eq!((&*told.event_type, &*told.priority), (event_type, priority));
        }
    }

    #[test]
    fn it_is_told_who_asked_and_where_nobody_did_whose_the_stack_is() {
        let stack = stack(Action::Create, Status::Complete);
        let bob = Caller {
            user_id: "b1".to_owned(),
            user_name: "bob".to_owned(),
            project_id: "p".into(),
            project_name: "project".to_owned(),
            roles: Vec::new(),
            scope: Default::default(),
            admin: false,
        };
        for (caller, name, id) in [(Some(bob), "bob", "b1"), (None, "alice", "a1")] {
            let told = notified(&stack, 1, caller);
            assert_eq!(
                (&told.payload["username"], &told.payload["user_identity"]),
                (&json!(name), &json!(id))
            );
            assert_eq!(
                (&told.context["username"], &told.context["user"]),
                (&json!(name), &json!(id))
            );
        }
    }

    #[test]
    fn what_is_sent_again_has_the_same_id() {
        let stack = stack(Action::Create, Status::Complete);
        assert_eq!(notified(&stack, 1, None).id, notified(&stack, 1, None).id);
        assert_ne!(notified(&stack, 1, None).id, notified(&stack, 2, None).id);
    }
}
