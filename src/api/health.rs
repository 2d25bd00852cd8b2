//! `/healthcheck` and what is below it: whether the process lives, and whether it can be sent
//! requests. It needs no token, and answers as oslo's middleware does.

use actix_web::http::header::{ACCEPT, CONTENT_TYPE};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

use super::ApiState;

const VIEWS_STAND: &str = "The views no longer follow the log.";
const LOG_REFUSES: &str = "The log cannot be written.";
const TAKEN_OVER: &str = "Another process writes the log.";
const STOPPING: &str = "The server is about to stop.";

/// Each question under its path. Heat's own asks no more than `alive`: with a full disk, reads go
/// on.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(["/healthcheck", "/healthcheck/alive"]).to(alive))
        .service(web::resource("/healthcheck/ready").to(ready));
}

/// Whether requests are answered, and a restart would mend nothing.
async fn alive(state: web::Data<ApiState>, request: HttpRequest) -> HttpResponse {
    answer(&request, reason_to_restart(&state))
}

/// Whether everything that may be asked for is done.
async fn ready(state: web::Data<ApiState>, request: HttpRequest) -> HttpResponse {
    let not_ready = || {
        let is_stopping = state.stopping.borrow().then_some(STOPPING);
        let takes = state.log.is_writable() || state.log.is_read_only();
        is_stopping.or_else(|| (!takes).then_some(LOG_REFUSES))
    };
    answer(&request, reason_to_restart(&state).or_else(not_ready))
}

fn reason_to_restart(state: &ApiState) -> Option<&'static str> {
    let taken_over = state.log.is_taken_over().then_some(TAKEN_OVER);
    taken_over.or_else(|| (!state.views.is_following()).then_some(VIEWS_STAND))
}

/// In JSON for who accepts nothing plainer; a HEAD has a status of its own.
fn answer(request: &HttpRequest, reason: Option<&'static str>) -> HttpResponse {
    let status = match (reason, request.method()) {
        (Some(_), _) => StatusCode::SERVICE_UNAVAILABLE,
        (None, &Method::HEAD) => StatusCode::NO_CONTENT,
        (None, _) => StatusCode::OK,
    };
    let accepted = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_json = accepted.is_some_and(|accept| {
        accept.contains("application/json")
            && !["text/plain", "*/*"].iter().any(|it| accept.contains(it))
    });
    if wants_json {
        let reasons: Vec<&str> = reason.into_iter().collect();
        return HttpResponse::build(status).json(json!({ "detailed": false, "reasons": reasons }));
    }
    HttpResponse::build(status)
        .insert_header((CONTENT_TYPE, "text/plain; charset=UTF-8"))
        .body(reason.unwrap_or_default())
}
