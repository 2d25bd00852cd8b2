//! The change of a group's size as the group's own stream tells it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Broken, OutletParts};
use crate::events::resource::{ActionStarted, ResizeTaken};
use crate::events::{RecordedEvent, ResourceEvent, StreamRevision};
use crate::model::{PHYSICAL_NAME_MAX_CHARS, ResourceId, StackId, physical_name};

/// Of how many resources that were signaled it is remembered what they are.
const KNOWN_MAX: usize = 4_096;

/// The resources that were signaled; `None` is one that is no group, whose stream is not read again.
#[derive(Default)]
pub(super) struct Groups(HashMap<ResourceId, Option<Group>>);

/// A group whose size signals change.
struct Group {
    stack: StackId,
    name: String,
    /// Those that were taken and are not handled yet.
    taken: Vec<ResizeTaken>,
}

/// A step in the change of a group's size.
pub(super) struct Scaled {
    pub(super) stack: StackId,
    /// `start`, `end` or `error`.
    pub(super) suffix: &'static str,
    group: String,
    message: String,
    capacity: usize,
    adjustment: Value,
    adjustment_type: String,
}

impl Groups {
    /// What a signal means that was taken or handled; `None` where it is not of a group.
    pub(super) async fn scaled(
        &mut self,
        parts: &OutletParts,
        event: &RecordedEvent,
    ) -> Result<Option<Scaled>, Broken> {
        let id = event.stream.as_str().strip_prefix("resource-").and_then(|id| id.parse().ok());
        let Some(id) = id.map(ResourceId) else { return Ok(None) };
        if !self.0.contains_key(&id) {
            let slice = parts.log.read(&event.stream, StreamRevision(0)).await?;
            let before = slice.events.iter().filter(|it| it.revision < event.revision);
            let group = Group::of(id, before, |driver_type| parts.engine.scales(driver_type));
            if self.0.len() >= KNOWN_MAX {
                self.0.clear();
            }
            self.0.insert(id, group);
        }
        let group = self.0.get_mut(&id).and_then(Option::as_mut);
        Ok(group.and_then(|group| group.take(event)))
    }
}

impl Group {
    /// The group as these events tell it; `None` where the resource is none.
    fn of<'a>(
        id: ResourceId,
        mut events: impl Iterator<Item = &'a Arc<RecordedEvent>>,
        scales: impl FnOnce(&str) -> bool,
    ) -> Option<Self> {
        // What a resource is of stays.
        let (started, driver_type) = events.find_map(|event| driver_of(event))?;
        if !scales(&driver_type) {
            return None;
        }
        let name = physical_name(&started.stack_name, &started.name, id, PHYSICAL_NAME_MAX_CHARS);
        let mut group = Self { stack: started.stack_id, name, taken: Vec::new() };
        for event in events {
            group.take(event);
        }
        Some(group)
    }

    /// Takes in what happened; what that means for the size.
    fn take(&mut self, event: &RecordedEvent) -> Option<Scaled> {
        if !["SignalTaken", "ResizeTaken", "SignalHandled"].contains(&event.event_type.as_ref()) {
            return None;
        }
        let (asked, end) = match event.decode::<ResourceEvent>() {
            Ok(ResourceEvent::SignalTaken(taken)) => (ResizeTaken::formerly(&taken)?, None),
            Ok(ResourceEvent::ResizeTaken(taken)) => (taken, None),
            Ok(ResourceEvent::SignalHandled(handled)) => {
                let at = self.taken.iter().position(|taken| taken.signal == handled.signal)?;
                (self.taken.remove(at), Some(handled.error))
            }
            _ => return None,
        };
        if end.is_none() {
            self.taken.push(asked.clone());
        }
        let (group, resize) = (self.name.clone(), asked.resize);
        let (suffix, message, capacity) = match end {
            None => ("start", format!("Start resizing the group {group}"), resize.from),
            Some(None) => ("end", format!("End resizing the group {group}"), resize.to),
            Some(Some(error)) => ("error", error, resize.from),
        };
        Some(Scaled {
            stack: self.stack,
            suffix,
            group,
            message,
            capacity,
            adjustment: whole(resize.adjustment),
            adjustment_type: resize.kind,
        })
    }
}

/// What runs the resource, where an event says it.
fn driver_of(event: &RecordedEvent) -> Option<(ActionStarted, String)> {
    let Ok(ResourceEvent::ActionStarted(started)) = event.decode() else { return None };
    let driver_type = started.definition.as_ref()?.driver_type.clone();
    Some((started, driver_type))
}

impl Scaled {
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
fn whole(number: f64) -> Value {
    match number.fract() == 0.0 && number.abs() < 9e15 {
        true => json!(number as i64),
        false => json!(number),
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::recorded;
    use super::*;
    use crate::events::resource::{Definition, Resize, SignalHandled, SignalTaken};
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

    fn taken(number: u128, from: usize, to: usize) -> ResizeTaken {
        let kind = "change_in_capacity".to_owned();
        let resize = Resize { from, to, adjustment: 1.0, kind, cooldown_secs: None };
        ResizeTaken { signal: signal(number), resize }
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
        let (newest, before) = events.split_last().unwrap();
        Group::of(ResourceId::default(), before.iter(), |it| it == "Group")?.take(newest)
    }

    #[test]
    fn a_change_of_size_begins_with_the_size_before_and_ends_with_the_one_after() {
        let mut events = vec![event(1, begun()), event(2, taken(1, 1, 2))];
        let start = told(&events).unwrap();
        assert_eq!((start.suffix, start.capacity), ("start", 1));
        assert_eq!(start.adjustment.to_string(), "1");
        events.push(event(3, handled(1, None)));
        let end = told(&events).unwrap();
        assert_eq!((end.suffix, end.capacity), ("end", 2));
    }

    #[test]
    fn one_that_failed_has_the_size_before_and_says_why() {
        let events =
            [event(1, begun()), event(2, taken(1, 1, 2)), event(3, handled(1, Some("boom")))];
        let failed = told(&events).unwrap();
        assert_eq!((failed.suffix, failed.capacity), ("error", 1));
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
        assert_eq!(told(&events).unwrap().capacity, 2);
    }

    #[test]
    fn a_change_is_told_that_an_earlier_build_wrote_as_a_signal() {
        let details = json!({ "capacity": 1, "size": 2, "adjustment": 1.5,
                              "adjustment_type": "change_in_capacity" });
        let former = SignalTaken { signal: signal(1), details };
        let mut events = vec![event(1, begun()), event(2, former)];
        let start = told(&events).unwrap();
        assert_eq!((start.suffix, start.capacity), ("start", 1));
        assert_eq!((start.adjustment, &*start.adjustment_type), (json!(1.5), "change_in_capacity"));
        events.push(event(3, handled(1, None)));
        assert_eq!(told(&events).unwrap().capacity, 2);
    }

    #[test]
    fn a_signal_to_what_is_no_group_is_no_change_of_size() {
        let mut begun = begun();
        begun.definition = Some(Definition::default());
        let events = [event(1, begun), event(2, taken(1, 1, 2)), event(3, handled(1, None))];
        let mut looked_at = 0;
        let events = events.iter().inspect(|_| looked_at += 1);
        assert!(Group::of(ResourceId::default(), events, |it| it == "Group").is_none());
        assert_eq!(looked_at, 1, "what it is of is known by the first");
    }
}
