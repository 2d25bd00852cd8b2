//! The change of a group's size as the group's own stream tells it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Broken, OutletParts};
use crate::events::resource::{ActionStarted, SignalTaken};
use crate::events::{RecordedEvent, ResourceEvent, StreamRevision};
use crate::model::{PHYSICAL_NAME_MAX_CHARS, ResourceId, StackId, physical_name};

/// A step in the change of a group's size.
pub(super) struct Scaled {
    pub(super) stack: StackId,
    /// `start`, `end` or `error`.
    pub(super) suffix: &'static str,
    group: String,
    message: String,
    capacity: Value,
    adjustment: Value,
    adjustment_type: Value,
}

impl Scaled {
    /// What a signal means that was taken or handled; `None` where it is not of a group.
    pub(super) async fn of(
        parts: &OutletParts,
        event: &RecordedEvent,
    ) -> Result<Option<Scaled>, Broken> {
        let id = event.stream.as_str().strip_prefix("resource-").and_then(|id| id.parse().ok());
        let Some(id) = id.map(ResourceId) else { return Ok(None) };
        let slice = parts.log.read(&event.stream, StreamRevision(0)).await?;
        let told = slice.events.iter().filter(|it| it.revision <= event.revision);
        Ok(Self::told(id, told, |driver_type| parts.engine.scales(driver_type)))
    }

    /// What the newest of a resource's events means.
    fn told<'a>(
        id: ResourceId,
        told: impl Iterator<Item = &'a Arc<RecordedEvent>>,
        scales: impl FnOnce(&str) -> bool,
    ) -> Option<Scaled> {
        let mut started: Option<ActionStarted> = None;
        let mut driver_type = String::new();
        let mut taken: Vec<SignalTaken> = Vec::new();
        let mut handled = None;
        for event in told {
            match event.decode::<ResourceEvent>() {
                Ok(ResourceEvent::ActionStarted(it)) => {
                    if let Some(definition) = &it.definition {
                        driver_type.clone_from(&definition.driver_type);
                    }
                    started = Some(it);
                }
                Ok(ResourceEvent::SignalTaken(it)) => {
                    taken.push(it);
                    handled = None;
                }
                Ok(ResourceEvent::SignalHandled(it)) => handled = Some(it),
                _ => {}
            }
        }
        let signal = handled.as_ref().map(|it| it.signal);
        let asked = match signal {
            None => taken.last(),
            Some(signal) => taken.iter().rfind(|it| it.signal == signal),
        };
        let (started, asked) = (started?, asked?);
        if !scales(&driver_type) {
            return None;
        }
        let group = physical_name(&started.stack_name, &started.name, id, PHYSICAL_NAME_MAX_CHARS);
        let of = |key: &str| asked.details.get(key).cloned().unwrap_or_default();
        let (suffix, message, capacity) = match handled.map(|it| it.error) {
            None => ("start", format!("Start resizing the group {group}"), of("capacity")),
            Some(None) => ("end", format!("End resizing the group {group}"), of("size")),
            Some(Some(error)) => ("error", error, of("capacity")),
        };
        Some(Scaled {
            stack: started.stack_id,
            suffix,
            group,
            message,
            capacity,
            adjustment: whole(of("adjustment")),
            adjustment_type: of("adjustment_type"),
        })
    }

    /// Adds what it says to what is said of the stack.
    pub(super) fn add_to(&self, payload: &mut Value) {
        let own = json!({
            "adjustment_type": self.adjustment_type,
            "adjustment": self.adjustment,
            "capacity": self.capacity,
            "groupname": self.group,
            "message": self.message,
        });
        if let (Value::Object(payload), Value::Object(own)) = (payload, own) {
            payload.extend(own);
        }
    }
}

/// A number as it was written: whole where it is whole.
fn whole(number: Value) -> Value {
    match number.as_f64() {
        Some(value) if value.fract() == 0.0 && value.abs() < 9e15 => json!(value as i64),
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::recorded;
    use super::*;
    use crate::events::resource::{Definition, SignalHandled};
    use crate::events::{Meta, StreamId};
    use crate::model::{Action, CommandId, JsonMap};

    fn event(position: u64, event: impl Into<ResourceEvent>) -> Arc<RecordedEvent> {
        recorded::<ResourceEvent>(
            StreamId::resource(ResourceId::default()),
            position,
            event,
            Meta::default(),
        )
    }

    fn begun() -> ActionStarted {
        ActionStarted {
            action: Action::Create,
            traversal: Default::default(),
            stack_id: StackId::default(),
            stack_name: "web".into(),
            project_id: "p".into(),
            name: "a".into(),
            type_name: "Alias".to_owned(),
            definition: Some(Definition {
                driver_type: "Group".to_owned(),
                ..Definition::default()
            }),
            deadline: None,
            user_id: "alice".to_owned(),
            roles: None,
            hooks: Vec::new(),
            observes: false,
            replaces: Vec::new(),
            retains: false,
        }
    }

    fn signal(number: u128) -> CommandId {
        CommandId(uuid::Uuid::from_u128(number))
    }

    fn taken(number: u128, from: usize, to: usize) -> SignalTaken {
        let details = json!({ "capacity": from, "size": to, "adjustment": 1.0,
                              "adjustment_type": "change_in_capacity" });
        SignalTaken { signal: signal(number), details }
    }

    fn handled(number: u128, error: Option<&str>) -> SignalHandled {
        SignalHandled {
            signal: signal(number),
            reason: None,
            error: error.map(str::to_owned),
            metadata: JsonMap::new(),
            data: Default::default(),
            attributes: JsonMap::new(),
        }
    }

    fn told(events: &[Arc<RecordedEvent>]) -> Option<Scaled> {
        Scaled::told(ResourceId::default(), events.iter(), |driver_type| driver_type == "Group")
    }

    #[test]
    fn a_change_of_size_begins_with_the_size_before_and_ends_with_the_one_after() {
        let mut events = vec![event(1, begun()), event(2, taken(1, 1, 2))];
        let start = told(&events).unwrap();
        assert_eq!((start.suffix, &start.capacity), ("start", &json!(1)));
        assert_eq!(start.adjustment.to_string(), "1");
        events.push(event(3, handled(1, None)));
        let end = told(&events).unwrap();
        assert_eq!((end.suffix, &end.capacity), ("end", &json!(2)));
    }

    #[test]
    fn one_that_failed_has_the_size_before_and_says_why() {
        let events =
            [event(1, begun()), event(2, taken(1, 1, 2)), event(3, handled(1, Some("boom")))];
        let failed = told(&events).unwrap();
        assert_eq!((failed.suffix, &failed.capacity), ("error", &json!(1)));
        assert_eq!(failed.message, "boom");
    }

    #[test]
    fn the_end_is_told_of_the_signal_that_has_ended() {
        let events = [
            event(1, begun()),
            event(2, taken(1, 1, 2)),
            event(3, taken(2, 2, 3)),
            event(4, handled(1, None)),
        ];
        assert_eq!(told(&events).unwrap().capacity, json!(2));
    }

    #[test]
    fn a_signal_to_what_is_no_group_is_no_change_of_size() {
        let mut begun = begun();
        begun.definition = Some(Definition::default());
        assert!(told(&[event(1, begun), event(2, taken(1, 1, 2))]).is_none());
    }
}
