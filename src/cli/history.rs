//! `hearth history`: the revisions of a stack and every event of it and its resources, from the
//! log alone.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use super::client::Client;
use super::columns::{clean, cut, table, wrapped};
use super::data::with_causes;
use super::live;
use super::place::{self, Errand, Place, PlaceArguments};
use super::stack_log::{Histories, StackLog, found_at};
use super::waterfall;
use crate::clock::{Clock, SystemClock};
use crate::events::stack::{DriftLooked, RevisionAccepted};
use crate::events::vault::Vault;
use crate::events::{Cause, RecordedEvent, ResourceEvent, StackEvent};
use crate::model::{ResourceName, Settling};

/// From this width on the time of an event has its date and its microseconds.
const WHOLE_TIMES_FROM_COLUMNS: usize = 110;

/// List the revisions and events of a stack
#[derive(Debug, clap::Args)]
#[command(after_help = format!(
    "{} --times asks also the server that the OS_… variables name.",
    place::HELP_OF_LOG
))]
pub(super) struct Arguments {
    /// The stack's name or id; deleted stacks are found, too
    #[arg(required_unless_present = "file")]
    stack: Option<String>,
    /// Read what `hearth export --history` has written, instead of a log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["times", "data", "server", "os_cloud"])]
    file: Option<PathBuf>,
    /// One event per line as JSON, with its whole body, or the times as JSON; secrets masked
    #[arg(long)]
    json: bool,
    /// Show what each action changed and did to which resource, and how long it took, instead of
    /// the events. Bars are solid on the longest path
    #[arg(long)]
    times: bool,
    /// Only what happened to this resource, and the revisions in which something did
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
    /// Only this revision, and what happened until the next one
    #[arg(long, value_name = "REVISION")]
    revision: Option<u32>,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Reads the log and prints.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match printed(&arguments).await {
        Ok(text) => {
            super::print(&text);
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("hearth history: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn printed(arguments: &Arguments) -> Result<String, String> {
    let (file, name) = (arguments.file.as_deref(), arguments.stack.as_deref());
    if arguments.times {
        return times(arguments, name.unwrap_or_default()).await;
    }
    let histories = Histories::open(&arguments.place, file, name).await?;
    let stack = StackLog::read(&histories, name).await?;
    let part = Part::of(&stack, arguments)?;
    if arguments.json {
        let lines = part.events.into_iter().map(|(name, event)| as_json(name, event));
        return Ok(lines.map(|line| format!("{line}\n")).collect());
    }
    let columns = live::columns();
    let text = as_text(&stack, &part, columns);
    Ok(clean(&text))
}

/// An event, and the name of the resource that it is of.
type Line<'a> = (Option<&'a ResourceName>, &'a Arc<RecordedEvent>);

/// What is asked for of a stack's history: events, and the revisions that were the newest then.
struct Part<'a> {
    revisions: Vec<(&'a RecordedEvent, &'a RevisionAccepted)>,
    events: Vec<Line<'a>>,
}

impl<'a> Part<'a> {
    /// All of it, where no resource and no revision is named.
    fn of(stack: &'a StackLog, arguments: &Arguments) -> Result<Self, String> {
        let accepted = stack.stack.iter().filter_map(|(event, body)| match body {
            StackEvent::RevisionAccepted(accepted) => Some((&**event, accepted)),
            _ => None,
        });
        let mut revisions: Vec<(&RecordedEvent, &RevisionAccepted)> = accepted.collect();
        // What came before the first is counted to that.
        let newest = |at: &RecordedEvent| {
            let by_then = revisions.partition_point(|(event, _)| event.position <= at.position);
            let newest = revisions.get(by_then.saturating_sub(1));
            newest.map_or(0, |(_, accepted)| accepted.revision.0)
        };
        let mut events = stack.in_order();
        if let Some(wanted) = &arguments.resource {
            events.retain(|(name, _)| name.is_some_and(|name| name.as_str() == wanted));
            if events.is_empty() {
                return Err(no_resource(wanted));
            }
        }
        if let Some(wanted) = arguments.revision {
            if revisions.iter().all(|(_, accepted)| accepted.revision.0 != wanted) {
                return Err(no_revision(wanted));
            }
            events.retain(|(_, event)| newest(event) == wanted);
        }
        let shown: BTreeSet<u32> = events.iter().map(|(_, event)| newest(event)).collect();
        revisions.retain(|(_, accepted)| shown.contains(&accepted.revision.0));
        Ok(Self { revisions, events })
    }
}

/// What the API tells of the stack's newest actions.
async fn times(arguments: &Arguments, stack: &str) -> Result<String, String> {
    let place = Place::open(&arguments.place, Errand::Look).await;
    let place = place.map_err(|error| with_causes(&error))?;
    let told = history_of(&place.client, arguments, stack).await;
    place.close().await;
    let told = told?;
    Ok(match arguments.json {
        true => format!("{told:#}\n"),
        false => waterfall::text(&told, live::columns(), SystemClock.now()),
    })
}

async fn history_of(client: &Client, arguments: &Arguments, stack: &str) -> Result<Value, String> {
    let stack = found_at(client, stack).await?;
    let mut query = url::form_urlencoded::Serializer::new(String::from("limit=100"));
    if let Some(resource) = &arguments.resource {
        query.append_pair("resource", resource);
    }
    if let Some(revision) = arguments.revision {
        query.append_pair("revision", &revision.to_string());
    }
    let path = stack.path();
    let get = async |path: String| client.get(&path).await.map_err(|error| with_causes(&error));
    let told = get(format!("{path}/history?{}", query.finish())).await?;
    let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let is_idle =
        |action: &Value| is_empty(&action["resources"]) && is_empty(&action["drift"]["findings"]);
    // An answer of nothing says nothing of whether there was such a thing.
    if let Some(resource) = &arguments.resource
        && told["history"].as_array().is_none_or(|actions| actions.iter().all(is_idle))
    {
        let mut query = url::form_urlencoded::Serializer::new(String::from("limit=1"));
        query.append_pair("resource_name", resource);
        let events = get(format!("{path}/events?{}", query.finish())).await?;
        if is_empty(&events["events"]) {
            return Err(no_resource(resource));
        }
    }
    if let Some(revision) = arguments.revision
        && is_empty(&told["history"])
    {
        let newest = get(format!("{path}/history?limit=1")).await?;
        let newest = newest["history"][0]["revision"].as_u64().unwrap_or(0);
        if !(1..=newest).contains(&revision.into()) {
            return Err(no_revision(revision));
        }
    }
    Ok(told)
}

fn no_resource(name: &str) -> String {
    format!("the stack had no resource {name}")
}

fn no_revision(revision: u32) -> String {
    format!("the stack has no revision {revision}")
}

/// Without a width no line is cut, and every time is whole.
fn as_text(stack: &StackLog, part: &Part<'_>, columns: Option<usize>) -> String {
    let heading = match columns {
        Some(columns) => wrapped(&heading(stack), columns).join("\n"),
        None => heading(stack),
    };
    let (revisions, events) = (revisions(part, columns), events(part, columns));
    format!("{heading}\n\nRevisions\n{revisions}\nEvents\n{events}")
}

fn heading(stack: &StackLog) -> String {
    let created = stack.stack.iter().find_map(|(event, body)| match body {
        StackEvent::StackCreated(created) => Some((event, created)),
        _ => None,
    });
    match created {
        Some((event, created)) => format!(
            "Stack {} ({}) of project {}, created {} by {}",
            created.name,
            stack.id,
            created.project_id,
            time(event),
            created.owner_user_name
        ),
        None => format!("Stack {}", stack.id),
    }
}

fn revisions(part: &Part<'_>, columns: Option<usize>) -> String {
    let mut rows = Vec::new();
    for (event, accepted) in &part.revisions {
        let goes_back = accepted.origin != accepted.revision;
        let origin = match accepted.source {
            None => " to nothing".to_owned(),
            Some(_) if goes_back => format!(" to revision {}", accepted.origin),
            Some(_) => {
                (accepted.back_to).map_or_else(String::new, |to| format!(" back to revision {to}"))
            }
        };
        let number = format!("{:>4}", accepted.revision.0);
        let who = format!("{:<10}", who(event));
        rows.push(vec![number, time(event), who, format!("{}{origin}", accepted.action)]);
    }
    table(&rows, columns)
}

/// A line for each event, below what it is because of, where that is not what the line before it
/// is because of.
fn events(part: &Part<'_>, columns: Option<usize>) -> String {
    let is_narrow = columns.is_some_and(|columns| columns < WHOLE_TIMES_FROM_COLUMNS);
    let all = &part.events;
    let row = |(name, event): &Line<'_>| {
        let when = match is_narrow {
            true => event.at.format("%H:%M:%S%.3f").to_string(),
            false => time(event),
        };
        let of = name.map_or("(stack)".to_owned(), |name| name.0.clone());
        vec![format!("{:>8}", event.position.0), when, of, sentence(name.is_some(), event)]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let (mut text, mut before) = (String::new(), String::new());
    for (line, (_, event)) in table(&rows, columns).lines().zip(all) {
        let because = because(event);
        if because != before {
            text.push_str(&columns.map_or(because.clone(), |columns| cut(&because, columns)));
            text.push('\n');
            before = because;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The day, who, in which request, and which command or event led to it.
fn because(event: &RecordedEvent) -> String {
    let meta = &event.meta;
    let cause = meta.cause.as_ref().map(|cause| match cause {
        Cause::Command(id) => format!("command {id}"),
        Cause::Event(position) => format!("after the event at {position}"),
    });
    let request = meta.request_id.as_ref().map(|request| request.0.clone());
    // Where the cause is a command of its own, it goes back to another.
    let root = meta.correlation.filter(|root| meta.cause != Some(Cause::Command(*root)));
    let root = root.map(|root| format!("of command {root}"));
    let day = event.at.format("%Y-%m-%d").to_string();
    let parts = [Some(day), Some(who(event).to_owned()), request, cause, root];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

pub(super) fn time(event: &RecordedEvent) -> String {
    event.at.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

fn who(event: &RecordedEvent) -> &str {
    event.meta.caller.as_ref().map_or("-", |caller| caller.user_name.as_str())
}

/// The event in a few words.
pub(super) fn sentence(of_resource: bool, event: &RecordedEvent) -> String {
    let detail = match of_resource {
        true => event.decode().map(resource_detail),
        false => event.decode().map(stack_detail),
    };
    match detail {
        Ok(detail) if detail.is_empty() => event.event_type.to_string(),
        Ok(detail) => format!("{}: {detail}", event.event_type),
        // One event that this version cannot read should not hide the others.
        Err(error) => format!("{} ({error})", event.event_type),
    }
}

fn stack_detail(event: StackEvent) -> String {
    match event {
        StackEvent::StackCreated(body) => body.name.0,
        StackEvent::RevisionAccepted(body) => format!("{} {}", body.revision, body.action),
        StackEvent::TraversalStarted(body) => format!(
            "{} to revision {}, resources: {}{}",
            body.action,
            body.revision,
            body.nodes.len(),
            match body.options.settles {
                Some(Settling::Repair) => ", repairs drift",
                Some(Settling::Accept) => ", accepts drift",
                None => "",
            }
        ),
        StackEvent::ActionDeferred(body) => format!("{} once this is over", body.action),
        StackEvent::OutputsChanged(body) => {
            let keys: Vec<&str> = body.outputs.iter().map(|output| output.key.as_str()).collect();
            keys.join(", ")
        }
        StackEvent::UserProjectMade(body) => body.project_id.0,
        StackEvent::DriftLooked(body) => drift_detail(&body),
        StackEvent::UserProjectDeleted(body) => body.project_id.0,
        StackEvent::ReplacementStarted(body) => format!("{} by {}", body.name, body.new),
        StackEvent::TraversalSettled(body) => {
            format!("{} {}: {}", body.action, body.status, body.reason)
        }
        StackEvent::SnapshotStarted(body) => {
            format!("{} of revision {}", body.snapshot, body.revision)
        }
        StackEvent::SnapshotSettled(body) => format!("{} {}", body.snapshot, body.status),
        StackEvent::SnapshotDeletionStarted(body) => body.snapshot.to_string(),
        StackEvent::SnapshotDeletionSettled(body) => {
            format!("{} {} {}", body.snapshot, body.status, body.reason)
        }
    }
}

/// What a look has found: `differs net, port; same: 3`.
fn drift_detail(looked: &DriftLooked) -> String {
    let mut parts = Vec::new();
    for word in ["differs", "gone", "unknown"] {
        let all = looked.resources.iter().filter(|it| it.drift == word);
        let paths: Vec<&str> = all.map(|it| it.path.as_str()).collect();
        if !paths.is_empty() {
            parts.push(format!("{word}: {}", paths.join(", ")));
        }
    }
    if looked.more > 0 {
        parts.push(format!("more: {}", looked.more));
    }
    parts.push(format!("same: {}", looked.same));
    parts.join("; ")
}

fn resource_detail(event: ResourceEvent) -> String {
    match event {
        ResourceEvent::ActionStarted(body) => format!("{} {}", body.action, body.type_name),
        ResourceEvent::CallIntended(body) => format!("{} as {}", body.step.name, body.token),
        ResourceEvent::AnswersKept(body) => {
            let asks: Vec<&str> = body.answers.iter().map(|kept| kept.ask.as_str()).collect();
            asks.join(", ")
        }
        ResourceEvent::CallAnswered(body) => match body.physical_id {
            Some(id) => format!("{id}, then {}", body.next.name),
            None => format!("then {}", body.next.name),
        },
        ResourceEvent::CallRetried(body) => {
            format!("{}, attempt {}: {}", body.step, body.attempt, body.error)
        }
        ResourceEvent::CreateRepeated(body) => format!("attempt {}", body.attempt),
        ResourceEvent::ReplacementRequired(body) => body.reason,
        ResourceEvent::AttributesObserved(body) => {
            let names: Vec<&str> = body.attributes.keys().map(String::as_str).collect();
            names.join(", ")
        }
        ResourceEvent::RealityObserved(body) if body.gone => "gone".to_owned(),
        ResourceEvent::RealityObserved(body) => {
            let names: Vec<&str> = body.properties.keys().map(String::as_str).collect();
            names.join(", ")
        }
        ResourceEvent::HealthMarked(body) => {
            let word = if body.healthy { "healthy" } else { "unhealthy" };
            format!("{word}: {}", body.reason)
        }
        ResourceEvent::SignalTaken(body) => body.signal.to_string(),
        ResourceEvent::ResizeTaken(body) => {
            format!("from {} to {} members", body.resize.from, body.resize.to)
        }
        ResourceEvent::SignalHandled(body) => body.reason.or(body.error).unwrap_or_default(),
        ResourceEvent::Remarked(body) => body.reason,
        ResourceEvent::HookReached(body) => body.hook.to_string(),
        ResourceEvent::HookCleared(body) => body.hook.to_string(),
        ResourceEvent::HookLeft(body) => body.hook.to_string(),
        ResourceEvent::UpdateRefused(body) => body.reason,
        ResourceEvent::ActionSettled(body) => {
            format!("{} {}: {}", body.action, body.status, body.reason)
        }
    }
}

fn as_json(name: Option<&ResourceName>, event: &RecordedEvent) -> Value {
    let body = serde_json::from_str(&event.body).unwrap_or_else(|_| json!(&*event.body));
    json!({
        "position": event.position,
        "stream": event.stream,
        "revision": event.revision,
        "resource_name": name,
        "type": &*event.event_type,
        "version": event.version,
        "at": time(event),
        "meta": *event.meta,
        "body": Vault::masked(&body),
    })
}
