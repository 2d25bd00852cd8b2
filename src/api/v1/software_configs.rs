//! `…/software_configs`: scripts and configurations with inputs and outputs, kept to be deployed.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Answer, State, answer, requester, seen_at, time, writer};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::query::{Param, boolean, number, text};
use crate::api::request::{Body, Params};
use crate::events::StreamId;
use crate::events::vault::Placed;
use crate::model::sizes::{GROUP, NAME};
use crate::model::{ConfigId, JsonMap, ProjectId};
use crate::projections::{ConfigQuery, ConfigRow};
use crate::resource_types::software::{ConfigContent, SoftwareConfig, read_io};

/// `…/software_configs/{config}`.
#[derive(Deserialize)]
pub(in crate::api) struct ConfigPath {
    config: String,
}

/// What the list reads of its query.
pub(in crate::api) const LIST_QUERY: &[Param] =
    &[boolean("global_tenant"), text("marker"), number("limit")];

pub(in crate::api) async fn list(state: State, context: Context, request: HttpRequest) -> Answer {
    context.require("software_configs:index").await?;
    let params = Params::of(&request);
    let mut project = context.visible_project();
    if params.boolean("global_tenant")?.unwrap_or(false) {
        context.require("software_configs:global_index").await?;
        project = None;
    }
    let marker = params.one("marker").and_then(|id| Uuid::try_parse(id).ok());
    let query =
        ConfigQuery { project, marker: marker.map(ConfigId), limit: params.number("limit")? };
    let is_admin = context.caller.is_admin();
    let views = state.views.configs(query).await?.into_iter().map(|row| {
        let mut view = summary(&row);
        if is_admin {
            view["project"] = row.project_id.as_str().into();
        }
        view
    });
    answer(&json!({ "software_configs": views.collect::<Vec<Value>>() }))
}

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    path: web::Path<ConfigPath>,
) -> Answer {
    context.require("software_configs:show").await?;
    shown(&state, &context, &path.config).await
}

pub(in crate::api) async fn create(state: State, context: Context, body: Body) -> Answer {
    context.require("software_configs:create").await?;
    let asked = body.required()?;
    let text = |name: &str| asked.get(name).and_then(Value::as_str).map(str::to_owned);
    let given = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let options = given("options");
    let content = ConfigContent {
        config: given("config"),
        inputs: read_io(&given("inputs"), true)?,
        outputs: read_io(&given("outputs"), false)?,
        options: if options.is_null() { json!({}) } else { options },
    };
    let (name, group) = (text("name"), text("group"));
    NAME.check_text(name.as_deref())?;
    GROUP.check_text(group.as_deref())?;
    let config = SoftwareConfig { name, group, content };
    let who = writer(&state, &context, &context.caller.project_id).await?;
    let (id, position) = state.engine.software().create(&who, config).await?;
    seen_at(&state, position).await?;
    shown(&state, &context, &id.to_string()).await
}

pub(in crate::api) async fn delete(
    state: State,
    context: Context,
    path: web::Path<ConfigPath>,
) -> Answer {
    context.require("software_configs:delete").await?;
    let row = found(&state, &context, &path.config).await?;
    if state.views.is_deployed(row.id).await? {
        // Heat says so with an error of its own, 500.
        let id = &path.config;
        let text = format!("Software config with id {id} can not be deleted as it is referenced.");
        return Err(Fault::new("HTTPConflict", text));
    }
    let position =
        state.engine.software().delete(&requester(&state, &context), &path.config).await?;
    seen_at(&state, position).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn found(state: &ApiState, context: &Context, id: &str) -> Result<ConfigRow, Fault> {
    let missing = || Fault::new("NotFound", format!("Software config with id {id} not found"));
    let uuid = Uuid::try_parse(id).map_err(|_| missing())?;
    let row = state.views.config(context.visible_project(), ConfigId(uuid)).await?;
    row.ok_or_else(missing)
}

async fn shown(state: &ApiState, context: &Context, id: &str) -> Answer {
    let row = found(state, context, id).await?;
    answer(&json!({ "software_config": view(state, &row)? }))
}

fn summary(row: &ConfigRow) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "group": row.group,
        "creation_time": time(row.created_at),
    })
}

/// A configuration with all that it holds, for those of its own project.
pub(super) fn view(state: &ApiState, row: &ConfigRow) -> Result<Value, Fault> {
    let content = opened(state, &row.project_id, &row.content)?;
    let content: ConfigContent = serde_json::from_value(content)?;
    let mut view = summary(row);
    view["config"] = content.config;
    view["inputs"] = content.inputs.into_iter().map(Value::Object).collect();
    view["outputs"] = content.outputs.into_iter().map(Value::Object).collect();
    view["options"] = content.options;
    Ok(view)
}

/// What is sealed under a project's scope.
pub(super) fn opened(
    state: &ApiState,
    project: &ProjectId,
    placed: &Placed,
) -> Result<Value, Fault> {
    state.vault.open(StreamId::project(project).as_str(), placed).map_err(|error| {
        tracing::error!(place = placed.place, %error, "a sealed value cannot be opened");
        Fault::new("Error", "The value is no longer readable.")
    })
}

/// An object of the body, where one is given.
pub(super) fn object(asked: &JsonMap, name: &str) -> Option<Value> {
    asked.get(name).filter(|value| !value.is_null()).cloned()
}
