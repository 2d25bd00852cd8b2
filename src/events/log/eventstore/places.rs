//! Where events of ours stand. One that was written here has the server's position, and what is
//! added to that after a copy; one that was copied here keeps the position that it had, and bears it.
//! A stream tells of the copies: when one was begun, where some of its events stand, and when it was
//! whole.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use super::super::LogError;
use super::appends::{self, Settled};
use super::node::Nodes;
use super::reads::{self, Found, Stream};
use super::wire::Proposed;
use crate::clock::{Clock, SystemClock};

/// How many events a copy has from one known place to the next.
pub(super) const COPIED_PER_MARK: usize = 500;
/// How far apart known places of events lie that were written here, at least.
const MARK_EVERY: u64 = 1 << 20;
/// How many places are kept of those.
const MARKS_MAX: usize = 16_384;

const BEGUN: &str = "hearth-copy-begun";
const MARK: &str = "hearth-copy-mark";
const WHOLE: &str = "hearth-copy-whole";

/// A copy is begun; what it has stands after this position.
#[derive(Serialize, Deserialize)]
struct Begun {
    after: u64,
}

/// Of ours, where the server has it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Mark {
    position: u64,
    at: u64,
}

/// The copy is the log up to this position. What is written from then on has the server's positions
/// and so much more.
#[derive(Serialize, Deserialize)]
struct Whole {
    end: u64,
    added: u64,
}

/// How the events from a position on came here.
enum Part {
    Written { added: u64 },
    Copied,
}

/// See the module.
pub(super) struct Places {
    /// The stream that tells of copies.
    stream: String,
    state: Mutex<State>,
}

struct State {
    /// How many events of that stream are known.
    next: u64,
    is_whole: bool,
    /// Of the last whole copy.
    end: u64,
    parts: BTreeMap<u64, Part>,
    /// Known places, in their order.
    marks: Vec<Mark>,
}

impl Places {
    pub(super) fn new(stream: String) -> Self {
        let parts = BTreeMap::from([(0, Part::Written { added: 0 })]);
        let state = State { next: 0, is_whole: true, end: 0, parts, marks: Vec::new() };
        Self { stream, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        super::lock(&self.state)
    }

    /// Learns of the copies that were made.
    pub(super) async fn learn(&self, nodes: &Nodes) -> Result<(), LogError> {
        let from = self.lock().next;
        let found = reads::forwards(nodes, &self.stream, from, u64::MAX).await?;
        let Stream::Events(found) = found else { return Ok(()) };
        let mut state = self.lock();
        for event in found.iter().filter(|event| event.revision >= from) {
            state
                .take(event)
                .map_err(|error| LogError::Damaged(format!("what is known of copies: {error}")))?;
            state.next = event.revision + 1;
        }
        Ok(())
    }

    /// Whether no copy to this place is under way, or broke off.
    pub(super) fn is_whole(&self) -> bool {
        self.lock().is_whole
    }

    /// The end of the log that was copied last.
    pub(super) fn end_of_copy(&self) -> u64 {
        self.lock().end
    }

    /// What the positions of events that are written now are more than the server's.
    pub(super) fn added(&self) -> u64 {
        let state = self.lock();
        let added = state.parts.values().rev().find_map(|part| match part {
            Part::Written { added } => Some(*added),
            Part::Copied => None,
        });
        added.unwrap_or(0)
    }

    /// An event of ours stands there.
    pub(super) fn passed(&self, position: u64, at: u64) {
        let mut state = self.lock();
        let place = state.marks.partition_point(|mark| mark.position <= position);
        let before = place.checked_sub(1).map_or(0, |before| state.marks[before].position);
        let after = state.marks.get(place).map_or(u64::MAX, |after| after.position);
        let is_far = position - before >= MARK_EVERY && after - position >= MARK_EVERY;
        if is_far && state.marks.len() < MARKS_MAX {
            state.marks.insert(place, Mark { position, at });
        }
    }

    /// Where the event of a position stands at the server, or the nearest known place before.
    pub(super) fn start(&self, position: u64) -> u64 {
        self.starts(position).first().copied().unwrap_or(0)
    }

    /// Where to read what comes after a position, the shortest way first; the server takes a place
    /// at which an event stands. Whoever looks an event up reads after the position before its own,
    /// at which none stands. The log's beginning, where the last one is, is always taken.
    pub(super) fn starts(&self, position: u64) -> Vec<u64> {
        let state = self.lock();
        let after = state.marks.partition_point(|mark| mark.position <= position);
        let mark = after.checked_sub(1).map_or(0, |before| state.marks[before].at);
        let mut starts = match state.parts.range(..=position).next_back() {
            Some((_, Part::Written { added })) => {
                let at = position.saturating_sub(*added);
                if at > mark { vec![at, at.saturating_add(1)] } else { Vec::new() }
            }
            Some((_, Part::Copied)) | None => Vec::new(),
        };
        starts.extend([mark, 0]);
        starts.dedup();
        starts
    }

    /// Says that a copy begins; the place of that at the server.
    pub(super) async fn begin(&self, nodes: &Nodes, after: u64) -> Result<u64, LogError> {
        self.say(nodes, BEGUN, &Begun { after }).await
    }

    /// Says where an event of the copy stands.
    pub(super) async fn mark(&self, nodes: &Nodes, position: u64, at: u64) -> Result<(), LogError> {
        self.say(nodes, MARK, &Mark { position, at }).await.map(drop)
    }

    /// Says that the copy is whole.
    pub(super) async fn end(&self, nodes: &Nodes, end: u64, added: u64) -> Result<(), LogError> {
        self.say(nodes, WHOLE, &Whole { end, added }).await.map(drop)
    }

    async fn say(
        &self,
        nodes: &Nodes,
        event_type: &str,
        what: &impl Serialize,
    ) -> Result<u64, LogError> {
        let data = serde_json::to_vec(what)
            .map_err(|error| LogError::Damaged(format!("what is known of copies: {error}")))?;
        let next = self.lock().next;
        let id = SystemClock.fresh_id();
        let due = vec![Proposed::new(id, event_type, Vec::new(), data.into())];
        match appends::append(nodes, &self.stream, next, due).await? {
            Settled::Written(at) => {
                self.learn(nodes).await?;
                Ok(at)
            }
            Settled::Refused | Settled::Deleted => {
                Err(LogError::Unavailable("somebody else copies to it".to_owned()))
            }
        }
    }
}

impl State {
    fn take(&mut self, event: &Found) -> Result<(), serde_json::Error> {
        match event.event_type.as_str() {
            BEGUN => {
                let Begun { after } = serde_json::from_slice(&event.data)?;
                self.is_whole = false;
                self.parts.insert(after + 1, Part::Copied);
            }
            MARK => {
                let mark: Mark = serde_json::from_slice(&event.data)?;
                let place = self.marks.partition_point(|it| it.position < mark.position);
                self.marks.insert(place, mark);
            }
            WHOLE => {
                let Whole { end, added } = serde_json::from_slice(&event.data)?;
                self.is_whole = true;
                self.end = end;
                self.parts.insert(end + 1, Part::Written { added });
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_begins_where_an_event_stands_or_at_the_nearest_place_that_was_passed() {
        const APART: u64 = 1_000;
        let places = Places::new("hearth.copy".to_owned());
        assert_eq!(places.starts(0), [0]);
        assert_eq!(places.starts(5), [5, 6, 0]);
        for position in (0..10).map(|count| count * APART) {
            places.passed(position, position);
        }
        assert_eq!(places.starts(5 * APART), [5 * APART, 5 * APART + 1, 0]);
        let last = 10 * MARK_EVERY;
        for position in (0..=last / APART).map(|count| count * APART) {
            places.passed(position, position);
        }
        for after in (2..10).map(|count| count * MARK_EVERY + 7) {
            let starts = places.starts(after);
            let [at, next, mark, 0] = starts[..] else { panic!("{starts:?}") };
            assert_eq!((at, next), (after, after + 1));
            assert!(mark <= after && after - mark < MARK_EVERY + APART, "{after}: {mark}");
        }
    }
}
