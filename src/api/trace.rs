//! A request's id, on its log lines and on its answer.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use tracing::Instrument;

use super::ApiState;
use crate::model::RequestId;

/// Where a client finds the id of its request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-openstack-request-id");

/// Gives each request an id.
pub(super) async fn with_request_id(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = match request.app_data::<web::Data<ApiState>>() {
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
    let mut response = next.call(request).instrument(span.clone()).await?;
    tracing::debug!(parent: &span, status = response.status().as_u16(), "answered");
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    Ok(response)
}
