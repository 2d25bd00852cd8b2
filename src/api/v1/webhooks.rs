//! `…/webhooks`: where a project has its events told as they happen.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Answer, State, answer, requester, seen_at, time, writer};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::request::{Body, Params};
use crate::api::selection;
use crate::model::WebhookId;
use crate::projections::WebhookRow;

/// What a webhook may say beside its filters.
const URL: &str = "url";

/// `…/webhooks/{webhook}`.
#[derive(Deserialize)]
pub(in crate::api) struct WebhookPath {
    webhook: String,
}

pub(in crate::api) async fn list(state: State, context: Context, _request: HttpRequest) -> Answer {
    context.require("webhooks:index").await?;
    let rows = state.views.webhooks(Some(&context.caller.project_id)).await?;
    answer(&json!({ "webhooks": rows.iter().map(view).collect::<Vec<Value>>() }))
}

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    path: web::Path<WebhookPath>,
) -> Answer {
    context.require("webhooks:show").await?;
    answer(&json!({ "webhook": view(&found(&state, &context, &path.webhook).await?) }))
}

/// The answer has the key, which is not told again.
pub(in crate::api) async fn create(state: State, context: Context, body: Body) -> Answer {
    context.require("webhooks:create").await?;
    let mut asked = body.required()?;
    let url = match asked.shift_remove(URL) {
        Some(Value::String(url)) => url,
        _ => return Err(Fault::bad_request("A webhook needs a url.")),
    };
    let project = context.caller.project_id.clone();
    let known = [selection::FILTERS, &[selection::STACK]].concat();
    let filters = Params::of_object(&asked, &known)?;
    if let Some(unknown) = filters.unknown().next() {
        return Err(Fault::bad_request(format!("A webhook has no \"{unknown}\".")));
    }
    let own = Some(project.clone());
    let selection = selection::read(&state, &context, &filters, own, None).await?;
    let who = writer(&state, &context, &project).await?;
    let (id, key, position) = state.engine.make_webhook(&who, &url, selection).await?;
    seen_at(&state, position).await?;
    let mut made = view(&found(&state, &context, &id.to_string()).await?);
    made["key"] = key.reveal().as_str().into();
    answer(&json!({ "webhook": made }))
}

pub(in crate::api) async fn delete(
    state: State,
    context: Context,
    path: web::Path<WebhookPath>,
) -> Answer {
    context.require("webhooks:delete").await?;
    let row = found(&state, &context, &path.webhook).await?;
    let who = requester(&state, &context);
    let position = state.engine.delete_webhook(&who, &row.project_id, row.id).await?;
    seen_at(&state, position).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn found(state: &ApiState, context: &Context, id: &str) -> Result<WebhookRow, Fault> {
    let missing = || Fault::new("NotFound", format!("Webhook with id {id} not found"));
    let id = WebhookId(Uuid::try_parse(id).map_err(|_| missing())?);
    let rows = state.views.webhooks(Some(&context.caller.project_id)).await?;
    rows.into_iter().find(|row| row.id == id).ok_or_else(missing)
}

/// A webhook without its path, which may be a secret.
fn view(row: &WebhookRow) -> Value {
    let WebhookRow { id, origin, selection, position, created_at, .. } = row;
    json!({
        "id": id,
        "origin": origin,
        "stack": selection.stacks.iter().map(|stack| stack.id).collect::<Vec<_>>(),
        "nested": selection.with_nested,
        "resource": selection.resources,
        "type": selection.types,
        "action": selection.actions,
        "status": selection.statuses,
        "caller": selection.callers,
        "after": position,
        "creation_time": time(*created_at),
    })
}
