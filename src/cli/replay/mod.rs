//! `hearth replay`: folds the log alone, up to a position or a moment, and prints how a stack
//! stood then. The fold is the machines' own, so what it shows is what they decided on.

mod calls;

use std::process::ExitCode;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use serde_json::{Value, json};

use super::columns::{table, wrapped};
use super::data::Files;
use super::data::{FileArguments, with_causes};
use super::live;
use super::node::registry;
use super::stack_log::StackLog;
use crate::actors::resource::{Knowledge, Resource};
use crate::actors::shell::Aggregate;
use crate::actors::stack::Stack;
use crate::clock::SystemClock;
use crate::config::Settings;
use crate::events::log::{EventLog, SqliteLog};
use crate::events::master_key::KeyRing;
use crate::events::stack::OutputResolved;
use crate::events::vault::Vault;
use crate::events::{Event, Position, RecordedEvent, StackEvent};
use crate::model::{Action, JsonMap, Status};

/// Show how a stack stood at a position of the log or at a time
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The stack's name or id; deleted stacks are found, too
    stack: String,
    /// The last position or moment taken in, as 57 or 2026-11-21T02:10:00Z [default: the end]
    #[arg(long, value_name = "POSITION|TIME", value_parser = until)]
    until: Option<Until>,
    /// Print JSON, with properties and attributes; secrets masked
    #[arg(long)]
    json: bool,
    /// Show this resource alone
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
    /// Show what the resource's type asked of the cloud and was answered, and run its program again
    /// by these answers; secrets masked
    #[arg(long, requires = "resource")]
    calls: bool,
    #[command(flatten)]
    files: FileArguments,
}

/// Where the fold ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Until {
    Position(Position),
    Time(DateTime<Utc>),
}

/// Reads the log and prints.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match printed(&arguments).await {
        Ok(text) => {
            super::print(&format!("{text}\n"));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("hearth replay: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn printed(arguments: &Arguments) -> Result<String, String> {
    let files = arguments.files.files()?;
    let log = SqliteLog::open_read_only(&files.data.log()).map_err(|error| with_causes(&error))?;
    let log: Arc<dyn EventLog> = Arc::new(log);
    let stack = StackLog::read(log.as_ref(), &arguments.stack).await?;
    if let (Some(resource), true) = (&arguments.resource, arguments.calls) {
        return calls_of(arguments, &stack, resource, log, &files);
    }
    let mut replayed = Replayed::of(&stack, arguments.until)?;
    if let Some(name) = &arguments.resource {
        replayed.resources.retain(|(resource, _)| resource.name.as_str() == name);
        if replayed.resources.is_empty() {
            return Err(format!("the stack had no resource {name}"));
        }
    }
    Ok(match arguments.json {
        true => format!("{:#}", replayed.as_json()),
        false => replayed.as_text(live::columns()),
    })
}

/// The calls of a resource; what is sealed is opened by the keys beside the log.
fn calls_of(
    arguments: &Arguments,
    stack: &StackLog,
    resource: &str,
    log: Arc<dyn EventLog>,
    files: &Files,
) -> Result<String, String> {
    let settings = Settings::load(&arguments.files.flags(), std::env::vars());
    let settings = settings.map_err(|error| with_causes(&error))?;
    let knowledge = Knowledge {
        registry: Arc::new(registry(&settings).map_err(|error| with_causes(&error))?),
        action_retry_limit: settings.limits.action_retries,
        lost_call_rest: settings.limits.lost_call_rest,
        observe_on_update: settings.limits.observe_on_update,
    };
    let ring = KeyRing::load(&files.master_key).map_err(|error| with_causes(&error))?;
    let vault = ring.map(|ring| Arc::new(Vault::new(log, ring, Arc::new(SystemClock))));
    let until = arguments.until;
    let takes = |event: &RecordedEvent| until.is_none_or(|until| until.takes(event));
    let beats = calls::replayed(stack, resource, takes, vault, &knowledge)?;
    Ok(match arguments.json {
        true => format!("{:#}", Value::Array(beats)),
        false => calls::as_text(&beats).trim_end().to_owned(),
    })
}

/// A number is a position, all else a time; without a zone it is UTC.
fn until(text: &str) -> Result<Until, String> {
    if let Ok(position) = text.parse() {
        return Ok(Until::Position(Position(position)));
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(Until::Time(time.to_utc()));
    }
    for form in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(text, form) {
            return Ok(Until::Time(time.and_utc()));
        }
    }
    match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(date) => Ok(Until::Time(date.and_time(NaiveTime::MIN).and_utc())),
        Err(_) => Err("neither a position nor a time such as 2026-11-21T02:10:00Z".to_owned()),
    }
}

impl Until {
    fn takes(self, event: &RecordedEvent) -> bool {
        match self {
            Until::Position(position) => event.position <= position,
            Until::Time(time) => event.at <= time,
        }
    }
}

/// A stack as it stood.
struct Replayed {
    stack: Stack,
    /// The incarnations that there were, with whether one was being replaced.
    resources: Vec<(Resource, bool)>,
    outputs: Vec<OutputResolved>,
    /// The last event taken in.
    position: Position,
    at: DateTime<Utc>,
}

impl Replayed {
    fn of(log: &StackLog, until: Option<Until>) -> Result<Self, String> {
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
            let mut resource = Resource::new(row.id);
            // What a resource knows of itself begins with its first action.
            resource.name = row.name.clone();
            resource.type_name = row.type_name.clone();
            resource.action = Action::Init;
            resource.status = Status::Complete;
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

    fn as_json(&self) -> Value {
        let stack = &self.stack;
        let revision = stack.revision();
        let resources = self.resources.iter().map(|(resource, replaced)| {
            let definition = resource.definition.as_ref().or(resource.target.as_deref());
            json!({
                "resource_name": resource.name,
                "resource_id": resource.id,
                "resource_type": resource.type_name,
                "resource_status": format!("{}_{}", resource.action, resource.status),
                "resource_status_reason": resource.reason,
                "physical_resource_id": resource.physical_id,
                "replaced": replaced,
                "properties": definition.map(|definition| masked(&definition.properties)),
                "attributes": masked(&resource.attributes),
            })
        });
        let outputs = self.outputs.iter().map(|output| {
            json!({
                "output_key": output.key,
                "output_value": Vault::masked(&output.value),
                "output_error": output.error,
            })
        });
        json!({
            "position": self.position,
            "at": time(self.at),
            "stack": {
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
                "tags": revision.map(|revision| &revision.tags),
            },
            "resources": resources.collect::<Vec<_>>(),
            "outputs": outputs.collect::<Vec<_>>(),
        })
    }

    fn as_text(&self, columns: Option<usize>) -> String {
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

fn fold(resource: &mut Resource, event: &RecordedEvent) -> Result<(), String> {
    let body =
        <Resource as Aggregate>::Event::decode(&event.event_type, event.version, &event.body)
            .map_err(|error| error.to_string())?;
    resource.apply(&body, event.at);
    Ok(())
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

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_is_a_position_or_a_time() {
        assert_eq!(until("57"), Ok(Until::Position(Position(57))));
        let time = DateTime::from_timestamp(1_795_226_400, 0).unwrap();
        for text in [
            "2026-11-21T02:00:00Z",
            "2026-11-21T03:00:00+01:00",
            "2026-11-21T02:00:00",
            "2026-11-21 02:00:00.0",
        ] {
            assert_eq!(until(text), Ok(Until::Time(time)), "{text}");
        }
        assert!(matches!(until("2026-11-21"), Ok(Until::Time(_))));
        assert!(until("yesterday").is_err());
    }
}
