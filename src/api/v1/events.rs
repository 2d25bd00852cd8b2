//! The event list of a stack, of one of its resources, and one event.

use actix_web::{HttpRequest, web};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::stacks::list::split_states;
use super::{Answer, StackPath, State, answer, any_stack, time};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::past::state_at;
use crate::api::query::{Param, SORT_DIR, number, text, texts};
use crate::api::request::Params;
use crate::api::url::{Links, link};
use crate::events::log::Filter;
use crate::events::resource::Definition;
use crate::events::vault::Vault;
use crate::events::{Position, ResourceEvent};
use crate::projections::{EventQuery, EventRow, EventSort, StackRow};

/// What can be sorted by; other keys are dropped.
const SORT_KEYS: &[(&str, EventSort)] =
    &[("event_time", EventSort::Time), ("resource_type", EventSort::ResourceType)];

/// What the lists read of their query.
pub(in crate::api) const LIST_QUERY: &[Param] = &[
    texts("resource_status"),
    texts("resource_action"),
    texts("resource_name"),
    texts("resource_type"),
    number("nested_depth"),
    texts("sort_keys"),
    SORT_DIR,
    text("marker"),
    number("limit"),
];

pub(in crate::api) async fn of_stack(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("events:index").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = any_stack(&state, &context, &path).await?;
    let params = Params::of(&request);
    let events = state.views.events(stack.id, query(&params)?).await?;
    list(&Links::of(&request), &params, &stack, &events)
}

/// `…/resources/{resource}`.
#[derive(Deserialize)]
pub(in crate::api) struct ResourcePath {
    resource: String,
}

pub(in crate::api) async fn of_resource(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    wanted: web::Path<ResourcePath>,
) -> Answer {
    context.require("events:index").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = any_stack(&state, &context, &path).await?;
    let params = Params::of(&request);
    let query = EventQuery { names: vec![wanted.resource.clone()], ..query(&params)? };
    let events = state.views.events(stack.id, query).await?;
    if events.is_empty() {
        let message = format!("No events found for resource {}", wanted.resource);
        return Err(Fault::new("HTTPNotFound", message));
    }
    list(&Links::of(&request), &params, &stack, &events)
}

fn query(params: &Params) -> Result<EventQuery, Fault> {
    let (mut actions, statuses) = split_states(&params.all("resource_status"));
    actions.extend(params.all("resource_action"));
    let sort_keys = params.all("sort_keys");
    let sort = sort_keys.iter().filter_map(|wanted| {
        SORT_KEYS.iter().find(|(known, _)| known == wanted).map(|(_, sort)| *sort)
    });
    Ok(EventQuery {
        nested_depth: params.number("nested_depth")?.unwrap_or(0),
        names: params.all("resource_name"),
        types: params.all("resource_type"),
        actions,
        statuses,
        sort: sort.collect(),
        descending: params.descending()?,
        marker: params.one("marker").and_then(|id| id.parse().ok()),
        limit: params.number("limit")?,
        ..EventQuery::default()
    })
}

fn list(links: &Links, params: &Params, stack: &StackRow, events: &[EventRow]) -> Answer {
    let root = links.stack(stack);
    let with_root = params.number("nested_depth")?.is_some_and(|depth| depth > 0);
    let views = events.iter().map(|event| {
        let href = links.stack_by(&stack.project_id, &event.stack_name, event.stack);
        let mut view = summary(links, &href, event);
        // By this link a client knows that it need not walk the nested stacks itself.
        if with_root && let Some(links) = view["links"].as_array_mut() {
            links.push(json!(link(&root, "root_stack")));
        }
        view
    });
    answer(&json!({ "events": views.collect::<Vec<Value>>() }))
}

fn summary(links: &Links, stack: &str, event: &EventRow) -> Value {
    let resource = links.resource(stack, &event.name);
    json!({
        "id": event.id,
        "links": [
            link(links.event(&resource, event.id), "self"),
            link(&resource, "resource"),
            link(stack, "stack"),
        ],
        "event_time": time(event.at),
        "logical_resource_id": event.name,
        "resource_name": event.name,
        "physical_resource_id": event.physical_id,
        "resource_status": format!("{}_{}", event.action, event.status),
        "resource_status_reason": event.reason,
    })
}

/// `…/events/{event}`.
#[derive(Deserialize)]
pub(in crate::api) struct EventPath {
    resource: String,
    event: String,
}

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    wanted: web::Path<EventPath>,
) -> Answer {
    context.require("events:show").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = any_stack(&state, &context, &path).await?;
    let event = match Uuid::try_parse(&wanted.event) {
        Ok(id) => state.views.event(stack.id, id).await?,
        Err(_) => None,
    };
    let event = event
        .filter(|event| event.name == wanted.resource)
        .ok_or_else(|| Fault::new("HTTPNotFound", format!("No event {} found", wanted.event)))?;
    let links = Links::of(&request);
    let mut view = summary(&links, &links.stack(&stack), &event);
    view["resource_type"] = event.type_name.as_str().into();
    let definition = match event.definition {
        Some(position) => definition_at(&state, position).await?,
        None => None,
    };
    view["resource_properties"] = match definition {
        Some(definition) => Vault::masked(&Value::Object(definition.properties)),
        None => Value::Null,
    };
    answer(&json!({ "event": view }))
}

/// A resource's definition, from the event that has it; what is sealed stays sealed.
pub(super) async fn definition_at(
    state: &ApiState,
    position: Position,
) -> Result<Option<Definition>, Fault> {
    let before = Position(position.0.saturating_sub(1));
    let events = state.log.read_all(before, &Filter::default(), 1).await?;
    let event = events.first().filter(|event| event.position == position);
    let decoded = event.map(|event| event.decode::<ResourceEvent>()).transpose();
    Ok(match decoded.map_err(crate::projections::ViewError::from)? {
        Some(ResourceEvent::ActionStarted(started)) => started.definition,
        _ => None,
    })
}
