//! `hearth replay STACK --step`: each event of a stack and its resources, and what it changed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::diff::told;
use super::state::{begun, fold, resource_json, stack_json};
use crate::actors::resource::Resource;
use crate::actors::shell::Aggregate;
use crate::actors::stack::Stack;
use crate::cli::columns::{clean, cut};
use crate::cli::history::{sentence, time};
use crate::cli::live::{self, Keys};
use crate::cli::output::{is_lost, print};
use crate::cli::stack_log::StackLog;
use crate::events::{RecordedEvent, StackEvent, StreamId, When};
use crate::model::{ResourceId, ResourceName};
use crate::projections::differences;

/// The key that ends it.
const LEAVE: u8 = b'q';

/// The stack and its resources, as far as their events were taken in.
struct Steps<'a> {
    log: &'a StackLog,
    stack: Stack,
    resources: BTreeMap<ResourceId, Resource>,
    ids: BTreeMap<StreamId, ResourceId>,
}

/// Prints them; in a terminal a key is waited for after each.
pub(super) fn run(
    log: &StackLog,
    until: Option<When>,
    resource: Option<&str>,
    json: bool,
) -> Result<(), String> {
    let ids = log.resources.keys().map(|id| (StreamId::resource(*id), *id)).collect();
    let mut steps = Steps { log, stack: Stack::default(), resources: BTreeMap::new(), ids };
    let columns = live::columns();
    let keys = if json { None } else { Keys::take() };
    let mut any = false;
    for (name, event) in log.in_order() {
        if until.is_some_and(|until| !until.takes(event)) {
            continue;
        }
        let changes = steps.take(event)?;
        if resource.is_some_and(|wanted| name.is_none_or(|name| name.as_str() != wanted)) {
            continue;
        }
        any = true;
        print(&match json {
            true => format!("{}\n", as_json(name, event, &changes)),
            false => as_text(name, event, &changes, columns),
        });
        if is_lost() || keys.as_ref().is_some_and(|keys| keys.next() == Some(LEAVE)) {
            break;
        }
    }
    match (any, resource) {
        (false, Some(name)) => Err(format!("the stack had no resource {name}")),
        (false, None) => Err("the stack was not there yet".to_owned()),
        (true, _) => Ok(()),
    }
}

impl Steps<'_> {
    /// Takes in an event: what it changed, place by place.
    fn take(&mut self, event: &RecordedEvent) -> Result<Vec<Value>, String> {
        let Some(id) = self.ids.get(&event.stream).copied() else {
            let before = stack_shown(&self.stack);
            let body: StackEvent = event.decode().map_err(|error| error.to_string())?;
            self.stack.apply(&body, event.at);
            return Ok(differences(&before, &stack_shown(&self.stack)));
        };
        let resource = self.resources.entry(id).or_insert_with(|| {
            let name = self.log.names.get(&id).cloned().unwrap_or_default();
            begun(id, &name, "")
        });
        let before = resource_shown(resource);
        fold(resource, event)?;
        Ok(differences(&before, &resource_shown(resource)))
    }
}

/// A stack; before its first revision there is nothing of it.
fn stack_shown(stack: &Stack) -> Value {
    let shown = stack_json(stack);
    let Value::Object(parts) = &shown else { return shown };
    match stack.exists() {
        true => shown,
        false => parts.keys().map(|name| (name.clone(), Value::Null)).collect(),
    }
}

/// A resource with the step that it is at.
fn resource_shown(resource: &Resource) -> Value {
    let mut shown = resource_json(resource);
    shown["step"] = match resource.step() {
        Some((step, true)) => format!("{step}, asked").into(),
        Some((step, false)) => step.into(),
        None => Value::Null,
    };
    shown
}

fn as_json(name: Option<&ResourceName>, event: &RecordedEvent, changes: &[Value]) -> Value {
    json!({
        "position": event.position,
        "at": time(event),
        "resource_name": name,
        "type": &*event.event_type,
        "told": sentence(name.is_some(), event),
        "changes": changes,
    })
}

fn as_text(
    name: Option<&ResourceName>,
    event: &RecordedEvent,
    changes: &[Value],
    columns: Option<usize>,
) -> String {
    let of = name.map_or("(stack)", ResourceName::as_str);
    let told_of = sentence(name.is_some(), event);
    let mut lines = vec![format!("{:>8}  {}  {of}  {told_of}", event.position.0, time(event))];
    lines.extend(changes.iter().map(|change| format!("          {}", told(change))));
    let fit = |line: &String| columns.map_or(line.clone(), |columns| cut(line, columns));
    let text: String = lines.iter().map(|line| format!("{}\n", fit(line))).collect();
    clean(&text)
}
