//! A request's id, on its log lines and on its answer.

use std::rc::Rc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, ResponseError, web};
use tracing::Instrument;

use super::ApiState;
use super::front::{self, Visit};
use crate::model::RequestId;

/// Where a client finds the id of its request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-openstack-request-id");

/// Gives each request an id.
pub(super) async fn with_request_id<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let state = request.app_data::<web::Data<ApiState>>().cloned();
    let id = match &state {
        Some(state) => format!("req-{}", state.clock.fresh_id()),
        None => "req-".to_owned(),
    };
    request.extensions_mut().insert(RequestId::from(id.as_str()));
    let span = tracing::info_span!(
        "request",
        id = %id,
        method = %request.method(),
        path = request.path()
    );
    let _at_work = request.conn_data::<Rc<Visit>>().map(Visit::begin);
    let refused = state.and_then(|state| front::check(&state, &request).err());
    let mut response = match refused {
        None => next.call(request).instrument(span.clone()).await?.map_into_left_body(),
        Some(fault) => request.into_response(fault.error_response()).map_into_right_body(),
    };
    tracing::debug!(parent: &span, status = response.status().as_u16(), "answered");
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    Ok(response)
}
