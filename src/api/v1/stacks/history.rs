//! `GET …/stacks/{name}/{id}/history`: every action of a stack, the newest first: who asked for it,
//! what changed in the definition, what it did to which resource, and how long each took.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::{HttpRequest, web};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::definition::{shown_environment, source_of};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::query::{Param, number, texts};
use crate::api::request::Params;
use crate::api::v1::{Answer, StackPath, State, answer_large, any_stack};
use crate::events::log::Filter;
use crate::events::stack::{DriftLooked, ResourceDrifted, TraversalStarted};
use crate::events::vault::Vault;
use crate::events::{Position, RecordedEvent, StackEvent, StreamId, StreamRevision};
use crate::model::{ResourceName, StackRevision, Status};
use crate::projections::{
    EventQuery, EventRow, RevisionRow, STACK_TYPE, StackRow, ViewError, differences, event_id,
};

/// The actions of a page: how many there are where nothing is said, and at most.
const PAGE: u64 = 20;
const PAGE_MAX: u64 = 100;

/// How many looks that found something are told of after an action.
const FINDINGS_MAX: usize = 20;

/// How an action stands in whose midst another began.
const SUPERSEDED: &str = "SUPERSEDED";

/// How many of the newest events of a stack's stream are read for looks.
const LOOKS_READ_MAX: u64 = 5_000;

/// A page ends once it has told of so many resources.
const RESOURCES_MAX: usize = 10_000;

/// What is read of the query.
pub(in crate::api) const QUERY: &[Param] =
    &[number("limit"), number("marker"), number("revision"), texts("resource")];

pub(in crate::api) async fn history(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("history:show").await?;
    let stack = any_stack(&state, &context, &path).await?;
    let params = Params::of(&request);
    let limit = params.number("limit")?.unwrap_or(PAGE).min(PAGE_MAX);
    let before = marker(&state, &stack, &params).await?;
    let revision = params.number("revision")?;
    let wanted = params.all("resource");
    let revisions = state.views.revisions(stack.id).await?;
    let mut told = Vec::new();
    let mut resources = 0;
    let spells = spells(&state, &stack, before, limit).await?;
    let looks = looks(&state, &stack, spells.last()).await?;
    for spell in spells {
        let mut action = action(&state, &stack, &spell, &revisions).await?;
        action["drift"] = drift(&looks, &spell, &wanted);
        if revision.is_some_and(|revision| action["revision"] != revision) {
            continue;
        }
        if let Some(rows) = action["resources"].as_array_mut() {
            rows.retain(|row| {
                wanted.is_empty() || wanted.iter().any(|name| row["resource_name"] == **name)
            });
            resources += rows.len();
        }
        told.push(action);
        if resources > RESOURCES_MAX {
            break;
        }
    }
    answer_large(&state, &stack.project_id, move || json!({ "history": told })).await
}

/// The position of the action that the page ends before.
async fn marker(
    state: &ApiState,
    stack: &StackRow,
    params: &Params,
) -> Result<Option<Position>, Fault> {
    let Some(number) = params.number("marker")? else { return Ok(None) };
    let before = Position(number.saturating_sub(1));
    let found = state.log.read_all(before, &Filter::default(), 1).await?;
    let own = StreamId::stack(stack.id);
    let event = found.first().filter(|it| it.position.0 == number && it.stream == own);
    let body = event.map(|event| event.decode()).transpose().map_err(ViewError::from)?;
    if !matches!(body, Some(StackEvent::TraversalStarted(_))) {
        let text = format!("No action of the stack began at the marker {number}.");
        return Err(Fault::bad_request(text));
    }
    Ok(Some(Position(number)))
}

/// The time of one action, from its event in the list to the next action's.
struct Spell {
    started: EventRow,
    settled: Option<EventRow>,
    /// The last position before the next action.
    until: Option<Position>,
    /// Where the action before it began.
    after: Position,
}

/// The actions before a position, the newest first.
async fn spells(
    state: &ApiState,
    stack: &StackRow,
    before: Option<Position>,
    limit: u64,
) -> Result<Vec<Spell>, Fault> {
    let query = EventQuery {
        names: vec![stack.name.as_str().to_owned()],
        types: vec![STACK_TYPE.to_owned()],
        marker: before.map(|position| event_id(position, stack.id)),
        // Two for each action, and one more for where the one before the last began.
        limit: Some(2 * limit + 1),
        ..EventQuery::default()
    };
    let id = stack.id.to_string();
    let rows = state.views.events(stack.id, query).await?;
    let (mut spells, mut settled, mut until) = (Vec::<Spell>::new(), None, before);
    for row in rows.into_iter().filter(|row| row.physical_id.as_ref() == Some(&id)) {
        if row.status != Status::InProgress {
            settled = Some(row);
            continue;
        }
        if let Some(later) = spells.last_mut() {
            later.after = row.position;
        }
        let next = Some(Position(row.position.0.saturating_sub(1)));
        spells.push(Spell { started: row, settled: settled.take(), until, after: Position(0) });
        until = next;
    }
    spells.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(spells)
}

async fn action(
    state: &ApiState,
    stack: &StackRow,
    spell: &Spell,
    revisions: &[RevisionRow],
) -> Result<Value, Fault> {
    let started = &spell.started;
    let event = event_at(state, started.position).await?;
    let (traversal, meta) = match &event {
        Some((event, StackEvent::TraversalStarted(body))) => (Some(body), Some(&event.meta)),
        Some(_) | None => (None, None),
    };
    let accepted = revisions
        .iter()
        .rev()
        .find(|revision| revision.position > spell.after && revision.position < started.position);
    let last = spell.settled.as_ref().unwrap_or(started);
    // The next action began before this one had an end.
    let is_superseded = spell.settled.is_none() && spell.until.is_some();
    let caller = meta.and_then(|meta| meta.caller.as_ref());
    let mut told = json!({
        "position": started.position,
        "action": started.action,
        "status": if is_superseded { SUPERSEDED } else { last.status.as_str() },
        "status_reason": last.reason,
        "revision": traversal.map(|traversal| traversal.revision),
        "started_at": time(started.at),
        "settled_at": spell.settled.as_ref().map(|row| time(row.at)),
        "seconds": spell.settled.as_ref().map(|row| seconds(started.at, row.at)),
        "user_name": caller.map(|caller| caller.user_name.as_str()),
        "user_id": caller.map(|caller| caller.user_id.as_str()),
        "request_id": meta.and_then(|meta| meta.request_id.as_ref()),
        "correlation": meta.and_then(|meta| meta.correlation),
        "changes": null,
    });
    if let Some(accepted) = accepted {
        told["changes"] = changes(state, stack, accepted.revision, revisions).await?;
    }
    told["resources"] = resources(state, stack, spell, traversal).await?.into();
    Ok(told)
}

/// What a revision changed in the definition, as it is masked.
async fn changes(
    state: &ApiState,
    stack: &StackRow,
    revision: StackRevision,
    revisions: &[RevisionRow],
) -> Result<Value, Fault> {
    let parts = async |row: Option<&RevisionRow>| -> Result<[Value; 3], Fault> {
        let Some(row) = row else { return Ok([Value::Null, Value::Null, Value::Null]) };
        let source = source_of(state, stack.id, Some(row.revision)).await?;
        let mut environment = shown_environment(&source);
        if let Some(environment) = environment.as_object_mut() {
            // They are told by themselves, with those that have their defaults.
            environment.shift_remove("parameters");
        }
        let template = source.get("template").map(Vault::masked).unwrap_or_default();
        Ok([template, Value::Object(row.parameters.clone()), environment])
    };
    let at = revisions.iter().position(|row| row.revision == revision);
    let before = at.and_then(|at| at.checked_sub(1)).and_then(|at| revisions.get(at));
    let old = parts(before).await?;
    let new = parts(at.and_then(|at| revisions.get(at))).await?;
    let [template, parameters, environment] = [0, 1, 2].map(|part: usize| match before {
        // The first revision changes nothing.
        None => Vec::new(),
        Some(_) => differences(&old[part], &new[part]),
    });
    Ok(json!({ "template": template, "parameters": parameters, "environment": environment }))
}

/// The looks at the cloud that are on record since an action began, of the newest events.
async fn looks(
    state: &ApiState,
    stack: &StackRow,
    since: Option<&Spell>,
) -> Result<Vec<(Arc<RecordedEvent>, DriftLooked)>, Fault> {
    let Some(spell) = since else { return Ok(Vec::new()) };
    let Some((began, _)) = event_at(state, spell.started.position).await? else {
        return Ok(Vec::new());
    };
    let stream = StreamId::stack(stack.id);
    let end = state.log.head(&stream).await?.next;
    let from = began.revision.max(StreamRevision(end.saturating_sub(LOOKS_READ_MAX)));
    let slice = state.log.read(&stream, from).await?;
    let mut looks = Vec::new();
    for event in slice.events {
        if let StackEvent::DriftLooked(looked) = event.decode().map_err(ViewError::from)? {
            looks.push((event, looked));
        }
    }
    Ok(looks)
}

/// How often it was looked between an action and the next, and what was found, the newest first.
fn drift(looks: &[(Arc<RecordedEvent>, DriftLooked)], spell: &Spell, wanted: &[String]) -> Value {
    let is_within =
        |at: Position| at >= spell.started.position && spell.until.is_none_or(|until| at <= until);
    let within: Vec<_> = looks.iter().filter(|(event, _)| is_within(event.position)).collect();
    let is_wanted = |drifted: &&ResourceDrifted| {
        let own = drifted.path.split('/').next().unwrap_or_default();
        wanted.is_empty() || wanted.iter().any(|name| name == own)
    };
    let found = within.iter().rev().filter_map(|(event, looked)| {
        let resources: Vec<&ResourceDrifted> = looked.resources.iter().filter(is_wanted).collect();
        (!resources.is_empty() || looked.more > 0).then(|| {
            json!({
                "position": event.position,
                "at": time(event.at),
                "same": looked.same,
                "resources": resources,
                "more": looked.more,
            })
        })
    });
    json!({
        "looks": within.len(),
        "looked_at": within.last().map(|(event, _)| time(event.at)),
        "findings": found.take(FINDINGS_MAX).collect::<Vec<_>>(),
    })
}

/// What one action did to a resource.
struct Act {
    name: String,
    type_name: String,
    action: String,
    started: DateTime<Utc>,
    settled: Option<EventRow>,
    is_on_longest_path: bool,
}

async fn resources(
    state: &ApiState,
    stack: &StackRow,
    spell: &Spell,
    traversal: Option<&TraversalStarted>,
) -> Result<Vec<Value>, Fault> {
    let query = EventQuery {
        after: Some(spell.started.position),
        until: spell.until,
        descending: Some(false),
        limit: Some(2 * RESOURCES_MAX as u64),
        ..EventQuery::default()
    };
    let id = stack.id.to_string();
    let mut acts: Vec<Act> = Vec::new();
    let mut open: HashMap<String, usize> = HashMap::new();
    for row in state.views.events(stack.id, query).await? {
        if row.type_name == STACK_TYPE && row.physical_id.as_ref() == Some(&id) {
            continue;
        }
        let key = format!("{} {}", row.action, row.name);
        if row.status == Status::InProgress {
            open.insert(key, acts.len());
            acts.push(Act {
                name: row.name,
                type_name: row.type_name,
                action: row.action,
                started: row.at,
                settled: None,
                is_on_longest_path: false,
            });
        } else if let Some(act) = open.remove(&key).and_then(|at| acts.get_mut(at)) {
            act.settled = Some(row);
        }
    }
    if let Some(until) = spell.until.filter(|_| !open.is_empty()) {
        settle_later(state, stack, until, open, &mut acts).await?;
    }
    mark_longest_path(&mut acts, traversal);
    Ok(acts.iter().map(view).collect())
}

/// Work that went on when the next action began ends within that.
async fn settle_later(
    state: &ApiState,
    stack: &StackRow,
    from: Position,
    mut open: HashMap<String, usize>,
    acts: &mut [Act],
) -> Result<(), Fault> {
    let query = EventQuery {
        names: open.values().map(|at| acts[*at].name.clone()).collect(),
        after: Some(from),
        descending: Some(false),
        limit: Some(2 * RESOURCES_MAX as u64),
        ..EventQuery::default()
    };
    for row in state.views.events(stack.id, query).await? {
        // What begins anew is of that action.
        if let Some(at) = open.remove(&format!("{} {}", row.action, row.name))
            && row.status != Status::InProgress
        {
            acts[at].settled = Some(row);
        }
    }
    Ok(())
}

/// From what ended last back to what each waited for longest.
fn mark_longest_path(acts: &mut [Act], traversal: Option<&TraversalStarted>) {
    let mut neighbors: HashMap<&ResourceName, Vec<&ResourceName>> = HashMap::new();
    for node in traversal.iter().flat_map(|traversal| &traversal.nodes) {
        for required in &node.requires {
            neighbors.entry(&node.name).or_default().push(required);
            neighbors.entry(required).or_default().push(&node.name);
        }
    }
    let end = |act: &Act| act.settled.as_ref().map(|row| row.at);
    let mut next =
        (0..acts.len()).filter(|at| end(&acts[*at]).is_some()).max_by_key(|at| end(&acts[*at]));
    while let Some(at) = next {
        acts[at].is_on_longest_path = true;
        let (name, began) = (ResourceName(acts[at].name.clone()), acts[at].started);
        let near = neighbors.get(&name);
        let waited_for = |act: &Act| {
            // A former incarnation is deleted once the new one is there.
            let is_near = act.name == name.as_str()
                || near.is_some_and(|near| near.iter().any(|it| it.as_str() == act.name));
            is_near && !act.is_on_longest_path && end(act).is_some_and(|end| end <= began)
        };
        next = (0..acts.len()).filter(|at| waited_for(&acts[*at])).max_by_key(|at| end(&acts[*at]));
    }
}

fn view(act: &Act) -> Value {
    let settled = act.settled.as_ref();
    json!({
        "resource_name": act.name,
        "resource_type": act.type_name,
        "action": act.action,
        "status": settled.map_or(Status::InProgress, |row| row.status),
        "status_reason": settled.map(|row| row.reason.as_str()),
        "physical_resource_id": settled.and_then(|row| row.physical_id.as_deref()),
        "started_at": time(act.started),
        "settled_at": settled.map(|row| time(row.at)),
        "seconds": settled.map(|row| seconds(act.started, row.at)),
        "longest_path": act.is_on_longest_path,
    })
}

async fn event_at(
    state: &ApiState,
    position: Position,
) -> Result<Option<(Arc<RecordedEvent>, StackEvent)>, Fault> {
    let before = Position(position.0.saturating_sub(1));
    let events = state.log.read_all(before, &Filter::default(), 1).await?;
    let Some(event) = events.into_iter().next().filter(|event| event.position == position) else {
        return Ok(None);
    };
    let body = event.decode().map_err(ViewError::from)?;
    Ok(Some((event, body)))
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn seconds(from: DateTime<Utc>, to: DateTime<Utc>) -> f64 {
    (to - from).as_seconds_f64()
}
