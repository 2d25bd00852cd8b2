//! A single stack, or a resource of one.

use std::io::{BufRead, Write};

use uuid::Uuid;

use crate::actors::resource::Resource;
use crate::actors::shell::Aggregate;
use crate::cli::admin::{self, Answer, Order};
use crate::cli::data::{FileArguments, with_causes};
use crate::events::vault::Vault;
use crate::events::{RecordedEvent, ResourceEvent, StackEvent, StreamId, StreamRevision};
use crate::model::{ResourceId, StackId};

/// Which stack is given up.
#[derive(Debug, clap::Args)]
pub(super) struct Reset {
    /// The stack's id
    stack_id: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) async fn reset(files: &FileArguments, given: &Reset) -> Result<(), String> {
    let files = files.files()?;
    let unknown = || format!("Stack with id {} not found", given.stack_id);
    let stack = Uuid::try_parse(&given.stack_id).map(StackId).map_err(|_| unknown())?;
    if !given.yes && !is_agreed() {
        return Ok(());
    }
    match admin::order(&files, Order::ResetStack(stack)).await? {
        Answer::Reset { stacks } => {
            match stacks {
                0 => println!("no stack was at work"),
                1 => println!("given up: what was under way in 1 stack"),
                stacks => println!("given up: what was under way in {stacks} stacks"),
            }
            Ok(())
        }
        answer => Err(format!("the server answered something else: {answer:?}")),
    }
}

/// Unlike elsewhere nobody at a terminal is no leave: the answer may come from a pipe, as in Heat.
fn is_agreed() -> bool {
    eprintln!("What is at work in the stack fails, and is not gone back from.");
    eprint!("Continue ? [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && answer.trim_start().to_lowercase().starts_with('y')
}

pub(super) async fn migrate(files: &FileArguments, stack: &str) -> Result<(), String> {
    let missing = || format!("Stack with id {stack} can not be found.");
    let id = Uuid::try_parse(stack).map(StackId).map_err(|_| missing())?;
    let events = stream(files, &StreamId::stack(id)).await?;
    let first = events.first().ok_or_else(missing)?;
    match first.decode::<StackEvent>().map_err(|error| error.to_string())? {
        StackEvent::StackCreated(created) if created.owner.is_some() => {
            Err(format!("Migration of nested stack {stack} is not supported."))
        }
        _ => {
            println!("every stack works as convergence has it: there is nothing to migrate");
            Ok(())
        }
    }
}

pub(super) async fn resource_data(files: &FileArguments, resource: &str) -> Result<(), String> {
    files.files()?;
    let missing = || "no resource data found".to_owned();
    let id = Uuid::try_parse(resource).map(ResourceId).map_err(|_| missing())?;
    let mut resource = Resource::new(id);
    for event in stream(files, &StreamId::resource(id)).await? {
        let body: ResourceEvent = event.decode().map_err(|error| error.to_string())?;
        resource.apply(&body, event.at);
    }
    if resource.data.is_empty() {
        return Err(missing());
    }
    for (key, value) in &resource.data {
        let value = match Vault::masked(value) {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        println!("{key:<16} {value:<64}");
    }
    Ok(())
}

/// A stream of the log, which a server may be writing.
async fn stream(
    files: &FileArguments,
    id: &StreamId,
) -> Result<Vec<std::sync::Arc<RecordedEvent>>, String> {
    let log = files.files()?.log.open_read_only().map_err(|error| with_causes(&error))?;
    let slice = log.read(id, StreamRevision(0)).await.map_err(|error| error.to_string())?;
    Ok(slice.events)
}
