//! What the head of a request may be: as long as an operator lets it, and for a host that may be
//! one.

use actix_web::dev::ServiceRequest;
use actix_web::http::header::HOST;

use super::origin::is_host;
use crate::api::ApiState;
use crate::api::error::Fault;

/// Refuses a head that no client has a reason to send.
pub(in crate::api) fn check(state: &ApiState, request: &ServiceRequest) -> Result<(), Fault> {
    let max = state.settings.front.header_line_max;
    let uri = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    if uri > max {
        return Err(Fault::new("HTTPRequestURITooLong", "The request URI was too long."));
    }
    let is_long = |(name, value): (&_, &_)| line_length(name, value) > max;
    if request.headers().iter().any(is_long) {
        return Err(Fault::new(
            "HTTPRequestHeaderFieldsTooLarge",
            format!("A header is longer than {max} bytes."),
        ));
    }
    // Links are written with it, so it has to be a host and nothing else.
    let host = request.headers().get(HOST).map(|host| host.to_str());
    match host {
        Some(Ok(host)) if !is_host(host) => Err(Fault::bad_request("The Host is not a host.")),
        Some(Err(_)) => Err(Fault::bad_request("The Host is not a host.")),
        Some(Ok(_)) | None => Ok(()),
    }
}

fn line_length(
    name: &actix_web::http::header::HeaderName,
    value: &actix_web::http::header::HeaderValue,
) -> usize {
    name.as_str().len() + ": ".len() + value.len()
}
