//! The log of a ground: in memory, or in a database of its own where `HEARTH_TEST_MARIADB` names a
//! server or cluster, so that journeys and sweeps are played on that.

use std::sync::Arc;

use hearth::events::log::{MariadbLog, MemoryLog, OwnedLog};

#[expect(dead_code, reason = "tests/galera does more with it")]
#[path = "../../galera/database.rs"]
pub(crate) mod database;

use database::{Database, VARIABLE};

/// See the module. Its log is closed with it.
pub(crate) struct Kept {
    pub(crate) log: Arc<dyn OwnedLog>,
    database: Option<Database>,
}

impl Kept {
    pub(crate) fn fresh() -> Self {
        if std::env::var_os(VARIABLE).is_none() {
            return Self::of(MemoryLog::new());
        }
        let database = Database::fresh();
        let log = MariadbLog::open(&database.address(), "a test", None).unwrap();
        Self { log: Arc::new(log), database: Some(database) }
    }

    pub(crate) fn of(log: MemoryLog) -> Self {
        Self { log: Arc::new(log), database: None }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.database.is_some() {
            // Before the database goes.
            self.log.close();
        }
    }
}
