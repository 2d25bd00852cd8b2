//! The log of a ground: in memory, or, so that journeys, sweeps and lives are played on another one,
//! in a database of its own where `HEARTH_TEST_MARIADB` names a server or cluster, and else where
//! `HEARTH_TEST_LOG` says: `sqlite`, a file; `eventstore`, see `eventstore::place`.

use std::sync::Arc;
use std::time::Duration;

use hearth::events::log::{
    EventLog, EventstoreAddress, EventstoreLog, MariadbLog, MemoryLog, OpenError, OwnedLog,
    SqliteLog,
};

use super::eventstore::place::Place as EventstorePlace;

#[expect(dead_code, reason = "tests/galera does more with it")]
#[path = "../../galera/database.rs"]
mod database;

use database::{Database, VARIABLE};

/// For how long something befalls a server.
const PASSING: Duration = Duration::from_millis(300);

/// How often a log is opened on servers that give no answer.
const TRIES: usize = 5;

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
    Eventstore(EventstorePlace),
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
                Ok("eventstore") => Place::Eventstore(EventstorePlace::fresh()),
                Ok(other) => panic!("HEARTH_TEST_LOG is {other}: sqlite or eventstore"),
                Err(_) => return None,
            },
        };
        let log: Arc<dyn OwnedLog> = match &place {
            Place::Memory => return None,
            Place::Database(database) => Arc::new(opened(database)),
            Place::File(folder) => {
                Arc::new(SqliteLog::open(&folder.path().join("log.db")).unwrap())
            }
            Place::Eventstore(place) => {
                let address = EventstoreAddress::parse(&place.url).unwrap();
                Arc::new(EventstoreLog::open(address).unwrap())
            }
        };
        Some(Self { log, place })
    }

    /// Something befalls the servers beneath the log, as was measured of real ones: an append that is
    /// written after an error, one that is seen by half, one that the cluster refuses, a node that is
    /// silent or leads no more. Returns while it goes on.
    pub(crate) fn disturb(&self, chance: u64) {
        match (&self.place, chance % 4) {
            (Place::Eventstore(EventstorePlace { server: Some(server), .. }), kind) => match kind {
                0 => server.commit_late(2, PASSING),
                1 => server.show_half_groups(Duration::from_millis(1)),
                2 => server.show_half_groups(Duration::ZERO),
                _ => server.silence(PASSING),
            },
            (Place::Database(database), 0 | 1) => database.cut_off_clients(),
            (Place::Database(database), 2) => {
                database.contend("sequencer", "seen = UTC_TIMESTAMP(6)")
            }
            (Place::Database(database), _) => database.silence(PASSING),
            (Place::Memory | Place::File(_) | Place::Eventstore(_), _) => {}
        }
    }

    pub(crate) fn of(log: MemoryLog) -> Self {
        Self { log: Arc::new(log), place: Place::Memory }
    }

    /// What another process reads there.
    pub(crate) fn read_by_another(&self) -> Arc<dyn EventLog> {
        match &self.place {
            Place::Memory => panic!("nobody else reads it"),
            Place::Database(database) => {
                Arc::new(MariadbLog::open_read_only(&database.address_of_the_last()).unwrap())
            }
            Place::File(folder) => {
                Arc::new(SqliteLog::open_read_only(&folder.path().join("log.db")).unwrap())
            }
            Place::Eventstore(place) => {
                let address = EventstoreAddress::parse(&place.url).unwrap();
                Arc::new(EventstoreLog::open_read_only(address).unwrap())
            }
        }
    }
}

/// Opens a log in a database as a supervisor does, who starts a process again that got no answer.
fn opened(database: &Database) -> MariadbLog {
    let open = || MariadbLog::open(&database.address(), "a test", None);
    for _ in 1..TRIES {
        match open() {
            Ok(log) => return log,
            Err(OpenError::Server { reason, .. }) if reason.starts_with("no answer") => {}
            Err(error) => panic!("{error}"),
        }
    }
    open().unwrap()
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !matches!(self.place, Place::Memory) {
            // Before the place goes.
            self.log.close();
        }
    }
}
