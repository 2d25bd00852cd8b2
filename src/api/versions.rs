//! What needs no token: which versions there are, and unknown URLs.

use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use super::url::root;

/// A URL outside of the version that is served: the list of versions, or nothing.
pub(super) async fn unversioned(request: HttpRequest) -> HttpResponse {
    let first = request.path().trim_start_matches('/').split('/').next().unwrap_or_default();
    let names_a_version = first
        .strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
    if first.is_empty() || first == "versions" || names_a_version {
        return choices(&request);
    }
    not_found(request).await
}

fn choices(request: &HttpRequest) -> HttpResponse {
    let href = format!("{}/v1/", root(request));
    HttpResponse::build(StatusCode::MULTIPLE_CHOICES).json(json!({
        "versions": [{
            "id": "v1.0",
            "status": "CURRENT",
            "links": [{ "rel": "self", "href": href }],
        }]
    }))
}

/// A URL that no route knows: not a fault in Heat's shape, but its HTTP library's own.
pub(super) async fn not_found(request: HttpRequest) -> HttpResponse {
    plain(&request, StatusCode::NOT_FOUND, "The resource could not be found.")
}

/// An answer whose body nobody reads: JSON for who accepts it, a line of text otherwise.
pub(super) fn plain(request: &HttpRequest, status: StatusCode, message: &str) -> HttpResponse {
    let title = status.canonical_reason().unwrap_or_default();
    let code = format!("{} {title}", status.as_u16());
    let accepted = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    if accepted.is_some_and(|accept| accept.contains("application/json")) {
        // The HTTP library's own page, as far as JSON has a place for it.
        let message = format!("{message}<br /><br />\n\n\n");
        let body = json!({ "message": message, "code": code, "title": title });
        return HttpResponse::build(status).json(body);
    }
    HttpResponse::build(status)
        .insert_header((CONTENT_TYPE, "text/plain; charset=UTF-8"))
        .body(format!("{code}\n\n{message}\n"))
}
