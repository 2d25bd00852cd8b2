//! The log on EventStoreDB while the server commits late, shows half an append, falls silent, steps
//! down, dies and comes back: nothing acknowledged is lost, and nothing is there twice.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::{FutureExt, StreamExt};
use hearth::events::log::{EventLog, EventstoreLog, Filter, Head, LogError, OwnedLog};
use hearth::events::{NewEvent, Position, StreamId, StreamRevision};
use tokio::sync::watch;

use crate::log_contract::backends::open;
use crate::support::eventstore::StandIn;
use crate::support::wait::polled;

/// How many streams are written at once.
const WRITERS: u64 = 4;
/// More than a connection has calls.
const FOLLOWERS: u64 = 150;
/// How long a test waits for what must come.
const SOON: Duration = Duration::from_secs(60);
/// How long a server fails, so that what is under way meets that.
const FOR_A_WHILE: Duration = Duration::from_millis(100);

fn stream(name: u64) -> StreamId {
    StreamId(format!("stack-{name}").into())
}

fn event(body: impl Into<String>) -> NewEvent {
    NewEvent {
        event_type: "StackCreated",
        version: 1,
        at: chrono::DateTime::from_timestamp_micros(1_790_000_000_123_456).unwrap(),
        meta: Arc::default(),
        body: body.into(),
    }
}

fn on(server: &StandIn) -> Arc<EventstoreLog> {
    Arc::new(open(&server.url()))
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(SOON, future).await {
        Ok(done) => done,
        Err(_) => panic!("{what} takes too long"),
    }
}

/// Writes until it is told to stop; how many events each stream got that were acknowledged.
async fn write_while(log: &Arc<EventstoreLog>, disturb: impl Future<Output = ()>) -> Vec<u64> {
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|name| {
            let (log, stop) = (log.clone(), stop.clone());
            tokio::spawn(async move {
                let mut head = Head::default();
                while !stop.load(Ordering::Relaxed) {
                    let next = event(head.next.to_string());
                    head = log.append(&stream(name), head, vec![next]).await.unwrap().head;
                }
                head.next
            })
        })
        .collect();
    disturb.await;
    // Each must get through once more.
    let before = log.durable_position();
    soon("writing on", async {
        while log.durable_position() == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    let mut written = Vec::new();
    for writer in writers {
        written.push(soon("the last append", writer).await.unwrap());
    }
    written
}

/// Each stream has exactly what was acknowledged, and a follower hears each event once.
async fn all_is_there_once(log: &EventstoreLog, written: &[u64]) {
    let mut followed = log.subscribe(Position(0), Filter::default());
    for _ in 0..written.iter().sum::<u64>() {
        soon("an event", followed.next()).await.unwrap().unwrap();
    }
    for (name, count) in (0..).zip(written) {
        let slice = log.read(&stream(name), StreamRevision(0)).await.unwrap();
        let bodies: Vec<_> = slice.events.iter().map(|event| event.body.to_string()).collect();
        assert_eq!(bodies, (0..*count).map(|at| at.to_string()).collect::<Vec<_>>());
    }
}

/// Returns once so many events more are acknowledged.
async fn events_more(log: &EventstoreLog, count: usize) {
    let mut events = log.subscribe(log.durable_position(), Filter::default());
    for _ in 0..count {
        soon("an append", events.next()).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_is_committed_after_a_time_out_is_there_once() {
    let server = StandIn::start(1);
    let log = on(&server);
    let mut head = Head::default();
    for (round, later) in [5, 60, 200].into_iter().enumerate() {
        server.commit_late(2, Duration::from_millis(later));
        let next = vec![event(format!("{round}a")), event(format!("{round}b"))];
        head = soon("the append", log.append(&stream(0), head, next)).await.unwrap().head;
    }
    let slice = log.read(&stream(0), StreamRevision(0)).await.unwrap();
    let bodies: Vec<_> = slice.events.iter().map(|event| &*event.body).collect();
    assert_eq!(bodies, ["0a", "0b", "1a", "1b", "2a", "2b"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_came_late_is_looked_for_while_the_server_does_not_answer() {
    let server = StandIn::start(1);
    let log = on(&server);
    server.commit_late(1, Duration::from_millis(300));
    let asked = server.appends();
    soon("the append", append_each(&log, Head::default(), 1)).await;
    // What was sent again was dropped, and is answered after two seconds.
    assert_eq!(server.appends() - asked, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_log_is_followed_although_the_server_tells_of_a_place_beyond_all() {
    let server = StandIn::start(2);
    let log = on(&server);
    let mut followed = log.subscribe(Position(0), Filter::default());
    assert!(tokio::time::timeout(FOR_A_WHILE, followed.next()).await.is_err());
    server.kill(server.leader().unwrap());
    append_each(&log, Head::default(), 1).await;
    let event = soon("the event", followed.next()).await.unwrap().unwrap();
    assert_eq!(event.revision, StreamRevision(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_is_seen_as_a_whole_or_not_at_all() {
    let server = StandIn::start(1);
    let log = on(&server);
    server.show_half_groups(Duration::from_millis(5));
    let mut followed = log.subscribe(Position(0), Filter::default());
    let mut head = Head::default();
    for count in 1..=40 {
        let group = (0..3).map(|at| event(at.to_string())).collect();
        head = log.append(&stream(0), head, group).await.unwrap().head;
        let seen = log.read_all(Position(0), &Filter::default(), 1_000).await.unwrap().len();
        assert!(seen.is_multiple_of(3) && seen <= 3 * count, "{seen}");
    }
    for revision in 0..120 {
        let event = soon("an event", followed.next()).await.unwrap().unwrap();
        assert_eq!(event.revision, StreamRevision(revision));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_that_die_and_come_back_lose_and_double_nothing() {
    let server = StandIn::start(3);
    let log = on(&server);
    let written = write_while(&log, async {
        for _ in 0..4 {
            events_more(&log, 5).await;
            let leader = server.leader().unwrap();
            server.commit_late(2, Duration::from_millis(20));
            server.kill(leader);
            events_more(&log, 1).await;
            server.start_again(leader);
        }
    })
    .await;
    all_is_there_once(&log, &written).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_falls_silent_is_left_for_the_next_one() {
    let server = StandIn::start(3);
    let log = on(&server);
    let written = write_while(&log, async {
        events_more(&log, 5).await;
        server.pause(2, true);
        server.lead(Some(1));
        events_more(&log, 5).await;
        server.pause(2, false);
    })
    .await;
    all_is_there_once(&log, &written).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_may_step_down_more_often_than_a_connection_has_calls() {
    let server = StandIn::start(2);
    let log = on(&server);
    let mut head = Head::default();
    for round in 0..120 {
        server.lead(Some(round % 2));
        let next = vec![event(round.to_string())];
        head = soon("the append", log.append(&stream(0), head, next)).await.unwrap().head;
    }
    let slice = soon("the read", log.read(&stream(0), StreamRevision(0))).await.unwrap();
    assert_eq!((head.next, slice.events.len()), (120, 120));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_quorum_appends_wait_and_are_written_once() {
    let server = StandIn::start(3);
    let log = on(&server);
    let written = write_while(&log, async {
        events_more(&log, 5).await;
        server.quorum(false);
        tokio::time::sleep(FOR_A_WHILE).await;
        server.lead(None);
        server.quorum(true);
        server.lead(Some(0));
    })
    .await;
    all_is_there_once(&log, &written).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_at_the_start_is_waited_for() {
    let server = StandIn::start(1);
    server.kill(0);
    let url = server.url();
    let opening = tokio::task::spawn_blocking(move || open(&url));
    server.start_again(0);
    let log = soon("opening", opening).await.unwrap();
    log.append(&stream(0), Head::default(), vec![event("1")]).await.unwrap();
    assert!(log.is_writable());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_new_is_taken_for_a_while_without_a_leader_and_then_no_more() {
    let server = StandIn::start(1);
    let log = on(&server);
    server.lead(None);
    let waiting = tokio::spawn({
        let log = log.clone();
        async move { log.append(&stream(0), Head::default(), vec![event("1")]).await }
    });
    let begun = Instant::now();
    polled(SOON, "what is new is refused", async || !log.is_writable()).await;
    assert!(begun.elapsed() > Duration::from_secs(9), "{:?}", begun.elapsed());
    server.lead(Some(0));
    soon("the append that waited", waiting).await.unwrap().unwrap();
    assert!(log.is_writable());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_the_connection_string_does_not_name_are_found_by_one_that_it_does() {
    let server = StandIn::start(3);
    server.lead(Some(0));
    let log = open(&format!("esdb+discover://{}?tls=false", server.address(0)));
    let head = append_each(&log, Head::default(), 3).await;
    server.kill(0);
    server.lead(Some(2));
    let head = append_each(&log, head, 3).await;
    server.kill(2);
    append_each(&log, head, 3).await;
    let slice = log.read(&stream(0), StreamRevision(0)).await.unwrap();
    assert_eq!(slice.events.len(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_begins_where_no_event_stands_and_is_refused_beyond_the_end() {
    let server = StandIn::start(1);
    let log = on(&server);
    let first = log.append(&stream(0), Head::default(), vec![event("0")]).await.unwrap();
    let second = log.append(&stream(0), first.head, vec![event("1")]).await.unwrap();
    let between = Position(second.position.0 - 1);
    let read = log.read_all(between, &Filter::default(), 9).await.unwrap();
    assert_eq!((read.len(), &*read[0].body), (1, "1"));
    let mut followed = log.subscribe(between, Filter::default());
    let event = soon("the event", followed.next()).await.unwrap().unwrap();
    assert_eq!((&*event.body, event.position), ("1", second.position));
    let mut beyond = log.subscribe(Position(second.position.0 + 1), Filter::default());
    let refused = soon("the refusal", beyond.next()).await.unwrap();
    assert!(matches!(refused, Err(LogError::Damaged(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_no_append_would_take_lie_in_pieces_beside_it() {
    let server = StandIn::start(1);
    let log = on(&server);
    let bodies: Vec<String> = (0..4).map(|at| at.to_string().repeat(400_000)).collect();
    let group = bodies.iter().map(event).collect();
    let mut followed = log.subscribe(Position(0), Filter::default());
    log.append(&stream(0), Head::default(), group).await.unwrap();
    let slice = log.read(&stream(0), StreamRevision(0)).await.unwrap();
    let all = log.read_all(Position(0), &Filter::default(), 9).await.unwrap();
    assert_eq!((slice.events.len(), all.len()), (4, 4));
    // None of those that are dropped where nothing refers to them.
    assert_eq!(log.blobs("", 9).unwrap(), []);
    for (at, body) in bodies.iter().enumerate() {
        let heard = soon("an event", followed.next()).await.unwrap().unwrap();
        assert!(&*slice.events[at].body == body && &*all[at].body == body && &*heard.body == body);
    }
}

/// Appends so many events, one after the other.
async fn append_each(log: &EventstoreLog, mut head: Head, count: u64) -> Head {
    for _ in 0..count {
        let next = vec![event("1")];
        head = soon("an append", log.append(&stream(0), head, next)).await.unwrap().head;
    }
    head
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_followers_than_a_connection_has_calls_hear_all_and_go_on_where_the_leader_dies() {
    const ROUND: u64 = 20;
    let server = StandIn::start(3);
    let log = on(&server);
    // What is there when they begin, what comes then, and what comes after the leader died.
    let head = append_each(&log, Head::default(), ROUND).await;
    let heard = Arc::new(watch::Sender::new(0));
    let followers: Vec<_> = (0..FOLLOWERS)
        .map(|_| {
            let mut events = log.subscribe(Position(0), Filter::default());
            let heard = heard.clone();
            tokio::spawn(async move {
                for revision in 0..3 * ROUND {
                    let event = events.next().await.unwrap().unwrap();
                    assert_eq!(event.revision, StreamRevision(revision));
                    heard.send_modify(|heard| *heard += 1);
                }
                assert!(events.next().now_or_never().is_none(), "nothing comes twice");
            })
        })
        .collect();
    let all_have_heard = async |events: u64| {
        heard.subscribe().wait_for(|heard| *heard >= FOLLOWERS * events).await.unwrap();
    };
    soon("what was there", all_have_heard(ROUND)).await;
    let head = append_each(&log, head, ROUND).await;
    soon("what comes", all_have_heard(2 * ROUND)).await;
    server.kill(server.leader().unwrap());
    append_each(&log, head, ROUND).await;
    for follower in followers {
        soon("what comes from another leader", follower).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_looked_up_in_few_calls_in_a_log_that_was_just_opened() {
    const LOOKUPS: usize = 20;
    let server = StandIn::start(1);
    let log = on(&server);
    let mut head = Head::default();
    for _ in 0..60 {
        let group = (0..50).map(|_| event("7".repeat(1_000))).collect();
        head = log.append(&stream(0), head, group).await.unwrap().head;
    }
    drop(log);
    let log = on(&server);
    let events = log.read(&stream(0), StreamRevision(0)).await.unwrap().events;
    assert_eq!(events.len(), 3_000);
    // Before the event, and anywhere between two, as where one is sought by its time; beside the
    // calls for the places, one asks what was purged.
    for (before, calls) in [(1, 3), (50, 4)] {
        let asked = server.reads();
        for wanted in events.iter().rev().step_by(events.len() / LOOKUPS) {
            let after = Position(wanted.position.0 - before);
            let found = log.read_all(after, &Filter::default(), 1).await.unwrap();
            assert_eq!(found, std::slice::from_ref(wanted));
        }
        let asked = server.reads() - asked;
        assert!(asked <= calls * LOOKUPS, "{asked} calls, {before} before");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_is_refused_is_settled_however_often_the_look_fails() {
    let server = StandIn::start(1);
    let (log, other) = (on(&server), on(&server));
    let first = log.append(&stream(0), Head::default(), vec![event("1")]).await.unwrap();
    other.append(&stream(0), first.head, vec![event("2")]).await.unwrap();
    // More than a read is tried.
    server.fail_reads(12);
    let refused = soon("the append", log.append(&stream(0), first.head, vec![event("3")])).await;
    let is_settled = matches!(refused, Err(LogError::Conflict { expected: 1, actual: 2, .. }));
    assert!(is_settled, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_comes_late_is_known_although_the_right_to_write_was_taken_away() {
    let server = StandIn::start(1);
    let log = on(&server);
    server.commit_late(1, Duration::from_millis(300));
    server.allow(Some(1));
    let due = vec![event("1")];
    let append = async { log.append(&stream(0), Head::default(), due).await };
    let first = soon("the append", append).await.unwrap();
    let refused = log.append(&stream(0), first.head, vec![event("2")]).await;
    assert!(matches!(refused, Err(LogError::Unavailable(_))), "{refused:?}");
    server.allow(None);
    log.append(&stream(0), first.head, vec![event("2")]).await.unwrap();
    let slice = log.read(&stream(0), StreamRevision(0)).await.unwrap();
    let bodies: Vec<_> = slice.events.iter().map(|event| &*event.body).collect();
    assert_eq!(bodies, ["1", "2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_put_while_its_deletion_is_not_settled_is_there() {
    const AT_ONCE: Duration = Duration::ZERO;
    const LATE: Duration = Duration::from_millis(400);
    for (done, failed) in [(AT_ONCE, LATE), (LATE, AT_ONCE)] {
        let server = StandIn::start(1);
        let log = on(&server);
        let id = log.put_blob(b"a body").await.unwrap();
        log.settle().await.unwrap();
        // What was just put would be spared.
        let log = on(&server);
        server.lose_deletion(done, failed);
        let dropping = {
            let (log, ids) = (log.clone(), vec![id.clone()]);
            tokio::spawn(async move { log.drop_blobs(ids).await })
        };
        tokio::time::sleep(LATE / 2).await;
        log.put_blob(b"a body").await.unwrap();
        log.append(&stream(0), Head::default(), vec![event("it refers to it")]).await.unwrap();
        assert_eq!(soon("the deletion", dropping).await.unwrap().unwrap(), 1);
        tokio::time::sleep(LATE * 2).await;
        assert!(log.blob(&id).await.unwrap().is_some(), "done {done:?}, failed {failed:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_could_not_be_kept_is_kept_before_anything_refers_to_it() {
    let server = StandIn::start(1);
    let log = on(&server);
    server.allow(Some(0));
    let id = log.put_blob(b"a body").await.unwrap();
    for _ in 0..2 {
        // It need not be under way any more.
        tokio::time::sleep(FOR_A_WHILE).await;
        let due = vec![event("it refers to it")];
        let refused = log.append(&stream(0), Head::default(), due).await;
        assert!(matches!(refused, Err(LogError::Unavailable(_))), "{refused:?}");
    }
    server.allow(None);
    log.append(&stream(0), Head::default(), vec![event("it refers to it")]).await.unwrap();
    assert!(on(&server).blob(&id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_cannot_be_kept_fill_no_more_than_their_room() {
    let server = StandIn::start(1);
    let log = on(&server);
    server.allow(Some(0));
    let large = log.put_blob(&vec![7; 64 << 20]).await.unwrap();
    let mut next = pin!(log.put_blob(b"one more"));
    assert!(next.as_mut().now_or_never().is_none(), "it waits for room");
    assert!(log.blob(&large).await.unwrap().is_some(), "what waits is there");
    // What is there or under way needs no room of its own.
    assert_eq!(log.put_blob(&vec![7; 64 << 20]).await.unwrap(), large);
    server.allow(None);
    log.append(&stream(0), Head::default(), vec![event("it refers to it")]).await.unwrap();
    let next = soon("the room", next).await.unwrap();
    log.settle().await.unwrap();
    assert_eq!(on(&server).blob(&next).await.unwrap().as_deref(), Some(&b"one more"[..]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_found_to_be_gone_is_not_looked_for_again_until_it_is_there() {
    const BODIES: usize = 16;
    let server = StandIn::start(1);
    let log = on(&server);
    for body in 0..BODIES as u8 {
        log.put_blob(&[body]).await.unwrap();
    }
    log.settle().await.unwrap();
    // What was just put would be spared.
    let log = on(&server);
    let ids = log.blobs("", BODIES + 1).unwrap();
    assert_eq!(ids.len(), BODIES);
    assert_eq!(log.drop_blobs(ids.clone()).await.unwrap(), BODIES);
    assert_eq!(log.blobs("", BODIES + 1).unwrap(), []);
    let asked = server.reads();
    assert_eq!(log.blobs("", BODIES + 1).unwrap(), []);
    let asked = server.reads() - asked;
    // One for what came, and the last that came may be looked at again.
    assert!(asked < BODIES / 2, "{asked} reads");
    let again = log.put_blob(&[3]).await.unwrap();
    log.settle().await.unwrap();
    assert_eq!(log.blobs("", BODIES + 1).unwrap(), [again]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_past_what_others_have_written_may_be_silent_for_long() {
    let server = StandIn::start(1);
    let log = on(&server);
    let appended = log.append(&stream(0), Head::default(), vec![event("1")]).await.unwrap();
    // Longer than a call is waited for.
    server.walk_slowly(Duration::from_millis(3_500));
    let url = server.url();
    let opening = tokio::task::spawn_blocking(move || open(&url));
    let log = soon("opening", opening).await.unwrap();
    assert_eq!(log.durable_position(), appended.position);
    let all = soon("a page", log.read_all(Position(0), &Filter::default(), 9)).await.unwrap();
    assert_eq!(all.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_while_no_node_leads_is_told_so_after_a_while() {
    let server = StandIn::start(1);
    let log = on(&server);
    server.lead(None);
    // On a thread of its own, for the caller waits.
    let (told, answer) = tokio::sync::oneshot::channel();
    let other = log.clone();
    std::thread::spawn(move || told.send(other.find_key("stack-a")));
    let read = soon("a read", log.read(&stream(0), StreamRevision(0))).await;
    assert!(matches!(&read, Err(LogError::Unavailable(_))), "{read:?}");
    let found = soon("the key", answer).await.unwrap();
    assert!(matches!(&found, Err(LogError::Unavailable(_))), "{found:?}");
    server.lead(Some(0));
    append_each(&log, Head::default(), 1).await;
}
