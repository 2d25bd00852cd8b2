//! `/metrics` on the operator's own listener, and what the APIs count of themselves: requests by
//! the pattern of their route, never by what a client has written.

use std::time::Duration;

use actix_web::dev::ServiceResponse;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::http::{Method, StatusCode};
use actix_web::{Error, HttpResponse, web};

use super::{ApiState, Door};
use crate::events::log::apart;
use crate::metrics::{Family, Histogram, Label, Measured, Page};

/// The route of a request that no route takes.
const NO_ROUTE: &str = "none";

/// How long requests took.
pub(super) struct Requests(Family<Histogram, 4>);

impl Requests {
    pub(super) fn none() -> Self {
        Self(Family::of(["api", "method", "route", "status"]))
    }

    /// Counts one that was answered.
    pub(super) fn count<B>(
        &self,
        door: Door,
        method: Label,
        answer: Result<&ServiceResponse<B>, &Error>,
        took: Duration,
    ) {
        let (route, status) = outcome(answer);
        self.0.with([door.name().into(), method, route, status_label(status)]).observe(took);
    }
}

/// The pattern of the route that took a request, and the status of its answer.
pub(super) fn outcome<B>(answer: Result<&ServiceResponse<B>, &Error>) -> (Label, StatusCode) {
    let (route, status) = match answer {
        Ok(response) => (response.request().match_pattern(), response.status()),
        Err(error) => (None, error.as_response_error().status_code()),
    };
    (route.map_or(NO_ROUTE.into(), Label::from), status)
}

/// A method by its name, if it is one that a route may have.
pub(super) fn method_label(method: &Method) -> Label {
    let known = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE]
        .into_iter()
        .chain([Method::HEAD, Method::OPTIONS])
        .find(|known| known == method);
    known.map_or("other".into(), |known| known.to_string().into())
}

fn status_label(status: StatusCode) -> Label {
    status.as_str().to_owned().into()
}

impl Door {
    fn name(self) -> &'static str {
        match self {
            Door::Orchestration => "orchestration",
            Door::CloudFormation => "cloudformation",
            Door::CloudWatch => "cloudwatch",
            Door::Metrics => "metrics",
        }
    }
}

impl Measured for ApiState {
    fn measure(&self, page: &mut Page) {
        let help = "Requests by the pattern of their route.";
        page.family("hearth_api_request_duration_seconds", help, &self.requests.0);
        let help = "Open connections, those to this page left out.";
        page.gauge("hearth_api_connections", help, self.bounds.connections.open());
        let help = "Requests with a token at work.";
        page.gauge("hearth_api_requests_in_progress", help, self.bounds.requests.open());
        page.gauge("hearth_api_feeds", "Open event feeds.", self.bounds.feeds.open());
    }
}

/// What the operator's listener serves.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource("/metrics").route(web::get().to(show)));
}

async fn show(state: web::Data<ApiState>) -> HttpResponse {
    // The log may ask its server.
    let page = apart(move || {
        let others = state.measured.iter().map(AsRef::as_ref);
        Page::of([state.as_ref() as &dyn Measured].into_iter().chain(others))
    });
    let Some(page) = page.await else { return HttpResponse::InternalServerError().finish() };
    HttpResponse::Ok().insert_header((CONTENT_TYPE, Page::CONTENT_TYPE)).body(page)
}
