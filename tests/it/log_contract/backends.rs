//! The logs that the contract is held against.

use std::path::PathBuf;
use std::sync::Arc;

use hearth::events::log::{EventLog, EventstoreAddress, EventstoreLog, MemoryLog, SqliteLog};

use super::cases::{Backend, Fails, Shared};
use crate::support::eventstore::place::Place;

pub(super) struct Memory(Arc<MemoryLog>);

impl Backend for Memory {
    fn fresh() -> Self {
        Self(Arc::new(MemoryLog::new()))
    }

    fn log(&self) -> Arc<dyn EventLog> {
        self.0.clone()
    }

    fn reopen(&mut self) {
        self.0 = Arc::new(self.0.cut_after(self.0.durable_position()));
    }
}

impl Fails for Memory {
    fn break_writes(&self) {
        self.0.hold();
    }

    fn give_up_on_writes(&self) {
        self.0.lose("no space left");
    }

    fn heal(&self) {}
}

pub(super) struct Sqlite {
    pub(super) folder: tempfile::TempDir,
    log: Option<Arc<SqliteLog>>,
}

impl Sqlite {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("log.db")
    }

    fn open(&self) -> &SqliteLog {
        self.log.as_deref().unwrap()
    }
}

impl Backend for Sqlite {
    fn fresh() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = SqliteLog::open(&folder.path().join("log.db")).unwrap();
        Self { folder, log: Some(Arc::new(log)) }
    }

    fn log(&self) -> Arc<dyn EventLog> {
        self.log.clone().unwrap()
    }

    fn reopen(&mut self) {
        let log = self.log.take().unwrap();
        assert_eq!(Arc::strong_count(&log), 1, "the test still holds the log");
        drop(log);
        self.log = Some(Arc::new(SqliteLog::open(&self.path()).unwrap()));
    }
}

impl Shared for Sqlite {
    fn elsewhere(&self) -> Arc<dyn EventLog> {
        let log = SqliteLog::open_read_only(&self.path()).unwrap();
        log.follow().unwrap();
        Arc::new(log)
    }
}

impl Fails for Sqlite {
    fn break_writes(&self) {
        self.open().limit_size(Some(1));
    }

    fn give_up_on_writes(&self) {}

    fn heal(&self) {
        self.open().limit_size(None);
    }
}

pub(super) struct Eventstore {
    place: Place,
    log: Option<Arc<EventstoreLog>>,
}

/// Opens the log at a connection string.
pub(crate) fn open(url: &str) -> EventstoreLog {
    EventstoreLog::open(EventstoreAddress::parse(url).unwrap()).unwrap()
}

impl Backend for Eventstore {
    fn fresh() -> Self {
        let place = Place::fresh();
        let log = Some(Arc::new(open(&place.url)));
        Self { place, log }
    }

    fn log(&self) -> Arc<dyn EventLog> {
        self.log.clone().unwrap()
    }

    fn reopen(&mut self) {
        let log = self.log.take().unwrap();
        assert_eq!(Arc::strong_count(&log), 1, "the test still holds the log");
        drop(log);
        self.log = Some(Arc::new(open(&self.place.url)));
    }
}

impl Shared for Eventstore {
    fn elsewhere(&self) -> Arc<dyn EventLog> {
        let address = EventstoreAddress::parse(&self.place.url).unwrap();
        let log = EventstoreLog::open_read_only(address).unwrap();
        log.follow();
        Arc::new(log)
    }
}
