//! A stack as it stood: the fold of its events up to a position or a moment.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::actors::resource::Resource;
use crate::actors::shell::Aggregate;
use crate::actors::sourced::Sourced;
use crate::actors::stack::Stack;
use crate::cli::columns::{table, wrapped};
use crate::cli::stack_log::{Histories, StackLog};
use crate::events::stack::OutputResolved;
use crate::events::vault::Vault;
use crate::events::{Position, RecordedEvent, ResourceEvent, StackEvent, When};
use crate::model::{Action, JsonMap, ResourceId, ResourceName, Status};
use crate::template::emptied;

/// A stack as it stood.
pub(super) struct Replayed {
    stack: Stack,
    /// The incarnations that there were, with whether one was being replaced.
    pub(super) resources: Vec<(Resource, bool)>,
    outputs: Vec<OutputResolved>,
    /// The last event taken in.
    pub(super) position: Position,
    pub(super) at: DateTime<Utc>,
}

impl Replayed {
    pub(super) fn of(log: &StackLog, until: Option<When>) -> Result<Self, String> {
        let taken = |event: &RecordedEvent| until.is_none_or(|until| until.takes(event));
        let mut stack = Stack::default();
        let mut outputs = Vec::new();
        let mut last = None;
        for (event, body) in log.stack.iter().filter(|(event, _)| taken(event)) {
            stack.apply(body, event.at);
            if let StackEvent::TraversalSettled(settled) = body {
                outputs.clone_from(&settled.outputs);
            }
            last = last.max(Some((event.position, event.at)));
        }
        if !stack.exists() {
            return Err("the stack was not there yet".to_owned());
        }
        let mut resources = Vec::new();
        for row in stack.rows.values() {
            let mut resource = begun(row.id, &row.name, &row.type_name);
            let events = log.resources.get(&row.id).into_iter().flatten();
            for event in events.filter(|event| taken(event)) {
                fold(&mut resource, event)?;
                last = last.max(Some((event.position, event.at)));
            }
            let gone = resource.action == Action::Delete && resource.status == Status::Complete;
            if !gone {
                resources.push((resource, row.replaced_by.is_some()));
            }
        }
        let (position, at) = last.unwrap_or_default();
        Ok(Self { stack, resources, outputs, position, at })
    }

    /// The source of the newest revision: template, environment and files, secrets masked.
    pub(super) async fn source(&self, from: &Histories) -> Result<Value, String> {
        let newest = self.stack.revision().map(|revision| revision.revision);
        let sourced = newest.and_then(|revision| self.stack.sourced(revision));
        let Some(Sourced { revision, emptied: is_emptied }) = sourced else {
            return Ok(Value::Null);
        };
        let source = match &revision.source {
            Some(id) => from.source(id).await?.unwrap_or_default(),
            None => Value::Null,
        };
        let part = |name: &str| source.get(name).map(Vault::masked).unwrap_or_default();
        Ok(match is_emptied {
            true => json!({ "template": emptied(&part("template")) }),
            false => json!({
                "template": part("template"),
                "environment": part("environment"),
                "files": part("files"),
            }),
        })
    }

    pub(super) fn as_json(&self) -> Value {
        let stack = &self.stack;
        let resources = self.resources.iter().map(|(resource, replaced)| {
            let mut shown = resource_json(resource);
            shown["replaced"] = (*replaced).into();
            shown
        });
        json!({
            "position": self.position,
            "at": time(self.at),
            "stack": stack_json(stack),
            "resources": resources.collect::<Vec<_>>(),
            "outputs": outputs_json(&self.outputs),
        })
    }

    pub(super) fn as_text(&self, columns: Option<usize>) -> String {
        let stack = &self.stack;
        let heading = [
            format!(
                "Stack {} ({}) at position {}, {}",
                stack.name,
                stack.id,
                self.position,
                time(self.at)
            ),
            format!("{}_{}: {}", stack.action, stack.status, stack.reason),
        ];
        let fitting = heading.iter().flat_map(|line| match columns {
            Some(columns) => wrapped(line, columns),
            None => vec![line.clone()],
        });
        let mut text: String = fitting.map(|line| format!("{line}\n")).collect();
        if let Some(revision) = stack.revision() {
            text.push_str(&format!("Revision {} ({})\n", revision.revision, revision.action));
            section(&mut text, "Parameters", revision.shown_parameters.iter());
        }
        text.push_str("\nResources\n");
        let rows: Vec<Vec<String>> = self.resources.iter().map(resource_row).collect();
        let columns = columns.map(|columns| columns.saturating_sub(2));
        for line in table(&rows, columns).lines() {
            text.push_str(&format!("  {line}\n"));
        }
        let outputs: JsonMap = self
            .outputs
            .iter()
            .map(|output| (output.key.clone(), Vault::masked(&output.value)))
            .collect();
        section(&mut text, "Outputs", outputs.iter());
        text.truncate(text.trim_end().len());
        text
    }
}

/// A resource as its stack knows it: what it knows of itself begins with its first action.
pub(super) fn begun(id: ResourceId, name: &ResourceName, type_name: &str) -> Resource {
    let mut resource = Resource::named(id, name.clone());
    resource.type_name = type_name.to_owned();
    resource.action = Action::Init;
    resource.status = Status::Complete;
    resource
}

/// Takes in an event of a resource.
pub(super) fn fold(resource: &mut Resource, event: &RecordedEvent) -> Result<(), String> {
    let body: ResourceEvent = event.decode().map_err(|error| error.to_string())?;
    resource.apply(&body, event.at);
    Ok(())
}

/// What a stack is, secrets masked.
pub(super) fn stack_json(stack: &Stack) -> Value {
    let revision = stack.revision();
    json!({
        "id": stack.id,
        "stack_name": stack.name,
        "project": stack.project_id,
        "stack_status": format!("{}_{}", stack.action, stack.status),
        "stack_status_reason": stack.reason,
        "creation_time": time(stack.created_at),
        "updated_time": stack.updated_at.map(time),
        "revision": revision.map(|revision| revision.revision),
        "origin": revision.map(|revision| revision.origin),
        "parameters": revision.map(|revision| &revision.shown_parameters),
        "tags": revision.map(|revision| &revision.settings.tags),
    })
}

/// What a resource is, secrets masked.
pub(super) fn resource_json(resource: &Resource) -> Value {
    let definition = resource.definition.as_ref().or(resource.target.as_deref());
    json!({
        "resource_name": resource.name,
        "resource_id": resource.id,
        "resource_type": resource.type_name,
        "resource_status": format!("{}_{}", resource.action, resource.status),
        "resource_status_reason": resource.reason,
        "physical_resource_id": resource.physical_id,
        "properties": definition.map(|definition| masked(&definition.properties)),
        "attributes": masked(&resource.attributes),
    })
}

/// Outputs, secrets masked.
fn outputs_json(outputs: &[OutputResolved]) -> Value {
    let shown = outputs.iter().map(|output| {
        json!({
            "output_key": output.key,
            "output_value": Vault::masked(&output.value),
            "output_error": output.error,
        })
    });
    shown.collect()
}

fn resource_row((resource, replaced): &(Resource, bool)) -> Vec<String> {
    let mut name = resource.name.to_string();
    if *replaced {
        name.push_str(" (replaced)");
    }
    vec![
        name,
        resource.type_name.clone(),
        format!("{}_{}", resource.action, resource.status),
        resource.physical_id.clone().unwrap_or_default(),
    ]
}

/// A title and its values, if there are any.
fn section<'a>(
    text: &mut String,
    title: &str,
    values: impl ExactSizeIterator<Item = (&'a String, &'a Value)>,
) {
    if values.len() == 0 {
        return;
    }
    text.push_str(&format!("\n{title}\n"));
    for (key, value) in values {
        let value = match value {
            Value::String(value) => value.clone(),
            other => other.to_string(),
        };
        text.push_str(&format!("  {key} = {value}\n"));
    }
}

fn masked(map: &JsonMap) -> Value {
    Vault::masked(&Value::Object(map.clone()))
}

pub(super) fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
