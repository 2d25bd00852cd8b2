//! Following a log: nothing is missed, and nothing is heard twice.

use std::collections::HashMap;

use futures::StreamExt;
use hearth::events::log::{Filter, Head, LogError};
use hearth::events::{Position, StreamId};

use super::cases::{Backend, Shared, append, bodies, number, stream, within};

pub(crate) async fn a_follower_misses_and_repeats_nothing_while_others_write(
    backend: impl Backend,
) {
    const STREAMS: u64 = 20;
    const EVENTS: u64 = 150;
    let log = backend.log();
    let writers: Vec<_> = (0..STREAMS)
        .map(|name| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut head = Head::default();
                for count in 0..EVENTS {
                    let appended = append(&*log, &stream(name), head, number(count)).await;
                    head = appended.head;
                    if count % 10 == 0 {
                        // The others have their turn.
                        log.durable(appended.position).await.unwrap();
                    }
                }
            })
        })
        .collect();
    // Each begins anew after so many events, from where it was.
    let followers: Vec<_> = [0, 1, 777, 2_000]
        .map(|anew| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut events = log.subscribe(Position(0), Filter::default());
                let mut last = Position(0);
                let mut heard: HashMap<StreamId, u64> = HashMap::new();
                for count in 0..STREAMS * EVENTS {
                    if count == anew {
                        events = log.subscribe(last, Filter::default());
                    }
                    let event = events.next().await.unwrap().unwrap();
                    assert!(event.position > last);
                    last = event.position;
                    let next = heard.entry(event.stream.clone()).or_default();
                    assert_eq!((event.revision.0, &*event.body), (*next, &*next.to_string()));
                    *next += 1;
                }
            })
        })
        .into_iter()
        .collect();
    for task in writers.into_iter().chain(followers) {
        within("writing and following", task).await.unwrap();
    }
}

pub(crate) async fn a_follower_of_one_kind_hears_of_no_other(backend: impl Backend) {
    let log = backend.log();
    let filter = Filter { kinds: vec!["project"] };
    let mut events = log.subscribe(Position(0), filter);
    for count in 0..700 {
        let kind = if count % 100 == 99 { "project" } else { "resource" };
        let stream = StreamId(format!("{kind}-{count}").into());
        append(&*log, &stream, Head::default(), number(count)).await;
    }
    for expected in (99..700).step_by(100) {
        let event = within("an event", events.next()).await.unwrap().unwrap();
        assert_eq!(&*event.body, expected.to_string());
    }
}

pub(crate) async fn a_slow_follower_gets_everything_in_the_end(backend: impl Backend) {
    let log = backend.log();
    let mut events = log.subscribe(Position(0), Filter::default());
    let mut head = append(&*log, &stream("a"), Head::default(), number(0)).await.head;
    within("the first event", events.next()).await.unwrap().unwrap();
    // More than the log's memory of recent events holds.
    let mut last = Position(0);
    for batch in 0..60 {
        let more = (0..100).map(|count| number(batch * 100 + count)).collect();
        let appended = log.append(&stream("a"), head, more).await.unwrap();
        (head, last) = (appended.head, appended.position);
    }
    log.durable(last).await.unwrap();
    for expected in 0..6_000 {
        let event = within("an event", events.next()).await.unwrap().unwrap();
        assert_eq!((event.revision.0, &*event.body), (expected + 1, &*expected.to_string()));
    }
}

pub(crate) async fn whoever_only_reads_follows_what_others_write(backend: impl Shared) {
    let log = backend.log();
    let before = append(&*log, &stream("a"), Head::default(), number(0)).await;
    log.durable(before.position).await.unwrap();
    let elsewhere = backend.elsewhere();
    assert!(elsewhere.is_read_only() && !elsewhere.is_writable() && !log.is_read_only());
    assert_eq!(bodies(&*elsewhere, &stream("a")).await, ["0"]);
    let refused = elsewhere.append(&stream("a"), before.head, vec![number(9)]).await;
    assert!(matches!(refused, Err(LogError::Unavailable(_))), "{refused:?}");

    let mut events = elsewhere.subscribe(Position(0), Filter::default());
    within("what was there", events.next()).await.unwrap().unwrap();
    let mut generation = elsewhere.generation();
    generation.mark_unchanged();
    let mut head = before.head;
    for count in 1..400 {
        head = append(&*log, &stream("a"), head, number(count)).await.head;
    }
    for count in 1..400 {
        let event = within("an event", events.next()).await.unwrap().unwrap();
        assert_eq!(&*event.body, count.to_string());
    }
    within("another generation", generation.changed()).await.unwrap();
    assert!(elsewhere.durable_position() > before.position);
    assert_eq!(bodies(&*elsewhere, &stream("a")).await.len(), 400);

    log.purge(vec![stream("a")]).await.unwrap();
    let last = append(&*log, &stream("b"), Head::default(), number(7)).await;
    let event = within("what is left", events.next()).await.unwrap().unwrap();
    assert_eq!((event.position, &*event.body), (last.position, "7"));
    assert!(bodies(&*elsewhere, &stream("a")).await.is_empty());
}
