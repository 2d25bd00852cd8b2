//! `GET …/stacks/{name}/{id}/history`: every action of a stack, the newest first: who asked for it,
//! what changed in the definition, what it did to which resource, and how long each took.

mod acts;
mod found;

use std::sync::Arc;

use actix_web::{HttpRequest, web};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use self::acts::resources;
use self::found::{Realities, drift, looks};
use super::definition::{accepted_at, shown_environment, source_of};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::query::{Param, number, texts};
use crate::api::request::Params;
use crate::api::v1::{Answer, StackPath, State, answer_large, any_stack};
use crate::events::log::Filter;
use crate::events::stack::RevisionAccepted;
use crate::events::vault::Vault;
use crate::events::{Position, RecordedEvent, StackEvent, StreamId};
use crate::model::{Action, StackRevision, Status};
use crate::projections::{
    EventQuery, EventRow, RevisionRow, STACK_TYPE, StackRow, ViewError, differences, event_id,
};

/// The actions of a page: how many there are where nothing is said, and at most.
const PAGE: u64 = 20;
const PAGE_MAX: u64 = 100;

/// How an action stands in whose midst another began.
const SUPERSEDED: &str = "SUPERSEDED";

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
    let mut realities = Realities::default();
    for spell in spells {
        let began = event_at(&state, spell.started.position).await?;
        let mut action = action(&state, &stack, &spell, began.as_ref(), &revisions).await?;
        let within = realities.seen(&state, began.as_ref().map(|(_, event)| event)).await?;
        action["drift"] = drift(&looks, &within, &spell, &wanted);
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
    began: Option<&(Arc<RecordedEvent>, StackEvent)>,
    revisions: &[RevisionRow],
) -> Result<Value, Fault> {
    let started = &spell.started;
    let (traversal, meta) = match began {
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
        "back_to": null,
        "settles_drift": traversal.and_then(|traversal| traversal.options.settles),
        "changes": null,
    });
    if let Some(accepted) = accepted {
        let body = accepted_at(state, accepted.position).await?;
        told["back_to"] = body.as_ref().and_then(back_to).into();
        told["changes"] = changes(state, stack, accepted.revision, revisions).await?;
    }
    told["resources"] = resources(state, stack, spell, traversal).await?.into();
    Ok(told)
}

/// The revision whose definition was asked for again, or was rolled back to: 0 is that of before
/// there was any.
fn back_to(accepted: &RevisionAccepted) -> Option<u32> {
    let rolled_back = (accepted.action == Action::Rollback).then_some(accepted.origin);
    accepted.back_to.or(rolled_back).map(|revision| revision.0)
}

/// What a revision changed in the definition, as it is masked.
async fn changes(
    state: &ApiState,
    stack: &StackRow,
    revision: StackRevision,
    revisions: &[RevisionRow],
) -> Result<Value, Fault> {
    let parts = async |row: Option<&RevisionRow>| -> Result<[Value; 4], Fault> {
        let Some(row) = row else { return Ok([const { Value::Null }; 4]) };
        let source = source_of(state, stack.id, Some(row.revision)).await?;
        let mut environment = shown_environment(&source);
        if let Some(environment) = environment.as_object_mut() {
            // They are told by themselves, with those that have their defaults.
            environment.shift_remove("parameters");
        }
        let template = source.get("template").map(Vault::masked).unwrap_or_default();
        let accepted = accepted_at(state, row.position).await?;
        let settings = json!(accepted.map(|accepted| accepted.settings));
        Ok([template, Value::Object(row.parameters.clone()), environment, settings])
    };
    let at = revisions.iter().position(|row| row.revision == revision);
    let before = at.and_then(|at| at.checked_sub(1)).and_then(|at| revisions.get(at));
    let old = parts(before).await?;
    let new = parts(at.and_then(|at| revisions.get(at))).await?;
    let [template, parameters, environment, settings] =
        [0, 1, 2, 3].map(|part: usize| match before {
            // The first revision changes nothing.
            None => Vec::new(),
            Some(_) => differences(&old[part], &new[part]),
        });
    Ok(json!({
        "template": template,
        "parameters": parameters,
        "environment": environment,
        "settings": settings,
    }))
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
