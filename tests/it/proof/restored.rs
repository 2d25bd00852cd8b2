//! Logs that are older than they should be, and checkpoints that were taken away.

use std::fs;

use hearth::events::log::{OwnedLog, SqliteLog};

use super::log::Disk;

fn newest(disk: &Disk) -> String {
    let log = SqliteLog::open_read_only(&disk.path("log.db")).unwrap();
    log.checkpoint().unwrap().unwrap()
}

#[tokio::test]
async fn todays_log_continues_the_one_of_a_checkpoint_that_was_taken_away() {
    let mut disk = Disk::with_stacks().await;
    let then = newest(&disk);
    let log = disk.open();
    disk.stack(&log, "later").await;
    drop(log);
    let found = disk.audit_against(std::slice::from_ref(&then));
    assert_eq!((found.problems, found.checkpoints), (Vec::new(), 3));

    let other = Disk::with_stacks().await;
    let mut problems = other.audit_against(&[newest(&disk)]).problems;
    assert!(problems.remove(0).contains("was signed with"), "of another log");

    // Cut back to before it and grown again: everything in the file itself is in order.
    let mut disk = Disk::with_stacks().await;
    super::log::copy(&disk.path("log.db"), &disk.path("before.db"));
    let log = disk.open();
    disk.stack(&log, "what really happened").await;
    drop(log);
    let then = newest(&disk);
    fs::rename(disk.path("before.db"), disk.path("log.db")).unwrap();
    fs::remove_file(disk.path("checkpoint")).unwrap();
    let log = disk.open();
    disk.stack(&log, "what is made out to have happened").await;
    drop(log);
    assert_eq!(disk.audit().problems, Vec::<String>::new());
    let problems = disk.audit_against(&[then]).problems;
    assert!(problems[0].contains("is not the one of the one taken away"), "{problems:?}");
}

#[tokio::test]
async fn a_log_restored_without_what_sqlite_keeps_beside_it_is_named() {
    let mut disk = Disk::with_stacks().await;
    let log = disk.open();
    disk.stack(&log, "in the write-ahead log").await;
    fs::write(disk.path("checkpoint"), newest(&disk)).unwrap();
    let said = disk.copy_of(&["log.db", "checkpoint", "signing.key"]).named();
    assert!(said.contains("the log was cut: it ends at position 24"), "{said}");
}

#[tokio::test]
async fn a_copy_of_the_log_alone_says_that_its_end_may_be_missing() {
    let alone = ["log.db", "signing.key"];
    let missing =
        |position: u64| format!("what came after position {position}, if anything did, is missing");
    let mut disk = Disk::fresh();
    let log = disk.open();
    let new = disk.copy_of(&alone).named();
    assert!(new.contains(&missing(0)), "{new}");
    disk.stack(&log, "in the write-ahead log").await;
    let copy = disk.copy_of(&alone);
    for _ in 0..2 {
        // Reading it leaves empty files of SQLite's beside it, which make it no better.
        let said = copy.named();
        assert!(said.contains("log.db-wal is not here") && said.contains(&missing(0)), "{said}");
    }
    let whole = |disk: &Disk| assert_eq!(disk.audit().problems, Vec::<String>::new());
    whole(&disk);
    whole(&disk.killed());

    log.settle().await.unwrap();
    let settled = disk.copy_of(&alone).named();
    assert!(settled.contains(&missing(8)), "{settled}");
    // Who has the checkpoint knows that nothing came after it.
    whole(&disk.copy_of(&["log.db", "signing.key", "checkpoint"]));
    whole(&disk.killed());
    disk.stack(&log, "more").await;
    log.close();
    let copy = disk.copy_of(&alone);
    whole(&copy);
    assert_eq!(copy.audit().end.events, 16);
}

#[tokio::test]
async fn a_log_that_a_reader_holds_back_is_settled_all_the_same() {
    let mut disk = Disk::fresh();
    let log = disk.open();
    let reader = rusqlite::Connection::open(disk.path("log.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM events").unwrap();
    disk.stack(&log, "x").await;
    log.settle().await.unwrap();
    drop(reader);
    disk.stack(&log, "y").await;
    drop(log);
    let found = disk.audit();
    assert_eq!((found.problems, found.end.events), (Vec::new(), 16));
}

#[tokio::test]
async fn a_server_that_opens_a_cut_log_serves_it_and_says_so_for_ever() {
    let mut disk = Disk::with_stacks().await;
    super::log::copy(&disk.path("log.db"), &disk.path("before.db"));
    let log = disk.open();
    disk.stack(&log, "cut off").await;
    drop(log);
    fs::rename(disk.path("before.db"), disk.path("log.db")).unwrap();
    let log = disk.open();
    disk.stack(&log, "goes on").await;
    drop(log);
    let said = "after position 24 the log was opened, and was not what had been signed: it ends at \
                position 24, and a checkpoint at position 32 (32 events) was kept";
    assert_eq!(disk.named(), said);
    // Whoever has seen it takes a checkpoint away and asks what is new since.
    assert_eq!(disk.audit_against(&[newest(&disk)]).problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_log_of_the_first_format_verifies_and_is_signed_from_its_next_opening() {
    let disk = Disk::with_stacks().await;
    disk.tamper(
        "DROP TABLE purged; DROP TABLE notes; DROP TABLE head; DROP TABLE checkpoints; DROP TABLE writing;
         PRAGMA user_version = 1",
    );
    fs::remove_file(disk.path("checkpoint")).unwrap();
    let found = disk.audit();
    assert_eq!((found.problems, found.signed_by), (Vec::new(), None));
    assert_eq!((found.end.events, found.end.keys), (24, 3));

    drop(disk.open());
    let found = disk.audit();
    assert_eq!((found.problems, found.signed_by), (Vec::new(), Some(disk.key().public())));
    disk.tamper("DELETE FROM keys WHERE scope = 'stack-gone'");
    assert!(disk.named().contains("the key of stack-gone was taken out"));
}

#[tokio::test]
async fn a_signing_key_that_was_replaced_is_named() {
    let disk = Disk::with_stacks().await;
    fs::remove_file(disk.path("signing.key")).unwrap();
    drop(disk.open());
    let said = disk.named();
    assert!(said.contains("after position 24 the log was opened"), "{said}");
    assert!(said.contains("it was signed with the key"), "{said}");
}
