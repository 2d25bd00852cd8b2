//! The log of a server, under oslo.log's names: what is told, how it is written, where it goes.

use std::path::PathBuf;
use std::str::FromStr;

use chrono::format::{Item, StrftimeItems};

use super::{ConfigError, Layers};

/// oslo.log's name for a file in `log_dir`: that of the program.
const FILE: &str = "hearth.log";

/// How a log looks and where it goes; standard error where nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// `debug`
    pub debug: bool,
    /// `default_log_levels`, as a filter: `hearth::api=debug`.
    pub levels: Vec<String>,
    /// `log_file` in `log_dir`.
    pub file: Option<PathBuf>,
    /// `use_stderr`, which goes without saying where there is neither file nor journal.
    pub stderr: bool,
    /// `use_journal`
    pub journal: bool,
    /// `use_syslog`
    pub syslog: Option<Syslog>,
    /// `use_json`
    pub json: bool,
    /// `log_date_format`, of the local time.
    pub date_format: Option<String>,
}

/// How the system's log is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syslog {
    /// `syslog_log_facility`, by its number.
    pub facility: u8,
}

impl LogOptions {
    pub(super) fn from_layers(layers: &Layers) -> Result<LogOptions, ConfigError> {
        const GROUP: &str = "DEFAULT";
        let flag = |name: &str| Ok(layers.flag(GROUP, name)?.unwrap_or(false));
        let path = |name: &str| {
            layers.text(GROUP, name).filter(|path| !path.is_empty()).map(PathBuf::from)
        };
        let file = match (path("log_dir"), path("log_file")) {
            (Some(directory), file) => Some(directory.join(file.unwrap_or_else(|| FILE.into()))),
            (None, file) => file,
        };
        let journal = flag("use_journal")?;
        let facility: Option<Facility> =
            layers.parsed(GROUP, "syslog_log_facility", "a facility such as LOG_LOCAL0")?;
        let syslog = Syslog { facility: facility.unwrap_or(Facility(LOG_USER)).0 };
        let levels: Vec<LoggerLevel> = layers.parsed_list(
            GROUP,
            "default_log_levels",
            "pairs such as hearth.api=DEBUG, with levels of Python's",
        )?;
        let date_format: Option<DateFormat> =
            layers.parsed(GROUP, "log_date_format", "a format of strftime")?;
        Ok(LogOptions {
            debug: flag("debug")?,
            levels: levels.into_iter().map(|LoggerLevel(directive)| directive).collect(),
            stderr: flag("use_stderr")? || (file.is_none() && !journal),
            file,
            journal,
            syslog: flag("use_syslog")?.then_some(syslog),
            json: flag("use_json")?,
            date_format: date_format.map(|DateFormat(text)| text),
        })
    }

    /// What is told, as `RUST_LOG` writes it.
    pub fn filter(&self) -> String {
        let own = if self.debug { "hearth=debug" } else { "hearth=info" };
        let base = ["warn", own].into_iter();
        base.chain(self.levels.iter().map(String::as_str)).collect::<Vec<_>>().join(",")
    }
}

/// The facilities of a system's log, in the order of their numbers.
const FACILITIES: [&str; 12] = [
    "KERN", "USER", "MAIL", "DAEMON", "AUTH", "SYSLOG", "LPR", "NEWS", "UUCP", "CRON", "AUTHPRIV",
    "FTP",
];
const LOG_USER: u8 = 1;
const LOG_LOCAL0: u8 = 16;

/// A facility by its number.
struct Facility(u8);

impl FromStr for Facility {
    type Err = ();

    /// `LOG_LOCAL0`, `local0`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let name = text.to_uppercase();
        let name = name.strip_prefix("LOG_").unwrap_or(&name);
        let local = name.strip_prefix("LOCAL").and_then(|number| number.parse::<u8>().ok());
        let number = match local {
            Some(number) if number < 8 => Some(LOG_LOCAL0 + number),
            Some(_) => None,
            None => FACILITIES
                .iter()
                .position(|known| *known == name)
                .and_then(|place| place.try_into().ok()),
        };
        number.map(Facility).ok_or(())
    }
}

/// A logger and its level as a directive of a filter. Heat's modules are taken for ours, and those
/// of its libraries say nothing here.
struct LoggerLevel(String);

impl FromStr for LoggerLevel {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (logger, level) = text.split_once('=').ok_or(())?;
        let level = match level.trim().to_uppercase().as_str() {
            "TRACE" | "NOTSET" => "trace",
            "DEBUG" => "debug",
            "INFO" | "AUDIT" => "info",
            "WARN" | "WARNING" => "warn",
            "ERROR" | "CRITICAL" | "FATAL" => "error",
            number => match number.parse::<u32>().map_err(drop)? {
                0..10 => "trace",
                10..20 => "debug",
                20..30 => "info",
                30..40 => "warn",
                _ => "error",
            },
        };
        let mut parts = logger.trim().split('.');
        let root = match parts.next() {
            Some("heat") => "hearth",
            Some(root) if !root.is_empty() => root,
            _ => return Err(()),
        };
        let names: Vec<&str> = std::iter::once(root).chain(parts).collect();
        let is_name = |name: &&str| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
        };
        match names.iter().all(is_name) {
            true => Ok(Self(format!("{}={level}", names.join("::")))),
            false => Err(()),
        }
    }
}

/// A format of a moment that can be written.
struct DateFormat(String);

impl FromStr for DateFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_wrong = StrftimeItems::new(text).any(|item| item == Item::Error);
        if is_wrong || text.is_empty() { Err(()) } else { Ok(Self(text.to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LogOptions, String> {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), format!("[DEFAULT]\n{text}")).unwrap();
        let mut layers = Layers::default();
        layers.add_file(path.path().into()).unwrap();
        LogOptions::from_layers(&layers).map_err(|error| error.to_string())
    }

    #[test]
    fn a_log_goes_to_standard_error_unless_it_goes_elsewhere() {
        let usual = read("").unwrap();
        assert_eq!(usual, LogOptions { stderr: true, ..LogOptions::default() });
        assert_eq!(usual.filter(), "warn,hearth=info");
        let file = read("log_file = own.log\nlog_dir = /var/log\n").unwrap();
        assert_eq!((file.file, file.stderr), (Some("/var/log/own.log".into()), false));
        assert_eq!(read("log_dir = /var/log\n").unwrap().file, Some("/var/log/hearth.log".into()));
        assert!(read("log_file = /own.log\nuse_stderr = true\n").unwrap().stderr);
        assert!(!read("use_journal = true\n").unwrap().stderr);
        let syslog = read("use_syslog = true\nsyslog_log_facility = local3\n").unwrap();
        assert_eq!((syslog.syslog, syslog.stderr), (Some(Syslog { facility: 19 }), true));
    }

    #[test]
    fn levels_are_those_of_python_and_heats_modules_are_ours() {
        let options = read(
            "debug = true\ndefault_log_levels = amqp=WARN,heat.engine=10, hearth.api=CRITICAL\n",
        );
        assert_eq!(
            options.unwrap().filter(),
            "warn,hearth=debug,amqp=warn,hearth::engine=debug,hearth::api=error"
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "default_log_levels = amqp\n",
            "default_log_levels = amqp=LOUD\n",
            "syslog_log_facility = local8\n",
            "log_date_format = %Q\n",
            "use_json = perhaps\n",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
