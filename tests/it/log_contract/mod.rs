//! What every event log must do, run on those that need no server, and on EventStoreDB's stand-in;
//! `tests/galera` runs it on MariaDB's.

pub(crate) mod backends;
#[macro_use]
pub(crate) mod cases;
mod copies;
mod files;
mod followers;

use hearth::events::Position;
use hearth::events::log::{EventLog, Head, MemoryLog};

use self::backends::{Eventstore, Memory, Sqlite};
use self::cases::{Backend, append, bodies, number, stream};

contract! { (Memory, memory), (Sqlite, sqlite), (Eventstore, eventstore) }
contract! { shared (Sqlite, sqlite_shared), (Eventstore, eventstore_shared) }
contract! { losing (Memory, memory_loses), (Sqlite, sqlite_loses) }

#[tokio::test]
async fn a_cut_log_is_what_a_crash_leaves() {
    let log = MemoryLog::new();
    let blob = log.put_blob(b"template").await.unwrap();
    let first = append(&log, &stream("a"), Head::default(), number(1)).await;
    append(&log, &stream("b"), Head::default(), number(2)).await;
    append(&log, &stream("a"), first.head, number(3)).await;
    let cut = log.cut_after(Position(2));
    assert_eq!(cut.durable_position(), Position(2));
    assert_eq!(bodies(&cut, &stream("a")).await, ["1"]);
    assert_eq!(bodies(&cut, &stream("b")).await, ["2"]);
    assert!(cut.blob(&blob).await.unwrap().is_some());
    assert_eq!(bodies(&log, &stream("a")).await, ["1", "3"]);
}
