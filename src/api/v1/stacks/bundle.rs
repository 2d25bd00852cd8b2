//! `GET …/stacks/{name}/{id}/history/bundle`: the whole history of a stack and of those within it,
//! secrets taken out, as lines that `hearth replay --file` reads anywhere.

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use futures::TryStreamExt;

use crate::actors::bundle;
use crate::api::context::Context;
use crate::api::v1::{Answer, StackPath, State, any_stack};

/// The type of what is answered: a line of JSON each.
pub(in crate::api) const LINES: &str = "application/x-ndjson";

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("history:show").await?;
    let stack = any_stack(&state, &context, &path).await?;
    let lines = bundle(state.log.clone(), stack.id);
    let failed = move |error: &crate::events::log::LogError| {
        tracing::error!(stack.id = %stack.id, %error, "a history cannot be handed out");
    };
    let body = lines.map_ok(Bytes::from).inspect_err(failed);
    Ok(HttpResponse::Ok()
        .content_type(LINES)
        .insert_header(("cache-control", "no-store"))
        .streaming(body))
}
