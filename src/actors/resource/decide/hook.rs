//! Wait at a hook until somebody clears it: before an action, or behind it.

// Hook: none ─HookReached▶ open ─HookCleared▶ passed (for its traversal)
//       open ─HookLeft▶ none; any ─ActionStarted of another traversal▶ none

use std::collections::BTreeSet;

use crate::actors::resource::command::{ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Decider, HookAt, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{HookCleared, HookLeft, HookReached};
use crate::model::{Action, Hook, Refusal, Status, TraversalId};

impl Resource {
    /// Whether the resource waits for somebody to clear a hook.
    pub(in crate::actors::resource) fn waits(&self) -> bool {
        self.hook.is_some_and(|at| at.is_open)
    }

    /// Whether what a traversal asked for waits at a hook: a newer one does not wait with it.
    pub(in crate::actors::resource) fn waits_in(&self, traversal: TraversalId) -> bool {
        self.hook.is_some_and(|at| at.is_open && at.traversal == traversal)
    }

    /// The hook behind an action that has just been completed.
    pub(in crate::actors::resource) fn reached_after(&self, status: Status) -> Option<HookReached> {
        let hook = Hook::after(self.action).filter(|hook| self.hooks.contains(hook))?;
        let traversal = self.traversal?;
        (status == Status::Complete).then_some(HookReached { traversal, hook })
    }

    /// The stack's action as far as hooks count it: only a create waits before and behind creates.
    pub(in crate::actors::resource) fn hooks_behind(
        action: Action,
        stack_action: Action,
        hooks: &BTreeSet<Hook>,
    ) -> Vec<Hook> {
        let counts = action == Action::Update || action == stack_action;
        let behind = Hook::after(action).filter(|hook| counts && hooks.contains(hook));
        behind.into_iter().collect()
    }
}

impl Decider<'_> {
    /// The traversal of the task that waits.
    pub(in crate::actors::resource) fn held_for(&self) -> Option<TraversalId> {
        self.working.held.as_deref().and_then(ResourceCommand::traversal)
    }

    /// What is decided where an action waits first; `None` where it may go on.
    pub(in crate::actors::resource) fn waits_before(
        &mut self,
        hook: Hook,
        traversal: TraversalId,
        hooks: &BTreeSet<Hook>,
        held: impl FnOnce() -> ResourceCommand,
    ) -> Option<Decision<Resource>> {
        if !hooks.contains(&hook) {
            return None;
        }
        let is_here = |at: &HookAt| (at.traversal, at.hook) == (traversal, hook);
        match self.hook.filter(is_here) {
            Some(at) if !at.is_open => None,
            Some(_) => {
                self.working.held = Some(Box::new(held()));
                Some(Decision::nothing().and_do(ResourceEffect::Report))
            }
            None => {
                self.working.held = Some(Box::new(held()));
                let reached = Decision::record(HookReached { traversal, hook });
                Some(reached.and_do(ResourceEffect::Report))
            }
        }
    }

    pub(in crate::actors::resource) fn clear_hook(
        &mut self,
        word: &str,
        shown: &str,
    ) -> Result<Decision<Resource>, Refusal> {
        let refused = |text| Err(Refusal::new("InvalidBreakPointHook", text));
        let place = match &self.physical_id {
            Some(id) => format!("\"{}\" [{id}]", self.name),
            None => format!("\"{}\"", self.name),
        };
        let shown = shown.replace("{}", &place);
        let Some(hook) = Hook::named(word) else {
            return refused(format!("Invalid hook type \"{word}\" for {shown}"));
        };
        if !self.hook.is_some_and(|at| at.is_open && at.hook == hook) {
            return refused(format!("The \"{word}\" hook is not defined on {shown}"));
        }
        let cleared = Decision::record(HookCleared { hook });
        Ok(match self.working.held.take() {
            Some(held) => cleared.and_then(*held),
            None => cleared.and_do(ResourceEffect::Report),
        })
    }

    /// Nobody wants any more what the resource waits with. As in Heat the event list tells it where
    /// the waiting itself is given up, not where the stack's action ends without it.
    pub(in crate::actors::resource) fn leave_hook(&mut self, silent: bool) -> Decision<Resource> {
        self.working.held = None;
        match self.hook.filter(|at| at.is_open) {
            Some(at) => {
                self.working.dropped = Some(at.traversal);
                let silent = silent || self.action == Action::Init;
                let left = Decision::record(HookLeft { hook: at.hook, silent });
                left.and_do(ResourceEffect::Report)
            }
            None => Decision::nothing(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::resource::Outcome;
    use crate::actors::resource::story::{given_nothing, hooked, test_resource, traversal};

    #[test]
    fn a_newer_traversal_does_not_wait_with_the_one_before_and_is_not_undone_by_its_hook() {
        let waiting = given_nothing()
            .when(test_resource(1, "x"))
            .when(hooked(test_resource(2, "y"), Hook::PreUpdate));
        assert_eq!(waiting.told(), ["HookReached"]);
        let story = waiting.when(test_resource(3, "x"));
        let reached = Some((traversal(3), Outcome::Converged));
        assert_eq!(story.report().outcome, reached);
        let hook = Hook::PreUpdate.to_string();
        let story = story.when(ResourceCommand::ClearHook { hook, shown: "{}".to_owned() });
        assert_eq!(story.told(), ["HookCleared"]);
        assert_eq!(story.report().outcome, reached);
    }
}
