//! `GET …/template`, `…/environment` and `…/files`: the definition as it was given.

use actix_web::{HttpRequest, web};
use serde_json::{Map, Value, json};

use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::past::state_at;
use crate::api::v1::{Answer, StackPath, State, answer, any_stack};
use crate::events::log::Filter;
use crate::events::stack::RevisionAccepted;
use crate::events::vault::{Placed, Vault};
use crate::events::{Event, Position, StackEvent, StreamId};
use crate::model::taint::MASK;
use crate::model::{Action, JsonMap, StackId, StackRevision};
use crate::projections::{StackRow, ViewError};
use crate::template::emptied;

pub(in crate::api) async fn template(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:template").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = any_stack(&state, &context, &path).await?;
    answer(&template_of(&state, &stack).await?)
}

/// A stack's template.
pub(in crate::api) async fn template_of(
    state: &ApiState,
    stack: &StackRow,
) -> Result<Value, Fault> {
    let source = source_of(state, stack.id, None).await?;
    let mut template = shown(state, stack, &source, "template");
    if stack.action == Action::Delete {
        // A deletion is a traversal to the same template without its resources.
        for section in ["resources", "Resources"] {
            if let Some(Value::Object(resources)) = template.get_mut(section) {
                resources.clear();
            }
        }
    }
    Ok(template)
}

pub(in crate::api) async fn environment(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:environment").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = any_stack(&state, &context, &path).await?;
    let source = source_of(&state, stack.id, None).await?;
    answer(&shown_environment(&source))
}

/// The environment of a source with every section that Heat shows, secrets masked.
pub(in crate::api::v1) fn shown_environment(source: &JsonMap) -> Value {
    let given = source.get("environment").and_then(Value::as_object);
    let empty = [
        ("parameters", json!({})),
        ("resource_registry", json!({ "resources": {} })),
        ("parameter_defaults", json!({})),
        ("encrypted_param_names", json!([])),
        ("event_sinks", json!([])),
    ];
    let value = |name| given.and_then(|given| given.get(name)).cloned();
    let sections =
        empty.into_iter().map(|(name, empty)| (name.to_owned(), value(name).unwrap_or(empty)));
    let mut environment: JsonMap = sections.collect();
    if let Some(Value::Object(registry)) = environment.get_mut("resource_registry") {
        registry.entry("resources").or_insert(json!({}));
    }
    Vault::masked(&Value::Object(environment))
}

pub(in crate::api) async fn files(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:files").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = any_stack(&state, &context, &path).await?;
    let source = source_of(&state, stack.id, None).await?;
    let mut files = shown(&state, &stack, &source, "files");
    // What an environment sets is a parameter's value, and is shown as one.
    for name in source.get("environments").and_then(Value::as_array).into_iter().flatten() {
        if let Some(file) = name.as_str().and_then(|name| files.get_mut(name)) {
            *file = MASK.into();
        }
    }
    answer(&files)
}

/// A part of a source as its owner is shown it. What he wrote himself he sees as he wrote it, as in
/// Heat; what was made for a nested stack may hold values that are secret, and those are masked.
fn shown(state: &ApiState, stack: &StackRow, source: &JsonMap, part: &str) -> Value {
    let Some(value) = source.get(part).cloned() else { return json!({}) };
    let scope = StreamId::stack(stack.id);
    let sealed_at = source.get("place").and_then(Value::as_str).unwrap_or_default();
    let placed = Placed { place: format!("{sealed_at}/{part}"), value };
    match state.vault.open(scope.as_str(), &placed) {
        Ok(opened) if stack.within.is_none() => opened,
        Ok(_) => Vault::masked(&placed.value),
        Err(error) => {
            tracing::error!(stack.id = %stack.id, part, %error, "a source cannot be opened");
            Vault::masked(&placed.value)
        }
    }
}

/// A revision's source, the newest's where none is named, with its parameters in the environment,
/// sealed ones still sealed.
pub(in crate::api::v1) async fn source_of(
    state: &ApiState,
    stack: StackId,
    revision: Option<StackRevision>,
) -> Result<JsonMap, Fault> {
    let revision = match revision {
        None => state.views.newest_revision(stack).await?,
        Some(number) => {
            let revisions = state.views.revisions(stack).await?;
            revisions.into_iter().find(|revision| revision.revision == number)
        }
    };
    let Some(revision) = revision else { return Ok(JsonMap::new()) };
    let Some(accepted) = accepted_at(state, revision.position).await? else {
        return Ok(JsonMap::new());
    };
    let blob = match &accepted.source {
        Some(id) => state.log.blob(id).await?,
        None => None,
    };
    let mut source: JsonMap = match blob {
        Some(blob) => serde_json::from_slice(&blob)?,
        None => without_resources(state, stack).await?,
    };
    let environment = source.entry("environment").or_insert_with(|| json!({}));
    if let Value::Object(environment) = environment {
        environment.insert("parameters".into(), Value::Object(accepted.parameters));
    }
    Ok(source)
}

/// The empty template that a failed create goes back to: the version of the one before, no more.
async fn without_resources(state: &ApiState, stack: StackId) -> Result<JsonMap, Fault> {
    for revision in state.views.revisions(stack).await?.into_iter().rev() {
        let accepted = accepted_at(state, revision.position).await?;
        let Some(id) = accepted.and_then(|accepted| accepted.source) else { continue };
        let Some(blob) = state.log.blob(&id).await? else { continue };
        let source: JsonMap = serde_json::from_slice(&blob)?;
        let template = source.get("template").map(emptied).unwrap_or_default();
        return Ok(Map::from_iter([("template".to_owned(), template)]));
    }
    Ok(JsonMap::new())
}

/// The revision that was accepted at a position of the log.
pub(super) async fn accepted_at(
    state: &ApiState,
    position: Position,
) -> Result<Option<RevisionAccepted>, Fault> {
    Ok(match event_at(state, position).await? {
        Some(StackEvent::RevisionAccepted(accepted)) => Some(accepted),
        _ => None,
    })
}

/// The event at a position of the log.
pub(in crate::api::v1) async fn event_at<E: Event>(
    state: &ApiState,
    position: Position,
) -> Result<Option<E>, Fault> {
    let before = Position(position.0.saturating_sub(1));
    let events = state.log.read_all(before, &Filter::default(), 1).await?;
    let event = events.first().filter(|event| event.position == position);
    let decoded = event.map(|event| event.decode::<E>()).transpose();
    Ok(decoded.map_err(ViewError::from)?)
}
