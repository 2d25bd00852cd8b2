//! Where a log is kept, and opening it there.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::events::log::{
    Address, EventstoreAddress, EventstoreLog, MariadbLog, OpenError, OwnedLog, Signing, SqliteLog,
};
use crate::events::signing::SigningKeyError;

/// What an address of a file begins with.
const FILE: &str = "sqlite:";

/// The one format that logs on EventStoreDB have had.
const EVENTS_FORMAT: i64 = 1;

/// A file, a database on servers, or a server of events.
#[derive(Clone, Debug)]
pub enum LogPlace {
    File(PathBuf),
    Database(Box<Address>),
    Events(Box<EventstoreAddress>),
}

impl LogPlace {
    /// Reads `sqlite:PATH`, `mysql://…` or `esdb://…`. The error is a whole sentence without a secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(FILE).filter(|path| !path.is_empty()) {
            return Ok(Self::File(PathBuf::from(path)));
        }
        if Address::is_meant(text) {
            return Ok(Self::Database(Box::new(
                Address::parse(text).map_err(|it| it.to_string())?,
            )));
        }
        if EventstoreAddress::is_meant(text) {
            let address = EventstoreAddress::parse(text).map_err(|it| it.to_string())?;
            return Ok(Self::Events(Box::new(address)));
        }
        Err("a log is kept at sqlite:PATH, mysql://USER@HOST/DATABASE or esdb://USER@HOST"
            .to_owned())
    }

    /// The file, where it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Database(_) | Self::Events(_) => None,
        }
    }

    /// How it is backed up where that is not by a copy of files.
    pub fn backed_up_otherwise(&self) -> Option<&'static str> {
        match self {
            Self::File(_) => None,
            Self::Database(_) => {
                Some("the log is in a database: `hearth log copy` copies it to a file and back")
            }
            Self::Events(_) => {
                Some("the log is on EventStoreDB: `hearth log copy` copies it to a file and back")
            }
        }
    }

    /// Opens the log for reading and writing. `data` is the directory of the process that does,
    /// which holds the lock there, too.
    pub fn open(
        &self,
        data: &Path,
        signing: impl FnOnce() -> Result<Signing, SigningKeyError>,
    ) -> Result<Arc<dyn OwnedLog>, OpenError> {
        Ok(match self {
            Self::File(path) => Arc::new(SqliteLog::open_signed(path, signing)?),
            Self::Database(address) => {
                Arc::new(MariadbLog::open(address, &holder(data), Some(signing()?))?)
            }
            Self::Events(address) => {
                Arc::new(EventstoreLog::open_as(address.as_ref().clone(), &holder(data))?)
            }
        })
    }

    /// The format of the log, which opening it for writing brings to the newest one.
    pub fn format(&self) -> Result<i64, OpenError> {
        match self {
            Self::File(path) => SqliteLog::format(path),
            Self::Database(address) => MariadbLog::format(address),
            Self::Events(_) => self.open_read_only().map(|_| EVENTS_FORMAT),
        }
    }

    /// The newest format that this version knows.
    pub fn newest_format(&self) -> i64 {
        match self {
            Self::File(_) => SqliteLog::FORMAT,
            Self::Database(_) => MariadbLog::FORMAT,
            Self::Events(_) => EVENTS_FORMAT,
        }
    }

    /// Opens the log for reading alone; a server may be writing it.
    pub fn open_read_only(&self) -> Result<Arc<dyn OwnedLog>, OpenError> {
        Ok(match self {
            Self::File(path) => Arc::new(SqliteLog::open_read_only(path)?),
            Self::Database(address) => Arc::new(MariadbLog::open_read_only(address)?),
            Self::Events(address) => {
                Arc::new(EventstoreLog::open_read_only(address.as_ref().clone())?)
            }
        })
    }
}

impl LogPlace {
    /// As `open_read_only`; what others write is followed.
    pub fn follow(&self) -> Result<Arc<dyn OwnedLog>, OpenError> {
        let no_thread = |source| OpenError::File { path: self.to_string().into(), source };
        Ok(match self {
            Self::File(path) => {
                let log = SqliteLog::open_read_only(path)?;
                log.follow().map_err(no_thread)?;
                Arc::new(log)
            }
            Self::Database(address) => {
                let log = MariadbLog::open_read_only(address)?;
                log.follow().map_err(no_thread)?;
                Arc::new(log)
            }
            Self::Events(address) => {
                let log = EventstoreLog::open_read_only(address.as_ref().clone())?;
                log.follow();
                Arc::new(log)
            }
        })
    }
}

impl std::fmt::Display for LogPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Database(address) => address.fmt(f),
            Self::Events(address) => address.fmt(f),
        }
    }
}

/// How a process is known to others that would write the same log: by its host and its data
/// directory, in which one process works at a time. Another directory of the same name, on another
/// host or of another start of this one, is known by another name.
fn holder(data: &Path) -> String {
    let of_kernel = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        text.ok().map(|text| text.trim().to_owned())
    };
    let place = || {
        let folder = std::fs::metadata(data).ok()?;
        Some(format!("{}:{}:{}", of_kernel("random/boot_id")?, folder.dev(), folder.ino()))
    };
    // Where that cannot be known, nobody is taken for the one before.
    let place = place().unwrap_or_else(|| SystemClock.fresh_id().to_string());
    let shown = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let shown = format!("{}:{}", of_kernel("hostname").unwrap_or_default(), shown.display());
    let shown: String = shown.chars().take(HOLDER_MAX_CHARACTERS).collect();
    format!("{shown} ({place})")
}

/// What of the names fits into the table, beside the rest.
const HOLDER_MAX_CHARACTERS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_data_directory_of_the_same_name_is_another_holder() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let first = holder(&data);
        assert_eq!(holder(&data), first);
        assert!(first.contains(&data.display().to_string()) && first.len() < 512, "{first}");
        std::fs::rename(&data, folder.path().join("away")).unwrap();
        std::fs::create_dir(&data).unwrap();
        assert_ne!(holder(&data), first);
    }

    #[test]
    fn a_log_is_in_a_file_in_a_database_or_on_a_server_of_events() {
        let file = LogPlace::parse("sqlite:/var/lib/log.db").unwrap();
        assert_eq!(file.file(), Some(Path::new("/var/lib/log.db")));
        let database = LogPlace::parse("mysql://u:sesame@h/d").unwrap();
        assert_eq!(database.to_string(), "mysql://u:***@h:3306/d");
        let events = LogPlace::parse("esdb://u:sesame@one,two?tls=false").unwrap();
        assert_eq!(events.to_string(), "esdb://one:2113,two:2113");
        let wrong = ["", "sqlite:", "/var/lib/log.db", "mysql://u:sesame@h", "esdb://u:sesame@h:x"];
        for text in wrong {
            assert!(!LogPlace::parse(text).unwrap_err().contains("sesame"));
        }
    }
}
