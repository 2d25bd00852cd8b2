//! The Orchestration API, version 1: a file per collection, handlers beside their wire shapes.

pub(super) mod actions;
mod asked;
pub(super) mod events;
pub(super) mod outputs;
pub(super) mod resource_types;
pub(super) mod resources;
pub(super) mod services;
pub(super) mod snapshots;
pub(super) mod software_configs;
pub(super) mod software_deployments;
pub(super) mod stacks;
pub(super) mod templates;
pub(super) mod webhooks;

use actix_web::{HttpResponse, web};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ApiState;
use super::context::Context;
use super::error::Fault;
use crate::actors::{Accepted, AskedOnce, Conditions, RequestContext};
use crate::events::{Position, StreamId};
use crate::model::sizes::answer_json;
use crate::model::{CommandId, JsonMap, ProjectId, Refusal, StackId, hex};
use crate::projections::StackRow;

/// Which part of a project's share of a day the users of one of its stacks may use up: a tenth.
const STACK_USERS_PART: usize = 10;

/// `…/stacks/{name}/{id}…`: a stack by its whole identity.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct StackPath {
    pub(super) name: String,
    pub(super) id: String,
}

impl StackPath {
    /// The id as it is written everywhere else.
    fn canonical_id(&self) -> String {
        Uuid::try_parse(&self.id).map_or_else(|_| self.id.clone(), |id| id.to_string())
    }
}

/// The stack that a path identifies: name and id must both be right. Another project's stack is
/// 404, as in Heat, so that its existence stays unknown.
pub(super) async fn any_stack(
    state: &ApiState,
    context: &Context,
    path: &StackPath,
) -> Result<StackRow, Fault> {
    let unknown = || Fault::no_stack(&path.name);
    let id = Uuid::try_parse(&path.id).map_err(|_| unknown())?;
    let stack = state.views.stack(StackId(id)).await?.ok_or_else(unknown)?;
    // A user of the stack's comes with the project of such users.
    let is_visible = context.visible_project().is_none_or(|project| stack.is_seen_from(&project));
    if is_visible && stack.name.as_str() == path.name { Ok(stack) } else { Err(unknown()) }
}

/// The same, of stacks that are not deleted.
pub(super) async fn living_stack(
    state: &ApiState,
    context: &Context,
    path: &StackPath,
) -> Result<StackRow, Fault> {
    let stack = any_stack(state, context, path).await?;
    if stack.is_deleted() { Err(Fault::no_stack(&path.name)) } else { Ok(stack) }
}

/// The stack of an id or a name. An administrator's id may be of any project, and his name means a
/// stack of his own, as everybody's does.
pub(super) async fn stack_named(
    state: &ApiState,
    context: &Context,
    name_or_id: &str,
) -> Result<Option<StackRow>, Fault> {
    if context.caller.is_admin()
        && let Ok(id) = Uuid::try_parse(name_or_id)
        && let Some(stack) = state.views.stack(StackId(id)).await?
    {
        return Ok(Some(stack));
    }
    Ok(state.views.find(context.caller.project_id.clone(), name_or_id.to_owned()).await?)
}

/// The asker, as the engine wants to know him.
pub(super) fn requester(state: &ApiState, context: &Context) -> RequestContext {
    RequestContext {
        caller: context.caller.clone(),
        token: context.token.clone(),
        login: context.login.clone(),
        request_id: context.request_id.clone(),
        command_id: CommandId(state.clock.fresh_id()),
        fetches: context.fetches.clone(),
        conditions: context.conditions.clone(),
    }
}

/// The asker, where more is written for him than what frees something: refused once his project
/// has written its share of the day. What was accepted goes on.
pub(super) async fn writer(
    state: &ApiState,
    context: &Context,
    project: &ProjectId,
) -> Result<RequestContext, Fault> {
    if let Some(limit) = limit(state, context) {
        refuse_beyond(state, project, limit, "a project").await?;
    }
    Ok(requester(state, context))
}

/// The same of whoever may be one of the stack's users: they have a share of their own, so that a
/// key or a signed address of theirs does not use up the project's.
pub(super) async fn writer_of(
    state: &ApiState,
    context: &Context,
    stack: &StackRow,
) -> Result<RequestContext, Fault> {
    let own = &context.caller.project_id;
    if stack.user_project.as_ref() == Some(own)
        && let Some(limit) = limit(state, context)
    {
        refuse_beyond(state, own, limit / STACK_USERS_PART, "the users of a stack").await?;
    }
    writer(state, context, &stack.project_id).await
}

fn limit(state: &ApiState, context: &Context) -> Option<usize> {
    state.settings.log_bytes_per_day_max.filter(|_| !context.caller.is_admin())
}

async fn refuse_beyond(
    state: &ApiState,
    project: &ProjectId,
    limit: usize,
    whose: &str,
) -> Result<(), Fault> {
    let written = state.views.written(project, state.clock.now()).await?;
    if written < limit as u64 {
        return Ok(());
    }
    tracing::info!(project = %project, written, limit, "a project has written its share of a day");
    Err(Fault::new(
        "Forbidden",
        format!(
            "Request limit exceeded: You have reached the maximum of {limit} bytes that {whose} may \
             have recorded in a day. Please try again later."
        ),
    ))
}

/// The asker of a change that is made once, where the request has a key: of what `kind` it is, and
/// what it says.
pub(super) fn once(
    state: &ApiState,
    context: &Context,
    who: RequestContext,
    (kind, body): (&str, &JsonMap),
) -> Result<RequestContext, Fault> {
    let Some(key) = context.key.clone() else { return Ok(who) };
    let scope = StreamId::project(&context.caller.project_id);
    let digest = state.vault.digest_in(scope.as_str(), &serde_json::to_vec(&(kind, body))?);
    let digest = digest.map_err(|error| Refusal::unavailable(error.to_string()))?;
    let once = Some(AskedOnce { key, request: hex(&digest) });
    Ok(RequestContext { conditions: Conditions { once, ..who.conditions.clone() }, ..who })
}

/// Whether a change with a key was made before: what has become of its stack since counts for
/// nothing.
pub(super) async fn answered(state: &ApiState, who: &RequestContext) -> Result<bool, Fault> {
    let Some(accepted) = state.engine.answered(who).await? else { return Ok(false) };
    seen(state, &accepted).await?;
    Ok(true)
}

/// Returns when what a command wrote is on disk and in the views, so that a client reads its own
/// writes and nothing is acknowledged that a crash could take back. What is on disk counts: views
/// that stand still, on a full disk perhaps, hold no acknowledgement back for long.
pub(super) async fn seen(state: &ApiState, accepted: &Accepted) -> Result<(), Fault> {
    seen_at(state, accepted.position).await
}

/// The same, of what is written up to a position.
pub(super) async fn seen_at(state: &ApiState, position: Position) -> Result<(), Fault> {
    state.log.durable(position).await?;
    if state.views.soon_after(position).await.is_err() {
        tracing::warn!(%position, "the views are behind an accepted command");
    }
    Ok(())
}

/// 200 with a body.
fn answer(body: &impl Serialize) -> Result<HttpResponse, Fault> {
    let body = answer_json(body)?;
    Ok(HttpResponse::Ok().content_type("application/json").body(body))
}

/// 200 with a body that is as large as a template makes it: put together where templates are worked
/// on.
async fn answer_large<B: Serialize>(
    state: &ApiState,
    project: &ProjectId,
    body: impl FnOnce() -> B + Send + 'static,
) -> Answer {
    let body = state.engine.work(project, move || answer_json(&body())).await??;
    Ok(HttpResponse::Ok().content_type("application/json").body(body))
}

/// 200 with the text `null`: what Heat answers where it has nothing to say.
fn answer_nothing() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body("null")
}

/// A time as the API writes it.
pub(super) fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

pub(super) type State = web::Data<ApiState>;
type Answer = Result<HttpResponse, Fault>;
