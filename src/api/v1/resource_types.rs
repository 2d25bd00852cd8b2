//! Resource types: their list, their schemas, and templates made of them.

use actix_web::{HttpRequest, web};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, State, answer, requester};
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::query::{Param, boolean, choice, text};
use crate::api::request::Params;
use crate::resource_types::{TemplateKind, TypeFilter};

/// What the list reads of its query.
pub(in crate::api) const LIST_QUERY: &[Param] =
    &[boolean("with_description"), text("name"), text("support_status"), text("version")];

pub(in crate::api) async fn list(state: State, context: Context, request: HttpRequest) -> Answer {
    context.require("stacks:list_resource_types").await?;
    let params = Params::of(&request);
    let with_description = params.boolean("with_description")?.unwrap_or(false);
    let filter = TypeFilter {
        name: params.one("name"),
        support_status: params.one("support_status"),
        version: params.one("version"),
    };
    let mut types = Vec::new();
    let listed = state.registry.listed(&filter)?;
    let names = listed.iter().map(|declared| declared.type_name.clone()).collect();
    let forbidden = state.engine.forbidden_types(&context.caller, names).await;
    let cloud = state.engine.cloud_of(&requester(&state, &context));
    for declared in listed {
        let name = &declared.type_name;
        if !forbidden.contains(name) && state.engine.find_service(&cloud, name).await.is_ok() {
            types.push(declared);
        }
    }
    let views = types.iter().map(|declared| {
        if with_description {
            json!({
                "resource_type": declared.type_name,
                "description": declared.description,
            })
        } else {
            declared.type_name.as_str().into()
        }
    });
    answer(&json!({ "resource_types": views.collect::<Vec<Value>>() }))
}

/// `…/resource_types/{type}`.
#[derive(Deserialize)]
pub(in crate::api) struct TypePath {
    #[serde(rename = "type")]
    type_name: String,
}

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    wanted: web::Path<TypePath>,
) -> Answer {
    context.require("stacks:resource_schema").await?;
    state.engine.allow_type(&context.caller, &wanted.type_name).await?;
    let shown = state.registry.show(&wanted.type_name)?;
    let cloud = state.engine.cloud_of(&requester(&state, &context));
    state.engine.find_service(&cloud, &wanted.type_name).await?;
    answer(&shown)
}

/// What a type's template reads of its query.
pub(in crate::api) const TEMPLATE_QUERY: &[Param] = &[choice("template_type", &["cfn", "hot"])];

pub(in crate::api) async fn template(
    state: State,
    context: Context,
    request: HttpRequest,
    wanted: web::Path<TypePath>,
) -> Answer {
    context.require("stacks:generate_template").await?;
    state.engine.allow_type(&context.caller, &wanted.type_name).await?;
    let params = Params::of(&request);
    let given = params.one("template_type").unwrap_or("cfn").to_ascii_lowercase();
    let kind = match given.as_str() {
        "cfn" => TemplateKind::Cfn,
        "hot" => TemplateKind::Hot,
        _ => {
            return Err(Fault::bad_request(format!(
                "Template type is not supported: Invalid template type \"{given}\", valid types \
                 are: cfn, hot."
            )));
        }
    };
    answer(&state.registry.template(&wanted.type_name, kind)?)
}
