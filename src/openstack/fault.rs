//! Reading a service's error answer into the class and text that Heat's client library for that
//! service makes of it, because that is what users and tests find in status reasons.
//!
//! | service | library | text |
//! | --- | --- | --- |
//! | compute, volume | novaclient, cinderclient | `MESSAGE (HTTP 400) (Request-ID: req-…)` |
//! | network | neutronclient | `MESSAGE\nNeutron server returns request_ids: ['req-…']` |
//! | image | glanceclient | `HTTP 404 Not Found: …` |
//! | object-store | swiftclient | `Container PUT failed: URL 404 Not Found …` |
//! | orchestration | heatclient | `ERROR: MESSAGE` |
//! | key-manager | barbicanclient | `TITLE: DESCRIPTION` |
//! | any other | keystoneauth | `MESSAGE (HTTP 404) (Request-ID: req-…)` |

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use serde_json::Value;

use super::error::CloudError;
use super::request::{Method, Request, Response};
use super::service::{Faults, Service};

/// How much of a text that is not JSON goes into an error.
const PLAIN_TEXT_CHARS_MAX: usize = 500;

/// Neutron's error types that its client library has a class for: `{type}Client`.
const NETWORK_CLASSES: [&str; 14] = [
    "NetworkNotFoundClient",
    "PortNotFoundClient",
    "StateInvalidClient",
    "NetworkInUseClient",
    "PortInUseClient",
    "IpAddressInUseClient",
    "IpAddressAlreadyAllocatedClient",
    "InvalidIpForNetworkClient",
    "InvalidIpForSubnetClient",
    "OverQuotaClient",
    "IpAddressGenerationFailureClient",
    "MacAddressInUseClient",
    "HostNotCompatibleWithFixedIpsClient",
    "ExternalIpAddressExhaustedClient",
];

/// An error answer as it came.
pub(super) struct Fault<'a> {
    pub(super) service: &'a Service,
    pub(super) method: Method,
    pub(super) url: &'a str,
    pub(super) status: u16,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
}

/// What a session makes of an answer that somebody gives in a service's place; `url` is where the
/// request went.
pub fn answered(
    request: &Request,
    url: &str,
    status: u16,
    headers: &[(String, String)],
    body: Bytes,
) -> Result<Response, CloudError> {
    let parsed = headers.iter().filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(value).ok()?))
    });
    let headers: HeaderMap = parsed.collect();
    let service = request.service.clone();
    if status < 400 {
        return Ok(Response { status, headers, bytes: body, service });
    }
    let (service, method) = (&service, request.method);
    Err(Fault { service, method, url, status, headers: &headers, body: &body }.read())
}

impl Fault<'_> {
    /// The error that it stands for.
    pub(super) fn read(&self) -> CloudError {
        let (class, message) = match self.service.faults() {
            Faults::Compute => self.compute(),
            Faults::Volume => self.volume(),
            Faults::Network => self.network(),
            Faults::Image => self.image(),
            Faults::ObjectStore => ("ClientException", self.object_store()),
            Faults::Orchestration => self.orchestration(),
            Faults::KeyManager => self.key_manager(),
            Faults::Plain => self.plain(),
        };
        CloudError::Answered {
            status: self.status,
            class: Cow::Borrowed(class),
            message,
            retry_after: self.retry_after(),
        }
    }

    fn compute(&self) -> (&'static str, String) {
        let (class, unsaid) = match self.status {
            400 => ("BadRequest", "Bad request"),
            401 => ("Unauthorized", "Unauthorized"),
            403 => ("Forbidden", "Forbidden"),
            404 => ("NotFound", "Not found"),
            405 => ("MethodNotAllowed", "Method Not Allowed"),
            406 => ("NotAcceptable", "Not Acceptable"),
            409 => ("Conflict", "Conflict"),
            413 => ("OverLimit", "Over limit"),
            429 => ("RateLimit", "Rate limit"),
            501 => ("HTTPNotImplemented", "Not Implemented"),
            _ => ("ClientException", "Unknown Error"),
        };
        let message = self.wrapped_message().unwrap_or_else(|| unsaid.to_owned());
        (class, self.with_status(&message, "x-compute-request-id"))
    }

    fn volume(&self) -> (&'static str, String) {
        let class = match self.status {
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            406 => "NotAcceptable",
            413 => "OverLimit",
            501 => "HTTPNotImplemented",
            _ => "ClientException",
        };
        let message = self.wrapped_message().unwrap_or_else(|| self.status_phrase().to_owned());
        (class, self.with_status(&message, "x-compute-request-id"))
    }

    fn network(&self) -> (&'static str, String) {
        let body = self.json();
        let fault = body.as_ref().map(|body| &body["NeutronError"]).filter(|it| it.is_object());
        let mut class = match self.status {
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            500 => "InternalServerError",
            503 => "ServiceUnavailable",
            _ => "NeutronClientException",
        };
        let mut message = match (fault, &body) {
            (Some(fault), _) => {
                let named = format!("{}Client", fault["type"].as_str().unwrap_or_default());
                if let Some(known) = NETWORK_CLASSES.iter().find(|known| **known == named) {
                    class = known;
                }
                let said = fault["message"].as_str().unwrap_or_default();
                match fault["detail"].as_str() {
                    Some(detail) if !detail.is_empty() => format!("{said}\n{detail}"),
                    _ => said.to_owned(),
                }
            }
            (None, Some(Value::Object(map))) => match (map.get("message"), map.get("NeutronError"))
            {
                (Some(Value::String(said)), _) | (None, Some(Value::String(said))) => said.clone(),
                _ => format!("{}-{}", self.status, Value::Object(map.clone())),
            },
            (None, _) => format!("{}-{}", self.status, self.text()),
        };
        if let Some(id) = self.header("x-openstack-request-id") {
            message.push_str(&format!("\nNeutron server returns request_ids: ['{id}']"));
        }
        (class, message)
    }

    fn image(&self) -> (&'static str, String) {
        let details = match self.json() {
            Some(Value::Object(map)) => map
                .values()
                .filter_map(|part| part["message"].as_str())
                .collect::<Vec<_>>()
                .join("\n"),
            _ if self.header(CONTENT_TYPE.as_str()).is_some_and(|kind| kind.contains("html")) => {
                self.lines_of_html().join(": ")
            }
            _ => self.text(),
        };
        (self.http_class(), format!("HTTP {details}"))
    }

    fn object_store(&self) -> String {
        let path = self.url.split('?').next().unwrap_or_default();
        let segments = path.split("/AUTH_").nth(1).map_or(0, |rest| rest.matches('/').count());
        let kind = ["Account", "Container"].get(segments).unwrap_or(&"Object");
        let mut text = format!("{kind} {} failed: {}", self.method.as_str(), self.url);
        text.push_str(&format!(" {} {}", self.status, self.status_phrase()));
        let said = String::from_utf8_lossy(self.body);
        if self.body.len() > 60 {
            let start: String = said.chars().take(60).collect();
            text.push_str(&format!("  [first 60 chars of response] b'{start}'"));
        } else if !self.body.is_empty() {
            text.push_str(&format!("   b'{said}'"));
        }
        if let Some(id) = self.header("x-trans-id") {
            text.push_str(&format!(" (txn: {id})"));
        }
        text
    }

    fn orchestration(&self) -> (&'static str, String) {
        let message = match self.json() {
            Some(body) if body["error"].is_object() => {
                body["error"]["message"].as_str().unwrap_or("Internal Error").to_owned()
            }
            _ => self.text(),
        };
        let class = if self.status == 415 { "HTTPUnsupported" } else { self.http_class() };
        (class, format!("ERROR: {message}"))
    }

    /// What glanceclient and heatclient call a status.
    fn http_class(&self) -> &'static str {
        match self.status {
            300 => "HTTPMultipleChoices",
            400 => "HTTPBadRequest",
            401 => "HTTPUnauthorized",
            403 => "HTTPForbidden",
            404 => "HTTPNotFound",
            405 => "HTTPMethodNotAllowed",
            409 => "HTTPConflict",
            413 => "HTTPOverLimit",
            500 => "HTTPInternalServerError",
            501 => "HTTPNotImplemented",
            502 => "HTTPBadGateway",
            503 => "HTTPServiceUnavailable",
            _ => "HTTPException",
        }
    }

    fn key_manager(&self) -> (&'static str, String) {
        let class = match self.status {
            401 => "HTTPAuthError",
            500.. => "HTTPServerError",
            _ => "HTTPClientError",
        };
        let body = self.json().unwrap_or_default();
        let message = match (body["title"].as_str(), body["description"].as_str()) {
            (Some(title), Some(description)) => format!("{title}: {description}"),
            (Some(title), None) => title.to_owned(),
            (None, _) => format!("b'{}'", self.text()),
        };
        (class, message)
    }

    fn plain(&self) -> (&'static str, String) {
        let (class, unsaid) = match self.status {
            400 => ("BadRequest", "Bad Request"),
            401 => ("Unauthorized", "Unauthorized"),
            403 => ("Forbidden", "Forbidden"),
            404 => ("NotFound", "Not Found"),
            405 => ("MethodNotAllowed", "Method Not Allowed"),
            406 => ("NotAcceptable", "Not Acceptable"),
            409 => ("Conflict", "Conflict"),
            413 => ("RequestEntityTooLarge", "Request Entity Too Large"),
            422 => ("UnprocessableEntity", "Unprocessable Entity"),
            429 => ("TooManyRequests", "Too Many Requests"),
            500 => ("InternalServerError", "Internal Server Error"),
            501 => ("HttpNotImplemented", "Not Implemented"),
            502 => ("BadGateway", "Bad Gateway"),
            503 => ("ServiceUnavailable", "Service Unavailable"),
            504 => ("GatewayTimeout", "Gateway Timeout"),
            status if status >= 500 => ("HttpServerError", "HTTP Server Error"),
            _ => ("HTTPClientError", "HTTP Client Error"),
        };
        let said = self.json().and_then(|body| {
            let first = &body["errors"][0]["title"];
            body["error"]["message"]
                .as_str()
                .or_else(|| first.as_str())
                .or_else(|| body["faultstring"].as_str())
                .or_else(|| body["error_message"]["faultstring"].as_str())
                .or_else(|| body["error_message"].as_str())
                .or_else(|| body["message"].as_str())
                .map(str::to_owned)
        });
        let message = said.unwrap_or_else(|| unsaid.to_owned());
        (class, self.with_status(&message, "x-openstack-request-id"))
    }

    /// `{"message": …}` or `{"ANYTHING": {"message": …}}`.
    fn wrapped_message(&self) -> Option<String> {
        let Value::Object(body) = self.json()? else { return None };
        let said = body.get("message").or_else(|| body.values().next()?.get("message"));
        Some(said.and_then(Value::as_str).unwrap_or("n/a").to_owned())
    }

    fn with_status(&self, message: &str, id_header: &str) -> String {
        let id = self.header(id_header).or_else(|| self.header("x-openstack-request-id"));
        match id {
            Some(id) => format!("{message} (HTTP {}) (Request-ID: {id})", self.status),
            None => format!("{message} (HTTP {})", self.status),
        }
    }

    fn json(&self) -> Option<Value> {
        serde_json::from_slice(self.body).ok()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.body).chars().take(PLAIN_TEXT_CHARS_MAX).collect()
    }

    /// Each line of text once, tags left out.
    fn lines_of_html(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for line in self.text().lines() {
            let mut inside = false;
            let plain: String = line
                .trim()
                .chars()
                .filter(|c| {
                    let shown = !inside && *c != '<';
                    inside = *c == '<' || (inside && *c != '>');
                    shown
                })
                .collect();
            if !plain.is_empty() && !lines.contains(&plain) {
                lines.push(plain);
            }
        }
        lines
    }

    fn status_phrase(&self) -> &'static str {
        StatusCode::from_u16(self.status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("Unknown")
    }

    /// Seconds; services do not send the header's other form, a date.
    fn retry_after(&self) -> Option<Duration> {
        self.header(RETRY_AFTER.as_str())?.trim().parse().ok().map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn check(
        service: Service,
        status: u16,
        id: (&'static str, &'static str),
        body: &str,
        class: &str,
        message: &str,
    ) {
        let mut headers = HeaderMap::new();
        headers.insert(id.0, HeaderValue::from_static(id.1));
        if body.starts_with("<html>") {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        }
        let error = Fault {
            service: &service,
            method: Method::Delete,
            url: "http://127.0.0.1:8080/v1/AUTH_6f/pictures",
            status,
            headers: &headers,
            body: body.as_bytes(),
        }
        .read();
        assert_eq!((error.class(), error.to_string().as_str()), (class, message));
    }

    #[test]
    fn compute_faults_read_as_novaclient_prints_them() {
        check(
            Service::Compute,
            404,
            ("x-compute-request-id", "req-1"),
            r#"{"itemNotFound": {"code": 404, "message": "Instance nope could not be found."}}"#,
            "NotFound",
            "Instance nope could not be found. (HTTP 404) (Request-ID: req-1)",
        );
        check(
            Service::Compute,
            500,
            ("x-compute-request-id", "req-1"),
            "oops",
            "ClientException",
            "Unknown Error (HTTP 500) (Request-ID: req-1)",
        );
        check(
            Service::Compute,
            403,
            ("x-compute-request-id", "req-1"),
            r#"{"forbidden": {"code": 403, "message": "Quota exceeded for cores"}}"#,
            "Forbidden",
            "Quota exceeded for cores (HTTP 403) (Request-ID: req-1)",
        );
    }

    #[test]
    fn network_faults_read_as_neutronclient_prints_them() {
        check(
            Service::Network,
            404,
            ("x-openstack-request-id", "req-2"),
            r#"{"NeutronError": {"type": "NetworkNotFound", "message": "Network nope could not be found.", "detail": ""}}"#,
            "NetworkNotFoundClient",
            "Network nope could not be found.\nNeutron server returns request_ids: ['req-2']",
        );
        check(
            Service::Network,
            400,
            ("x-openstack-request-id", "req-2"),
            r#"{"NeutronError": {"type": "InvalidInput", "message": "Invalid input.", "detail": "why"}}"#,
            "BadRequest",
            "Invalid input.\nwhy\nNeutron server returns request_ids: ['req-2']",
        );
        check(
            Service::Network,
            502,
            ("via", "proxy"),
            "bad gateway",
            "NeutronClientException",
            "502-bad gateway",
        );
    }

    #[test]
    fn other_faults_read_as_their_libraries_print_them() {
        check(
            Service::Volume,
            409,
            ("x-compute-request-id", "req-3"),
            r#"{"conflictingRequest": {"code": 409, "message": "busy"}}"#,
            "ClientException",
            "busy (HTTP 409) (Request-ID: req-3)",
        );
        check(
            Service::Image,
            404,
            ("x-openstack-request-id", "req-4"),
            "<html>\n <head>\n  <title>404 Not Found</title>\n </head>\n <body>\n  <h1>404 Not Found</h1>\n  No image found with ID nope<br /><br />\n\n </body>\n</html>",
            "HTTPNotFound",
            "HTTP 404 Not Found: No image found with ID nope",
        );
        check(
            Service::ObjectStore,
            404,
            ("x-trans-id", "tx5"),
            "",
            "ClientException",
            "Container DELETE failed: http://127.0.0.1:8080/v1/AUTH_6f/pictures 404 Not Found (txn: tx5)",
        );
        check(
            Service::of_type("orchestration"),
            404,
            ("x-openstack-request-id", "req-7"),
            r#"{"code": 404, "error": {"message": "The Stack (web) could not be found.", "type": "EntityNotFound"}}"#,
            "HTTPNotFound",
            "ERROR: The Stack (web) could not be found.",
        );
        check(
            Service::of_type("key-manager"),
            403,
            ("x-openstack-request-id", "req-8"),
            r#"{"code": 403, "title": "Forbidden", "description": "Not you."}"#,
            "HTTPClientError",
            "Forbidden: Not you.",
        );
        check(
            Service::Identity,
            403,
            ("x-openstack-request-id", "req-6"),
            r#"{"error":{"code":403,"message":"Not you.","title":"Forbidden"}}"#,
            "Forbidden",
            "Not you. (HTTP 403) (Request-ID: req-6)",
        );
    }
}
