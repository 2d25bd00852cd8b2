//! Forgetting: what was deleted is gone from the disk, and the log can be proved still.

use std::fs;
use std::sync::Arc;

use chrono::TimeDelta;
use hearth::events::forget::{self, Forgotten, Older};
use hearth::events::log::{EventLog, LogError, MemoryLog, OwnedLog, SqliteLog};
use hearth::events::{StreamId, StreamRevision};
use hearth::model::ProjectId;
use hearth::projections::Views;
use serde_json::json;

use super::log::Disk;
use crate::support::cut_log::CutLog;
use crate::support::wait::{WAIT_MAX, polled};

const DAY: u64 = 86_400;

fn everything() -> Older {
    Older { seconds: 0, project: None }
}

async fn purge<L: EventLog>(
    disk: &Disk,
    log: &Arc<L>,
    older: &Older,
) -> Result<Forgotten, LogError> {
    forget::purge(&**log, &disk.vault(log), &*disk.clock, older.before(disk.now()), older).await
}

fn is_on_disk(disk: &Disk, marker: &str) -> bool {
    ["log.db", "log.db-wal"].iter().any(|name| {
        let content = fs::read(disk.path(name)).unwrap_or_default();
        content.windows(marker.len()).any(|bytes| bytes == marker.as_bytes())
    })
}

#[tokio::test]
async fn what_was_purged_is_gone_from_the_disk_and_the_log_is_proved_still() {
    let mut disk = Disk::with_stacks().await;
    let log = disk.open();
    let id = disk.stack(&log, "a template that nobody shall find").await;
    let living = disk.stacks[0];
    disk.delete(&*log, id).await;
    drop(log);
    let then = SqliteLog::open_read_only(&disk.path("log.db")).unwrap().checkpoint().unwrap();
    for marker in ["a template that nobody shall find", "web-3", "t-3"] {
        assert!(is_on_disk(&disk, marker), "{marker}");
    }
    let log = disk.open();
    let forgotten = purge(&disk, &log, &everything()).await.unwrap();
    let expected = Forgotten { stacks: 1, blobs: 1, events: 10, ..Forgotten::default() };
    assert_eq!(forgotten, expected);
    assert!(log.read(&StreamId::stack(id), StreamRevision(0)).await.unwrap().events.is_empty());
    assert!(matches!(log.find_key(StreamId::stack(id).as_str()), Err(LogError::KeyDestroyed(_))));
    let kept = log.read(&StreamId::stack(living), StreamRevision(0)).await.unwrap();
    assert_eq!(kept.events.len(), 4);
    assert!(log.blob(&disk.blobs[0]).await.unwrap().is_some());
    drop(log);
    for marker in ["a template that nobody shall find", "web-3"] {
        assert!(!is_on_disk(&disk, marker), "{marker}");
    }
    // With what was signed before the purge as with what was signed after it.
    assert_eq!(disk.audit_against(&[then.unwrap()]).problems, Vec::<String>::new());
    let log = disk.open();
    assert_eq!(purge(&disk, &log, &everything()).await.unwrap(), Forgotten::default());
}

#[tokio::test]
async fn only_what_was_deleted_long_enough_ago_goes_and_only_of_the_project_named() {
    let mut disk = Disk::with_stacks().await;
    let log = disk.open();
    let id = disk.stack(&log, "x").await;
    disk.delete(&*log, id).await;
    disk.clock.advance(TimeDelta::days(29));
    let older = Older { seconds: 30 * DAY, project: None };
    assert_eq!(purge(&disk, &log, &older).await.unwrap().stacks, 0);
    disk.clock.advance(TimeDelta::days(2));
    let of = |project: &str| Older { project: Some(ProjectId::from(project)), ..older.clone() };
    assert_eq!(purge(&disk, &log, &of("p2")).await.unwrap().stacks, 0);
    assert_eq!(purge(&disk, &log, &of("p1")).await.unwrap().stacks, 1);
}

#[tokio::test]
async fn a_template_that_a_living_stack_shares_stays() {
    let mut disk = Disk::with_stacks().await;
    let log = disk.open();
    let id = disk.stack(&log, "template 0").await;
    disk.delete(&*log, id).await;
    drop(log);
    let log = disk.open();
    assert_eq!(purge(&disk, &log, &everything()).await.unwrap().blobs, 0);
    assert!(log.blob(&disk.blobs[0]).await.unwrap().is_some());
}

#[tokio::test]
async fn a_template_that_is_just_being_given_again_is_not_dropped() {
    let mut disk = Disk::with_stacks().await;
    let log = disk.open();
    let id = disk.stack(&log, "x").await;
    disk.delete(&*log, id).await;
    // Given, and not yet referred to by any event.
    let again = log.put_blob(b"x").await.unwrap();
    assert_eq!(purge(&disk, &log, &everything()).await.unwrap().blobs, 0);
    assert!(log.blob(&again).await.unwrap().is_some());
}

#[tokio::test]
async fn a_template_that_a_stack_takes_up_while_another_is_purged_stays() {
    let mut disk = Disk::fresh();
    let written = Arc::new(MemoryLog::new());
    let mut ids = [disk.stack(&written, "x").await, disk.stack(&written, "x").await];
    // The one that goes is looked at after the one that stays.
    ids.sort_unstable_by_key(|id| StreamId::stack(*id));
    let [living, gone] = ids;
    disk.delete(&*written, gone).await;
    let again = written.put_blob(b"a template of old").await.unwrap();
    // What was just put would be spared.
    let log = Arc::new(written.cut_after(written.durable_position()));
    log.hold();
    let living = StreamId::stack(living);
    let revision = json!({
        "revision": 2, "action": "UPDATE", "origin": 2, "source": again, "parameters": {},
        "shown_parameters": {}, "description": "", "outputs": [], "tags": [],
        "timeout_mins": null, "disable_rollback": true,
    });
    let older = everything();
    let (forgotten, (), ()) = tokio::join!(
        purge(&disk, &log, &older),
        disk.append(&*log, &living, 4, "RevisionAccepted", revision),
        async { log.release() },
    );
    assert_eq!(forgotten.unwrap(), Forgotten { stacks: 1, events: 10, ..Forgotten::default() });
    assert!(log.blob(&again).await.unwrap().is_some());
}

#[tokio::test]
async fn configurations_made_and_deleted_do_not_fill_the_disk() {
    let disk = Disk::fresh();
    let log = disk.open();
    let content = "c".repeat(1 << 20);
    for number in 0..20 {
        let id = hearth::clock::Clock::fresh_id(&*disk.clock);
        let stream = StreamId(format!("config-{id}").into());
        let created = json!({"config_id": id, "project_id": "p1", "content": content});
        disk.append(&*log, &stream, 0, "ConfigCreated", created).await;
        if number > 0 {
            disk.append(&*log, &stream, 1, "ConfigDeleted", json!({"config_id": id})).await;
        }
    }
    let size = || fs::metadata(disk.path("log.db")).unwrap().len();
    let forgotten = forget::purge_deleted_software(&*log, &*disk.clock, disk.now()).await.unwrap();
    assert_eq!((forgotten.configs, forgotten.events), (19, 38));
    assert!(size() < 3 << 20, "{} bytes are left", size());
    drop(log);
    assert_eq!(disk.audit().problems, Vec::<String>::new());
}

#[tokio::test]
async fn deleted_alarms_go_and_metric_data_go_once_no_alarm_may_look_at_them() {
    let disk = Disk::fresh();
    let log = disk.open();
    let rule = json!({"metric": "cpu", "statistic": "Average", "threshold": 1.0, "period": 60,
                      "comparison": "GreaterThanThreshold", "periods": 1});
    for number in 0..2 {
        let id = hearth::clock::Clock::fresh_id(&*disk.clock);
        let stream = StreamId(format!("alarm-{id}").into());
        let made = json!({"alarm_id": id, "project_id": "p1", "name": "hot", "rule": rule});
        disk.append(&*log, &stream, 0, "AlarmMade", made).await;
        if number > 0 {
            disk.append(&*log, &stream, 1, "AlarmDeleted", json!({"alarm_id": id})).await;
        }
    }
    let data = StreamId::metrics(&ProjectId::from("p1"), 0);
    let put = json!({"project_id": "p1", "namespace": "n",
                     "data": [{"metric": "cpu", "value": 1.0}]});
    disk.append(&*log, &data, 0, "DataPut", put).await;
    let sweep = async || {
        let gone = forget::purge_deleted_software(&*log, &*disk.clock, disk.now()).await;
        gone.map(|gone| (gone.alarms, gone.events)).unwrap()
    };
    assert_eq!(sweep().await, (1, 2));
    disk.clock.advance(TimeDelta::hours(25));
    assert_eq!(sweep().await, (0, 0));
    disk.clock.advance(TimeDelta::hours(1));
    assert_eq!(sweep().await, (0, 1));
    drop(log);
    assert_eq!(disk.audit().problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_file_of_the_first_format_gives_space_back_too() {
    let disk = Disk::fresh();
    let log = disk.open();
    let id = hearth::clock::Clock::fresh_id(&*disk.clock);
    let stream = StreamId(format!("config-{id}").into());
    let content = "c".repeat(8 << 20);
    let created = json!({"config_id": id, "project_id": "p1", "content": content});
    disk.append(&*log, &stream, 0, "ConfigCreated", created).await;
    disk.append(&*log, &stream, 1, "ConfigDeleted", json!({"config_id": id})).await;
    drop(log);
    disk.tamper("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM");
    let log = disk.open();
    purge(&disk, &log, &everything()).await.unwrap();
    let size = fs::metadata(disk.path("log.db")).unwrap().len();
    assert!(size < 1 << 20, "{size} bytes are left");
}

#[tokio::test]
async fn a_purge_killed_at_any_moment_is_taken_up_by_the_next() {
    for steps in 0.. {
        let mut disk = Disk::fresh();
        let inner = Arc::new(MemoryLog::new());
        let living = disk.stack(&inner, "shared").await;
        for _ in 0..2 {
            let id = disk.stack(&inner, "x").await;
            disk.delete(&*inner, id).await;
        }
        let cut = Arc::new(CutLog::new(inner.clone(), steps));
        let whole = purge(&disk, &cut, &everything()).await.is_ok();
        let log = Arc::new(inner.cut_after(inner.durable_position()));
        purge(&disk, &log, &everything()).await.unwrap();
        for kind in ["stack", "resource"] {
            assert_eq!(log.streams(kind, "", 10).unwrap().len(), 1, "{kind} after {steps} steps");
        }
        let kept = log.read(&StreamId::stack(living), StreamRevision(0)).await.unwrap();
        assert_eq!(kept.events.len(), 4);
        assert_eq!(log.blobs("", 10).unwrap(), [disk.blobs[0].clone()]);
        if whole {
            assert!(steps > 4, "{steps}");
            return;
        }
    }
}

#[tokio::test]
async fn a_purge_of_a_file_killed_at_any_moment_is_taken_up_by_the_next() {
    for steps in 0.. {
        let mut disk = Disk::fresh();
        let log = disk.open();
        let living = disk.stack(&log, "shared").await;
        let mut gone = Vec::new();
        for _ in 0..2 {
            gone.push(disk.stack(&log, "x").await);
            disk.delete(&*log, gone[gone.len() - 1]).await;
        }
        drop(log);
        // What was just put would be spared.
        let log = disk.open();
        let cut = Arc::new(CutLog::new(log.clone(), steps));
        let whole = purge(&disk, &cut, &everything()).await.is_ok();
        let left = disk.killed();
        drop((cut, log));
        assert_eq!(left.audit().problems, Vec::<String>::new(), "after {steps} steps");
        let log = left.open();
        purge(&disk, &log, &everything()).await.unwrap();
        for kind in ["stack", "resource"] {
            assert_eq!(log.streams(kind, "", 10).unwrap().len(), 1, "{kind} after {steps} steps");
        }
        for id in gone {
            let key = log.find_key(StreamId::stack(id).as_str());
            assert!(matches!(key, Err(LogError::KeyDestroyed(_))), "after {steps} steps");
        }
        let kept = log.read(&StreamId::stack(living), StreamRevision(0)).await.unwrap();
        assert_eq!(kept.events.len(), 4);
        assert!(log.find_key(StreamId::stack(living).as_str()).unwrap().is_some());
        assert_eq!(log.blobs("", 10).unwrap(), [disk.blobs[0].clone()]);
        drop(log);
        assert!(!is_on_disk(&left, "web-2"), "after {steps} steps");
        assert_eq!(left.audit().problems, Vec::<String>::new(), "after {steps} steps");
        if whole {
            assert!(steps > 6, "{steps}");
            return;
        }
    }
}

#[tokio::test]
async fn a_damaged_stack_is_named_and_the_rest_is_purged() {
    // The stack's own first event, and one of its resource.
    for damaged in ["= 'StackCreated'", "= 'CallIntended'"] {
        let mut disk = Disk::with_stacks().await;
        let log = disk.open();
        let (spoiled, gone) = (disk.stack(&log, "a").await, disk.stack(&log, "b").await);
        for id in [spoiled, gone] {
            disk.delete(&*log, id).await;
        }
        drop(log);
        disk.tamper(&format!(
            "UPDATE events SET body = replace(body, ':', ' :') WHERE position = (
                 SELECT min(position) FROM events JOIN types ON types.id = events.type
                 WHERE types.name {damaged} AND position > 24)"
        ));
        let log = disk.open();
        let forgotten = purge(&disk, &log, &everything()).await.unwrap();
        assert_eq!((forgotten.stacks, forgotten.blobs), (1, 0), "{forgotten:?}");
        assert_eq!(forgotten.damaged.len(), 1, "{forgotten:?}");
        let said = &forgotten.damaged[0];
        assert!(said.starts_with(&format!("stack-{spoiled}: ")), "{said}");
        let streams = |kind: &str| log.streams(kind, "", 10).unwrap();
        assert!(streams("stack").contains(&StreamId::stack(spoiled)));
        assert!(!streams("stack").contains(&StreamId::stack(gone)));
        assert_eq!(streams("resource").len(), 4, "a damaged stack stays whole");
        assert!(log.find_key(StreamId::stack(spoiled).as_str()).unwrap().is_some());
        drop(log);
        assert_eq!(disk.audit().problems.len(), 1, "{:?}", disk.audit().problems);
    }
}

#[tokio::test]
async fn the_views_give_space_back_while_they_serve() {
    let mut disk = Disk::fresh();
    let log = disk.open();
    let views = Views::open(&disk.path("views.db"), log.clone()).await.unwrap();
    let (living, gone) = (disk.stack(&log, "a").await, disk.stack(&log, "b").await);
    let reason = "r".repeat(400 << 10);
    for revision in 0..20 {
        let settled = json!({
            "traversal": hearth::clock::Clock::fresh_id(&*disk.clock), "action": "UPDATE",
            "status": "FAILED", "reason": reason,
        });
        disk.append(&*log, &StreamId::stack(gone), 4 + revision, "TraversalSettled", settled).await;
    }
    disk.delete_after(&*log, gone, 24).await;
    views.after(log.durable_position()).await.unwrap();
    let size = || {
        let of = |name: &str| fs::metadata(disk.path(name)).map_or(0, |found| found.len());
        of("views.db") + of("views.db-wal")
    };
    assert!(size() > 8 << 20, "{}", size());
    purge(&disk, &log, &everything()).await.unwrap();
    let is_small = async || {
        assert!(views.stack(living).await.unwrap().is_some());
        size() <= 1 << 20
    };
    polled(WAIT_MAX, "its room is given back", is_small).await;
    disk.stack(&log, "later").await;
    views.after(log.durable_position()).await.unwrap();
    assert_eq!(views.stack(gone).await.unwrap(), None);
}

#[tokio::test]
async fn a_purged_stack_is_in_no_view() {
    let mut disk = Disk::fresh();
    let log = Arc::new(MemoryLog::new());
    let views = Views::in_memory(log.clone()).await.unwrap();
    let (living, gone) = (disk.stack(&log, "a").await, disk.stack(&log, "b").await);
    disk.delete(&*log, gone).await;
    views.after(log.durable_position()).await.unwrap();
    assert!(views.stack(gone).await.unwrap().unwrap().is_deleted());
    purge(&disk, &log, &everything()).await.unwrap();
    views.after(log.durable_position()).await.unwrap();
    assert_eq!(views.stack(gone).await.unwrap(), None);
    assert!(views.revisions(gone).await.unwrap().is_empty());
    assert!(views.stack(living).await.unwrap().is_some());
    // As views that are made anew see it.
    let anew = Views::in_memory(log.clone()).await.unwrap();
    anew.after(log.durable_position()).await.unwrap();
    assert_eq!(anew.stack(gone).await.unwrap(), None);
    assert!(anew.stack(living).await.unwrap().is_some());
}
