//! The log of a ground: in memory, or, so that journeys, sweeps and lives are played on another one,
//! in a database of its own where `HEARTH_TEST_MARIADB` names a server or cluster, and else where
//! `HEARTH_TEST_LOG` says: `sqlite`, a file; `eventstore`, the server that stands in for it.

use std::sync::Arc;

use hearth::events::log::{
    EventLog, EventstoreAddress, EventstoreLog, MariadbLog, MemoryLog, OwnedLog, SqliteLog,
};

use super::eventstore::StandIn;

#[expect(dead_code, reason = "tests/galera does more with it")]
#[path = "../../galera/database.rs"]
mod database;

use database::{Database, VARIABLE};

/// See the module. Its log is closed with it.
pub(crate) struct Kept {
    pub(crate) log: Arc<dyn OwnedLog>,
    place: Place,
}

/// Where it is kept, for as long as it is.
enum Place {
    Memory,
    Database(Database),
    File(tempfile::TempDir),
    Server(StandIn),
}

impl Kept {
    /// Where the environment says.
    pub(crate) fn fresh() -> Self {
        Self::elsewhere().unwrap_or_else(|| Self::of(MemoryLog::new()))
    }

    /// The same; `None` in memory.
    #[expect(clippy::disallowed_methods, reason = "a test is told where its log is")]
    pub(crate) fn elsewhere() -> Option<Self> {
        let place = match std::env::var_os(VARIABLE) {
            Some(_) => Place::Database(Database::fresh()),
            None => match std::env::var("HEARTH_TEST_LOG").as_deref() {
                Ok("sqlite") => Place::File(tempfile::tempdir().unwrap()),
                Ok("eventstore") => Place::Server(StandIn::start(1)),
                Ok(other) => panic!("HEARTH_TEST_LOG is {other}: sqlite or eventstore"),
                Err(_) => return None,
            },
        };
        let log: Arc<dyn OwnedLog> = match &place {
            Place::Memory => return None,
            Place::Database(database) => {
                Arc::new(MariadbLog::open(&database.address(), "a test", None).unwrap())
            }
            Place::File(folder) => {
                Arc::new(SqliteLog::open(&folder.path().join("log.db")).unwrap())
            }
            Place::Server(server) => {
                let address = EventstoreAddress::parse(&server.url()).unwrap();
                Arc::new(EventstoreLog::open(address).unwrap())
            }
        };
        Some(Self { log, place })
    }

    pub(crate) fn of(log: MemoryLog) -> Self {
        Self { log: Arc::new(log), place: Place::Memory }
    }

    /// What another process reads there.
    pub(crate) fn read_by_another(&self) -> Arc<dyn EventLog> {
        match &self.place {
            Place::Memory => panic!("nobody else reads it"),
            Place::Database(database) => {
                Arc::new(MariadbLog::open_read_only(&database.address()).unwrap())
            }
            Place::File(folder) => {
                Arc::new(SqliteLog::open_read_only(&folder.path().join("log.db")).unwrap())
            }
            Place::Server(server) => {
                let address = EventstoreAddress::parse(&server.url()).unwrap();
                Arc::new(EventstoreLog::open_read_only(address).unwrap())
            }
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !matches!(self.place, Place::Memory) {
            // Before the place goes.
            self.log.close();
        }
    }
}
