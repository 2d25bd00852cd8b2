//! Log lines in JSON, with the fields that oslo.log's have, so that what reads those of Heat reads
//! ours.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use chrono::{DateTime, Local};
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::local_now;

/// The format of `asctime` where none is given: oslo.log's.
const DATE_FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// One JSON object per line.
pub(super) struct JsonLines {
    date_format: String,
    hostname: String,
    started: DateTime<Local>,
}

impl JsonLines {
    pub(super) fn new(date_format: Option<String>) -> Self {
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            date_format: date_format.unwrap_or_else(|| DATE_FORMAT.to_owned()),
            hostname: hostname.trim().to_owned(),
            started: local_now(),
        }
    }
}

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let meta = event.metadata();
        let now = local_now();
        let mut said = Fields::default();
        let spans = context.event_scope().into_iter().flat_map(|scope| scope.from_root());
        for span in spans {
            if let Some(Kept(fields)) = span.extensions().get() {
                said.others.extend(fields.clone());
            }
        }
        let request = taken_from(&mut said.others);
        event.record(&mut said);
        let (levelname, levelno) = python_level(*meta.level());
        let error = said.others.get("error").filter(|_| *meta.level() <= Level::WARN);
        let path = Path::new(meta.file().unwrap_or_default());
        let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let micros = |from: DateTime<Local>| (now - from).num_microseconds().unwrap_or_default();
        let line = json!({
            "message": said.message,
            "asctime": now.format(&self.date_format).to_string(),
            "name": meta.target(),
            "msg": said.message,
            "args": [],
            "levelname": levelname,
            "levelno": levelno,
            "pathname": path,
            "filename": text(path.file_name()),
            "module": text(path.file_stem()),
            "lineno": meta.line().unwrap_or_default(),
            "funcname": "",
            "created": now.timestamp_micros() as f64 / 1e6,
            "msecs": f64::from(now.timestamp_subsec_micros()) / 1e3,
            "relative_created": micros(self.started) as f64 / 1e3,
            "thread": null,
            "thread_name": std::thread::current().name(),
            "process_name": "hearth",
            "process": std::process::id(),
            "traceback": null,
            "hostname": self.hostname,
            "error_summary": error.map(shown).unwrap_or_default(),
            "context": request,
            "extra": said.others,
        });
        writeln!(writer, "{line}")
    }
}

/// What oslo.log says of whose a request is, of the fields of its span.
fn taken_from(fields: &mut Map<String, Value>) -> Map<String, Value> {
    let Some(id) = fields.remove("id") else { return Map::new() };
    let user = fields.remove("user").unwrap_or_default();
    let project = fields.remove("project").unwrap_or_default();
    let or_dash = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let identity = format!("{} {} - - -", or_dash(&user), or_dash(&project));
    Map::from_iter([
        ("request_id".to_owned(), id),
        ("user".to_owned(), user),
        ("project".to_owned(), project.clone()),
        ("project_id".to_owned(), project),
        ("user_identity".to_owned(), identity.into()),
    ])
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Keeps what is said of each span with it.
pub(super) struct SpanFields;

struct Kept(Map<String, Value>);

impl<S> Layer<S> for SpanFields
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut said = Fields::default();
        attributes.record(&mut said);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Kept(said.others));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut said = Fields::default();
        values.record(&mut said);
        if let Some(span) = context.span(id)
            && let Some(Kept(fields)) = span.extensions_mut().get_mut()
        {
            fields.extend(said.others);
        }
    }
}

/// Python's name and number of a level.
fn python_level(level: Level) -> (&'static str, u8) {
    match level {
        Level::TRACE => ("TRACE", 5),
        Level::DEBUG => ("DEBUG", 10),
        Level::INFO => ("INFO", 20),
        Level::WARN => ("WARNING", 30),
        Level::ERROR => ("ERROR", 40),
    }
}

/// What an event says.
#[derive(Default)]
struct Fields {
    message: String,
    others: Map<String, Value>,
}

impl Fields {
    fn take(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => _ = self.others.insert(name.to_owned(), value),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.take(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex, PoisonError};

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The types are those that oslo.log 7.2 says its record has.
    #[test]
    fn a_line_has_all_that_oslo_log_writes_by_its_names_and_types() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .event_format(JsonLines::new(None));
        let subscriber = tracing_subscriber::registry().with(SpanFields).with(layer);
        tracing::subscriber::with_default(subscriber, || {
            let empty = tracing::field::Empty;
            let span = tracing::info_span!(
                "request",
                id = "req-1",
                path = "/v1",
                user = empty,
                project = empty
            );
            span.record("user", "u").record("project", "p");
            span.in_scope(|| tracing::warn!(error = "it broke", number = 7, "boom"));
            tracing::info!("alone");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let told: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let texts = [
            "message",
            "asctime",
            "name",
            "msg",
            "levelname",
            "pathname",
            "filename",
            "module",
            "funcname",
            "thread_name",
            "process_name",
            "hostname",
            "error_summary",
        ];
        let whole = ["levelno", "lineno", "process"];
        let floats = ["created", "msecs", "relative_created"];
        let others = ["args", "thread", "traceback", "context", "extra"];
        for line in &told {
            assert!(texts.iter().all(|name| line[name].is_string()), "{line}");
            assert!(whole.iter().all(|name| line[name].is_u64()), "{line}");
            assert!(floats.iter().all(|name| line[name].is_f64()), "{line}");
            assert!(line["args"].is_array() && line["extra"].is_object(), "{line}");
            let count = texts.len() + whole.len() + floats.len() + others.len();
            assert_eq!(line.as_object().unwrap().len(), count, "{line}");
        }
        let request = json!({
            "request_id": "req-1", "user": "u", "project": "p", "project_id": "p",
            "user_identity": "u p - - -",
        });
        assert_eq!(told[0]["context"], request);
        assert_eq!(told[0]["extra"], json!({ "path": "/v1", "error": "it broke", "number": 7 }));
        assert_eq!(
            (&told[0]["error_summary"], &told[0]["filename"]),
            (&json!("it broke"), &json!("json.rs"))
        );
        assert_eq!((&told[1]["context"], &told[1]["error_summary"]), (&json!({}), &json!("")));
    }
}
