//! A copy that is brought up to date, and what is left alone because it is none.

use std::path::{Path, PathBuf};

use hearth::events::log::{EventLog, Filter, Head, Side, SqliteLog, audit, transfer};
use hearth::events::{Position, StreamRevision};

use super::cases::{append, number, stream};

struct Places {
    folder: tempfile::TempDir,
}

impl Places {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn copied(&self, from: &str, to: &str) -> Result<u64, String> {
        transfer(&Side::File(self.path(from)), &Side::File(self.path(to)))
    }
}

async fn written(path: &Path, events: u64) -> Head {
    let log = SqliteLog::open(path).unwrap();
    let mut head = Head::default();
    for count in 0..events {
        head = append(&log, &stream("a"), head, number(count)).await.head;
    }
    append(&log, &stream("gone"), Head::default(), number(0)).await;
    let last = append(&log, &stream("gone-last"), Head::default(), number(0)).await;
    log.put_blob(b"kept").await.unwrap();
    log.put_blob(b"dropped").await.unwrap();
    log.key("stack-a", &|| vec![1, 2, 3]).unwrap();
    log.key("stack-b", &|| vec![4]).unwrap();
    log.durable(last.position).await.unwrap();
    head
}

#[tokio::test]
async fn a_copy_is_brought_up_to_date_with_what_came_and_what_went() {
    let places = Places::new();
    let (path, copy) = (places.path("log.db"), places.path("copy.db"));
    let head = written(&path, 500).await;
    assert_eq!(places.copied("log.db", "copy.db"), Ok(502));
    assert_eq!(places.copied("log.db", "copy.db"), Ok(502), "there is nothing to be done");

    let log = SqliteLog::open(&path).unwrap();
    log.purge(vec![stream("gone"), stream("gone-last")]).await.unwrap();
    // The log is written meanwhile.
    assert_eq!(places.copied("log.db", "copy.db"), Ok(500));
    log.put_blob(b"fresh").await.unwrap();
    log.destroy_key("stack-b").await.unwrap();
    log.key("stack-c", &|| vec![5]).unwrap();
    log.tombstone(&stream("closed")).await.unwrap();
    let more = append(&log, &stream("a"), head, number(500)).await;
    let last = append(&log, &stream("b"), Head::default(), number(1)).await.position;
    log.durable(last).await.unwrap();
    assert_eq!(places.copied("log.db", "copy.db"), Ok(502));
    let all = log.read_all(Position(0), &Filter::default(), 9_999).await.unwrap();
    drop(log);

    let problems = |path: &Path| audit(path, None, &[]).unwrap().problems;
    assert_eq!(problems(&copy), problems(&path));
    let log = SqliteLog::open(&copy).unwrap();
    assert_eq!(log.read_all(Position(0), &Filter::default(), 9_999).await.unwrap(), all);
    assert!(log.find_key("stack-b").is_err(), "a key that was destroyed is in no copy");
    let slice = log.read(&stream("a"), StreamRevision(0)).await.unwrap();
    assert_eq!(slice.head.next, more.head.next);
    // It is a log like the one that it was made of.
    append(&log, &stream("a"), slice.head, number(501)).await;
}

#[tokio::test]
async fn nothing_is_copied_to_where_another_process_makes_a_log() {
    let places = Places::new();
    written(&places.path("log.db"), 3).await;
    let copy = places.path("copy.db");
    let lock = SqliteLog::lock(&copy).unwrap();
    let refused = places.copied("log.db", "copy.db").unwrap_err();
    assert!(refused.contains("in use") && !copy.exists(), "{refused}");
    drop(lock);
    assert_eq!(places.copied("log.db", "copy.db"), Ok(5));
}

#[tokio::test]
async fn a_log_that_is_no_earlier_copy_stays_as_it_is() {
    let places = Places::new();
    written(&places.path("log.db"), 20).await;
    written(&places.path("other.db"), 10).await;
    let refused = places.copied("log.db", "other.db").unwrap_err();
    assert!(refused.ends_with("other.db: there is another log already"), "{refused}");

    assert_eq!(places.copied("log.db", "copy.db"), Ok(22));
    let log = SqliteLog::open(&places.path("copy.db")).unwrap();
    let head = log.read(&stream("a"), StreamRevision(0)).await.unwrap().head;
    let own = append(&log, &stream("a"), head, number(20)).await.position;
    log.durable(own).await.unwrap();
    drop(log);
    let refused = places.copied("log.db", "copy.db").unwrap_err();
    assert!(refused.ends_with("copy.db: there is another log already"), "{refused}");
    let log = SqliteLog::open(&places.path("copy.db")).unwrap();
    assert_eq!(log.read(&stream("a"), StreamRevision(0)).await.unwrap().events.len(), 21);

    // A copy from which a key was taken is not given it again.
    assert_eq!(places.copied("log.db", "without.db"), Ok(22));
    let log = SqliteLog::open(&places.path("without.db")).unwrap();
    log.destroy_key("stack-a").await.unwrap();
    drop(log);
    let refused = places.copied("log.db", "without.db").unwrap_err();
    assert!(refused.ends_with("without.db: there is another log already"), "{refused}");
    let log = SqliteLog::open(&places.path("without.db")).unwrap();
    assert!(log.find_key("stack-a").is_err());
    drop(log);

    assert_eq!(places.copied("log.db", "held.db"), Ok(22));
    let held = SqliteLog::open(&places.path("held.db")).unwrap();
    let refused = places.copied("log.db", "held.db").unwrap_err();
    assert!(refused.contains("held.db"), "{refused}");
    drop(held);
}

#[test]
fn a_copy_that_fails_leaves_nothing_behind() {
    let places = Places::new();
    std::fs::write(places.path("log.db"), "This is no log.").unwrap();
    places.copied("log.db", "copy.db").unwrap_err();
    let left = std::fs::read_dir(places.folder.path()).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    // The lock stays, as beside every log: somebody may be about to take it.
    left.retain(|name| name.to_string_lossy().contains("copy") && name != "copy.db.lock");
    assert!(left.is_empty(), "{left:?}");
}
