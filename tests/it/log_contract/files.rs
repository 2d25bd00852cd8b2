//! The file of a log: torn, gone, in use, somebody else's.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use hearth::events::StreamRevision;
use hearth::events::log::chain::Verifier;
use hearth::events::log::{EventLog, Head, LogError, OpenError, SqliteLog};

use super::backends::Sqlite;
use super::cases::{Backend, append, bodies, number, stream, within};

use crate::support::wait::{WAIT_MAX, polled};

/// What a killed process leaves: a copy of the files as they are at this moment.
fn copy_of(path: &Path, to: &Path) -> PathBuf {
    let copy = to.join("log.db");
    for suffix in ["", "-wal"] {
        let from = PathBuf::from(format!("{}{suffix}", path.display()));
        if from.exists() {
            fs::copy(from, format!("{}{suffix}", copy.display())).unwrap();
        }
    }
    copy
}

#[tokio::test]
async fn a_torn_file_keeps_whole_appends_from_its_start() {
    let backend = Sqlite::fresh();
    let log = backend.log();
    let mut head = Head::default();
    for count in 0..40 {
        let three = (0..3).map(|part| number(count * 3 + part)).collect();
        let appended = log.append(&stream("a"), head, three).await.unwrap();
        head = appended.head;
        log.durable(appended.position).await.unwrap();
    }
    let whole = fs::metadata(backend.folder.path().join("log.db-wal")).unwrap().len();
    let mut lengths = HashSet::new();
    for cut in 0..25 {
        let folder = tempfile::tempdir().unwrap();
        let copy = copy_of(&backend.path(), folder.path());
        let wal =
            fs::OpenOptions::new().write(true).open(folder.path().join("log.db-wal")).unwrap();
        wal.set_len(whole - whole * cut / 30 - cut).unwrap();
        drop(wal);
        let torn = SqliteLog::open(&copy).unwrap();
        let slice = torn.read(&stream("a"), StreamRevision(0)).await.unwrap();
        assert_eq!(slice.events.len() % 3, 0, "an append is whole or not there");
        let mut verifier = Verifier::default();
        for event in &slice.events {
            verifier.check(event).unwrap();
        }
        lengths.insert(slice.events.len());
        let appended = append(&torn, &stream("a"), slice.head, number(7)).await;
        torn.durable(appended.position).await.unwrap();
    }
    assert!(lengths.contains(&120) && lengths.len() > 5, "{lengths:?}");
}

#[tokio::test]
async fn a_second_process_is_refused_and_a_reader_is_not() {
    let backend = Sqlite::fresh();
    let log = backend.log();
    let appended = append(&*log, &stream("a"), Head::default(), number(1)).await;
    log.durable(appended.position).await.unwrap();
    assert!(matches!(SqliteLog::open(&backend.path()), Err(OpenError::InUse { .. })));
    let reader = SqliteLog::open_read_only(&backend.path()).unwrap();
    assert_eq!(bodies(&reader, &stream("a")).await, ["1"]);
    let refused = reader.append(&stream("a"), appended.head, vec![number(2)]).await;
    assert!(matches!(refused, Err(LogError::Unavailable(_))));
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(SqliteLog::open(&path), Err(OpenError::NotALog { .. })));
    assert!(matches!(SqliteLog::open_read_only(&path), Err(OpenError::NotALog { .. })));
    let missing = folder.path().join("missing.db");
    assert!(matches!(SqliteLog::open_read_only(&missing), Err(OpenError::Sqlite { .. })));
    assert!(!missing.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_gone_is_noticed_and_taken_up_again_when_it_is_back() {
    let backend = Sqlite::fresh();
    let log = backend.log();
    let appended = append(&*log, &stream("a"), Head::default(), number(1)).await;
    log.durable(appended.position).await.unwrap();
    let away = backend.folder.path().join("away.db");
    fs::rename(backend.path(), &away).unwrap();
    let lost = append(&*log, &stream("a"), appended.head, number(2)).await;
    let told = within("the writer to be told", log.durable(lost.position)).await;
    assert!(matches!(told, Err(LogError::Unavailable(reason)) if reason.ends_with("is gone")));
    assert_eq!(bodies(&*log, &stream("a")).await, ["1"]);
    fs::rename(&away, backend.path()).unwrap();
    let healed = async || {
        let head = log.read(&stream("a"), StreamRevision(0)).await.unwrap().head;
        log.append(&stream("a"), head, vec![number(3)]).await.ok()
    };
    let healed = polled(WAIT_MAX, "it is written again", healed).await;
    log.durable(healed.position).await.unwrap();
    assert_eq!(bodies(&*log, &stream("a")).await, ["1", "3"]);
}
