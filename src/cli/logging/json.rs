//! Log lines in JSON, with the fields that oslo.log's have, so that what reads those of Heat reads
//! ours.

use std::fmt;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::local_now;

/// The format of `asctime` where none is given: oslo.log's.
const DATE_FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// One JSON object per line.
pub(super) struct JsonLines {
    date_format: String,
    hostname: String,
}

impl JsonLines {
    pub(super) fn new(date_format: Option<String>) -> Self {
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            date_format: date_format.unwrap_or_else(|| DATE_FORMAT.to_owned()),
            hostname: hostname.trim().to_owned(),
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
        let mut fields = Fields::default();
        event.record(&mut fields);
        let spans = context.event_scope().into_iter().flat_map(|scope| scope.from_root());
        let within: Vec<String> = spans
            .map(|span| match span.extensions().get::<FormattedFields<N>>() {
                Some(fields) => format!("{}{{{fields}}}", span.name()),
                None => span.name().to_owned(),
            })
            .collect();
        let (levelname, levelno) = python_level(*meta.level());
        let line = json!({
            "message": fields.message,
            "asctime": now.format(&self.date_format).to_string(),
            "created": now.timestamp_micros() as f64 / 1e6,
            "name": meta.target(),
            "levelname": levelname,
            "levelno": levelno,
            "pathname": meta.file(),
            "lineno": meta.line(),
            "process": std::process::id(),
            "hostname": self.hostname,
            "context": within,
            "extra": fields.others,
        });
        writeln!(writer, "{line}")
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
