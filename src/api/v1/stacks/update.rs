//! `PUT` and `PATCH …/stacks/{name}/{id}`, and their previews.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, web};
use serde_json::{Value, json};

use super::preview;
use super::source::{Handling, Sent};
use crate::actors::{RequestContext, UpdateStack};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::query::{Param, boolean};
use crate::api::request::{Body, Params};
use crate::api::v1::{
    Answer, StackPath, State, answer_large, answered, living_stack, once, requester, seen, writer,
};
use crate::api::versions::plain;
use crate::model::{JsonMap, StackId};

/// What a PATCH changes when it changes anything beside the definition.
const ARGUMENTS: &[&str] =
    &["clear_parameters", "converge", "disable_rollback", "tags", "timeout_mins"];

/// What a preview reads of its query.
pub(in crate::api) const PREVIEW_QUERY: &[Param] = &[boolean("show_nested")];

pub(in crate::api) async fn replace(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    body: Body,
) -> Answer {
    context.require("stacks:update").await?;
    update(&state, &context, &request, &path, body.required()?, Existing::Forgotten).await
}

pub(in crate::api) async fn patch(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    body: Body,
) -> Answer {
    let body = body.required()?;
    let has_arguments = ARGUMENTS.iter().any(|name| body.contains_key(*name));
    let changes_nothing = Sent::is_silent(&body)? && !has_arguments;
    let rule = if changes_nothing { "stacks:update_no_change" } else { "stacks:update_patch" };
    context.require(rule).await?;
    update(&state, &context, &request, &path, body, Existing::Kept).await
}

pub(in crate::api) async fn preview_replace(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    body: Body,
) -> Answer {
    context.require("stacks:preview_update").await?;
    preview(&state, &context, &request, &path, &body.required()?, Existing::Forgotten).await
}

pub(in crate::api) async fn preview_patch(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    body: Body,
) -> Answer {
    context.require("stacks:preview_update_patch").await?;
    preview(&state, &context, &request, &path, &body.required()?, Existing::Kept).await
}

/// What becomes of the former definition where the new one is silent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum Existing {
    Kept,
    Forgotten,
}

async fn update(
    state: &ApiState,
    context: &Context,
    request: &HttpRequest,
    path: &StackPath,
    body: JsonMap,
    existing: Existing,
) -> Answer {
    let kind = format!("{} {}", request.method(), path.canonical_id());
    let who = once(state, context, requester(state, context), (&kind, &body))?;
    if !answered(state, &who).await? {
        let stack = living_stack(state, context, path).await?;
        let conditions = who.conditions;
        let who = RequestContext { conditions, ..writer(state, context, &stack.project_id).await? };
        let ask = read(state, &who, stack.id, &body, existing).await?;
        drop(body);
        let accepted = state.engine.update_stack(&who, stack.id, ask).await?;
        seen(state, &accepted).await?;
    }
    Ok(plain(request, StatusCode::ACCEPTED, "The request is accepted for processing."))
}

async fn preview(
    state: &ApiState,
    context: &Context,
    request: &HttpRequest,
    path: &StackPath,
    body: &JsonMap,
    existing: Existing,
) -> Answer {
    let nested = Params::of(request).boolean("show_nested")?.unwrap_or(false);
    let stack = living_stack(state, context, path).await?;
    let who = requester(state, context);
    let ask = read(state, &who, stack.id, body, existing).await?;
    let plan = state.engine.preview_update(&who, stack.id, &ask, nested).await?;
    let changes = preview::of_update(state, &who, &stack, &plan).await?;
    let view = move || {
        // What the plan takes is given back here as well.
        drop(plan);
        json!({ "resource_changes": changes })
    };
    answer_large(state, &who.caller.project_id, view).await
}

/// Reads what a stack is to become.
pub(in crate::api) async fn read(
    state: &ApiState,
    who: &RequestContext,
    stack: StackId,
    body: &JsonMap,
    existing: Existing,
) -> Result<UpdateStack, Fault> {
    let handling = Handling::read(body)?;
    let sent = Sent::read(state, who, body).await?;
    if existing == Existing::Forgotten && sent.template.is_none() {
        return Err(Fault::bad_request("No template specified"));
    }
    let stored = match sent.needs_template() {
        true => Some(state.engine.source_of(who, stack).await?.template),
        false => None,
    };
    let (sent, merged) = sent.merged(state, &who.caller.project_id, stored).await?;
    Ok(UpdateStack {
        existing: existing == Existing::Kept,
        template: sent.template,
        environment: merged.environment,
        files: sent.files,
        parameters: merged.parameters,
        clear_parameters: match existing {
            Existing::Kept => cleared(body)?,
            Existing::Forgotten => Vec::new(),
        },
        options: handling.options,
        settings: handling.settings,
        back_to: None,
    })
}

/// The names of parameters to forget: of whatever Python can walk over, as in Heat.
fn cleared(body: &JsonMap) -> Result<Vec<String>, Fault> {
    match body.get("clear_parameters") {
        None => Ok(Vec::new()),
        Some(Value::Array(names)) => {
            Ok(names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
        }
        Some(Value::Object(names)) => Ok(names.keys().cloned().collect()),
        Some(Value::String(text)) => Ok(text.chars().map(String::from).collect()),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) => Err(Fault::malformed()),
    }
}
