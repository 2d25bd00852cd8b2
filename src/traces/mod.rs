//! Spans of what the service does, for a collector of OpenTelemetry's.
//!
//! Ids follow from what is on record: a trace's from the request, a span's from what it is a span
//! of. So nothing is handed through the rooms for them, and a process that was started again goes
//! on in the trace that the one before it began.

mod otlp;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::metrics::{Measured, Page};
use crate::model::{RequestId, ResourceId, TraversalId};

pub use otlp::Exporter;

/// How many spans wait for the collector; what comes beside them is left out.
const SPANS_WAITING_MAX: usize = 8_192;

/// The trace of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

impl TraceId {
    /// The UUID in the request's id, or what follows from an id without one.
    pub fn of(request: &RequestId) -> Self {
        let text = request.as_str();
        let uuid = text.strip_prefix("req-").and_then(|text| uuid::Uuid::try_parse(text).ok());
        Self(uuid.map_or_else(|| digest(&[text]), uuid::Uuid::into_bytes))
    }
}

/// One span in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

impl SpanId {
    /// The span of what these words name: the same words, the same span.
    pub fn of(words: &[&str]) -> Self {
        Self(digest(words))
    }

    /// The span of a stack's action.
    pub fn of_traversal(traversal: TraversalId) -> Self {
        Self::of(&["traversal", &traversal.to_string()])
    }

    /// The span of what a resource does in its stack's action.
    pub fn of_resource(resource: ResourceId, traversal: TraversalId) -> Self {
        Self::of(&["resource", &resource.to_string(), &traversal.to_string()])
    }

    /// The span of a request as a whole.
    pub fn of_request(request: &RequestId) -> Self {
        Self::of(&["request", request.as_str()])
    }
}

fn digest<const N: usize>(words: &[&str]) -> [u8; N] {
    let mut hash = Sha256::new();
    for word in words {
        hash.update(word.as_bytes());
        hash.update([0]);
    }
    let hash = hash.finalize();
    let mut id = [0; N];
    id.copy_from_slice(&hash[..N]);
    // Nothing but zeros means none.
    id[N - 1] |= 1;
    id
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A span, and the trace that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    pub trace: TraceId,
    pub span: SpanId,
}

impl SpanContext {
    /// What a caller says of his own in `traceparent` (W3C Trace Context, version 00).
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
        let is_known = version.len() == 2 && version != "ff" && parts.next().is_some();
        let (trace, span) = (bytes::<16>(trace)?, bytes::<8>(span)?);
        (is_known && trace != [0; 16] && span != [0; 8])
            .then_some(Self { trace: TraceId(trace), span: SpanId(span) })
    }

    /// The header `traceparent` of a call that is made within the span.
    pub fn written(&self) -> String {
        format!("00-{}-{}-01", self.trace, self.span)
    }
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    if hex.len() != 2 * N || !hex.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut read = [0; N];
    for (byte, digits) in read.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(read)
}

/// What a span is of, as OpenTelemetry tells it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work of our own.
    Internal,
    /// A request that we answered.
    Server,
    /// A request that we made.
    Client,
}

/// Something that was done, once it is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub context: SpanContext,
    pub parent: Option<SpanId>,
    /// A span of another trace that led to it.
    pub link: Option<SpanContext>,
    pub kind: SpanKind,
    /// Out of few: a route and no path, a type and no name.
    pub name: String,
    pub began: DateTime<Utc>,
    pub ended: DateTime<Utc>,
    /// Texts and whole numbers, under OpenTelemetry's names where it has one.
    pub attributes: Vec<(&'static str, Value)>,
    pub failed: bool,
}

/// Takes spans to the collector; without one it does nothing. Clones are the same.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<Queue>>);

struct Queue {
    waiting: mpsc::Sender<Span>,
    left_out: AtomicU64,
}

impl Tracer {
    /// One whose spans the receiver gets.
    pub fn new() -> (Self, mpsc::Receiver<Span>) {
        let (waiting, spans) = mpsc::channel(SPANS_WAITING_MAX);
        let queue = Queue { waiting, left_out: AtomicU64::new(0) };
        (Self(Some(Arc::new(queue))), spans)
    }

    /// Whether spans go anywhere.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Tells of a span; it is left out where too many wait.
    pub fn tell(&self, span: impl FnOnce() -> Span) {
        let Some(queue) = &self.0 else { return };
        if queue.waiting.try_send(span()).is_err() {
            queue.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() { "Tracer(on)" } else { "Tracer(off)" })
    }
}

impl Measured for Tracer {
    fn measure(&self, page: &mut Page) {
        let left_out = self.0.as_ref().map_or(0, |queue| queue.left_out.load(Ordering::Relaxed));
        let help = "Spans that did not wait for the collector, because too many did.";
        page.counter("hearth_traces_left_out_total", help, left_out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_one_trace_whoever_asks_for_it() {
        let request = RequestId::from("req-0af76519-16cd-43dd-8448-eb211c80319c");
        assert_eq!(TraceId::of(&request).to_string(), "0af7651916cd43dd8448eb211c80319c");
        let other = RequestId::from("no uuid");
        assert_eq!(TraceId::of(&other), TraceId::of(&other));
        assert_ne!(TraceId::of(&other), TraceId::of(&RequestId::from("another")));
        assert_ne!(SpanId::of(&["ab", "c"]), SpanId::of(&["a", "bc"]));
    }

    #[test]
    fn what_a_caller_says_of_his_trace_is_read_or_passed_over() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(SpanContext::read(text).unwrap().written(), text);
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-äf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(SpanContext::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn nobody_waits_for_a_collector_that_is_slow() {
        let (tracer, _spans) = Tracer::new();
        let at = DateTime::from_timestamp(0, 0).unwrap();
        let request = RequestId::from("req-1");
        let span = || Span {
            context: SpanContext { trace: TraceId::of(&request), span: SpanId::of(&["it"]) },
            parent: None,
            link: None,
            kind: SpanKind::Internal,
            name: "it".to_owned(),
            began: at,
            ended: at,
            attributes: Vec::new(),
            failed: false,
        };
        for _ in 0..SPANS_WAITING_MAX + 3 {
            tracer.tell(span);
        }
        let page = Page::of([&tracer as &dyn Measured]);
        assert!(page.contains("hearth_traces_left_out_total 3\n"), "{page}");
    }
}
