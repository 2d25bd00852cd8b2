//! A machine that is awake: its state and its working memory.

use std::ops::Deref;

use chrono::{DateTime, Utc};
use hearth::actors::resource::{Adjusted, Knowledge, Report, Resource};
use hearth::actors::shell::{Aggregate, Decision};
use hearth::actors::stack::{Stack, StackView};
use hearth::clock::Moment;
use hearth::model::{CommandId, Refusal};

pub(super) struct Live<A: Aggregate> {
    pub(super) machine: A,
    pub(super) working: A::Working,
    /// How many events its stream has, as far as it knows.
    pub(super) next: usize,
}

impl<A: Aggregate> Live<A> {
    /// A machine that was read back from so many events.
    pub(super) fn of(machine: A, next: usize) -> Self {
        Self { machine, working: A::Working::default(), next }
    }

    pub(super) fn apply(&mut self, event: &A::Event, at: DateTime<Utc>) {
        self.machine.apply(event, at);
        self.next += 1;
    }

    pub(super) fn decide(
        &mut self,
        command: A::Command,
        moment: &Moment<'_>,
        knowledge: &A::Knowledge,
    ) -> Result<Decision<A>, Refusal> {
        self.machine.decide(&mut self.working, command, moment, knowledge)
    }

    pub(super) fn recover(&mut self, moment: &Moment<'_>, knowledge: &A::Knowledge) -> Decision<A> {
        self.machine.recover(&mut self.working, moment, knowledge)
    }
}

impl<A: Aggregate> Deref for Live<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.machine
    }
}

impl Live<Stack> {
    pub(super) fn view(&self) -> StackView<'_> {
        StackView::of(&self.machine, &self.working)
    }
}

impl Live<Resource> {
    pub(super) fn report(&self, knowledge: &Knowledge) -> Report {
        self.machine.report(&self.working, knowledge)
    }

    pub(super) fn adjusted(&self, id: CommandId) -> Option<Adjusted> {
        self.machine.adjusted(&self.working, id)
    }
}
