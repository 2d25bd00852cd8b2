//! `POST …/stacks` and `POST …/stacks/preview`.

use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Value, json};

use super::source::{Handling, Sent, refuse_update_options};
use super::{keep, preview};
use crate::actors::{CreateStack, RequestContext};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::request::Body;
use crate::api::url::{Links, link};
use crate::api::v1::{Answer, State, answer_large, once, requester, seen, writer};
use crate::model::{JsonMap, StackName, StackSettings};
use crate::resource_types::python;
use crate::template::StackSource;

pub(in crate::api) async fn create(
    state: State,
    context: Context,
    request: HttpRequest,
    body: Body,
) -> Answer {
    context.require("stacks:create").await?;
    let body = body.required()?;
    let who = writer(&state, &context, &context.caller.project_id).await?;
    let who = once(&state, &context, who, ("POST", &body))?;
    let adopted = state.engine.work(&context.caller.project_id, move || {
        let adopted = keep::adopted(&body);
        adopted.map(|adopted| (body, adopted))
    });
    let (body, adopted) = adopted.await??;
    let accepted = match adopted {
        None => {
            let ask = read(&state, &who, &body).await?;
            state.engine.create_stack(&who, ask).await?
        }
        Some((body, resources)) => {
            let ask = read(&state, &who, &body).await?;
            state.engine.adopt_stack(&who, ask, resources).await?
        }
    };
    seen(&state, &accepted).await?;
    let project = &context.caller.project_id;
    let href = Links::of(&request).stack_by(project, accepted.name.as_str(), accepted.stack);
    let stack = json!({ "id": accepted.stack, "links": [link(&href, "self")] });
    Ok(HttpResponse::Created().insert_header((LOCATION, href)).json(json!({ "stack": stack })))
}

pub(super) async fn preview(
    state: &ApiState,
    context: &Context,
    request: &HttpRequest,
    body: Body,
) -> Answer {
    context.require("stacks:preview").await?;
    let who = requester(state, context);
    let ask = read(state, &who, &body.required()?).await?;
    let plan = state.engine.preview_create(&who, &ask).await?;
    let links = Links::of(request);
    let now = state.clock.now();
    let context = context.clone();
    let project = context.caller.project_id.clone();
    let view = move || json!({ "stack": preview::of_create(&links, &context, &ask, &plan, now) });
    answer_large(state, &project, view).await
}

/// Reads what is to be created.
pub(in crate::api) async fn read(
    state: &ApiState,
    who: &RequestContext,
    body: &JsonMap,
) -> Result<CreateStack, Fault> {
    refuse_update_options(body)?;
    let handling = Handling::read(body)?;
    let name = match body.get("stack_name") {
        Some(Value::String(name)) => name.clone(),
        Some(name) => {
            let text = format!("Invalid stack name {}, must be a string", python::repr(name));
            return Err(Fault::new("StackValidationFailed", text));
        }
        None => return Err(Fault::bad_request("No stack name specified")),
    };
    let sent = Sent::read(state, who, body).await?;
    if sent.template.is_none() {
        return Err(Fault::bad_request("No template specified"));
    }
    let (sent, merged) = sent.merged(state, &who.caller.project_id, None).await?;
    Ok(CreateStack {
        name: StackName(name),
        source: StackSource {
            template: sent.template.unwrap_or_default(),
            environment: merged.environment,
            files: sent.files,
            parameters: merged.parameters,
            ..StackSource::default()
        },
        settings: handling.settings.over(StackSettings::default()),
    })
}
