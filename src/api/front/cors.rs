//! Which pages of other sites may read answers in a browser, as oslo.middleware decides it.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName,
    HeaderValue, ORIGIN, VARY,
};
use actix_web::middleware::Next;
use actix_web::{Error, HttpResponse, web};

use crate::api::ApiState;
use crate::model::front::Cors;

/// Headers that any page may send.
const SIMPLE_HEADERS: [&str; 8] = [
    "Accept",
    "Accept-Language",
    "Content-Type",
    "Cache-Control",
    "Content-Language",
    "Expires",
    "Last-Modified",
    "Pragma",
];

impl Cors {
    /// Answers a browser's question, or lets a request pass and says who may read its answer.
    pub(in crate::api) async fn apply<B: MessageBody>(
        state: web::Data<ApiState>,
        request: ServiceRequest,
        next: Next<B>,
    ) -> Result<ServiceResponse<EitherBody<B>>, Error> {
        let cors = &state.settings.front.cors;
        let origin = request.headers().get(ORIGIN).filter(|_| !cors.allowed_origins.is_empty());
        let Some(origin) = origin.cloned() else {
            return Ok(next.call(request).await?.map_into_left_body());
        };
        let allowed = cors.allowed(&origin);
        if request.method() == Method::OPTIONS {
            let mut answer = HttpResponse::Ok().finish();
            if let Some(origin) = allowed {
                cors.preflight(origin, request.headers(), answer.headers_mut());
            }
            return Ok(request.into_response(answer).map_into_right_body());
        }
        let mut response = next.call(request).await?;
        if let Some(origin) = allowed {
            cors.decorate(origin, response.headers_mut());
        }
        Ok(response.map_into_left_body())
    }

    /// The origin as it is answered, where it is allowed.
    fn allowed(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        let has = |wanted: &str| self.allowed_origins.iter().any(|allowed| allowed == wanted);
        if origin.to_str().is_ok_and(has) {
            return Some(origin.clone());
        }
        has("*").then(|| HeaderValue::from_static("*"))
    }

    fn preflight(&self, origin: HeaderValue, asked: &HeaderMap, answer: &mut HeaderMap) {
        let text = |name: HeaderName| asked.get(name).and_then(|value| value.to_str().ok());
        let Some(method) = text(ACCESS_CONTROL_REQUEST_METHOD) else { return };
        if !self.allow_methods.iter().any(|allowed| allowed == method) {
            return;
        }
        let headers = text(ACCESS_CONTROL_REQUEST_HEADERS).unwrap_or_default();
        let headers: Vec<&str> =
            headers.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let is_allowed = |name: &&str| {
            let allowed = self.allow_headers.iter().map(String::as_str).chain(SIMPLE_HEADERS);
            allowed.into_iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
        };
        if !headers.iter().all(is_allowed) {
            return;
        }
        self.permit(origin, answer);
        if self.max_age > 0 {
            answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(self.max_age));
        }
        put(answer, ACCESS_CONTROL_ALLOW_METHODS, method);
        if !headers.is_empty() {
            put(answer, ACCESS_CONTROL_ALLOW_HEADERS, &headers.join(","));
        }
    }

    fn decorate(&self, origin: HeaderValue, answer: &mut HeaderMap) {
        self.permit(origin, answer);
        if !self.expose_headers.is_empty() {
            put(answer, ACCESS_CONTROL_EXPOSE_HEADERS, &self.expose_headers.join(","));
        }
    }

    fn permit(&self, origin: HeaderValue, answer: &mut HeaderMap) {
        answer.append(VARY, HeaderValue::from_static("Origin"));
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.allow_credentials {
            answer.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
    }
}

/// What an operator or a client wrote is left out where it is no header.
fn put(answer: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.insert(name, value);
    }
}
