//! `hearth events`: the events of a stack and of those within it, as they are, or as they come.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::client::{Client, ClientError};
use super::columns::table;
use super::data::with_causes;
use super::live;
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::stack_path::StackPath;

/// How many events are asked for at a time.
const PAGE_EVENTS: usize = 500;
/// How often it is asked for new ones.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// List the events of a stack, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The stack's name or id
    stack: String,
    /// Go on with those that come, until Ctrl-C or until the stack is gone
    #[arg(short, long)]
    follow: bool,
    /// Print what the log has of it, as the feed tells it: a line of JSON each
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Why they cannot be listed.
#[derive(Debug, thiserror::Error)]
enum EventsError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Prints them.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match listed(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hearth events: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

async fn listed(arguments: &Arguments) -> Result<(), EventsError> {
    let errand = if arguments.follow { Errand::Work } else { Errand::Look };
    let place = Place::open(&arguments.place, errand).await?;
    let listed = tokio::select! {
        listed = list(&place.client, arguments) => listed,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    place.close().await;
    Ok(listed?)
}

async fn list(client: &Client, arguments: &Arguments) -> Result<(), ClientError> {
    let stack = StackPath::find(client, &arguments.stack).await?;
    match arguments.json {
        true => list_lines(client, &stack, arguments.follow).await,
        false => list_rows(client, &stack, arguments.follow).await,
    }
}

/// What the feed tells; where it breaks off, it is taken up again after the last event.
async fn list_lines(client: &Client, stack: &StackPath, follows: bool) -> Result<(), ClientError> {
    let until = if follows { "" } else { "&until=now" };
    let mut after = 0;
    loop {
        let query = format!("?stack={}&nested=true&after={after}{until}", stack.id);
        let mut lines = client.feed_lines(&query).await?;
        loop {
            match lines.next().await {
                Ok(Some(line)) => {
                    let event: Value = serde_json::from_str(&line).unwrap_or_default();
                    let Some(position) = event["position"].as_u64() else { continue };
                    after = position;
                    super::print(&format!("{line}\n"));
                    if follows && is_gone(&event, stack) {
                        return Ok(());
                    }
                }
                Ok(None) if !follows => return Ok(()),
                Ok(None) => break,
                Err(ClientError::Transport { .. }) if follows => break,
                Err(error) => return Err(error),
            }
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// Nothing comes after the deletion of the stack itself.
fn is_gone(event: &Value, stack: &StackPath) -> bool {
    let body = &event["body"];
    event["stream"] == format!("stack-{}", stack.id)
        && event["type"] == "TraversalSettled"
        && (&body["action"], &body["status"]) == (&"DELETE".into(), &"COMPLETE".into())
}

async fn list_rows(client: &Client, stack: &StackPath, follows: bool) -> Result<(), ClientError> {
    let path = format!("{}/events?sort_dir=asc&limit={PAGE_EVENTS}", stack.path());
    let mut last: Option<String> = None;
    loop {
        let marker = last.as_ref().map(|id| format!("&marker={id}")).unwrap_or_default();
        let page = match client.get(&format!("{path}&nested_depth=20{marker}")).await {
            // With nested stacks, one that lists no resource has no events.
            Ok(page) if is_empty(&page) => client.get(&format!("{path}{marker}")).await,
            answered => answered,
        };
        let page = match page {
            Err(ClientError::Refused { status: 404, .. }) if last.is_some() => return Ok(()),
            Err(ClientError::Transport { .. }) if last.is_some() && follows => {
                tokio::time::sleep(ASK_EVERY).await;
                continue;
            }
            page => page?,
        };
        let events = page["events"].as_array().map(Vec::as_slice).unwrap_or_default();
        let rows: Vec<Vec<String>> = events.iter().map(|event| row(event, stack)).collect();
        super::print(&table(&rows, live::columns()));
        if let Some(event) = events.last() {
            last = event["id"].as_str().map(str::to_owned);
            if events.iter().any(|event| is_end(event, stack)) {
                return Ok(());
            }
        } else if !follows {
            return Ok(());
        } else {
            tokio::time::sleep(ASK_EVERY).await;
        }
    }
}

fn is_empty(page: &Value) -> bool {
    page["events"].as_array().is_none_or(Vec::is_empty)
}

/// Nothing comes after the deletion of the stack itself.
fn is_end(event: &Value, stack: &StackPath) -> bool {
    event["physical_resource_id"] == *stack.id && event["resource_status"] == "DELETE_COMPLETE"
}

fn row(event: &Value, stack: &StackPath) -> Vec<String> {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let links = event["links"].as_array();
    let of_stack = links
        .into_iter()
        .flatten()
        .find(|link| link["rel"] == "stack")
        .and_then(|link| link["href"].as_str()?.rsplit('/').nth(1))
        .filter(|name| *name != stack.name);
    let name = match of_stack {
        Some(within) => format!("{within}/{}", text("resource_name")),
        None => text("resource_name"),
    };
    vec![text("event_time"), name, text("resource_status"), text("resource_status_reason")]
}
