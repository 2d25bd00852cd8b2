//! Signals to resources, at addresses that were signed in advance: `/waitcondition/ARN` answers with
//! what the resource has heard, `/signal/ARN` with nothing.

use actix_web::dev::HttpServiceFactory;
use actix_web::{HttpRequest, HttpResponse, Resource, guard, web};
use serde_json::{Value, json};

use super::answer;
use super::arn::Arn;
use super::asked::Asked;
use super::auth;
use super::fault::{ACCESS_DENIED, CfnFault, INVALID_VALUE};
use super::shape::Format;
use super::signature::Window;
use super::stacks::Served;
use crate::api::request::{object, read_object, state};
use crate::api::v1::{requester, resources, seen, writer_of};
use crate::model::JsonMap;

/// Where signals are heard, by the verbs that somebody may have signed.
pub(super) fn route<F, Args>(path: &'static str, handler: F) -> impl HttpServiceFactory
where
    F: actix_web::Handler<Args>,
    Args: actix_web::FromRequest + 'static,
    F::Output: actix_web::Responder + 'static,
{
    let verbs = guard::Any(guard::Get()).or(guard::Put()).or(guard::Post());
    Resource::new(path).guard(verbs).to(handler)
}

/// A signal whose sender wants to know what has been heard by now.
pub(super) async fn wait_condition(request: HttpRequest, payload: web::Payload) -> HttpResponse {
    match hear(&request, payload, true).await {
        // As in Heat, XML has room for the name alone.
        Ok((Format::Xml, heard)) => {
            answer::write(&mut HttpResponse::Ok(), Format::Xml, "resource", &heard["resource"])
        }
        Ok((Format::Json, heard)) => HttpResponse::Ok().json(heard),
        Err(fault) => fault.answer(Format::Xml),
    }
}

/// A signal.
pub(super) async fn signal(request: HttpRequest, payload: web::Payload) -> HttpResponse {
    match hear(&request, payload, false).await {
        Ok(_) => HttpResponse::Ok().content_type("text/html; charset=UTF-8").body(""),
        Err(fault) => fault.answer(Format::Xml),
    }
}

/// The object that a body is, without what some senders put before it.
pub(super) fn details_in(body: &mut Vec<u8>) -> Option<Vec<u8>> {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let before = body.len() - text.len();
    text.starts_with(b"{").then(|| body.split_off(before))
}

async fn hear(
    request: &HttpRequest,
    payload: web::Payload,
    tells: bool,
) -> Result<(Format, Value), CfnFault> {
    let state = state(request)?;
    let mut asked = Asked::without_form(request, payload.into_inner()).await?;
    let (context, _admitted) = auth::authenticate(state, request, &asked, Window::Lasting).await?;
    if context.require("resource:signal").await.is_err() {
        return Err(CfnFault::new(ACCESS_DENIED, "Action signal not allowed for user"));
    }
    let details = match details_in(&mut asked.body) {
        Some(body) => {
            let project = async || Ok(context.caller.project_id.clone());
            Value::Object(object(state, body, read_object, project).await?)
        }
        None if tells && !asked.body.is_empty() => {
            return Err(CfnFault::new(INVALID_VALUE, "The signal is no JSON object."));
        }
        None => Value::Null,
    };
    let format = asked.format();
    let served = Served { state, context: &context, request, asked: &asked };
    let not_one = || CfnFault::new(INVALID_VALUE, "The address has no ARN of a resource.");
    let arn = asked.path.find("/arn:").map(|at| &asked.path[at + 1..]);
    let arn = arn.and_then(Arn::read).ok_or_else(not_one)?;
    let stack = served.stack_at(&arn).await?;
    let name = arn.resource().ok_or_else(not_one)?;
    let resource = resources::named_for(state, &context, &stack, name).await?;
    let who = writer_of(state, &context, &stack).await?;
    let (engine, name) = (&state.engine, &resource.name);
    let accepted = match tells {
        true => engine.signal_resource_checked(&who, stack.id, name, &details).await?,
        false => engine.signal_resource(&who, stack.id, name, &details).await?,
    };
    seen(state, &accepted).await?;
    let metadata = match tells && format == Format::Json {
        true => {
            let who = requester(state, &context);
            state.engine.resource_metadata(&who, stack.id, &resource.name).await?
        }
        false => JsonMap::new(),
    };
    Ok((format, json!({ "resource": resource.name, "metadata": metadata })))
}
