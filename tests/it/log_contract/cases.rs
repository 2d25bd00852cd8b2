//! What every event log must do, whatever keeps it. A new backend implements `Backend`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use futures::StreamExt;
use hearth::clock::{Clock, SystemClock};
use hearth::events::log::chain::Verifier;
use hearth::events::log::{Appended, EventLog, Filter, Head, LogError, Reseal};
use hearth::events::{Cause, Meta, NewEvent, Position, RecordedEvent, StreamId, StreamRevision};
use hearth::model::{CommandId, RequestId};

use crate::support::wait::{WAIT_MAX, polled};

pub(crate) use super::followers::{
    a_follower_misses_and_repeats_nothing_while_others_write,
    a_follower_of_one_kind_hears_of_no_other, a_slow_follower_gets_everything_in_the_end,
    whoever_only_reads_follows_what_others_write,
};

/// A log to be tested, and the ways to close it and to take its disk away.
pub(crate) trait Backend: Sized {
    fn fresh() -> Self;
    fn log(&self) -> Arc<dyn EventLog>;
    /// Closes the log and opens it again.
    fn reopen(&mut self);
}

/// A log that gives events their place before they are on disk, and may lose them.
pub(crate) trait Fails: Backend {
    /// From now on what is appended cannot be kept.
    fn break_writes(&self);
    /// Called after something was appended that cannot be kept.
    fn give_up_on_writes(&self);
    fn heal(&self);
}

/// A log that another process can read while this one writes it.
pub(crate) trait Shared: Backend {
    /// Opens it for reading alone, and follows it.
    fn elsewhere(&self) -> Arc<dyn EventLog>;
}

/// The suite for backends: `contract! { (Type, module), … }`; the rest of it for those that `Fails`
/// (`losing`) and that are `Shared` (`shared`): `contract! { losing (Type, module), … }`.
macro_rules! contract {
    (shared $(($backend:ident, $module:ident)),*) => {
        $( contract! { @ $backend, $module: [
            whoever_only_reads_follows_what_others_write,
        ] } )*
    };
    (losing $(($backend:ident, $module:ident)),*) => {
        $( contract! { @ $backend, $module: [
            lost_events_are_gone_and_their_writers_are_told,
            many_streams_can_be_written_again_after_they_were_forgotten,
        ] } )*
    };
    ($(($backend:ident, $module:ident)),*) => {
        $( contract! { @ $backend, $module: [
            appended_events_come_back_as_they_were,
            a_wrong_expected_revision_is_a_conflict,
            a_stream_that_was_minted_is_begun_once,
            an_append_of_nothing_is_an_append,
            events_can_be_read_before_they_are_durable,
            the_whole_log_is_read_in_order_and_by_kind,
            concurrent_writers_of_one_stream_never_overwrite_each_other,
            a_follower_misses_and_repeats_nothing_while_others_write,
            a_follower_of_one_kind_hears_of_no_other,
            a_slow_follower_gets_everything_in_the_end,
            a_tombstoned_stream_takes_no_more_events,
            blobs_are_kept_by_content,
            keys_are_made_once_and_can_be_destroyed,
            keys_are_sealed_anew_only_where_they_are_as_expected,
            a_purged_stream_is_gone_and_takes_no_more_events,
            bodies_are_dropped_unless_they_were_just_put,
            the_hash_chain_holds_over_all_streams,
            everything_durable_is_there_after_a_restart,
        ] } )*
    };
    (@ $backend:ident, $module:ident: [$($case:ident),* $(,)?]) => {
        mod $module {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    cases::$case($backend::fresh()).await;
                }
            )*
        }
    };
}

pub(crate) fn stream(name: impl std::fmt::Display) -> StreamId {
    StreamId(format!("stack-{name}").into())
}

pub(crate) fn event(body: impl Into<String>) -> NewEvent {
    NewEvent {
        event_type: "StackCreated",
        version: 1,
        at: DateTime::from_timestamp_micros(1_790_000_000_123_456).unwrap(),
        meta: Arc::default(),
        body: body.into(),
    }
}

pub(crate) fn number(number: u64) -> NewEvent {
    event(number.to_string())
}

pub(crate) async fn append(
    log: &dyn EventLog,
    stream: &StreamId,
    head: Head,
    event: NewEvent,
) -> Appended {
    log.append(stream, head, vec![event]).await.unwrap()
}

pub(crate) async fn bodies(log: &dyn EventLog, stream: &StreamId) -> Vec<String> {
    let slice = log.read(stream, StreamRevision(0)).await.unwrap();
    slice.events.iter().map(|event| event.body.to_string()).collect()
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(120), future).await {
        Ok(done) => done,
        Err(_) => panic!("{what} takes too long"),
    }
}

pub(crate) async fn appended_events_come_back_as_they_were(backend: impl Backend) {
    let log = backend.log();
    let meta = Meta {
        request_id: Some(RequestId::from("req-1")),
        cause: Some(Cause::Command(CommandId(SystemClock.fresh_id()))),
        ..Meta::default()
    };
    let mut first = event("{\"name\":\"grüße 🎈\"}");
    first.meta = Arc::new(meta.clone());
    let appended = log
        .append(&stream("a"), Head::default(), vec![first.clone(), number(2), number(3)])
        .await
        .unwrap();
    assert_eq!(appended.head, Head { next: 3, ..Head::default() });
    log.durable(appended.position).await.unwrap();
    assert_eq!(log.durable_position(), appended.position);

    for _ in 0..2 {
        let slice = log.read(&stream("a"), StreamRevision(0)).await.unwrap();
        assert_eq!(slice.head, appended.head);
        let event = &slice.events[0];
        let at = event.position;
        assert!((Position(1)..appended.position).contains(&at), "{at}");
        assert_eq!(slice.events[2].position, appended.position);
        assert_eq!(event.revision, StreamRevision(0));
        assert_eq!((&*event.event_type, event.version), ("StackCreated", 1));
        assert_eq!((event.at, &*event.meta, &*event.body), (first.at, &meta, &*first.body));
        assert_eq!(slice.events.len(), 3);
    }
    let rest = log.read(&stream("a"), StreamRevision(2)).await.unwrap();
    assert_eq!((rest.events.len(), rest.head.next), (1, 3));
    let past = log.read(&stream("a"), StreamRevision(9)).await.unwrap();
    assert_eq!((past.events.len(), past.head.next), (0, 3));
    let never = log.read(&stream("never"), StreamRevision(0)).await.unwrap();
    assert_eq!((never.events.len(), never.head), (0, Head::default()));
}

pub(crate) async fn a_wrong_expected_revision_is_a_conflict(backend: impl Backend) {
    let log = backend.log();
    let first = append(&*log, &stream("a"), Head::default(), number(1)).await;
    for wrong in [0, 2, 7] {
        let head = Head { next: wrong, ..Head::default() };
        let refused = log.append(&stream("a"), head, vec![number(2)]).await;
        match refused {
            Err(LogError::Conflict { expected, actual, .. }) => {
                assert_eq!((expected, actual), (wrong, 1));
            }
            other => panic!("{other:?}"),
        }
    }
    append(&*log, &stream("a"), first.head, number(2)).await;
    assert_eq!(bodies(&*log, &stream("a")).await, ["1", "2"]);
}

pub(crate) async fn a_stream_that_was_minted_is_begun_once(mut backend: impl Backend) {
    let (log, minted) = (backend.log(), Head::minted(0));
    let first = append(&*log, &stream("a"), minted, number(1)).await;
    assert_eq!(first.head, Head { next: 1, ..Head::default() });
    log.durable(first.position).await.unwrap();
    let refused = log.append(&stream("a"), minted, vec![number(2)]).await;
    assert!(matches!(refused, Err(LogError::Conflict { expected: 0, actual: 1, .. })));
    drop(log);
    backend.reopen();
    let log = backend.log();
    // Who says so of a stream that is there is told, at the latest when it is to be durable.
    if let Ok(appended) = log.append(&stream("a"), minted, vec![number(2)]).await {
        within("durable", log.durable(appended.position)).await.unwrap_err();
    }
    polled(WAIT_MAX, "it is writable", async || log.is_writable()).await;
    for wrong in [minted, Head::minted(*log.generation().borrow())] {
        assert!(log.append(&stream("a"), wrong, vec![number(2)]).await.is_err());
    }
    let head = log.read(&stream("a"), StreamRevision(0)).await.unwrap().head;
    let more = append(&*log, &stream("a"), head, number(3)).await;
    log.durable(more.position).await.unwrap();
    assert_eq!(bodies(&*log, &stream("a")).await, ["1", "3"]);
}

pub(crate) async fn an_append_of_nothing_is_an_append(backend: impl Backend) {
    let log = backend.log();
    let first = append(&*log, &stream("a"), Head::default(), number(1)).await;
    let nothing = log.append(&stream("a"), first.head, Vec::new()).await.unwrap();
    assert_eq!(nothing.head, first.head);
    within("durable", log.durable(nothing.position)).await.unwrap();
    within("durable", log.durable(Position(0))).await.unwrap();
}

pub(crate) async fn events_can_be_read_before_they_are_durable(backend: impl Backend) {
    let log = backend.log();
    let mut head = Head::default();
    for count in 1..=200 {
        head = append(&*log, &stream("a"), head, number(count)).await.head;
        let slice = log.read(&stream("a"), StreamRevision(count / 2)).await.unwrap();
        assert_eq!(slice.head, head);
        let revisions: Vec<u64> = slice.events.iter().map(|event| event.revision.0).collect();
        assert_eq!(revisions, (count / 2..count).collect::<Vec<_>>());
    }
}

pub(crate) async fn the_whole_log_is_read_in_order_and_by_kind(backend: impl Backend) {
    let log = backend.log();
    let mut written = Vec::new();
    for count in 0..60 {
        let kind = ["stack", "resource", "project"][count % 3];
        let stream = StreamId(format!("{kind}-{count}").into());
        written.push(append(&*log, &stream, Head::default(), number(count as u64)).await.position);
    }
    log.durable(written[59]).await.unwrap();
    let all = log.read_all(Position(0), &Filter::default(), 1_000).await.unwrap();
    let positions: Vec<Position> = all.iter().map(|event| event.position).collect();
    assert_eq!(positions, written);
    let page = log.read_all(written[9], &Filter::default(), 5).await.unwrap();
    assert_eq!((page.len(), page[0].position), (5, written[10]));
    let filter = Filter { kinds: vec!["stack", "project"] };
    let some = log.read_all(written[29], &filter, 1_000).await.unwrap();
    assert_eq!(some.len(), 20);
    assert!(some.iter().all(|event| event.stream.kind() != "resource"));
}

pub(crate) async fn concurrent_writers_of_one_stream_never_overwrite_each_other(
    backend: impl Backend,
) {
    let log = backend.log();
    let writers: Vec<_> = (0..8_u64)
        .map(|writer| {
            let log = log.clone();
            tokio::spawn(async move {
                let (mut written, mut from) = (0, 0);
                while written < 50 {
                    let head = log.read(&stream("a"), StreamRevision(from)).await.unwrap().head;
                    from = head.next;
                    let body = format!("{writer}-{written}");
                    match log.append(&stream("a"), head, vec![event(body)]).await {
                        Ok(_) => written += 1,
                        Err(LogError::Conflict { .. }) => tokio::task::yield_now().await,
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        within("a writer", writer).await.unwrap();
    }
    let bodies = bodies(&*log, &stream("a")).await;
    assert_eq!(bodies.len(), 400);
    assert_eq!(bodies.iter().collect::<HashSet<_>>().len(), 400);
}
pub(crate) async fn a_tombstoned_stream_takes_no_more_events(mut backend: impl Backend) {
    let log = backend.log();
    let appended = append(&*log, &stream("a"), Head::default(), number(1)).await;
    within("the tombstone", log.tombstone(&stream("a"))).await.unwrap();
    within("the tombstone", log.tombstone(&stream("never"))).await.unwrap();
    let refused = log.append(&stream("a"), appended.head, vec![number(2)]).await;
    assert!(matches!(refused, Err(LogError::Tombstoned(_))));
    drop(log);
    backend.reopen();
    let log = backend.log();
    for (name, next) in [("a", 1), ("never", 0)] {
        let head = Head { next, ..Head::default() };
        let refused = log.append(&stream(name), head, vec![number(2)]).await;
        assert!(matches!(refused, Err(LogError::Tombstoned(_))));
    }
    assert_eq!(bodies(&*log, &stream("a")).await, ["1"]);
}

pub(crate) async fn blobs_are_kept_by_content(mut backend: impl Backend) {
    let log = backend.log();
    let large: Vec<u8> = (0..1_300_000_u32).map(|count| (count % 251) as u8).collect();
    let id = log.put_blob(&large).await.unwrap();
    assert_eq!(log.put_blob(&large).await.unwrap(), id);
    let empty = log.put_blob(b"").await.unwrap();
    assert_eq!(empty.0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(log.blob(&id).await.unwrap().as_deref(), Some(&*large));
    // Durable with any event appended afterwards.
    let appended = append(&*log, &stream("a"), Head::default(), number(1)).await;
    log.durable(appended.position).await.unwrap();
    drop(log);
    backend.reopen();
    let log = backend.log();
    assert_eq!(log.blob(&id).await.unwrap().as_deref(), Some(&*large));
    assert_eq!(log.blob(&empty).await.unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(log.put_blob(&large).await.unwrap(), id);
    let unknown = hearth::events::log::BlobId("00".to_owned());
    assert_eq!(log.blob(&unknown).await.unwrap(), None);
}

pub(crate) async fn keys_are_made_once_and_can_be_destroyed(mut backend: impl Backend) {
    let log = backend.log();
    assert_eq!(log.find_key("stack-a").unwrap(), None);
    assert_eq!(log.key("stack-a", &|| vec![1]).unwrap(), [1]);
    assert_eq!(log.key("stack-a", &|| vec![2]).unwrap(), [1]);
    assert_eq!(log.key("stack-b", &|| vec![3]).unwrap(), [3]);
    within("the destruction", log.destroy_key("stack-b")).await.unwrap();
    drop(log);
    backend.reopen();
    let log = backend.log();
    assert_eq!(log.find_key("stack-a").unwrap(), Some(vec![1]));
    assert_eq!(log.key("stack-a", &|| vec![4]).unwrap(), [1]);
    assert!(matches!(log.find_key("stack-b"), Err(LogError::KeyDestroyed(_))));
    assert!(matches!(log.key("stack-b", &|| vec![5]), Err(LogError::KeyDestroyed(_))));
}

pub(crate) async fn keys_are_sealed_anew_only_where_they_are_as_expected(
    mut backend: impl Backend,
) {
    let log = backend.log();
    for (scope, key) in [("stack-a", 1), ("stack-b", 2), ("stack-c", 3)] {
        log.key(scope, &|| vec![key]).unwrap();
    }
    within("the destruction", log.destroy_key("stack-c")).await.unwrap();
    let reseal =
        |scope: &str, from, to| Reseal { scope: scope.to_owned(), from: vec![from], to: vec![to] };
    let batch = vec![reseal("stack-a", 1, 11), reseal("stack-b", 9, 12), reseal("stack-c", 3, 13)];
    within("sealing", log.reseal_keys(batch)).await.unwrap();
    drop(log);
    backend.reopen();
    let log = backend.log();
    let kept = |scope: &str, key| (scope.to_owned(), vec![key]);
    assert_eq!(log.keys("", 9).unwrap(), [kept("stack-a", 11), kept("stack-b", 2)]);
    assert_eq!(log.keys("stack-a", 9).unwrap(), [kept("stack-b", 2)]);
    assert!(matches!(log.find_key("stack-c"), Err(LogError::KeyDestroyed(_))));
}

pub(crate) async fn a_purged_stream_is_gone_and_takes_no_more_events(mut backend: impl Backend) {
    let log = backend.log();
    let gone = append(&*log, &stream("gone"), Head::default(), number(1)).await;
    append(&*log, &stream("kept"), Head::default(), number(2)).await;
    assert_eq!(log.read(&stream("kept"), StreamRevision(0)).await.unwrap().events.len(), 1);
    within("the purge", log.purge(vec![stream("gone"), stream("never")])).await.unwrap();
    assert_eq!(log.read_all(Position(0), &Filter::default(), 9).await.unwrap().len(), 1);
    drop(log);
    for _ in 0..2 {
        let log = backend.log();
        assert_eq!(bodies(&*log, &stream("gone")).await, [""; 0]);
        assert_eq!(log.head(&stream("gone")).await.unwrap().next, 0);
        assert_eq!(log.head(&stream("kept")).await.unwrap().next, 1);
        assert_eq!(log.streams("stack", "", 9).unwrap(), [stream("kept")]);
        assert_eq!(log.streams("stac", "", 9).unwrap(), []);
        for next in [0, 1] {
            let head = Head { next, ..gone.head };
            let refused = log.append(&stream("gone"), head, vec![number(3)]).await;
            assert!(matches!(refused, Err(LogError::Tombstoned(_))), "{refused:?}");
        }
        let all = log.read_all(Position(0), &Filter::default(), 9).await.unwrap();
        assert_eq!(all.len(), 1);
        drop(log);
        backend.reopen();
    }
}

pub(crate) async fn bodies_are_dropped_unless_they_were_just_put(mut backend: impl Backend) {
    let log = backend.log();
    let id = log.put_blob(b"a body").await.unwrap();
    let appended = append(&*log, &stream("a"), Head::default(), number(1)).await;
    log.durable(appended.position).await.unwrap();
    assert_eq!(log.blobs("", 9).unwrap(), std::slice::from_ref(&id));
    assert_eq!(log.drop_blobs(vec![id.clone()]).await.unwrap(), 0);
    assert!(log.blob(&id).await.unwrap().is_some());
    drop(log);
    backend.reopen();
    let log = backend.log();
    assert_eq!(log.drop_blobs(vec![id.clone()]).await.unwrap(), 1);
    assert_eq!(log.blob(&id).await.unwrap(), None);
    // Put again, it is there again.
    assert_eq!(log.put_blob(b"a body").await.unwrap(), id);
    let again = append(&*log, &stream("a"), appended.head, number(2)).await;
    log.durable(again.position).await.unwrap();
    assert!(log.blob(&id).await.unwrap().is_some());
}

pub(crate) async fn the_hash_chain_holds_over_all_streams(mut backend: impl Backend) {
    let log = backend.log();
    let mut heads: HashMap<u64, Head> = HashMap::new();
    for count in 0..300 {
        let head = heads.entry(count % 7).or_default();
        *head = append(&*log, &stream(count % 7), *head, number(count)).await.head;
    }
    drop(log);
    backend.reopen();
    let log = backend.log();
    let last = append(&*log, &stream(0), heads[&0], number(300)).await;
    log.durable(last.position).await.unwrap();
    let mut verifier = Verifier::default();
    for event in log.read_all(Position(0), &Filter::default(), 1_000).await.unwrap() {
        verifier.check(&event).unwrap();
    }
    assert_eq!((verifier.events(), verifier.streams()), (301, 7));
}

pub(crate) async fn everything_durable_is_there_after_a_restart(mut backend: impl Backend) {
    let mut written: Vec<Arc<RecordedEvent>> = Vec::new();
    let mut head = Head::default();
    for round in 0..4 {
        let log = backend.log();
        let end = written.last().map_or(Position(0), |last| last.position);
        assert_eq!(log.durable_position(), end);
        let mut last = end;
        for count in 0..50 {
            let appended = append(&*log, &stream("a"), head, number(round * 50 + count)).await;
            (head, last) = (appended.head, appended.position);
        }
        log.durable(last).await.unwrap();
        written = log.read(&stream("a"), StreamRevision(0)).await.unwrap().events;
        drop(log);
        backend.reopen();
        let log = backend.log();
        assert_eq!(log.read(&stream("a"), StreamRevision(0)).await.unwrap().events, written);
        let all = log.read_all(Position(0), &Filter::default(), 1_000).await.unwrap();
        assert_eq!(all, written);
    }
}

pub(crate) async fn lost_events_are_gone_and_their_writers_are_told(mut backend: impl Fails) {
    let log = backend.log();
    let mut generation = log.generation();
    let kept = append(&*log, &stream("a"), Head::default(), number(1)).await;
    log.durable(kept.position).await.unwrap();
    let mut followed = log.subscribe(Position(0), Filter::default());

    backend.break_writes();
    let large = event(format!("\"{}\"", "x".repeat(300_000)));
    let lost = append(&*log, &stream("a"), kept.head, large.clone()).await;
    let waiting = tokio::spawn({
        let log = log.clone();
        async move { log.durable(lost.position).await }
    });
    tokio::task::yield_now().await;
    backend.give_up_on_writes();
    let told = within("the writer to be told", waiting).await.unwrap();
    assert!(matches!(told, Err(LogError::Unavailable(_))), "{told:?}");
    within("the generation", generation.changed()).await.unwrap();
    // Also who asks late, and reads go on.
    assert!(log.durable(lost.position).await.is_err());
    assert_eq!(bodies(&*log, &stream("a")).await, ["1"]);

    backend.heal();
    let stale = log.append(&stream("b"), lost.head, vec![number(2)]).await;
    assert!(matches!(stale, Err(LogError::Lost { .. } | LogError::Unavailable(_))), "{stale:?}");
    let healed = async || {
        let head = log.read(&stream("a"), StreamRevision(0)).await.unwrap().head;
        match log.append(&stream("a"), head, vec![number(2)]).await {
            Ok(appended) => log.durable(appended.position).await.ok().map(|()| appended),
            Err(LogError::Unavailable(_) | LogError::Lost { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    };
    let again = polled(WAIT_MAX, "it is written again", healed).await;
    assert!(again.position > lost.position, "a position is given once");
    assert!(log.durable(lost.position).await.is_err());
    let refused = log.append(&stream("a"), lost.head, vec![number(3)]).await;
    assert!(matches!(refused, Err(LogError::Lost { .. })), "{refused:?}");
    for expected in ["1", "2"] {
        let event = within("an event", followed.next()).await.unwrap().unwrap();
        assert_eq!(&*event.body, expected);
    }
    drop((log, followed));
    backend.reopen();
    assert_eq!(bodies(&*backend.log(), &stream("a")).await, ["1", "2"]);
}

pub(crate) async fn many_streams_can_be_written_again_after_they_were_forgotten(
    backend: impl Backend,
) {
    const STREAMS: u64 = 12_000;
    let log = backend.log();
    let head = Head { next: 1, ..Head::default() };
    let mut last = Position(0);
    for round in 0..2 {
        for name in 0..STREAMS {
            let head = if round == 0 { Head::default() } else { head };
            last = append(&*log, &stream(name), head, number(round)).await.position;
        }
    }
    log.durable(last).await.unwrap();
    for name in (0..STREAMS).step_by(997) {
        assert_eq!(bodies(&*log, &stream(name)).await, ["0", "1"]);
    }
}
