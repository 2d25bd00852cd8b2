//! The change of a group's size as the group's own stream tells it.

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
        let (Some(started), Some(asked)) = (started, asked) else { return Ok(None) };
        if !parts.engine.scales(&driver_type) {
            return Ok(None);
        }
        let group = physical_name(&started.stack_name, &started.name, id, PHYSICAL_NAME_MAX_CHARS);
        let of = |key: &str| asked.details.get(key).cloned().unwrap_or_default();
        let (suffix, message, capacity) = match handled.map(|it| it.error) {
            None => ("start", format!("Start resizing the group {group}"), of("capacity")),
            Some(None) => ("end", format!("End resizing the group {group}"), of("size")),
            Some(Some(error)) => ("error", error, of("capacity")),
        };
        Ok(Some(Scaled {
            stack: started.stack_id,
            suffix,
            group,
            message,
            capacity,
            adjustment: whole(of("adjustment")),
            adjustment_type: of("adjustment_type"),
        }))
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
