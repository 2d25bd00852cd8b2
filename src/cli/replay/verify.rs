//! `hearth replay --verify`: the whole log folded with today's code. Every event must be one that
//! it can read, machines and views must come to the same, and the views that are kept must be what
//! is made anew.

use crate::cli::data::with_causes;
use crate::cli::place::PlaceArguments;
use crate::cli::states::States;
use crate::events::{
    AlarmEvent, ConfigEvent, DecodeError, DeploymentEvent, MetricEvent, OutletEvent, ProjectEvent,
    PurgeEvent, RecordedEvent, ServerEvent, StreamId,
};
use crate::projections::{Refolded, refold};

/// How many events that cannot be read are told.
const TOLD_MAX: usize = 20;

/// Folds, compares and says what it found.
pub(super) async fn run(place: &PlaceArguments) -> Result<(), String> {
    let elsewhere = "--verify reads the log itself: name its data directory with --data";
    let files = place.data().ok_or(elsewhere)?.files()?;
    let log = files.log.open_read_only().map_err(|error| with_causes(&error))?;
    let (mut states, mut unreadable) = (States::default(), Vec::new());
    let see = |event: &RecordedEvent| {
        if let Err(error) = states.fold(event).and_then(|()| read_other(event)) {
            unreadable.push(format!("the event at {}: {}", event.position, with_causes(&error)));
        }
    };
    let refolded = refold(log.as_ref(), &files.data.views(), see).await;
    let refolded = refolded.map_err(|error| with_causes(&error))?;
    let more = unreadable.len().saturating_sub(TOLD_MAX);
    unreadable.truncate(TOLD_MAX);
    let mut problems = unreadable;
    if more > 0 {
        problems.push(format!("and {more} more events that cannot be read"));
    }
    problems.extend(disagreements(&states, &refolded));
    problems.extend(refolded.differences.iter().flatten().map(|it| format!("views.db: {it}")));
    if !problems.is_empty() {
        return Err(problems.join("\nhearth replay: "));
    }
    println!(
        "{} events up to position {} folded into {} stacks and {} resources",
        refolded.events,
        refolded.position,
        states.stacks.len(),
        states.resources.len()
    );
    println!("machines and views come to the same");
    match refolded.differences {
        Some(_) => println!("the views that are kept are what is made anew"),
        None => println!("no views are kept that could be compared"),
    }
    Ok(())
}

/// Events of the streams that have no machine here.
fn read_other(event: &RecordedEvent) -> Result<(), DecodeError> {
    match event.stream.kind() {
        "project" => event.decode::<ProjectEvent>().map(drop),
        "config" => event.decode::<ConfigEvent>().map(drop),
        "deployment" => event.decode::<DeploymentEvent>().map(drop),
        "outlet" => event.decode::<OutletEvent>().map(drop),
        "server" => event.decode::<ServerEvent>().map(drop),
        "purge" => event.decode::<PurgeEvent>().map(drop),
        "alarm" => event.decode::<AlarmEvent>().map(drop),
        "metrics" => event.decode::<MetricEvent>().map(drop),
        _ => Ok(()),
    }
}

/// Where the machines have come to something else than the views.
fn disagreements(states: &States, refolded: &Refolded) -> Vec<String> {
    let differs = |what: &str, id: &str, machine: String, view: Option<&String>| {
        let view = view.map_or("unknown", String::as_str);
        (machine != view).then(|| format!("{what} {id} is {machine}, by the views {view}"))
    };
    let mut told = Vec::new();
    for (id, view) in &refolded.stacks {
        let Some(stack) = states.stacks.get(&StreamId::stack(*id)) else { continue };
        let machine = format!("{}_{}", stack.action, stack.status);
        told.extend(differs("stack", &id.to_string(), machine, Some(view)));
    }
    for (id, view) in &refolded.resources {
        // What a resource knows of itself begins with its first action.
        let Some(resource) = states.resources.get(&StreamId::resource(*id)) else { continue };
        let machine = format!("{}_{}", resource.action, resource.status);
        told.extend(differs("resource", &id.to_string(), machine, Some(view)));
    }
    told
}
