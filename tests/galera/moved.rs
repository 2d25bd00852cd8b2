//! A log moved from a file to a database and back.

use std::path::Path;

use hearth::events::log::{
    EventLog, EventstoreAddress, EventstoreLog, Filter, Head, MariadbLog, Reseal, Side, SqliteLog,
    audit, transfer,
};
use hearth::events::{Position, StreamRevision};

use super::cases::{append, number, stream};
use super::database::Database;
use super::eventstore::StandIn;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_moves_to_a_database_and_back_and_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let log = SqliteLog::open(&path).unwrap();
    let mut head = Head::default();
    for count in 0..3_000 {
        head = append(&log, &stream("a"), head, number(count)).await.head;
    }
    // More of each kind than is read at a time.
    let mut gone = Head::default();
    for count in 0..2_100 {
        gone = append(&log, &stream("gone"), gone, number(count)).await.head;
    }
    log.put_blob(&vec![7; 1_200_000]).await.unwrap();
    for count in 0..40 {
        log.put_blob(&[count]).await.unwrap();
    }
    log.key("stack-a", &|| vec![1, 2, 3]).unwrap();
    log.key("stack-b", &|| vec![4]).unwrap();
    log.destroy_key("stack-b").await.unwrap();
    log.tombstone(&stream("closed")).await.unwrap();
    log.purge(vec![stream("gone")]).await.unwrap();
    let last = append(&log, &stream("b"), Head::default(), number(1)).await.position;
    log.durable(last).await.unwrap();
    drop(log);

    let database = Database::fresh();
    let (file, there) = (Side::File(path.clone()), Side::Database(database.address()));
    assert_eq!(transfer(&file, &there), Ok(3_001));
    let log = SqliteLog::open(&path).unwrap();
    log.purge(vec![stream("b")]).await.unwrap();
    log.destroy_key("stack-a").await.unwrap();
    let last = append(&log, &stream("c"), Head::default(), number(1)).await.position;
    log.durable(last).await.unwrap();
    assert_eq!(transfer(&file, &there), Ok(3_001), "an earlier copy is brought up to date");
    let written = log.read_all(Position(0), &Filter::default(), 9_999).await.unwrap();
    drop(log);
    let log = MariadbLog::open(&database.address(), "a test", None).unwrap();
    assert_eq!(log.read_all(Position(0), &Filter::default(), 9_999).await.unwrap(), written);
    let more = append(&log, &stream("a"), head, number(3_000)).await.position;
    assert_eq!(more.0, last.0 + 1);
    log.durable(more).await.unwrap();
    let held = transfer(&file, &there).unwrap_err();
    assert!(held.ends_with("there is another log already"), "{held}");
    drop(log);

    let back = Side::File(folder.path().join("back.db"));
    assert_eq!(transfer(&there, &back), Ok(3_002));
    let problems = |path: &Path| audit(path, None, &[]).unwrap().problems;
    // The two purges, which no event says, and nothing more.
    assert_eq!(problems(&folder.path().join("back.db")), problems(&path));
    assert_eq!(problems(&path).len(), 4);
    let log = SqliteLog::open(&folder.path().join("back.db")).unwrap();
    assert_eq!(log.read(&stream("a"), StreamRevision(0)).await.unwrap().events.len(), 3_001);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_moves_between_a_database_and_a_server_of_events() {
    let (database, back, server) = (Database::fresh(), Database::fresh(), StandIn::start(1));
    let there = EventstoreAddress::parse(&server.url()).unwrap();
    let (first, second) = (Side::Database(database.address()), Side::Database(back.address()));
    let events = Side::Events(Box::new(there.clone()));
    let log = MariadbLog::open(&database.address(), "a test", None).unwrap();
    let mut head = Head::default();
    for count in 0..1_200 {
        head = append(&log, &stream("a"), head, number(count)).await.head;
    }
    append(&log, &stream("gone"), Head::default(), number(0)).await;
    log.put_blob(&vec![7; 1_200_000]).await.unwrap();
    log.key("stack-a", &|| vec![1, 2, 3]).unwrap();
    log.key("stack-b", &|| vec![4]).unwrap();
    log.destroy_key("stack-b").await.unwrap();
    let last = append(&log, &stream("b"), Head::default(), number(1)).await.position;
    log.durable(last).await.unwrap();
    assert_eq!(transfer(&first, &events), Ok(1_202));
    assert_eq!(transfer(&events, &second), Ok(1_202));
    log.purge(vec![stream("gone")]).await.unwrap();
    log.reseal_keys(vec![Reseal { scope: "stack-a".to_owned(), from: vec![1, 2, 3], to: vec![5] }])
        .await
        .unwrap();
    drop(log);
    assert_eq!(transfer(&first, &events), Ok(1_201));

    let log = EventstoreLog::open(there).unwrap();
    let own = append(&log, &stream("a"), head, number(1_200)).await.position;
    let written = log.read_all(Position(0), &Filter::default(), 9_999).await.unwrap();
    drop(log);
    for (database, told) in [(&second, 1), (&first, 2)] {
        assert_eq!(transfer(&events, database), Ok(1_202), "an earlier copy is brought up to date");
        let file = tempfile::tempdir().unwrap();
        let path = file.path().join("log.db");
        assert_eq!(transfer(database, &Side::File(path.clone())), Ok(1_202));
        // The purge, which no event says; a copy has a note of what is closed.
        let problems = audit(&path, None, &[]).unwrap().problems;
        assert_eq!(problems.len(), told, "{problems:?}");
    }
    let log = MariadbLog::open(&back.address(), "a test", None).unwrap();
    assert_eq!(log.read_all(Position(0), &Filter::default(), 9_999).await.unwrap(), written);
    assert_eq!(log.keys("", 9).unwrap(), [("stack-a".to_owned(), vec![5])]);
    let more = append(&log, &stream("b"), Head { next: 1, ..Head::default() }, number(2)).await;
    assert_eq!(more.position.0, own.0 + 1);
}

#[tokio::test]
async fn a_second_process_is_refused_until_the_first_has_gone() {
    let database = Database::fresh();
    let first = MariadbLog::open(&database.address(), "first", None).unwrap();
    let appended = append(&first, &stream("a"), Head::default(), number(1)).await;
    first.durable(appended.position).await.unwrap();
    let refused = MariadbLog::open(&database.address(), "second", None).err().unwrap();
    assert!(refused.to_string().ends_with("is in use by first"), "{refused}");
    // The same again, as after a kill: the one before writes no more.
    let again = MariadbLog::open(&database.address(), "first", None).unwrap();
    let late = append(&first, &stream("a"), appended.head, number(2)).await;
    assert!(first.durable(late.position).await.is_err());
    let own = append(&again, &stream("a"), appended.head, number(3)).await;
    again.durable(own.position).await.unwrap();
    drop(first);
    drop(again);
    let second = MariadbLog::open(&database.address(), "second", None).unwrap();
    let events = second.read(&stream("a"), StreamRevision(0)).await.unwrap().events;
    assert_eq!(events.iter().map(|event| &*event.body).collect::<Vec<_>>(), ["1", "3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_written_meanwhile_is_copied_as_it_stood_at_one_moment() {
    let database = Database::fresh();
    let log = MariadbLog::open(&database.address(), "a test", None).unwrap();
    let mut appended = append(&log, &stream("a"), Head::default(), number(0)).await;
    log.durable(appended.position).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (Side::Database(database.address()), folder.path().join("log.db"));
    let side = Side::File(to.clone());
    let copying = tokio::task::spawn_blocking(move || transfer(&from, &side));
    while !copying.is_finished() {
        appended = append(&log, &stream("a"), appended.head, number(appended.head.next)).await;
        log.durable(appended.position).await.unwrap();
    }
    let copied = copying.await.unwrap().unwrap();
    assert!(0 < copied && copied < appended.head.next, "{copied} of {}", appended.head.next);
    assert_eq!(audit(&to, None, &[]).unwrap().problems, [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_stops_where_another_one_has_taken_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let log = SqliteLog::open(&path).unwrap();
    let mut last = append(&log, &stream("a"), Head::default(), number(0)).await;
    for count in 1..1_500 {
        last = append(&log, &stream("a"), last.head, number(count)).await;
    }
    log.durable(last.position).await.unwrap();
    drop(log);

    let database = Database::fresh();
    drop(MariadbLog::open(&database.address(), "a test", None).unwrap());
    // As one that broke off has left it; the other one comes with the first group of this one.
    let holder = "a copy that is not whole; copying again goes over it";
    database.run(&format!("UPDATE sequencer SET holder = '{holder}', seen = '9999-01-01'"));
    database.run(
        "CREATE TRIGGER other AFTER INSERT ON events FOR EACH ROW \
         UPDATE sequencer SET epoch = epoch + (NEW.position = 1)",
    );
    let (file, there) = (Side::File(path), Side::Database(database.address()));
    let stopped = transfer(&file, &there).unwrap_err();
    assert!(stopped.ends_with("another process has taken it over"), "{stopped}");
    // Nobody takes for a log what is there.
    let unread = MariadbLog::open_read_only(&database.address()).err().unwrap().to_string();
    assert!(unread.contains(holder), "{unread}");
    let uncopied = transfer(&there, &Side::File(folder.path().join("back.db"))).unwrap_err();
    assert!(uncopied.contains(holder), "{uncopied}");
    assert!(MariadbLog::open(&database.address(), "a test", None).is_err());
    database.run("DROP TRIGGER other");
    assert_eq!(transfer(&file, &there), Ok(1_500));
    let log = MariadbLog::open_read_only(&database.address()).unwrap();
    assert_eq!(log.durable_position(), last.position);
}
