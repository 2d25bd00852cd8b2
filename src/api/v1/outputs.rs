//! `GET …/outputs` and `GET …/outputs/{key}`.

use std::borrow::Cow;

use actix_web::web;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, StackPath, State, answer, living_stack};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::events::stack::OutputResolved;
use crate::model::{StackId, Status};
use crate::projections::StackShown;

pub(in crate::api) async fn list(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:list_outputs").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let outputs = of(&state, stack.id).await?;
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
    path: web::Path<StackPath>,
    wanted: web::Path<OutputPath>,
) -> Answer {
    context.require("stacks:show_output").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let outputs = of(&state, stack.id).await?;
    let output = outputs.iter().find(|output| output.key == wanted.output).ok_or_else(|| {
        Fault::new("NotFound", format!("Specified output key {} not found.", wanted.output))
    })?;
    answer(&json!({ "output": view(&state, stack.id, output) }))
}

async fn of(state: &ApiState, stack: StackId) -> Result<Vec<OutputResolved>, Fault> {
    match state.views.stack_shown(stack).await? {
        Some(shown) => Ok(now(state, &shown).await?.into_owned()),
        None => Ok(Vec::new()),
    }
}

/// The outputs of a stack: while an action runs, with what its resources have by now.
pub(super) async fn now<'a>(
    state: &ApiState,
    shown: &'a StackShown,
) -> Result<Cow<'a, [OutputResolved]>, Fault> {
    if shown.stack.status != Status::InProgress || shown.outputs.is_empty() {
        return Ok(Cow::from(&shown.outputs));
    }
    let now = state.engine.outputs_now(shown.stack.id).await?;
    Ok(if now.is_empty() { Cow::from(&shown.outputs) } else { Cow::from(now) })
}

/// An output with its value: the user's own, so what is sealed in it is opened for him.
pub(super) fn view(state: &ApiState, stack: StackId, output: &OutputResolved) -> Value {
    let scope = format!("stack-{stack}");
    let (value, error) = match state.vault.open(&scope, &output.value) {
        Ok(value) => (value, output.error.clone()),
        Err(error) => {
            tracing::warn!(stack.id = %stack, %error, "an output cannot be opened");
            (Value::Null, Some("The value is no longer readable.".to_owned()))
        }
    };
    let mut view = json!({
        "output_key": output.key,
        "description": description(&output.description),
        "output_value": value,
    });
    if let Some(error) = error {
        view["output_error"] = error.into();
    }
    view
}

/// An output's description as Heat shows it.
pub(super) fn description(given: &str) -> &str {
    if given.is_empty() { "No description given" } else { given }
}
