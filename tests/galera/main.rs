//! The log in MariaDB: the suites of every log, and what befalls a cluster meanwhile.
//!
//! `HEARTH_TEST_MARIADB` holds the address of the server or cluster, whose user may make databases:
//! `mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE`. Each test makes one of its own.

#![expect(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

#[path = "../it/serve/pages/bench.rs"]
#[expect(dead_code, reason = "some of it is the other suite's")]
mod bench;
#[path = "../it/log_contract/cases.rs"]
#[macro_use]
mod cases;
mod database;
#[path = "../it/serve/desk.rs"]
#[expect(dead_code, reason = "some of it is the other suite's")]
mod desk;
#[path = "../it/support/eventstore/mod.rs"]
#[expect(dead_code, reason = "faults are the other suite's")]
mod eventstore;
mod faults;
#[path = "../it/serve/followed.rs"]
mod followed;
#[path = "../it/log_contract/followers.rs"]
mod followers;
mod moved;
mod page;
#[path = "../it/serve/process.rs"]
#[expect(dead_code, reason = "some of it is the other suite's")]
mod process;
mod readers;
mod servers;
#[path = "../it/serve/pages/shown.rs"]
mod shown;
#[path = "../it/support"]
mod support {
    #[expect(dead_code, reason = "some of it is the other suite's")]
    pub(crate) mod wait;
}

use std::sync::Arc;

use hearth::events::log::{EventLog, MariadbLog};

use self::cases::{Backend, Fails, Shared};
use self::database::Database;

contract! { (Mariadb, contract) }
contract! { shared (Mariadb, shared) }
contract! { losing (Mariadb, losses) }

/// A log in a database of its own.
struct Mariadb {
    database: Database,
    log: Option<Arc<MariadbLog>>,
}

impl Mariadb {
    fn open(database: &Database) -> Arc<MariadbLog> {
        Arc::new(MariadbLog::open(&database.address(), "a test", None).unwrap())
    }
}

impl Backend for Mariadb {
    fn fresh() -> Self {
        let database = Database::fresh();
        let log = Some(Self::open(&database));
        Self { database, log }
    }

    fn log(&self) -> Arc<dyn EventLog> {
        self.log.clone().unwrap()
    }

    fn reopen(&mut self) {
        let log = self.log.take().unwrap();
        assert_eq!(Arc::strong_count(&log), 1, "the test still holds the log");
        drop(log);
        self.log = Some(Self::open(&self.database));
    }
}

impl Shared for Mariadb {
    fn elsewhere(&self) -> Arc<dyn EventLog> {
        let log = MariadbLog::open_read_only(&self.database.address()).unwrap();
        log.follow().unwrap();
        Arc::new(log)
    }
}

impl Fails for Mariadb {
    fn break_writes(&self) {
        self.database.run(
            "CREATE TRIGGER full BEFORE INSERT ON events FOR EACH ROW \
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'full'",
        );
    }

    fn give_up_on_writes(&self) {}

    fn heal(&self) {
        self.database.run("DROP TRIGGER full");
    }
}
