//! `…/snapshots`: list, take, show, delete, restore.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::stacks::definition;
use super::{Answer, StackPath, State, answer, living_stack, requester, seen, time, writer};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::request::Body;
use crate::api::versions::plain;
use crate::events::StackEvent;
use crate::events::stack::ResourceKept;
use crate::events::vault::Vault;
use crate::model::sizes::{NAME, Room, json_bytes};
use crate::model::{JsonMap, TraversalId};
use crate::projections::{SnapshotRow, StackRow};

pub(in crate::api) async fn list(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:list_snapshots").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let mut snapshots = Vec::new();
    let mut room = Room::default();
    for snapshot in state.views.snapshots(stack.id).await? {
        let view = view(&state, &stack, &snapshot).await?;
        room.take(json_bytes(&view))?;
        snapshots.push(view);
    }
    answer(&json!({ "snapshots": snapshots }))
}

pub(in crate::api) async fn take(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
    body: Body,
) -> Answer {
    context.require("stacks:snapshot").await?;
    let name = match body.required()?.get("name") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name.clone()),
        // As in Heat, a number will do.
        Some(Value::Number(name)) => Some(name.to_string()),
        Some(_) => return Err(Fault::bad_request("The name of a snapshot must be text")),
    };
    NAME.check_text(name.as_deref())?;
    let stack = living_stack(&state, &context, &path).await?;
    let who = writer(&state, &context, &stack.project_id).await?;
    let (accepted, id) = state.engine.take_snapshot(&who, stack.id, name).await?;
    seen(&state, &accepted).await?;
    let mut taken = view(&state, &stack, &find(&state, &stack, &id.to_string()).await?).await?;
    // It has begun with the stack as it was.
    taken["data"]["action"] = json!(stack.action);
    taken["data"]["status"] = json!(stack.status);
    answer(&taken)
}

/// `…/snapshots/{snapshot}`.
#[derive(Deserialize)]
pub(in crate::api) struct SnapshotPath {
    snapshot: String,
}

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
    wanted: web::Path<SnapshotPath>,
) -> Answer {
    context.require("stacks:show_snapshot").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let snapshot = find(&state, &stack, &wanted.snapshot).await?;
    answer(&json!({ "snapshot": view(&state, &stack, &snapshot).await? }))
}

pub(in crate::api) async fn delete(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
    wanted: web::Path<SnapshotPath>,
) -> Answer {
    context.require("stacks:delete_snapshot").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let snapshot = find(&state, &stack, &wanted.snapshot).await?;
    let who = requester(&state, &context);
    let accepted = state.engine.delete_snapshot(&who, stack.id, snapshot.id).await?;
    seen(&state, &accepted).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub(in crate::api) async fn restore(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    wanted: web::Path<SnapshotPath>,
    body: Body,
) -> Answer {
    context.require("stacks:restore_snapshot").await?;
    body.refused()?;
    let stack = living_stack(&state, &context, &path).await?;
    let snapshot = find(&state, &stack, &wanted.snapshot).await?;
    let who = writer(&state, &context, &stack.project_id).await?;
    let accepted = state.engine.restore_snapshot(&who, stack.id, snapshot.id).await?;
    seen(&state, &accepted).await?;
    Ok(plain(&request, StatusCode::ACCEPTED, "The request is accepted for processing."))
}

async fn find(state: &ApiState, stack: &StackRow, id: &str) -> Result<SnapshotRow, Fault> {
    let found = match Uuid::try_parse(id) {
        Ok(id) => state.views.snapshot(TraversalId(id)).await?,
        Err(_) => None,
    };
    // Another project's is unknown.
    match found.filter(|found| found.project_id == stack.project_id) {
        Some(found) if found.stack_id == stack.id => Ok(found),
        Some(_) => {
            let name = &stack.name;
            let text = format!("The Snapshot ({id}) for Stack ({name}) could not be found.");
            Err(Fault::new("SnapshotNotFound", text))
        }
        None => Err(Fault::new("NotFound", format!("Snapshot with id {id} not found"))),
    }
}

async fn view(state: &ApiState, stack: &StackRow, snapshot: &SnapshotRow) -> Result<Value, Fault> {
    let resources = match snapshot.settled {
        Some(position) => match definition::event_at::<StackEvent>(state, position).await? {
            Some(StackEvent::SnapshotSettled(settled)) => settled.resources,
            _ => Vec::new(),
        },
        None => Vec::new(),
    };
    let resources: JsonMap =
        resources.iter().map(|kept| (kept.name.to_string(), resource(kept))).collect();
    let source = definition::source_of(state, stack.id, Some(snapshot.revision)).await?;
    let mut environment = definition::shown_environment(&source);
    if let Some(sections) = environment.as_object_mut() {
        // The engine's own note, which Heat does not hand out here.
        sections.shift_remove("encrypted_param_names");
    }
    Ok(json!({
        "id": snapshot.id,
        "name": snapshot.name,
        "action": snapshot.action,
        "status": snapshot.status,
        "status_reason": snapshot.reason,
        "creation_time": time(snapshot.created_at),
        "data": {
            "name": stack.name,
            "id": stack.id,
            "action": "SNAPSHOT",
            "status": snapshot.status,
            "environment": environment,
            "files": source.get("files").map_or_else(|| json!({}), Vault::masked),
            "template": source.get("template").map_or_else(|| json!({}), Vault::masked),
            "resources": resources,
            "project_id": stack.project_id,
            "stack_user_project_id": null,
            "tags": stack.settings.tags,
        },
    }))
}

/// A resource as snapshots and exports show it; what is sealed is masked.
fn resource(kept: &ResourceKept) -> Value {
    Vault::masked(&json!({
        "name": kept.name,
        "resource_id": kept.physical_id,
        "type": kept.type_name,
        "action": kept.action,
        "status": kept.status,
        "metadata": kept.metadata,
        "resource_data": kept.data,
    }))
}
