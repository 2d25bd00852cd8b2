//! What the stack was told that a resource stands for, and how that ended: both are in the child's own
//! stream, and need no answers that were kept. Who else may change the child is shown, too.

use serde_json::{Value, json};

use super::time;
use crate::actors::nested::child_of;
use crate::cli::stack_log::{Histories, StackLog};
use crate::events::{RecordedEvent, ResourceEvent, StackEvent, StreamId};
use crate::model::{Action, ResourceId, StackId};

/// The turns with the children of every incarnation of a resource, each child's in the order of the
/// log, in the shape of beats.
pub(super) async fn told(
    from: &Histories,
    log: &StackLog,
    name: &str,
    takes: impl Fn(&RecordedEvent) -> bool,
) -> Result<Vec<Value>, String> {
    let mut turns = Vec::new();
    for (id, _) in log.names.iter().filter(|(_, known)| known.as_str() == name) {
        for repetition in 0..=repetitions(log, *id) {
            let child = child_of(*id, repetition);
            for event in from.stream(&StreamId::stack(child)).await? {
                if !takes(&event) {
                    continue;
                }
                let body: StackEvent = event.decode().map_err(|error| error.to_string())?;
                if let Some((action, stage, ask)) = turn(child, &body) {
                    turns.push(json!({
                        "position": event.position,
                        "at": time(event.at),
                        "resource_id": id,
                        "searched": false,
                        "child": child,
                        "action": action.to_string(),
                        "stage": stage,
                        "asks": [ask],
                    }));
                }
            }
        }
    }
    Ok(turns)
}

/// How often the creation of an incarnation was made again: each time with another child.
fn repetitions(log: &StackLog, id: ResourceId) -> u32 {
    let events = log.resources.get(&id).into_iter().flatten();
    let repeated =
        events.filter(|event| matches!(event.decode(), Ok(ResourceEvent::CreateRepeated(_))));
    u32::try_from(repeated.count()).unwrap_or(u32::MAX)
}

/// What an event of a child says of a turn with it: its action, the stage, what was asked and
/// answered.
fn turn(child: StackId, event: &StackEvent) -> Option<(Action, &'static str, Value)> {
    match event {
        StackEvent::TraversalStarted(started) => {
            let ask = format!("{child}: {} to revision {}", started.action, started.revision);
            Some((started.action, "tell the child", json!({ "ask": ask })))
        }
        StackEvent::ActionDeferred(deferred) => {
            let ask = format!("{child}: {}", deferred.action);
            let ask = json!({ "ask": ask, "answer": "deferred" });
            Some((deferred.action, "tell the child", ask))
        }
        StackEvent::TraversalSettled(settled) => {
            let status = format!("{}_{}", settled.action, settled.status);
            let ask = json!({
                "ask": format!("{child}: the end of {}", settled.action),
                "answer": { "status": status, "reason": settled.reason },
            });
            Some((settled.action, "await the child", ask))
        }
        _ => None,
    }
}
