//! The log of the simulation: totally ordered, durable by prefix, and cut there by a crash. What a
//! server beneath it does to a commit (`Commit`) is what was measured of real ones.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;

use chrono::{DateTime, Utc};
use hearth::actors::shell::Aggregate;
use hearth::events::Event;
use hearth::model::CommandId;

use super::kept::Kept;

/// An event as the log has it.
#[derive(Clone)]
pub(super) struct Recorded {
    pub(super) stream: String,
    pub(super) event_type: &'static str,
    pub(super) version: u16,
    pub(super) body: String,
    /// The command that it was recorded for, where that has an id.
    pub(super) cause: Option<CommandId>,
    pub(super) at: DateTime<Utc>,
    /// Whether it is the last one of those that were appended together.
    pub(super) ends_group: bool,
}

impl Recorded {
    /// As it is read.
    pub(super) fn decode<E: Event>(&self) -> E {
        E::decode(self.event_type, self.version, &self.body).unwrap()
    }
}

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Commit {
    Acknowledged,
    /// It is written, and its writer hears of an error: it looks before it writes anything else.
    AnswerLost,
    /// Nothing of it is written: it is sent again.
    Refused,
}

pub(super) struct Log {
    pub(super) events: Vec<Recorded>,
    streams: BTreeMap<String, Vec<usize>>,
    /// The command that is being decided, where it has an id.
    pub(super) cause: Option<CommandId>,
    /// The lengths that the log had after each append that is not durable yet.
    appends: Vec<usize>,
    /// What the process knows to be durable.
    durable: usize,
    /// What is durable: more than that where an answer was lost.
    written: usize,
    /// Where it is kept on a server as well.
    kept: Option<Kept>,
}

impl Log {
    pub(super) fn new() -> Self {
        Self {
            events: Vec::new(),
            streams: BTreeMap::new(),
            cause: None,
            appends: Vec::new(),
            durable: 0,
            written: 0,
            kept: Kept::where_named(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn is_durable(&self, length: usize) -> bool {
        length <= self.durable
    }

    pub(super) fn is_behind(&self) -> bool {
        self.durable < self.events.len()
    }

    /// How much of it is durable.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Appends events to a stream that has so many, and gives them back as they will be read.
    /// `None`: it has another number of them, and nothing is appended.
    pub(super) fn append<E: Event + Debug + PartialEq>(
        &mut self,
        stream: &str,
        expected: usize,
        events: &[E],
        at: DateTime<Utc>,
    ) -> Option<Vec<E>> {
        if self.count(stream) != expected {
            if let Some(kept) = &self.kept {
                kept.expect_refused(stream, expected);
            }
            return None;
        }
        let mut read = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let (event_type, version) = (event.event_type(), event.version());
            let body = event.encode().unwrap();
            let again = E::decode(event_type, version, &body).unwrap();
            assert_eq!(&again, event, "an event reads back as another");
            read.push(again);
            self.streams.entry(stream.to_owned()).or_default().push(self.events.len());
            let stream = stream.to_owned();
            let cause = self.cause;
            let ends_group = index + 1 == events.len();
            self.events.push(Recorded { stream, event_type, version, body, cause, at, ends_group });
        }
        self.appends.push(self.events.len());
        Some(read)
    }

    /// Commits the first so many of the waiting appends, as one.
    pub(super) fn commit(&mut self, appends: usize, commit: Commit) {
        assert!(!self.is_in_doubt(), "something is written that may be there already");
        let waiting = self.appends.len().min(appends);
        match (commit, waiting.checked_sub(1)) {
            (Commit::Refused, _) | (_, None) => {}
            (Commit::AnswerLost, Some(last)) => self.written = self.appends[last],
            (Commit::Acknowledged, Some(last)) => {
                self.written = self.appends[last];
                self.settle();
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.write(&self.events[..self.written]);
        }
    }

    /// Whether it is not known what became of the last commit.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.written > self.durable
    }

    /// Looks what is written.
    pub(super) fn settle(&mut self) {
        self.durable = self.written;
        self.appends.retain(|length| *length > self.durable);
    }

    /// How many appends wait.
    pub(super) fn waiting(&self) -> usize {
        self.appends.len()
    }

    /// What is not durable is lost.
    pub(super) fn cut(&mut self) {
        self.settle();
        self.events.truncate(self.durable);
        if let Some(kept) = &self.kept {
            kept.read_back(&self.events);
        }
        self.appends.clear();
        for places in self.streams.values_mut() {
            places.retain(|place| *place < self.durable);
        }
        self.streams.retain(|_, places| !places.is_empty());
    }

    /// Whether a stream has events.
    pub(super) fn has(&self, stream: &str) -> bool {
        self.streams.contains_key(stream)
    }

    /// How many events a stream has.
    pub(super) fn count(&self, stream: &str) -> usize {
        self.streams.get(stream).map_or(0, Vec::len)
    }

    /// The numbers of events that a stream has had after appends, without the newest.
    pub(super) fn earlier(&self, stream: &str) -> Vec<usize> {
        let ends = self.stream(stream).enumerate().filter(|(_, event)| event.ends_group);
        let mut ends: Vec<usize> = ends.map(|(index, _)| index + 1).collect();
        ends.pop();
        ends
    }

    /// The events that were appended together, of which the first stands there.
    pub(super) fn group_at(&self, start: usize) -> Range<usize> {
        let length = self.events[start..].iter().position(|event| event.ends_group);
        start..start + length.map_or(0, |last| last + 1)
    }

    /// The events of a stream.
    pub(super) fn stream(&self, stream: &str) -> impl Iterator<Item = &Recorded> {
        let places = self.streams.get(stream).into_iter().flatten();
        places.map(|place| &self.events[*place])
    }

    /// Whether a command had events in a stream.
    pub(super) fn was_caused(&self, stream: &str, command: CommandId) -> bool {
        let mut places = self.streams.get(stream).into_iter().flatten();
        places.any(|place| self.events[*place].cause == Some(command))
    }

    /// A machine read back from its stream.
    pub(super) fn fold<A: Aggregate>(&self, stream: &str, machine: A) -> A {
        self.fold_first(stream, usize::MAX, machine)
    }

    /// A machine read back from so many events of its stream.
    pub(super) fn fold_first<A: Aggregate>(&self, stream: &str, count: usize, machine: A) -> A {
        let mut machine = machine;
        for event in self.stream(stream).take(count) {
            machine.apply(&event.decode(), event.at);
        }
        machine
    }
}
