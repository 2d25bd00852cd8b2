//! `GET …/stacks/{name}/{id}/drift`: how resources differ in the cloud from what is on record.

use actix_web::web;
use serde_json::{Value, json};

use crate::actors::drift::{FieldFound, Found, LookedAt};
use crate::api::context::Context;
use crate::api::v1::{Answer, StackPath, State, answer, living_stack, requester};

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("resource:show").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let found = state.engine.drift(&requester(&state, &context), stack.id).await?;
    let drifts = found.iter().any(|it| matches!(it.found, Found::Differs(_) | Found::Gone));
    answer(&json!({ "drift": {
        "stack_name": stack.name,
        "stack_id": stack.id,
        "drifts": drifts,
        "resources": found.iter().map(view).collect::<Vec<_>>(),
    } }))
}

fn view(looked: &LookedAt) -> Value {
    let (word, fields, problem) = match &looked.found {
        Found::Same => ("same", &[][..], None),
        Found::Differs(fields) => ("differs", &fields[..], None),
        Found::Gone => ("gone", &[][..], None),
        Found::NotCompared => ("not compared", &[][..], None),
        Found::Unknown(problem) => ("unknown", &[][..], Some(problem)),
    };
    let property =
        |it: &FieldFound| json!({ "name": it.name, "recorded": it.recorded, "live": it.live });
    json!({
        "resource_name": looked.path,
        "resource_type": looked.type_name,
        "physical_resource_id": looked.physical_id,
        "drift": word,
        "properties": fields.iter().map(property).collect::<Vec<_>>(),
        "problem": problem,
    })
}
