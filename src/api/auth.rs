//! The token check in front of every versioned URL, with the answers of `keystonemiddleware`.

use std::sync::Arc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderMap, WWW_AUTHENTICATE};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse, ResponseError, web};
use serde_json::json;

use super::ApiState;
use super::context::Authenticated;
use super::error::Fault;
use super::front;
use crate::model::{Caller, Refusal, Secret};
use crate::openstack::CloudError;

/// Lets a request pass that has a token which Keystone knows.
pub(super) async fn authenticate<B: MessageBody>(
    state: web::Data<ApiState>,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    match identify(&state, request.headers()).await {
        Ok(authenticated) => {
            let _admitted = match front::admit(&state, request.request(), &authenticated.caller) {
                Ok(admitted) => admitted,
                Err(fault) => {
                    let refused = fault.error_response();
                    return Ok(request.into_response(refused).map_into_right_body());
                }
            };
            request.extensions_mut().insert(authenticated);
            Ok(next.call(request).await?.map_into_left_body())
        }
        Err(refused) => Ok(request.into_response(refused).map_into_right_body()),
    }
}

/// Whose the token is that a request has.
pub(super) async fn identify(
    state: &ApiState,
    headers: &HeaderMap,
) -> Result<Authenticated, HttpResponse> {
    let given = headers.get("x-auth-token").and_then(|token| token.to_str().ok());
    let (Some(token), Some(cloud)) = (given.filter(|token| !token.is_empty()), &state.cloud) else {
        return Err(unauthorized(state));
    };
    let token = Secret::new(token.to_owned());
    match cloud.validate_token(&token).await {
        Ok(identity) => Ok(Authenticated { caller: known(state, identity.caller).await, token }),
        Err(CloudError::InvalidToken) => Err(unauthorized(state)),
        Err(error) => {
            tracing::error!(%error, "a token could not be validated");
            let refusal =
                Refusal::unavailable("The identity service cannot be reached at present.");
            Err(Fault::from(refusal).error_response())
        }
    }
}

/// The caller as the operator's rules know him.
pub(super) async fn known(state: &ApiState, mut caller: Arc<Caller>) -> Arc<Caller> {
    if state.policy.is_admin(&caller).await {
        Arc::make_mut(&mut caller).admin = true;
    }
    caller
}

fn unauthorized(state: &ApiState) -> HttpResponse {
    let place = format!("Keystone uri=\"{}\"", state.settings.auth_url);
    HttpResponse::Unauthorized().insert_header((WWW_AUTHENTICATE, place)).json(json!({
        "error": {
            "code": 401,
            "title": "Unauthorized",
            "message": "The request you have made requires authentication.",
        }
    }))
}
