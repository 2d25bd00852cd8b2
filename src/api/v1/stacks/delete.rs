//! `DELETE …/stacks/{name}/{id}`.

use actix_web::{HttpResponse, web};

use crate::api::context::Context;
use crate::api::v1::{Answer, StackPath, State, living_stack, requester, seen};

pub(in crate::api) async fn delete(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:delete").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let accepted = state.engine.delete_stack(&requester(&state, &context), stack.id).await?;
    seen(&state, &accepted).await?;
    Ok(HttpResponse::NoContent().finish())
}
