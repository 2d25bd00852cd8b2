//! `GET …/outputs` and `GET …/outputs/{key}`.

use actix_web::{HttpRequest, web};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, StackPath, State, answer, living_stack, requester};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::past::state_at;
use crate::events::StreamId;
use crate::events::stack::OutputResolved;
use crate::model::{StackId, Status};
use crate::projections::StackShown;

pub(in crate::api) async fn list(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:list_outputs").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = living_stack(&state, &context, &path).await?;
    let outputs = of(&state, &context, stack.id).await?;
    let outputs: Vec<Value> = outputs
        .iter()
        .map(|output| json!({ "output_key": output.key, "description": description(&output.description) }))
        .collect();
    answer(&json!({ "outputs": outputs }))
}

/// `…/outputs/{output}`.
#[derive(Deserialize)]
pub(in crate::api) struct OutputPath {
    output: String,
}

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    wanted: web::Path<OutputPath>,
) -> Answer {
    context.require("stacks:show_output").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = living_stack(&state, &context, &path).await?;
    let outputs = of(&state, &context, stack.id).await?;
    let output = outputs.iter().find(|output| output.key == wanted.output).ok_or_else(|| {
        Fault::new("NotFound", format!("Specified output key {} not found.", wanted.output))
    })?;
    answer(&json!({ "output": view(output) }))
}

async fn of(
    state: &ApiState,
    context: &Context,
    stack: StackId,
) -> Result<Vec<OutputResolved>, Fault> {
    match state.views.stack_shown(stack).await? {
        Some(shown) => now(state, context, &shown).await,
        None => Ok(Vec::new()),
    }
}

/// The outputs of a stack: where they read what others may change in the cloud, while an action
/// runs, and after one that failed and may have left resources at work, with what its resources
/// have by now; of the past, as the last action left them. They are the user's own, so what is
/// secret in them is open for him.
pub(super) async fn now(
    state: &ApiState,
    context: &Context,
    shown: &StackShown,
) -> Result<Vec<OutputResolved>, Fault> {
    let stack = shown.stack.id;
    let follows = shown.stack.status != Status::Complete || shown.outputs.iter().any(|it| it.live);
    if state.past.is_none() && follows && !shown.outputs.is_empty() {
        let who = requester(state, context);
        let now = state.engine.outputs_now(&who, stack).await?;
        if !now.is_empty() {
            return Ok(now);
        }
    }
    let scope = StreamId::stack(stack);
    let opened = shown.outputs.iter().map(|output| {
        let (value, error) = match state.vault.open(scope.as_str(), &output.placed) {
            Ok(value) => (value, output.error.clone()),
            Err(error) => {
                tracing::error!(stack.id = %stack, %error, "an output cannot be opened");
                (Value::Null, Some("The value is no longer readable.".to_owned()))
            }
        };
        let (key, description) = (output.key.clone(), output.description.clone());
        OutputResolved { key, description, value, error }
    });
    Ok(opened.collect())
}

/// An output with its value.
pub(super) fn view(output: &OutputResolved) -> Value {
    let mut view = json!({
        "output_key": output.key,
        "description": description(&output.description),
        "output_value": output.value,
    });
    if let Some(error) = &output.error {
        view["output_error"] = error.as_str().into();
    }
    view
}

/// An output's description as Heat shows it.
pub(super) fn description(given: &str) -> &str {
    if given.is_empty() { "No description given" } else { given }
}
