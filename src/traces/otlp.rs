//! Spans on their way: OTLP over HTTP, in JSON, a batch at a time.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use url::Url;

use super::{Span, SpanKind, Tracer};

/// The most spans of one message.
const BATCH_MAX: usize = 512;
/// How long a span waits for others.
const GATHERED_FOR: Duration = Duration::from_secs(1);
/// How long the collector may take.
const SENT_WITHIN: Duration = Duration::from_secs(10);
/// How often a batch is sent before it is given up.
const ATTEMPTS_MAX: u32 = 4;
const PAUSE_FIRST: Duration = Duration::from_millis(500);

/// Sends spans to a collector until it is stopped.
pub struct Exporter {
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Exporter {
    /// Begins to send to the collector whose base is the URL; its path `v1/traces` takes them.
    /// Needs a Tokio runtime.
    pub fn start(collector: &Url, service_version: &'static str) -> (Tracer, Self) {
        let (tracer, spans) = Tracer::new();
        let url = format!("{}/v1/traces", collector.as_str().trim_end_matches('/'));
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(send_all(url, service_version, spans, stopped));
        (tracer, Self { stop, task })
    }

    /// Sends what waits, once, and ends.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if self.task.await.is_err() {
            tracing::error!("the way to the collector of traces did not end cleanly");
        }
    }
}

async fn send_all(
    url: String,
    version: &'static str,
    mut spans: mpsc::Receiver<Span>,
    mut stopped: watch::Receiver<bool>,
) {
    let client = reqwest::Client::builder().no_proxy().timeout(SENT_WITHIN).build();
    let client = match client {
        Ok(client) => client,
        Err(error) => return tracing::error!(%error, "traces cannot be sent"),
    };
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut is_heard = true;
    loop {
        let is_over = tokio::select! {
            taken = spans.recv_many(&mut batch, BATCH_MAX) => taken == 0,
            () = told(&mut stopped) => true,
        };
        if is_over {
            break;
        }
        let until = tokio::time::Instant::now() + GATHERED_FOR;
        while batch.len() < BATCH_MAX && !*stopped.borrow() {
            let room = BATCH_MAX - batch.len();
            let taken = tokio::time::timeout_at(until, spans.recv_many(&mut batch, room)).await;
            if !matches!(taken, Ok(1..)) {
                break;
            }
        }
        let message = message(&batch, version);
        batch.clear();
        let sent = tokio::select! {
            sent = send(&client, &url, &message, ATTEMPTS_MAX) => sent,
            () = told(&mut stopped) => send(&client, &url, &message, 1).await,
        };
        if let (Err(error), true) = (&sent, is_heard) {
            tracing::warn!(error, "the collector of traces takes none; they are left out");
        }
        is_heard = sent.is_ok();
    }
    while let Ok(span) = spans.try_recv() {
        batch.push(span);
    }
    for batch in batch.chunks(BATCH_MAX) {
        if send(&client, &url, &message(batch, version), 1).await.is_err() {
            break;
        }
    }
}

/// Returns once the sender is to stop.
async fn told(stopped: &mut watch::Receiver<bool>) {
    // Whoever could say so is gone where this fails.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Sends a message, again after a pause where that may help.
async fn send(
    client: &reqwest::Client,
    url: &str,
    message: &Value,
    attempts: u32,
) -> Result<(), String> {
    let mut attempt = 1;
    loop {
        let failed = match client.post(url).json(message).send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => {
                let status = answer.status();
                let may_help = matches!(status.as_u16(), 429 | 502 | 503 | 504);
                (may_help, status.to_string())
            }
            Err(error) => (true, error.without_url().to_string()),
        };
        match failed {
            (true, _) if attempt < attempts => {}
            (_, error) => return Err(error),
        }
        tokio::time::sleep(PAUSE_FIRST * 2_u32.pow(attempt - 1)).await;
        attempt += 1;
    }
}

/// An `ExportTraceServiceRequest`.
fn message(spans: &[Span], version: &str) -> Value {
    let spans: Vec<Value> = spans.iter().map(written).collect();
    let resource = [("service.name", "hearth".into()), ("service.version", version.into())];
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeSpans": [{"scope": {"name": "hearth", "version": version}, "spans": spans}],
    }]})
}

fn written(span: &Span) -> Value {
    let nanos = |at: chrono::DateTime<chrono::Utc>| {
        at.timestamp_nanos_opt().unwrap_or_default().max(0).to_string()
    };
    let mut written = json!({
        "traceId": span.context.trace.to_string(),
        "spanId": span.context.span.to_string(),
        "name": span.name,
        "kind": match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
        "startTimeUnixNano": nanos(span.began),
        "endTimeUnixNano": nanos(span.ended),
        "attributes": attributes(&span.attributes),
        "status": {"code": if span.failed { 2 } else { 0 }},
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = parent.to_string().into();
    }
    if let Some(link) = span.link {
        let (trace, span) = (link.trace.to_string(), link.span.to_string());
        written["links"] = json!([{"traceId": trace, "spanId": span}]);
    }
    written
}

fn attributes(pairs: &[(&'static str, Value)]) -> Vec<Value> {
    let value = |value: &Value| match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    };
    pairs.iter().map(|(key, it)| json!({"key": key, "value": value(it)})).collect()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::super::{SpanContext, SpanId, TraceId};
    use super::*;
    use crate::model::RequestId;

    #[test]
    fn a_span_is_written_as_the_protocol_has_it() {
        let request = RequestId::from("req-0af76519-16cd-43dd-8448-eb211c80319c");
        let context = SpanContext { trace: TraceId::of(&request), span: SpanId::of(&["it"]) };
        let span = Span {
            context,
            parent: Some(SpanId::of_request(&request)),
            link: Some(context),
            kind: SpanKind::Client,
            name: "POST network".to_owned(),
            began: DateTime::from_timestamp(1, 5).unwrap(),
            ended: DateTime::from_timestamp(2, 0).unwrap(),
            attributes: vec![("http.response.status_code", 409.into()), ("it", "is".into())],
            failed: true,
        };
        let message = message(&[span], "1.2.3");
        let written = &message["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(written["traceId"], "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(written["spanId"].as_str().unwrap().len(), 16);
        assert_eq!(written["parentSpanId"].as_str().unwrap().len(), 16);
        assert_eq!(written["kind"], 3);
        assert_eq!(written["startTimeUnixNano"], "1000000005");
        assert_eq!(written["status"], json!({"code": 2}));
        let first = json!({"key": "http.response.status_code", "value": {"intValue": "409"}});
        assert_eq!(written["attributes"][0], first);
        assert_eq!(written["links"][0]["traceId"], written["traceId"]);
        let resource = &message["resourceSpans"][0]["resource"]["attributes"];
        assert_eq!(resource[1]["value"], json!({"stringValue": "1.2.3"}));
    }
}
