//! A request's id, on its log lines and on its answer. A request that panics is answered too.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::time::Instant;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use chrono::{DateTime, Utc};
use futures::FutureExt;
use tracing::Instrument;

use super::cfn::fault::CfnFault;
use super::cloudwatch::protocol::Protocol;
use super::error::Fault;
use super::front::{self, Visit};
use super::metrics::{method_label, outcome};
use super::{ApiState, Door};
use crate::metrics::Label;
use crate::model::RequestId;
use crate::openstack::Behalf;
use crate::traces::{Span, SpanContext, SpanId, SpanKind, TraceId};

/// Where a client finds the id of its request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-openstack-request-id");

/// Gives each request an id.
pub(super) async fn with_request_id<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let state = request.app_data::<web::Data<ApiState>>().cloned();
    let door = request.app_data::<Door>().copied().unwrap_or(Door::Orchestration);
    let protocol = match door {
        Door::CloudWatch => Protocol::of(request.method(), request.headers()),
        Door::Orchestration | Door::CloudFormation | Door::Metrics => None,
    };
    let id = match &state {
        Some(state) => format!("req-{}", state.clock.fresh_id()),
        None => "req-".to_owned(),
    };
    request.extensions_mut().insert(RequestId::from(id.as_str()));
    let span = tracing::info_span!(
        "request",
        id = %id,
        method = %request.method(),
        path = request.path(),
        user = tracing::field::Empty,
        project = tracing::field::Empty
    );
    let _at_work = request.conn_data::<Rc<Visit>>().map(Visit::begin);
    let (method, began) = (method_label(request.method()), Instant::now());
    let traced = state.as_ref().filter(|state| state.tracer.is_on()).map(|state| Traced {
        request: RequestId::from(id.as_str()),
        link: text_of(&request, "traceparent").and_then(SpanContext::read),
        began: state.clock.now(),
    });
    let refused = state.as_ref().and_then(|state| front::check(state, &request).err());
    let response = match refused {
        Some(fault) => {
            let answer = door.error(protocol, fault).error_response();
            Ok(request.into_response(answer).map_into_right_body())
        }
        None => {
            // Whatever the handler left half done is its own: what requests share is in actors,
            // which are read back from the log.
            let handled = next.call(request).instrument(span.clone());
            let behalf = traced.as_ref().map(|traced| Behalf::of(traced.request.clone()));
            let handled = Behalf::cover(behalf, handled);
            let handled = AssertUnwindSafe(handled).catch_unwind().await;
            handled
                .map(|response| response.map(ServiceResponse::map_into_left_body))
                .unwrap_or_else(|_| {
                    tracing::error!(parent: &span, "a request panicked");
                    let fault = Fault::new("Error", "An internal error occurred.");
                    Err(door.error(protocol, fault))
                })
        }
    };
    if let Some(state) = &state {
        if let Some(traced) = traced {
            let ended = state.clock.now();
            state.tracer.tell(|| traced.span(&method, response.as_ref(), ended));
        }
        state.requests.count(door, method, response.as_ref(), began.elapsed());
    }
    let mut response = response?;
    tracing::debug!(parent: &span, status = response.status().as_u16(), "answered");
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    Ok(response)
}

/// A request whose span is told once it is answered.
struct Traced {
    request: RequestId,
    /// The caller's own span, which is of a trace of his.
    link: Option<SpanContext>,
    began: DateTime<Utc>,
}

impl Traced {
    fn span<B>(
        self,
        method: &Label,
        answer: Result<&ServiceResponse<B>, &Error>,
        ended: DateTime<Utc>,
    ) -> Span {
        let (route, status) = outcome(answer);
        let (trace, span) = (TraceId::of(&self.request), SpanId::of_request(&self.request));
        Span {
            context: SpanContext { trace, span },
            parent: None,
            link: self.link,
            kind: SpanKind::Server,
            name: format!("{method} {route}"),
            began: self.began,
            ended,
            attributes: vec![
                ("http.request.method", method.as_ref().into()),
                ("http.route", route.as_ref().into()),
                ("http.response.status_code", status.as_u16().into()),
                ("hearth.request_id", self.request.as_str().into()),
            ],
            failed: status.is_server_error(),
        }
    }
}

fn text_of<'a>(request: &'a ServiceRequest, header: &str) -> Option<&'a str> {
    request.headers().get(header)?.to_str().ok()
}

impl Door {
    /// A fault as the API behind it words it, in the protocol of the request if that is another.
    fn error(self, protocol: Option<Protocol>, fault: Fault) -> Error {
        let fault = match self {
            Door::Orchestration | Door::Metrics => return fault.into(),
            Door::CloudFormation | Door::CloudWatch => CfnFault::from(fault),
        };
        match protocol {
            None => fault.into(),
            Some(protocol) => {
                let answer = protocol.refuse(&fault);
                InternalError::from_response(fault, answer).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::CONTENT_TYPE;
    use actix_web::middleware::from_fn;
    use actix_web::test::{TestRequest, init_service, try_call_service};
    use actix_web::{App, HttpResponse};

    use super::*;

    async fn poisoned() -> HttpResponse {
        panic!("as a poisoned template would")
    }

    #[actix_web::test]
    async fn a_request_that_panics_is_a_500_for_itself_alone() {
        let app = App::new()
            .wrap(from_fn(with_request_id))
            .route("/poisoned", web::get().to(poisoned))
            .route("/plain", web::get().to(HttpResponse::Ok));
        let app = init_service(app).await;
        let ask = |path| TestRequest::get().uri(path).to_request();
        for _ in 0..3 {
            let error = try_call_service(&app, ask("/poisoned")).await.map(drop).unwrap_err();
            assert_eq!(error.error_response().status(), 500);
        }
        assert_eq!(try_call_service(&app, ask("/plain")).await.unwrap().status(), 200);
    }

    #[actix_web::test]
    async fn a_client_is_told_of_a_fault_in_its_own_protocol() {
        let told = |door: Door, protocol| {
            let answer = door.error(protocol, Fault::new("Error", "why")).error_response();
            let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            (answer.status().as_u16(), kind.unwrap_or_default().to_owned())
        };
        for (protocol, kind) in [
            (None, "application/xml"),
            (Some(Protocol::Json), "application/x-amz-json-1.0"),
            (Some(Protocol::Cbor), "application/cbor"),
        ] {
            assert_eq!(told(Door::CloudWatch, protocol), (500, kind.to_owned()));
        }
        assert_eq!(told(Door::Orchestration, None), (500, "application/json".to_owned()));
    }
}
