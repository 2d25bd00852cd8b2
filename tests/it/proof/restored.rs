//! Logs that are older than they should be, and checkpoints that were taken away.

use std::fs;

use hearth::events::log::SqliteLog;

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
    log.keep_checkpoint().unwrap();
    let restored = Disk::fresh();
    for name in ["log.db", "checkpoint", "signing.key"] {
        fs::copy(disk.path(name), restored.path(name)).unwrap();
    }
    let said = restored.named();
    assert!(said.contains("the log was cut: it ends at position 24"), "{said}");
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
        "DROP TABLE purged; DROP TABLE notes; DROP TABLE head; DROP TABLE checkpoints;
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
