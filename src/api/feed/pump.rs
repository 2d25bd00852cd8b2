//! A feed at work. What is past is read where the landmarks say that there is something to find; what
//! is to come is followed. A reader that leaves the queue full for too long is told where it was cut;
//! it comes back with `Last-Event-ID` and misses nothing.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use tokio::time::{Instant, MissedTickBehavior};

use super::frame::{Format, Frames};
use super::queue::{Queue, TooSlow};
use crate::events::log::{EventLog, Filter, LogError};
use crate::events::{Position, RecordedEvent};
use crate::model::Selection;
use crate::projections::{TOLD_KINDS, ViewError, Views, event_shown};

/// How often a silent feed shows that it is alive.
const HEARTBEAT_SECS: Duration = Duration::from_secs(15);

/// How many events are read at a time of what is past.
const PAGE_EVENTS: usize = 256;

/// How much goes to a client together.
const TOGETHER_BYTES: usize = 32 * 1024;

/// What feeds are made of.
pub(super) struct Source<'a> {
    pub(super) views: &'a Views,
    pub(super) log: &'a dyn EventLog,
    pub(super) frames: &'a Frames,
}

/// Reads the log until all is told, its client or the log goes away, or `ends` says why it has to end.
pub(super) async fn pump(
    source: Source<'_>,
    mut feed: Feed,
    queue: Queue,
    ends: impl Future<Output = Ended>,
) {
    let format = feed.format;
    let reached = Rc::clone(&feed.reached);
    let ended = tokio::select! {
        ended = feed.run(&source, &queue) => ended,
        () = queue.closed() => return,
        why = ends => Err(why),
    };
    if let Err(error) = ended {
        tracing::info!(%error, "a feed ended");
        queue.end(format.end(reached.get(), &error.to_string()));
    }
}

/// Why a feed ended before its client did.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error("the log could not be read")]
    Log(#[from] LogError),
    #[error("an event's owner could not be looked up")]
    Lookup(#[from] ViewError),
    #[error("the reader is too slow")]
    Slow,
    #[error("its token is no longer valid")]
    Token,
    #[error("the identity service has not confirmed its token for too long")]
    Unconfirmed,
    #[error("its caller may no longer follow it")]
    Forbidden,
    #[error("the server stops")]
    Stopping,
}

impl From<TooSlow> for Ended {
    fn from(_: TooSlow) -> Self {
        Ended::Slow
    }
}

/// A feed that is open.
pub(super) struct Feed {
    selection: Selection,
    until: Option<Position>,
    format: Format,
    /// The client has been given everything up to here.
    reached: Rc<Cell<Position>>,
}

impl Feed {
    /// Of what comes after a position, up to another one if there is to be an end.
    pub(super) fn after(
        after: Position,
        until: Option<Position>,
        selection: Selection,
        format: Format,
    ) -> Self {
        Self { selection, until, format, reached: Rc::new(Cell::new(after)) }
    }

    async fn run(&mut self, source: &Source<'_>, queue: &Queue) -> Result<(), Ended> {
        queue.put(self.format.greeting()).await?;
        self.past(source, queue).await?;
        match self.until {
            Some(until) => self.pages(source, queue, until).await,
            None => self.live(source, queue).await,
        }
    }

    /// What the landmarks know of, block by block.
    async fn past(&mut self, source: &Source<'_>, queue: &Queue) -> Result<(), Ended> {
        let search = self.selection.search();
        if search.is_empty() {
            return Ok(());
        }
        if let Some(until) = self.until {
            source.views.after(until).await?;
        }
        let end = self.until.unwrap_or_else(|| source.views.position());
        loop {
            let blocks = source.views.blocks(&search, self.reached.get()).await?;
            if source.views.position() < end {
                // Views that are just being made anew have not shown all that they had.
                source.views.after(end).await?;
                continue;
            }
            let Some(last) = blocks.last().map(|block| *block.end()) else { break };
            for block in blocks {
                let before = Position(block.start().saturating_sub(1));
                self.reached.set(self.reached.get().max(before.min(end)));
                self.pages(source, queue, Position(*block.end()).min(end)).await?;
            }
            if last >= end.0 {
                break;
            }
        }
        self.reached.set(self.reached.get().max(end));
        Ok(())
    }

    /// Everything that is there up to a position.
    async fn pages(
        &mut self,
        source: &Source<'_>,
        queue: &Queue,
        to: Position,
    ) -> Result<(), Ended> {
        let filter = Filter { kinds: TOLD_KINDS.to_vec() };
        while self.reached.get() < to {
            let page = source.log.read_all(self.reached.get(), &filter, PAGE_EVENTS).await?;
            let wanted = page.partition_point(|event| event.position <= to);
            self.give(source, queue, &page[..wanted], event_shown).await?;
            if wanted < page.len() || page.last().is_none_or(|event| event.position >= to) {
                self.reached.set(to);
            }
        }
        Ok(())
    }

    /// Everything from here on, as it happens.
    async fn live(&mut self, source: &Source<'_>, queue: &Queue) -> Result<(), Ended> {
        let filter = Filter { kinds: TOLD_KINDS.to_vec() };
        let events = source.log.subscribe(self.reached.get(), filter);
        let mut events = events.ready_chunks(PAGE_EVENTS);
        let first = Instant::now() + HEARTBEAT_SECS;
        let mut heartbeat = tokio::time::interval_at(first, HEARTBEAT_SECS);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                events = events.next() => {
                    let Some(events) = events else { return Ok(()) };
                    let events: Vec<_> = events.into_iter().collect::<Result<_, _>>()?;
                    self.give(source, queue, &events, |event| source.frames.data(event)).await?;
                }
                _ = heartbeat.tick() => queue.put(self.format.heartbeat()).await?,
            }
        }
    }

    /// Gives to the client those of some events that it asked for, together: what comes at once
    /// goes out at once.
    async fn give(
        &mut self,
        source: &Source<'_>,
        queue: &Queue,
        events: &[Arc<RecordedEvent>],
        data: impl Fn(&RecordedEvent) -> Bytes,
    ) -> Result<(), Ended> {
        let mut frames = Vec::new();
        for event in events {
            if self.selection.takes(source.views, event).await? {
                self.format.write_event(event, &data(event), &mut frames);
            }
            if frames.len() >= TOGETHER_BYTES {
                queue.put(std::mem::take(&mut frames).into()).await?;
                self.reached.set(event.position);
            }
        }
        if !frames.is_empty() {
            queue.put(frames.into()).await?;
        }
        if let Some(last) = events.last() {
            self.reached.set(last.position);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::api::feed::queue::{Reader, queue};
    use crate::events::log::{Head, MemoryLog};
    use crate::events::project::NameReserved;
    use crate::events::{Meta, NewEvent, ProjectEvent, StreamId};
    use crate::model::{ProjectId, StackId};

    /// A log, its views, and what is kept of the newest events.
    struct World {
        log: Arc<MemoryLog>,
        views: Views,
        frames: Frames,
        head: Head,
    }

    impl World {
        async fn new() -> Self {
            let log = Arc::new(MemoryLog::new());
            let views = Views::in_memory(log.clone()).await.unwrap();
            Self { log, views, frames: Frames::default(), head: Head::default() }
        }

        /// Writes so many events, of so many bytes each.
        async fn write(&mut self, events: usize, bytes: usize) {
            let stream = StreamId::project(&ProjectId::from("p"));
            let body =
                NameReserved { name: "x".repeat(bytes).into(), stack_id: StackId::default() };
            let event = ProjectEvent::from(body);
            let event = || {
                NewEvent::of(&event, chrono::DateTime::UNIX_EPOCH, Arc::new(Meta::default()))
                    .unwrap()
            };
            let events = (0..events).map(|_| event()).collect();
            let appended = self.log.append(&stream, self.head, events).await.unwrap();
            self.log.durable(appended.position).await.unwrap();
            self.head = appended.head;
        }

        /// A feed that has no reason to end.
        async fn feed(&self, after: u64, until: Option<u64>, format: Format, queue: Queue) {
            let source =
                Source { views: &self.views, log: self.log.as_ref(), frames: &self.frames };
            let until = until.map(Position);
            let feed = Feed::after(Position(after), until, Selection::default(), format);
            pump(source, feed, queue, pending()).await;
        }
    }

    /// All that is left to read.
    async fn rest(mut reader: Reader) -> String {
        let mut text = String::new();
        while let Some(frame) = reader.next().await {
            text.push_str(std::str::from_utf8(&frame).unwrap());
        }
        text
    }

    /// The positions of the events of a feed of lines, and what it said of its end.
    fn told(text: &str) -> (Vec<u64>, Option<serde_json::Value>) {
        let (mut positions, mut end) = (Vec::new(), None);
        for line in text.lines().filter(|line| !line.is_empty()) {
            assert_eq!(end, None, "after its end: {line}");
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            match line["position"].as_u64() {
                Some(position) => positions.push(position),
                None => end = Some(line["end"].clone()),
            }
        }
        (positions, end)
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_feed_shows_every_so_often_that_it_is_alive() {
        for (format, greets, beats) in [
            (Format::ServerSentEvents, "retry: 1000\n\n", ": still here\n\n"),
            (Format::JsonLines, "\n", "\n"),
        ] {
            let mut world = World::new().await;
            let (queue, mut reader) = queue();
            let (log, views, frames) = (world.log.clone(), world.views.clone(), Frames::default());
            let follow = async move {
                let source = Source { views: &views, log: log.as_ref(), frames: &frames };
                let feed = Feed::after(Position(0), None, Selection::default(), format);
                pump(source, feed, queue, pending()).await;
            };
            let read = async {
                assert_eq!(reader.next().await.unwrap(), greets);
                for _ in 0..3 {
                    let before = Instant::now();
                    assert_eq!(reader.next().await.unwrap(), beats);
                    assert_eq!(before.elapsed().as_secs(), HEARTBEAT_SECS.as_secs());
                }
                // It hears what happens all the same.
                world.write(1, 1).await;
                let event = loop {
                    let frame = reader.next().await.unwrap();
                    if frame != beats {
                        break frame;
                    }
                };
                assert!(std::str::from_utf8(&event).unwrap().contains("NameReserved"));
                drop(reader);
            };
            // It ends when nobody reads any more.
            futures::join!(follow, read);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_is_too_slow_is_told_where_it_was_cut_and_goes_on_from_there() {
        let mut world = World::new().await;
        world.write(300, 10_000).await;
        let (full, reader) = queue();
        let before = Instant::now();
        // Nobody reads until the feed has ended.
        world.feed(0, Some(300), Format::JsonLines, full).await;
        assert_eq!(before.elapsed().as_secs(), 30);
        let (mut seen, end) = told(&rest(reader).await);
        let end = end.unwrap();
        assert_eq!(end["why"], "the reader is too slow");
        assert_eq!(end["after"].as_u64(), seen.last().copied());
        assert!((1..300).contains(&seen.len()), "{}", seen.len());

        // It comes back for what is left, and this time it reads.
        let (queue, reader) = queue();
        let feed = world.feed(seen.len() as u64, Some(300), Format::JsonLines, queue);
        let ((), text) = futures::join!(feed, rest(reader));
        let (more, end) = told(&text);
        assert_eq!(end, None);
        seen.extend(more);
        assert_eq!(seen, (1..=300).collect::<Vec<u64>>());
    }

    #[tokio::test(start_paused = true)]
    async fn who_follows_as_server_sent_events_reads_the_cut_as_an_event_with_its_place() {
        let mut world = World::new().await;
        world.write(100, 10_000).await;
        let (full, reader) = queue();
        world.feed(0, None, Format::ServerSentEvents, full).await;
        let text = rest(reader).await;
        let frames: Vec<&str> = text.trim_end().split("\n\n").collect();
        let id =
            |frame: &str| frame.lines().next().unwrap().strip_prefix("id: ").unwrap().to_owned();
        let [.., event, end] = frames[..] else { panic!("{text}") };
        assert!(end.contains("\nevent: end\ndata: {\"after\":"), "{end}");
        // A browser that comes back by itself names the end's id, which is the last event's.
        assert_eq!(id(end), id(event));
        assert!(id(end).parse::<u64>().unwrap() < 100);
    }
}
