//! `POST …/validate`, and what templates may be written in.

use std::collections::BTreeSet;
use std::sync::Arc;

use actix_web::{HttpRequest, web};
use serde::Deserialize;
use serde_json::{Value, json};

use super::stacks::source::Sent;
use super::{Answer, State, answer, answer_large, requester};
use crate::actors::RequestContext;
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::query::{Param, boolean, text};
use crate::api::request::{Body, Params};
use crate::model::JsonMap;
use crate::template::{
    PseudoParameters, StackDefinition, StackSource, template_functions, template_versions,
};

/// The one error that a client may ask to pass over: a service that is not there.
const IGNORABLE_ERROR: &str = "99001";

/// How Heat names the stack of a template that is only validated.
const DUMMY_STACK: &str = "dummy";

/// What a validation reads of its query.
pub(in crate::api) const VALIDATE_QUERY: &[Param] =
    &[boolean("show_nested"), text("ignore_errors")];

pub(in crate::api) async fn validate(
    state: State,
    context: Context,
    request: HttpRequest,
    body: Body,
) -> Answer {
    context.require("stacks:validate_template").await?;
    let params = Params::of(&request);
    let with_nested = params.boolean("show_nested")?.unwrap_or(false);
    let codes = params.one("ignore_errors").into_iter().flat_map(|codes| codes.split(','));
    let unknown: Vec<String> =
        codes.filter(|code| *code != IGNORABLE_ERROR).map(|code| format!("'{code}'")).collect();
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        return Err(Fault::bad_request(format!("Invalid codes in ignore_errors : [{unknown}]")));
    }
    let body = body.required()?;
    let body = validated(&state, &requester(&state, &context), &body, with_nested).await?;
    answer_large(&state, &context.caller.project_id, move || body).await
}

/// What there is to be said of a valid template.
pub(in crate::api) async fn validated(
    state: &ApiState,
    who: &RequestContext,
    body: &JsonMap,
    with_nested: bool,
) -> Result<Value, Fault> {
    let sent = Sent::read(state, who, body).await?;
    if sent.template.is_none() {
        return Err(Fault::bad_request("No template specified"));
    }
    let project = &who.caller.project_id;
    let (sent, merged) = sent.merged(state, project, None).await?;
    let mut source = StackSource {
        template: sent.template.unwrap_or_default(),
        environment: merged.environment,
        files: sent.files,
        parameters: merged.parameters,
        ..StackSource::default()
    };
    let pseudo = PseudoParameters {
        stack_name: DUMMY_STACK.to_owned(),
        project_id: project.to_string(),
        ..PseudoParameters::default()
    };
    let (types, bounds) = (Arc::clone(&state.registry), state.engine.bounds());
    let validate = move |source: &StackSource| {
        let types = types.as_ref();
        let definition = match StackDefinition::load_without_values(source, &pseudo, types) {
            Ok(definition) => definition,
            Err(refusal) => return (Err(refusal), BTreeSet::new()),
        };
        let nested = || match with_nested {
            true => types.nested_parameters(&definition, bounds),
            false => Ok(JsonMap::new()),
        };
        let nested = types.validate_template(&definition).and_then(|()| nested());
        (nested.map(|nested| definition.validation_body(nested)), definition.files().missed())
    };
    Ok(state.engine.with_templates(who, &mut source, validate).await?)
}

pub(in crate::api) async fn versions(context: Context) -> Answer {
    context.require("stacks:list_template_versions").await?;
    let versions = template_versions().into_iter().map(|listed| {
        json!({ "version": listed.version, "type": listed.kind, "aliases": listed.aliases })
    });
    answer(&json!({ "template_versions": versions.collect::<Vec<Value>>() }))
}

/// `…/template_versions/{version}`.
#[derive(Deserialize)]
pub(in crate::api) struct VersionPath {
    version: String,
}

/// What the list of functions reads of its query.
pub(in crate::api) const FUNCTIONS_QUERY: &[Param] = &[boolean("with_condition_func")];

pub(in crate::api) async fn functions(
    context: Context,
    request: HttpRequest,
    wanted: web::Path<VersionPath>,
) -> Answer {
    context.require("stacks:list_template_functions").await?;
    let with_conditions = Params::of(&request).boolean("with_condition_func")?.unwrap_or(false);
    let functions = template_functions(&wanted.version, with_conditions).ok_or_else(|| {
        let message = format!("Template with version {} not found", wanted.version);
        Fault::new("NotFound", message)
    })?;
    let functions = functions
        .into_iter()
        .map(|listed| json!({ "functions": listed.name, "description": listed.description }));
    answer(&json!({ "template_functions": functions.collect::<Vec<Value>>() }))
}
