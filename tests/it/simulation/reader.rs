//! Other nodes, as servers beneath the log have them: one that only reads, and the first look of one
//! that writes.
//!
//! The reader is late: the server that it asks shows a prefix of what is durable, and that may end
//! in the middle of a group. It dies and goes on from its place, or asks another server, which sends
//! it again what it has. It shows whole groups, each once and in their order, and in the end what
//! the writer has. A writer whose first look is behind decides by what it sees; whatever it would
//! write is refused, and it reads again.

use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};
use hearth::actors::resource::Resource;
use hearth::actors::shell::Aggregate;
use hearth::actors::stack::{Stack, StackCommand};
use hearth::clock::{Clock, Moment, SimulatedClock};
use hearth::events::log::Groups;
use hearth::events::{Event, StreamId};
use hearth::model::{ResourceId, ResourceName, StackId};

use super::folds::{Folds, resources_differ, stacks_differ};
use super::live::Live;
use super::log::Log;
use super::world::World;
use crate::support::chance::Chance;

/// How often the reader looks, and how often it dies or changes servers before it does.
const LOOKS: u64 = 6;
const DEATHS: u64 = 12;
const MOVES: u64 = 6;
/// How often the first look of a writer is behind.
const EARLY: u64 = 3;

/// How often a look ended within a group, and how often a writer was refused that was behind.
static MET: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// The same.
pub(super) fn met() -> [usize; 2] {
    MET.each_ref().map(|count| count.load(Ordering::Relaxed))
}

pub(super) struct Reader {
    /// Its own, so that a life is the same whoever reads along.
    chance: Chance,
    /// How many events its server has sent it, or passed over.
    read: usize,
    groups: Groups<usize>,
    /// What it shows, and how much of the log that is: it keeps both together.
    shown: Folds,
    place: usize,
}

impl Reader {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            chance: Chance::new(seed ^ 0x0DD),
            read: 0,
            groups: Groups::after(0),
            shown: Folds::default(),
            place: 0,
        }
    }

    /// Something that may happen to it, and what it shows by mistake.
    fn look(&mut self, log: &Log) -> Option<String> {
        if self.chance.one_in(DEATHS) {
            self.begin_at(self.place);
        } else if self.chance.one_in(MOVES) {
            // Where no event stands at its place it is sent all from the start.
            let from = self.chance.below(self.place as u64 + 1) as usize;
            self.begin_at(from);
        }
        let shown = self.chance.below(log.written() as u64 + 1) as usize;
        let wrong = self.read_up_to(log, shown);
        if !self.groups.is_between() {
            MET[0].fetch_add(1, Ordering::Relaxed);
        }
        wrong
    }

    /// Begins anew, with what it shows.
    fn begin_at(&mut self, read: usize) {
        self.read = read;
        self.groups = Groups::after(self.place as u64);
    }

    fn read_up_to(&mut self, log: &Log, end: usize) -> Option<String> {
        while self.read < end {
            let at = self.read;
            self.read += 1;
            let group = self.groups.take(self.read as u64, Some(at), log.events[at].ends_group);
            let Some(group) = group.filter(|group| !group.is_empty()) else { continue };
            let whole = log.group_at(self.place);
            if !group.iter().copied().eq(whole.clone()) {
                let place = self.place;
                return Some(format!("{group:?} is shown after {place}, and not {whole:?}"));
            }
            group.iter().for_each(|at| self.shown.take(&log.events[*at]));
            self.place = whole.end;
        }
        None
    }

    /// What it shows that the writer does not have, once it has read all.
    fn differs(&self, folds: &Folds) -> Vec<String> {
        let Folds { stacks, resources } = &self.shown;
        let mut wrongs = Vec::new();
        if !stacks.keys().eq(folds.stacks.keys()) || !resources.keys().eq(folds.resources.keys()) {
            wrongs.push("other stacks or resources are shown than there are".to_owned());
        }
        let of_stack =
            |(id, shown): (&StackId, &Stack)| stacks_differ(shown, folds.stacks.get(id)?);
        wrongs.extend(stacks.iter().filter_map(of_stack));
        let of_resource = |(id, shown): (&ResourceId, &Resource)| {
            resources_differ(shown, folds.resources.get(id)?)
        };
        wrongs.extend(resources.iter().filter_map(of_resource));
        wrongs
    }
}

impl World {
    /// The reader may look.
    pub(super) fn read_elsewhere(&mut self) {
        if self.reader.chance.one_in(LOOKS) {
            let wrong = self.reader.look(&self.log);
            self.wrongs.extend(wrong.map(|wrong| format!("at another node {wrong}")));
        }
    }

    /// Nothing is under way: the reader comes to show what there is.
    pub(super) fn check_reader(&mut self) {
        let mut wrongs: Vec<String> =
            self.reader.read_up_to(&self.log, self.log.written()).into_iter().collect();
        if wrongs.is_empty() {
            wrongs = self.reader.differs(&self.folds);
        }
        self.wrongs.extend(wrongs.iter().map(|wrong| format!("at another node {wrong}")));
    }

    /// A stack's actor that is woken may first see its stream as it was: so would a user who asks
    /// for something now.
    pub(super) fn wake_stack_early(&mut self, id: StackId) {
        let stream = StreamId::stack(id);
        let Some((clock, early)) = self.early(&stream, Stack::named(id)) else { return };
        let mut stack = self.completed(early);
        let (moment, knowledge) = (Moment::of(&clock), &self.stack_knowledge);
        let mut events = stack.recover(&moment, knowledge).events;
        if events.is_empty() {
            let delete = StackCommand::Delete { trustor: None };
            let decided = stack.decide(delete, &moment, knowledge);
            events = decided.map(|decision| decision.events).unwrap_or_default();
        }
        self.refuse(&stream, stack.next, &events, clock.now());
    }

    /// The same of a resource's.
    pub(super) fn wake_resource_early(&mut self, id: ResourceId, name: &ResourceName) {
        let stream = StreamId::resource(id);
        let early = self.early(&stream, Resource::named(id, name.clone()));
        let Some((clock, mut early)) = early else { return };
        let events = early.recover(&Moment::of(&clock), &self.resource_knowledge).events;
        self.refuse(&stream, early.next, &events, clock.now());
    }

    /// A machine as a server shows it that is behind, and a clock that is nobody else's.
    fn early<A: Aggregate>(
        &mut self,
        stream: &StreamId,
        blank: A,
    ) -> Option<(SimulatedClock, Live<A>)> {
        let chance = &mut self.reader.chance;
        if self.dangers.crash == 0 || !chance.one_in(EARLY) {
            return None;
        }
        // A read of one stream shows whole groups.
        let next = chance.one_of(&self.log.earlier(stream.as_str()))?;
        let clock = SimulatedClock::new(chance.below(u64::MAX));
        clock.advance(self.clock.now() - clock.now());
        let machine = self.log.fold_first(stream.as_str(), next, blank);
        Some((clock, Live::of(machine, next)))
    }

    /// What somebody would write at a head that is behind is not written. What only looks or tells
    /// is decided by a read of the node that leads.
    fn refuse<E>(&mut self, stream: &StreamId, next: usize, events: &[E], at: DateTime<Utc>)
    where
        E: Event + std::fmt::Debug + PartialEq,
    {
        if events.is_empty() {
            return;
        }
        if self.log.append(stream.as_str(), next, events, at).is_some() {
            self.wrongs.push(format!("{stream} is written at {next}, where it has more"));
        }
        MET[1].fetch_add(1, Ordering::Relaxed);
        self.tell(|| format!("{stream:.15} is read at {next}: refused, and read again"));
    }
}
