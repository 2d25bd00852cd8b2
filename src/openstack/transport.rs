//! Calls on the wire: one pooled client, a gate for each service, time limits, repetitions.
//!
//! What only reads is repeated here when it fails transiently. What changes the cloud is repeated
//! only when no connection came to stand, so that nothing of it was sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, Utc};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{debug, info};

use super::behalf::Behalf;
use super::egress::{Egress, Guarded};
use super::error::CloudError;
use super::fault::Fault;
use super::limits::{
    ANSWER_SIZE_MAX_BYTES, CloudLimits, IDLE_CONNECTION_KEPT, IDLE_CONNECTIONS_MAX,
    RETRY_AFTER_MAX, RETRY_PAUSE_FIRST, RETRY_PAUSE_MAX,
};
use super::request::{Body, Method, Response};
use super::service::Service;
use crate::clock::Clock;
use crate::metrics::{Family, Histogram, Page};
use crate::traces::{Span, SpanContext, SpanId, SpanKind, TraceId, Tracer};

/// Whether the same call twice comes to the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeatable {
    No,
    /// Yes, but not where the service broke over it.
    Unbroken,
    Yes,
}

/// A call whose every part is known.
pub(super) struct Call {
    pub(super) service: Service,
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) repeatable: Repeatable,
    pub(super) time_limit: Option<Duration>,
    pub(super) behalf: Option<Behalf>,
}

impl Call {
    /// A call without headers or body.
    pub(super) fn new(service: Service, method: Method, url: String) -> Self {
        Self {
            service,
            method,
            url,
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            repeatable: if method.is_read() { Repeatable::Yes } else { Repeatable::No },
            time_limit: None,
            behalf: None,
        }
    }

    /// Adds a header; its value is kept out of every log.
    pub(super) fn header(&mut self, name: &str, value: &str) -> Result<(), CloudError> {
        let wrong = || CloudError::Unsendable(format!("{name} is no header that can be sent"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(())
    }

    /// Takes the body over.
    pub(super) fn carry(&mut self, body: Body) -> Result<(), CloudError> {
        match body {
            Body::None => Ok(()),
            Body::Json(value) => {
                self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                self.body = Bytes::from(value.to_string());
                Ok(())
            }
            Body::Bytes { content_type, bytes } => {
                self.body = bytes;
                self.header(CONTENT_TYPE.as_str(), &content_type)
            }
        }
    }
}

/// The pooled client and its limits.
pub(super) struct Transport {
    wire: Wire,
    egress: Egress,
    limits: CloudLimits,
    gates: Mutex<HashMap<Service, Arc<Semaphore>>>,
    /// How long each service took, by what came of the call.
    calls: Arc<Family<Histogram, 2>>,
    clock: Arc<dyn Clock>,
    tracer: Tracer,
}

/// Whose word it is where calls go.
enum Wire {
    /// The operator's.
    Own(reqwest::Client),
    /// A user's.
    Foreign(Guarded),
}

/// Which servers are believed to be who they say they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Believed {
    /// Authorities besides the system's.
    pub(super) certificates: Vec<reqwest::Certificate>,
    /// Checks no certificate.
    pub(super) insecure: bool,
}

/// The certificates of a PEM text, one at least.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<reqwest::Certificate>, String> {
    match reqwest::Certificate::from_pem_bundle(pem) {
        Ok(certificates) if certificates.is_empty() => Err("it has no certificate".to_owned()),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(root_cause(&error)),
    }
}

impl Transport {
    pub(super) fn new(
        limits: CloudLimits,
        believed: Believed,
        egress: Egress,
        clock: Arc<dyn Clock>,
        tracer: Tracer,
    ) -> Result<Self, CloudError> {
        let client = client(&limits, &believed)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| CloudError::Unsendable(root_cause(&error)))?;
        let (gates, calls) = (Mutex::default(), Arc::new(Family::of(["service", "outcome"])));
        Ok(Self { wire: Wire::Own(client), egress, limits, gates, calls, clock, tracer })
    }

    /// The same in all but whom it believes.
    pub(super) fn believing(&self, believed: Believed) -> Result<Self, CloudError> {
        let (limits, egress) = (self.limits.clone(), self.egress.clone());
        let (clock, tracer) = (Arc::clone(&self.clock), self.tracer.clone());
        let other = Self::new(limits, believed, egress, clock, tracer)?;
        Ok(Self { calls: Arc::clone(&self.calls), ..other })
    }

    /// The same to a cloud that a user named.
    pub(super) fn foreign(&self, believed: Believed) -> Self {
        let (limits, egress) = (self.limits.clone(), self.egress.clone());
        let settings = (limits.clone(), believed);
        let guarded = Guarded::new(egress.clone(), move || client(&settings.0, &settings.1));
        let (wire, clock) = (Wire::Foreign(guarded), Arc::clone(&self.clock));
        let (calls, tracer) = (Arc::clone(&self.calls), self.tracer.clone());
        Self { wire, egress, limits, gates: Mutex::default(), calls, clock, tracer }
    }

    /// Makes the call, again where it may be repeated. An answer of 400 or more is an error.
    pub(super) async fn send(&self, call: &Call) -> Result<Response, CloudError> {
        let began = Instant::now();
        let mut attempt = 1;
        loop {
            let error = match self.attempt(call).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let nothing_sent = matches!(
                error,
                CloudError::Unreachable { .. } | CloudError::NoCloud { sent: false, .. }
            );
            let may_be_sent_again = match call.repeatable {
                Repeatable::No => false,
                Repeatable::Unbroken => error.status() != Some(500),
                Repeatable::Yes => true,
            };
            let may_repeat = error.is_transient() && (may_be_sent_again || nothing_sent);
            let time_left = began.elapsed() < self.limits.call_time;
            if !may_repeat || !time_left || attempt >= self.limits.call_attempts {
                return Err(error);
            }
            let pause = match error.retry_after() {
                Some(wish) if wish > RETRY_AFTER_MAX => return Err(error),
                Some(wish) => wish,
                None => self.pause(attempt),
            };
            debug!(service = %call.service, %error, attempt, ?pause, "cloud call is repeated");
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, call: &Call) -> Result<Response, CloudError> {
        match &self.wire {
            Wire::Own(client) => self.send_once(client, call).await,
            Wire::Foreign(guarded) => {
                let no_cloud = |sent| CloudError::NoCloud { url: call.url.clone(), sent };
                let url = Url::parse(&call.url).map_err(|_| no_cloud(false))?;
                let client = guarded.client(&url).map_err(|_| no_cloud(false))?;
                self.send_once(client, call).await.map_err(|error| {
                    info!(service = %call.service, %error, "a call to a user's cloud failed");
                    match error {
                        CloudError::Unreachable { .. } => no_cloud(false),
                        CloudError::Unanswered { .. } | CloudError::Unreadable { .. } => {
                            no_cloud(true)
                        }
                        other => other,
                    }
                })
            }
        }
    }

    async fn send_once(
        &self,
        client: &reqwest::Client,
        call: &Call,
    ) -> Result<Response, CloudError> {
        let gate = self.gate(&call.service);
        // The gate is never closed.
        let _open = gate.acquire().await;
        let began = Instant::now();
        let traced = self.traced(call);
        let context = traced.as_ref().map(|traced| traced.context);
        let answer = self.exchange(client, call, began, context).await;
        let labels = [call.service.as_str().to_owned().into(), outcome(&answer).into()];
        self.calls.with(labels).observe(began.elapsed());
        if let Some(traced) = traced {
            self.tracer.tell(|| traced.span(call, &answer, self.clock.now()));
        }
        answer
    }

    /// A span for a call that is made for a request, where spans are told.
    fn traced(&self, call: &Call) -> Option<Traced> {
        if !self.tracer.is_on() {
            return None;
        }
        let behalf = call.behalf.clone().or_else(Behalf::covering)?;
        let trace = TraceId::of(&behalf.request_id);
        let span = SpanId::of(&[&self.clock.fresh_id().to_string()]);
        let context = SpanContext { trace, span };
        Some(Traced { context, parent: behalf.span, began: self.clock.now() })
    }

    async fn exchange(
        &self,
        client: &reqwest::Client,
        call: &Call,
        began: Instant,
        context: Option<SpanContext>,
    ) -> Result<Response, CloudError> {
        let limit = call.time_limit.unwrap_or(self.limits.call_time);
        let mut request = client
            .request(wire_method(call.method), &call.url)
            .headers(call.headers.clone())
            .timeout(limit);
        if let Some(context) = context {
            request = request.header("traceparent", context.written());
        }
        if !call.query.is_empty() {
            request = request.query(&call.query);
        }
        if !call.body.is_empty() {
            request = request.body(call.body.clone());
        }
        let answered = request.send().await.map_err(|error| failure(call, &error))?;
        let status = answered.status().as_u16();
        let headers = answered.headers().clone();
        let bytes = read_body(call, answered).await?;
        debug!(
            service = %call.service,
            method = call.method.as_str(),
            url = %call.url,
            status,
            took = ?began.elapsed(),
            "cloud call answered"
        );
        let is_foreign = matches!(self.wire, Wire::Foreign(_));
        if is_foreign && !is_openstack(call.method, status, &bytes) {
            let reason = "it is not of an OpenStack".to_owned();
            return Err(CloudError::Unreadable { service: call.service.clone(), reason });
        }
        if status >= 400 {
            let fault = Fault {
                service: &call.service,
                method: call.method,
                url: &call.url,
                status,
                headers: &headers,
                body: &bytes,
            };
            return Err(fault.read());
        }
        Ok(Response { status, headers, bytes, service: call.service.clone() })
    }

    /// Writes how long calls took.
    pub(super) fn measure(&self, page: &mut Page) {
        let help = "Calls to the cloud's services, by what came of them.";
        page.family("hearth_cloud_call_duration_seconds", help, &self.calls);
    }

    fn gate(&self, service: &Service) -> Arc<Semaphore> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates
            .entry(service.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(self.limits.calls_in_flight.max(1))));
        Arc::clone(gate)
    }

    /// Anything up to the longest pause of this attempt, so that many who failed together do not
    /// come back together.
    fn pause(&self, attempt: u32) -> Duration {
        let doubled = RETRY_PAUSE_FIRST.saturating_mul(1 << attempt.min(16));
        let longest = doubled.min(RETRY_PAUSE_MAX);
        let mut chance = [0; 4];
        self.clock.fill(&mut chance);
        longest.mul_f64(f64::from(u32::from_le_bytes(chance)) / f64::from(u32::MAX))
    }
}

/// A call whose span is told once it is over.
struct Traced {
    context: SpanContext,
    parent: SpanId,
    began: DateTime<Utc>,
}

impl Traced {
    /// The call, without its path, which has names in it.
    fn span(
        self,
        call: &Call,
        answer: &Result<Response, CloudError>,
        ended: DateTime<Utc>,
    ) -> Span {
        let status = match answer {
            Ok(response) => Some(response.status),
            Err(error) => error.status(),
        };
        let mut attributes = vec![
            ("http.request.method", call.method.as_str().into()),
            ("hearth.service", call.service.as_str().into()),
            ("hearth.outcome", outcome(answer).into()),
        ];
        attributes.extend(status.map(|status| ("http.response.status_code", status.into())));
        Span {
            context: self.context,
            parent: Some(self.parent),
            link: None,
            kind: SpanKind::Client,
            name: format!("{} {}", call.method.as_str(), call.service.as_str()),
            began: self.began,
            ended,
            attributes,
            failed: answer.is_err(),
        }
    }
}

/// What a call came to, in a word.
fn outcome(answer: &Result<Response, CloudError>) -> &'static str {
    let Err(error) = answer else { return "answered" };
    match error.status() {
        Some(..500) => "refused",
        Some(_) => "failed",
        None if matches!(error, CloudError::Unreachable { .. }) => "unreachable",
        None => "unanswered",
    }
}

/// What is to be set of a client whatever it is for.
fn client(limits: &CloudLimits, believed: &Believed) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tcp_nodelay(true)
        .connect_timeout(limits.connect_time)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .pool_idle_timeout(IDLE_CONNECTION_KEPT)
        .tls_danger_accept_invalid_certs(believed.insecure)
        .tls_certs_merge(believed.certificates.iter().cloned())
        .user_agent(concat!("hearth/", env!("CARGO_PKG_VERSION")))
}

/// Whether an answer has the form that Keystone and Heat give theirs: what has not is not quoted
/// to a user who said that a cloud is there.
fn is_openstack(method: Method, status: u16, body: &[u8]) -> bool {
    let body = || serde_json::from_slice::<Value>(body).unwrap_or_default();
    match status {
        200 if method.is_read() => body().is_object(),
        201 => body().is_object(),
        400.. => body()["error"]["message"].is_string(),
        _ => true,
    }
}

async fn read_body(call: &Call, mut answer: reqwest::Response) -> Result<Bytes, CloudError> {
    let mut body = BytesMut::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| failure(call, &error))? {
        if body.len() + chunk.len() > ANSWER_SIZE_MAX_BYTES {
            return Err(CloudError::Unreadable {
                service: call.service.clone(),
                reason: format!("more than {ANSWER_SIZE_MAX_BYTES} bytes"),
            });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn failure(call: &Call, error: &reqwest::Error) -> CloudError {
    let url = call.url.clone();
    let reason = root_cause(error);
    if error.is_builder() {
        CloudError::Unsendable(format!("{url}: {reason}"))
    } else if error.is_connect() {
        CloudError::Unreachable { url, reason }
    } else if error.is_timeout() {
        CloudError::Unanswered { url, reason: "timed out".to_owned() }
    } else {
        CloudError::Unanswered { url, reason }
    }
}

/// The innermost reason: the outer ones only say that a request failed.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn wire_method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Head => reqwest::Method::HEAD,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    }
}
