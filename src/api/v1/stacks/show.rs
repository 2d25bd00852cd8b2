//! `GET …/stacks/{name}/{id}`.

use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, web};
use serde_json::{Value, json};

use super::{lookup, view};
use crate::api::ApiState;
use crate::api::conditions;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::past::state_at;
use crate::api::query::{Param, boolean};
use crate::api::request::Params;
use crate::api::url::Links;
use crate::api::v1::{Answer, StackPath, State, answer, any_stack, outputs};
use crate::model::StackId;

/// What is read of the query.
pub(in crate::api) const QUERY: &[Param] = &[boolean("resolve_outputs")];

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    if lookup::SUBPATHS_OF_GET.contains(&path.id.as_str()) {
        return lookup::redirect(&state, &context, &request, &path.name, Some(&path.id)).await;
    }
    context.require("stacks:show").await?;
    let with_outputs = Params::of(&request).boolean("resolve_outputs")?.unwrap_or(true);
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = any_stack(&state, &context, &path).await?;
    let view = of(&state, &context, &Links::of(&request), stack.id, with_outputs).await?;
    let mut shown = answer(&json!({ "stack": view }))?;
    if state.past.is_none()
        && let Ok(tag) = conditions::tag(&stack).parse()
    {
        shown.headers_mut().insert(ETAG, tag);
    }
    Ok(shown)
}

/// A stack as it is shown.
pub(in crate::api) async fn of(
    state: &ApiState,
    context: &Context,
    links: &Links,
    id: StackId,
    with_outputs: bool,
) -> Result<Value, Fault> {
    let shown = state.views.stack_shown(id).await?;
    let shown = shown.ok_or_else(|| Fault::no_stack(&id.to_string()))?;
    let outputs = match with_outputs && !shown.stack.is_deleted() {
        true => {
            let outputs = outputs::now(state, context, &shown).await?;
            Some(outputs.iter().map(outputs::view).collect())
        }
        false => None,
    };
    Ok(view::shown(links, &shown, outputs))
}
