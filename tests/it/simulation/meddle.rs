//! Somebody who asks the stacks within a tree by their own ids, beside what their parents ask.

use hearth::actors::stack::{StackCommand, TakeSnapshot};
use hearth::clock::Clock;
use hearth::model::{Action, ResourceName, StackId, TraversalId};

use super::run::ROOT;
use super::world::World;

impl World {
    /// Asks any stack within the tree for anything.
    pub(super) fn meddle(&mut self) {
        let within = self.living().filter(|stack| stack.name.as_str() != ROOT);
        let within: Vec<StackId> = within.map(|stack| stack.id).collect();
        let Some(id) = self.chance.one_of(&within) else { return };
        let command = match self.chance.below(8) {
            0 => StackCommand::Act { action: Action::Suspend, trustor: None },
            1 => StackCommand::Act { action: Action::Resume, trustor: None },
            2 => StackCommand::Act { action: Action::Check, trustor: None },
            3 => StackCommand::CancelUpdate,
            4 => StackCommand::CancelWithoutRollback,
            5 => StackCommand::Delete { trustor: None },
            6 => self.snapshot_to_take(),
            _ => return self.mark_one_of(id),
        };
        self.ask_alone(id, command);
    }

    /// Asks a stack within the tree by its own id.
    pub(super) fn ask_alone(&mut self, id: StackId, command: StackCommand) {
        let told = self.state(id);
        self.forget_plan();
        self.asked_alone.insert(id);
        (self.meddled, self.reached) = (true, false);
        let answer = self.ask_stack(id, command);
        self.tell(|| format!("{id:.8} is asked in {told}: {answer:?}"));
    }

    pub(super) fn snapshot_to_take(&mut self) -> StackCommand {
        let snapshot = TraversalId(self.clock.fresh_id());
        StackCommand::TakeSnapshot(TakeSnapshot {
            snapshot,
            name: None,
            limit: Some(3),
            trustor: None,
        })
    }

    /// Says of any resource of a stack that it is not healthy, or is.
    fn mark_one_of(&mut self, id: StackId) {
        let names: Vec<ResourceName> = self.stack(id).incarnations().into_keys().collect();
        let Some(name) = self.chance.one_of(&names) else { return };
        let healthy = self.chance.one_in(4);
        (self.meddled, self.reached) = (true, false);
        self.mark(id, name.as_str(), healthy);
    }
}
