//! Where log lines go: standard error, so that standard output stays what was asked for, or where
//! the operator of a server sends them.

mod file;
mod json;
mod system;

use std::io::IsTerminal;
use std::path::PathBuf;

use tracing::Subscriber;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use self::file::LogFile;
use self::json::{JsonLines, SpanFields};
use self::system::SystemLog;
use crate::clock::{Clock, SystemClock};
use crate::config::{LogOptions, Settings};

/// Why log lines cannot go where they should.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    #[error("{filter:?} of [hearth] log_filter is no filter: write it as RUST_LOG is written")]
    Filter { filter: String },
    #[error("the log file {} cannot be written", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{option} is set, and nobody listens at {socket}")]
    System {
        option: &'static str,
        socket: &'static str,
        #[source]
        source: std::io::Error,
    },
}

/// Starts the log of a command that is no server; a filter that cannot be read falls back to
/// warnings.
pub(super) fn start(filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("warn"));
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .try_init();
    if started.is_err() {
        tracing::debug!("the log was started before");
    }
}

/// Starts a server's log as its operator wants it.
pub(super) fn start_as(settings: &Settings) -> Result<(), LogError> {
    let options = &settings.log;
    let filter = settings.log_filter.clone().unwrap_or_else(|| options.filter());
    let filter = EnvFilter::try_new(&filter).map_err(|_| LogError::Filter { filter })?;
    let mut layers = Vec::new();
    if options.json {
        layers.push(SpanFields.boxed());
    }
    if options.stderr {
        let look = Look { is_colored: std::io::stderr().is_terminal(), has_time: true };
        layers.push(layer(options, look, std::io::stderr));
    }
    if let Some(path) = &options.file {
        let file = LogFile::open(path.clone());
        let file = file.map_err(|source| LogError::File { path: path.clone(), source })?;
        layers.push(layer(options, Look { is_colored: false, has_time: true }, file));
    }
    // The system writes the time itself.
    let look = Look { is_colored: false, has_time: false };
    if options.journal {
        layers.push(layer(options, look, SystemLog::journal()?));
    }
    if let Some(syslog) = options.syslog {
        layers.push(layer(options, look, SystemLog::syslog(syslog.facility)?));
    }
    if tracing_subscriber::registry().with(layers).with(filter).try_init().is_err() {
        tracing::debug!("the log was started before");
    }
    Ok(())
}

/// How lines look at one place.
#[derive(Clone, Copy)]
struct Look {
    is_colored: bool,
    has_time: bool,
}

type BoxedLayer<S> = Box<dyn Layer<S> + Send + Sync>;

fn layer<S, W>(options: &LogOptions, look: Look, writer: W) -> BoxedLayer<S>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(look.is_colored);
    let date_format = options.date_format.clone();
    match (options.json, date_format, look.has_time) {
        (true, date_format, _) => lines.event_format(JsonLines::new(date_format)).boxed(),
        (false, Some(format), true) => lines.with_timer(LocalTime(format)).boxed(),
        (false, None, true) => lines.boxed(),
        (false, _, false) => lines.without_time().boxed(),
    }
}

/// The local time in a format that was found to be one.
struct LocalTime(String);

impl FormatTime for LocalTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{}", local_now().format(&self.0))
    }
}

fn local_now() -> chrono::DateTime<chrono::Local> {
    SystemClock.now().with_timezone(&chrono::Local)
}
