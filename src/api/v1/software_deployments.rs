//! `…/software_deployments`: configurations on servers, and what came of them.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::software_configs::{self, object, opened};
use super::{Answer, State, answer, requester, seen_at, time, writer};
use crate::actors::software::{ChangeDeployment, CreateDeployment};
use crate::actors::stack_users::forbidden;
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::query::{self, Param};
use crate::api::request::{Body, Params};
use crate::events::vault::Placed;
use crate::model::sizes::{ACTION, REASON, SERVER, STATUS, USERS_PROJECT};
use crate::model::{DeploymentId, JsonMap, ProjectId};
use crate::projections::{DeploymentRow, StackField, StackQuery, StackRow};
use crate::resource_types::python;

/// `…/software_deployments/{deployment}`.
#[derive(Deserialize)]
pub(in crate::api) struct DeploymentPath {
    deployment: String,
}

/// `…/software_deployments/metadata/{server}`.
#[derive(Deserialize)]
pub(in crate::api) struct ServerPath {
    server: String,
}

/// What the list reads of its query.
pub(in crate::api) const LIST_QUERY: &[Param] = &[query::text("server_id")];

pub(in crate::api) async fn list(state: State, context: Context, request: HttpRequest) -> Answer {
    context.require("software_deployments:index").await?;
    let server = Params::of(&request).one("server_id").map(str::to_owned);
    let rows = state.views.deployments(context.visible_project(), server).await?;
    let views: Result<Vec<Value>, Fault> = rows.iter().map(|row| view(&state, row)).collect();
    answer(&json!({ "software_deployments": views? }))
}

/// The configurations that are deployed to a server, for the agent on it.
pub(in crate::api) async fn metadata(
    state: State,
    context: Context,
    path: web::Path<ServerPath>,
) -> Answer {
    context.require("software_deployments:metadata").await?;
    let project = match polled(&state, &context, &path.server).await? {
        Some(project) => Some(project),
        None => context.visible_project(),
    };
    let rows = state.views.configs_of_server(project, &path.server).await?;
    let views: Result<Vec<Value>, Fault> =
        rows.iter().map(|row| software_configs::view(&state, row)).collect();
    answer(&json!({ "metadata": views? }))
}

/// The project of the server that a user of a stack's asks for: he must be that server's own.
/// None: the caller is no such user.
async fn polled(
    state: &ApiState,
    context: &Context,
    server: &str,
) -> Result<Option<ProjectId>, Fault> {
    let stacks = of_users(state, None, context.caller.project_id.as_str()).await?;
    if stacks.is_empty() && !state.engine.is_stack_user(&context.caller) {
        return Ok(None);
    }
    let who = requester(state, context);
    for stack in stacks {
        let resources = state.views.resources(stack.id).await?;
        let mut own = resources.iter().filter(|it| it.physical_id.as_deref() == Some(server));
        if let Some(resource) = own.next() {
            state.engine.allow_resource(&who, stack.id, &resource.name).await?;
            return Ok(Some(stack.project_id));
        }
    }
    Err(forbidden().into())
}

/// The living stacks, of one project or of any, whose users' project this is.
async fn of_users(
    state: &ApiState,
    owner: Option<ProjectId>,
    users: &str,
) -> Result<Vec<StackRow>, Fault> {
    let query = StackQuery {
        project: owner,
        filters: vec![(StackField::UserProject, vec![users.to_owned()])],
        nested: true,
        ..StackQuery::default()
    };
    Ok(state.views.stacks(query).await?)
}

/// Refuses a project for a server's user that is not of the caller's own stacks: what is deployed
/// is shown to its users.
async fn check_users(state: &ApiState, context: &Context, users: &str) -> Result<(), Fault> {
    let invalid = |reason: &str| {
        let text = format!("Data supplied was not valid: \"stack_user_project_id\" {reason}");
        Fault::new("Invalid", text)
    };
    USERS_PROJECT.check_text(Some(users))?;
    match of_users(state, Some(context.caller.project_id.clone()), users).await?.is_empty() {
        true => Err(invalid("should be the one of a stack in this project")),
        false => Ok(()),
    }
}

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    path: web::Path<DeploymentPath>,
) -> Answer {
    context.require("software_deployments:show").await?;
    if let Ok(id) = Uuid::try_parse(&path.deployment) {
        let (who, software) = (requester(&state, &context), state.engine.software());
        match software.poll(&who, DeploymentId(id)).await {
            Ok(Some(position)) => seen_at(&state, position).await?,
            Ok(None) => {}
            // It is shown as it is, if it is there.
            Err(refusal) => tracing::debug!(%refusal, "a deployment is not looked for"),
        }
    }
    shown(&state, &context, &path.deployment).await
}

pub(in crate::api) async fn create(state: State, context: Context, body: Body) -> Answer {
    context.require("software_deployments:create").await?;
    let asked = body.required()?;
    let server_id = text(&asked, "server_id").unwrap_or_default();
    SERVER.check_text(Some(&server_id))?;
    let ask = CreateDeployment {
        server_id,
        stack_user_project_id: text(&asked, "stack_user_project_id"),
        change: ChangeDeployment {
            input_values: object(&asked, "input_values").or_else(|| Some(json!({}))),
            output_values: None,
            ..change(&asked)?
        },
    };
    if let Some(users) = &ask.stack_user_project_id {
        check_users(&state, &context, users).await?;
    }
    let who = writer(&state, &context, &context.caller.project_id).await?;
    let (id, position) = state.engine.software().create_deployment(&who, ask).await?;
    seen_at(&state, position).await?;
    shown(&state, &context, &id.to_string()).await
}

pub(in crate::api) async fn update(
    state: State,
    context: Context,
    path: web::Path<DeploymentPath>,
    body: Body,
) -> Answer {
    context.require("software_deployments:update").await?;
    let ask = change(&body.required()?)?;
    let who = writer(&state, &context, &context.caller.project_id).await?;
    let software = state.engine.software();
    let (id, position) = software.update_deployment(&who, &path.deployment, ask).await?;
    seen_at(&state, position).await?;
    shown(&state, &context, &id.to_string()).await
}

pub(in crate::api) async fn delete(
    state: State,
    context: Context,
    path: web::Path<DeploymentPath>,
) -> Answer {
    context.require("software_deployments:delete").await?;
    let who = requester(&state, &context);
    let position = state.engine.software().remove_deployment(&who, &path.deployment).await?;
    seen_at(&state, position).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn text(asked: &JsonMap, name: &str) -> Option<String> {
    asked.get(name).filter(|value| !value.is_null()).map(python::text)
}

/// What a body sets; null is as good as nothing.
fn change(asked: &JsonMap) -> Result<ChangeDeployment, Fault> {
    let change = ChangeDeployment {
        config_id: text(asked, "config_id"),
        action: text(asked, "action"),
        status: text(asked, "status"),
        status_reason: text(asked, "status_reason"),
        input_values: object(asked, "input_values"),
        output_values: object(asked, "output_values"),
    };
    ACTION.check_text(change.action.as_deref())?;
    STATUS.check_text(change.status.as_deref())?;
    REASON.check_text(change.status_reason.as_deref())?;
    Ok(change)
}

async fn shown(state: &ApiState, context: &Context, id: &str) -> Answer {
    let missing = || Fault::new("NotFound", format!("Deployment with id {id} not found"));
    let uuid = Uuid::try_parse(id).map_err(|_| missing())?;
    let row = state.views.deployment(context.visible_project(), DeploymentId(uuid)).await?;
    answer(&json!({ "software_deployment": view(state, &row.ok_or_else(missing)?)? }))
}

fn view(state: &ApiState, row: &DeploymentRow) -> Result<Value, Fault> {
    let values = |placed: &Option<Placed>| match placed {
        Some(placed) => opened(state, &row.project_id, placed),
        None => Ok(Value::Null),
    };
    let mut view = json!({
        "id": row.id,
        "server_id": row.server_id,
        "input_values": values(&row.inputs)?,
        "output_values": values(&row.outputs)?,
        "action": row.state.action,
        "status": row.state.status,
        "status_reason": row.state.status_reason,
        "config_id": row.state.config_id,
        "creation_time": time(row.created_at),
    });
    if let Some(updated_at) = row.updated_at {
        view["updated_time"] = time(updated_at).into();
    }
    Ok(view)
}
