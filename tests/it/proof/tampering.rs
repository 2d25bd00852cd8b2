//! Rows changed, moved and taken out.

use hearth::events::log::{EventLog, Head, LogError, OwnedLog, Signing, SqliteLog};
use hearth::events::signing::SigningKey;
use hearth::events::{NewEvent, Position, StreamId, StreamRevision};

use super::log::Disk;

fn stack(disk: &Disk, number: usize) -> String {
    StreamId::stack(disk.stacks[number]).as_str().to_owned()
}

#[tokio::test]
async fn an_untouched_log_holds_and_says_who_signed_it() {
    let disk = Disk::with_stacks().await;
    let found = disk.audit();
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!(found.signed_by, Some(disk.key().public()));
    assert_eq!((found.end.events, found.end.streams), (24, 6));
    assert_eq!((found.end.blobs, found.end.keys), (3, 3));
    // The end and the file beside.
    assert_eq!(found.checkpoints, 2);
}

#[tokio::test]
async fn a_cut_tail_is_named() {
    let disk = Disk::with_stacks().await;
    disk.tamper("DELETE FROM events WHERE position > 20");
    let said = disk.named();
    assert!(said.contains("the log was cut: it ends at position 20"), "{said}");
}

#[tokio::test]
async fn a_tail_cut_together_with_its_signature_is_named_by_the_checkpoint_beside() {
    let mut disk = Disk::with_stacks().await;
    let before = disk.path("before.db");
    super::log::copy(&disk.path("log.db"), &before);
    let log = disk.open();
    disk.stack(&log, "one more").await;
    drop(log);
    // The older file is whole, and was signed.
    std::fs::copy(&before, disk.path("log.db")).unwrap();
    let said = disk.named();
    assert!(said.contains("the log was cut") && said.contains("the one beside"), "{said}");
}

#[tokio::test]
async fn a_removed_stream_is_named() {
    let disk = Disk::with_stacks().await;
    let stream = stack(&disk, 1);
    let of = format!("(SELECT id FROM streams WHERE name = '{stream}')");
    disk.tamper(&format!(
        "DELETE FROM events WHERE stream = {of}; DELETE FROM streams WHERE name = '{stream}'"
    ));
    let said = disk.named();
    assert!(said.contains("24 events in 6 streams were signed, 20 in 5 are there"), "{said}");
}

#[tokio::test]
async fn a_removed_stream_that_is_made_to_look_purged_is_named() {
    let disk = Disk::with_stacks().await;
    let stream = stack(&disk, 1);
    let of = format!("(SELECT id FROM streams WHERE name = '{stream}')");
    disk.tamper(&format!(
        "INSERT INTO purged SELECT position, stream, hash FROM events WHERE stream = {of};
         DELETE FROM events WHERE stream = {of};
         UPDATE streams SET tombstoned = 1 WHERE name = '{stream}'"
    ));
    let said = disk.named();
    let expected = format!("stream {stream} was taken away (4 events), and no purge says so");
    assert!(said.contains(&expected), "{said}");
}

#[tokio::test]
async fn a_closed_stream_that_nobody_closed_is_named() {
    let disk = Disk::with_stacks().await;
    let stream = stack(&disk, 1);
    disk.tamper(&format!("UPDATE streams SET tombstoned = 1 WHERE name = '{stream}'"));
    assert_eq!(disk.named(), format!("stream {stream} is closed, and nobody closed it"));
}

/// Writes the log anew with one event changed, as somebody without the key can: every hash and
/// every checkpoint fits.
async fn forged_anew(disk: &Disk, key: Option<SigningKey>) {
    let (own, forged) = (disk.path("log.db"), disk.path("forged.db"));
    let old = SqliteLog::open_read_only(&own).unwrap();
    let new = match key {
        None => SqliteLog::open(&forged).unwrap(),
        Some(key) => {
            let beside = disk.path("forged.checkpoint");
            SqliteLog::open_signed(&forged, || Ok(Signing { key, beside })).unwrap()
        }
    };
    let mut last = Position(0);
    for event in old.read_all(last, &Default::default(), 1_000).await.unwrap() {
        let event_type: &'static str = Box::leak(event.event_type.to_string().into_boxed_str());
        let body = event.body.replace("alice", "mallory");
        let (version, at, meta) = (event.version, event.at, event.meta.clone());
        let head = Head { next: event.revision.0, ..Head::default() };
        let one = NewEvent { event_type, version, at, meta, body };
        last = new.append(&event.stream, head, vec![one]).await.unwrap().position;
    }
    for id in &disk.blobs {
        new.put_blob(&old.blob(id).await.unwrap().unwrap()).await.unwrap();
    }
    for (scope, sealed) in old.keys("", 100).unwrap() {
        new.key(&scope, &|| sealed.clone()).unwrap();
    }
    new.key("stack-gone", &|| vec![0]).unwrap();
    new.destroy_key("stack-gone").await.unwrap();
    new.durable(last).await.unwrap();
    drop((old, new));
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(disk.path(&format!("log.db{suffix}")));
    }
    std::fs::rename(&forged, &own).unwrap();
}

#[tokio::test]
async fn a_log_hashed_anew_by_somebody_with_the_file_but_not_the_key_is_named() {
    let disk = Disk::with_stacks().await;
    forged_anew(&disk, None).await;
    std::fs::remove_file(disk.path("checkpoint")).unwrap();
    assert_eq!(disk.named(), "the checkpoint at the end is not signed");

    let disk = Disk::with_stacks().await;
    let signed = SqliteLog::open_read_only(&disk.path("log.db")).unwrap().checkpoint().unwrap();
    forged_anew(&disk, None).await;
    // The signature of the true log does not fit, and its place does.
    disk.tamper(&format!("UPDATE head SET checkpoint = '{}'", signed.unwrap()));
    let said = disk.named();
    assert!(said.contains("the log up to position 24 is not the one of"), "{said}");
}

#[tokio::test]
async fn a_log_signed_anew_with_another_key_is_named() {
    let disk = Disk::with_stacks().await;
    let path = disk.path("mallory.key");
    let key = SigningKey::load_or_create(&path, &hearth::clock::SimulatedClock::new(99)).unwrap();
    let theirs = key.public();
    forged_anew(&disk, Some(key)).await;
    let said = disk.named();
    assert!(said.contains(&format!("was signed with the key {theirs}, not with")), "{said}");
}

#[tokio::test]
async fn two_swapped_events_are_named() {
    let disk = Disk::with_stacks().await;
    // Of two streams: both chains hold.
    disk.tamper(
        "UPDATE events SET position = 999 WHERE position = 3;
         UPDATE events SET position = 3 WHERE position = 4;
         UPDATE events SET position = 4 WHERE position = 999",
    );
    let said = disk.named();
    assert!(said.contains("is not the one of"), "{said}");
    assert!(!said.contains("not what was written"), "{said}");
}

#[tokio::test]
async fn a_blob_replaced_under_its_id_is_named_and_never_served() {
    let disk = Disk::with_stacks().await;
    let id = &disk.blobs[0];
    disk.tamper(&format!("UPDATE blobs SET content = x'666f72676564' WHERE id = '{}'", id.0));
    let said = disk.named();
    assert!(said.contains(&format!("blob {id:?} is not what was kept under its id")), "{said}");
    let log = disk.open();
    let served = log.blob(id).await;
    assert!(matches!(&served, Err(LogError::Damaged(said)) if said.contains(&id.0)), "{served:?}");
    assert!(log.blob(&disk.blobs[1]).await.unwrap().is_some());
}

#[tokio::test]
async fn a_blob_that_is_gone_is_named() {
    let disk = Disk::with_stacks().await;
    let id = &disk.blobs[2];
    disk.tamper(&format!("DELETE FROM blobs WHERE id = '{}'", id.0));
    let said = disk.named();
    assert!(said.contains(&format!("blob {id:?}, to which revision 1 of stream")), "{said}");
}

#[tokio::test]
async fn a_deleted_key_is_named() {
    let disk = Disk::with_stacks().await;
    let scope = stack(&disk, 0);
    disk.tamper(&format!("DELETE FROM keys WHERE scope = '{scope}'"));
    assert_eq!(disk.named(), format!("the key of {scope} was taken out"));
    disk.tamper("DELETE FROM keys WHERE scope = 'stack-gone'");
    assert!(disk.named().contains("the key of stack-gone was taken out"));
}

#[tokio::test]
async fn key_rows_swapped_between_stacks_are_named_and_do_not_open() {
    let disk = Disk::with_stacks().await;
    let (one, other) = (stack(&disk, 0), stack(&disk, 1));
    disk.tamper(&format!(
        "UPDATE keys SET scope = 'x' WHERE scope = '{one}';
         UPDATE keys SET scope = '{one}' WHERE scope = '{other}';
         UPDATE keys SET scope = '{other}' WHERE scope = 'x'"
    ));
    let said = disk.named();
    for scope in [&one, &other] {
        let expected = format!("the key of {scope} is not the one that was kept");
        assert!(said.contains(&expected), "{said}");
    }
    let log = disk.open();
    let sealed = log.read(&StreamId::stack(disk.stacks[0]), StreamRevision(1)).await.unwrap();
    let body: serde_json::Value = serde_json::from_str(&sealed.events[0].body).unwrap();
    let sealed = body["parameters"]["password"].clone();
    assert!(disk.vault(&log).open_at(&one, "a place", sealed).is_err());
}

#[tokio::test]
async fn a_destroyed_key_that_is_back_is_named() {
    let disk = Disk::with_stacks().await;
    disk.tamper("UPDATE keys SET sealed = x'00' WHERE scope = 'stack-gone'");
    assert_eq!(disk.named(), "the key of stack-gone was destroyed, and is back");
}

#[tokio::test]
async fn notes_and_checkpoints_cannot_be_rewritten() {
    let disk = Disk::with_stacks().await;
    disk.tamper("UPDATE notes SET kind = 1 WHERE name = 'stack-gone'");
    assert!(disk.named().contains("is not the one of"), "{}", disk.named());
    let disk = Disk::with_stacks().await;
    disk.tamper("DELETE FROM head");
    assert!(disk.named().contains("the checkpoint at the end is gone"), "{}", disk.named());
    let disk = Disk::with_stacks().await;
    disk.tamper("UPDATE head SET checkpoint = replace(checkpoint, 'events: 24', 'events: 25')");
    let said = disk.named();
    assert!(said.contains("its signature is not that of the key it names"), "{said}");
}
