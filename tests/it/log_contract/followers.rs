//! Following a log: nothing is missed, and nothing is heard twice.

use std::time::Duration;

use futures::StreamExt;
use hearth::events::log::{Filter, Head};
use hearth::events::{Position, StreamId};

use super::{Backend, append, number, stream, within};

pub(super) async fn a_follower_misses_and_repeats_nothing_while_others_write(
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
                    head = append(&*log, &stream(name), head, number(count)).await.head;
                    if count % 10 == 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
            })
        })
        .collect();
    let followers: Vec<_> = [0, 1, 777, 2_000]
        .map(|after| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut events = log.subscribe(Position(after), Filter::default());
                let mut last = after;
                while last < STREAMS * EVENTS {
                    let event = events.next().await.unwrap().unwrap();
                    assert_eq!(event.position.0, last + 1);
                    last = event.position.0;
                }
            })
        })
        .into_iter()
        .collect();
    for task in writers.into_iter().chain(followers) {
        within("writing and following", task).await.unwrap();
    }
}

pub(super) async fn a_follower_of_one_kind_hears_of_no_other(backend: impl Backend) {
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

pub(super) async fn a_slow_follower_gets_everything_in_the_end(backend: impl Backend) {
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
    for position in 2..=last.0 {
        let event = within("an event", events.next()).await.unwrap().unwrap();
        assert_eq!(event.position.0, position);
    }
}
