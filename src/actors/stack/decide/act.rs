//! Suspend, resume, check and snapshot: a traversal over the incarnations that the stack has, each of which does
//! the action in its turn. One that is asked for in the middle of another action waits for its end
//! (Heat starts it at once, and the last one to end wins).

use crate::model::IndexMap;

use crate::actors::resource::{Act, ResourceCommand};
use crate::actors::shell::Decision;
use crate::actors::stack::command::{StackCommand, StackEffect};
use crate::actors::stack::state::{Decider, Stack, Traversal};
use crate::events::stack::{ActionDeferred, Node, RevisionAccepted, TraversalStarted};
use crate::graph::Dependencies;
use crate::model::{Action, Refusal, ResourceId, ResourceName, Status};

impl Decider<'_> {
    pub(in crate::actors::stack) fn act(
        &mut self,
        asked: ActionDeferred,
    ) -> Result<Decision<Stack>, Refusal> {
        let action = asked.action;
        self.alive()?;
        if self.in_progress() {
            if self.action == Action::Delete {
                return Err(Refusal::new(
                    "ActionInProgress",
                    format!("Stack {} already has an action (DELETE) in progress.", self.name),
                ));
            }
            let waits =
                (self.deferred.last()).map_or(self.action == action, |last| last.action == action);
            if waits {
                return Ok(Decision::nothing());
            }
            return Ok(Decision::record(asked));
        }
        let is_so = (self.action, self.status) == (action, Status::Complete);
        if is_so && action != Action::Check {
            return Ok(Decision::nothing());
        }
        Ok(self.start_act(Decision::nothing(), &asked))
    }

    /// The action that was asked for during the one that ends here.
    pub(super) fn and_deferred(&self, decision: Decision<Stack>) -> Decision<Stack> {
        match self.deferred.first() {
            Some(asked) => self.start_act(decision, asked),
            None => decision,
        }
    }

    fn start_act(&self, decision: Decision<Stack>, asked: &ActionDeferred) -> Decision<Stack> {
        let Some(newest) = self.revision() else { return decision };
        let trustor = asked.trustor.clone();
        let started = self.act_traversal(asked.action, newest);
        let started = TraversalStarted { trustor, ..started };
        let deadline = Stack::deadline_of(&started);
        decision.and_record(started).and_do(deadline).and_then(StackCommand::Advance)
    }

    /// A traversal over what is there.
    pub(super) fn act_traversal(
        &self,
        action: Action,
        newest: &RevisionAccepted,
    ) -> TraversalStarted {
        let resources = self.view().known().map(|known| known.definition.resources());
        let nodes = self.traversal.iter().flat_map(|former| {
            former.nodes.iter().map(|(name, id)| {
                let declared = resources.and_then(|resources| resources.get(name));
                Node {
                    name: name.clone(),
                    id: *id,
                    type_name: (self.rows.get(id))
                        .map_or_else(String::new, |row| row.type_name.clone()),
                    requires: former.requires.get(name).cloned().unwrap_or_default(),
                    description: declared
                        .map_or_else(String::new, |known| known.description.clone()),
                }
            })
        });
        TraversalStarted {
            nodes: nodes.collect(),
            rows: None,
            ..self.traversal_of(action, newest, None)
        }
    }

    /// What is told to an incarnation in its turn.
    pub(super) fn act_task(&mut self, name: &ResourceName, id: ResourceId) -> Option<StackEffect> {
        let traversal = self.state.traversal.as_ref()?;
        let failures = &mut self.working.failures;
        if traversal.requires.get(name)?.iter().any(|used| failures.contains_key(used)) {
            // As in Heat, what uses a resource that failed its check is not looked at.
            failures.insert(name.clone(), None);
            return None;
        }
        let definition = self.view().known().map(|known| &known.definition);
        let driver_type = definition.and_then(|it| self.knowledge.registry.driver_type(it, name));
        let act = Act {
            traversal: traversal.id,
            action: traversal.action,
            stack: self.identity(),
            type_name: self.rows.get(&id).map(|row| row.type_name.clone()).unwrap_or_default(),
            driver_type: driver_type.map(str::to_owned).unwrap_or_default(),
            deadline: traversal.deadline,
            trustor: traversal.trustor.clone(),
            in_part: self.rests_in_part,
        };
        self.working.told.insert(id, (name.clone(), act.traversal));
        let command = ResourceCommand::Act(Box::new(act));
        Some(StackEffect::Tell { id, name: name.clone(), command })
    }

    /// Whether every resource of the stack has a check of its own.
    pub(super) fn checks_fully(&self) -> bool {
        let Some(known) = self.view().known() else { return true };
        known.definition.resources().keys().all(|name| {
            let driver_type = self.knowledge.registry.driver_type(&known.definition, name);
            let driver = driver_type.and_then(|it| self.knowledge.registry.driver(it));
            driver.is_some_and(|driver| driver.acts(Action::Check))
        })
    }

    /// Why a check failed: each resource that did, in the order of their names.
    pub(super) fn failed_checks(&self) -> Option<String> {
        let failures = &self.working.failures;
        let told: Vec<_> = failures
            .iter()
            .filter_map(|(name, reason)| Some(format!("{name}: {}", reason.as_ref()?)))
            .collect();
        (!told.is_empty()).then(|| format!("Resource CHECK failed: {}", told.join("; ")))
    }
}

/// The order of an act: along the dependencies, against them to suspend. What was never begun uses
/// nothing yet that would have to wait for it.
pub(super) fn order(
    traversal: &Traversal,
    is_unbegun: impl Fn(&ResourceName) -> bool,
) -> Dependencies {
    let requires: &IndexMap<ResourceName, Vec<ResourceName>> = &traversal.requires;
    let mut order = Dependencies::of(requires.keys().cloned());
    for (name, required) in requires {
        for other in required {
            match traversal.action == Action::Suspend {
                true if is_unbegun(name) => {}
                true => order.add(other, name),
                false => order.add(name, other),
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::story::{act, delete, given, given_made};

    #[test]
    fn a_stack_is_suspended_against_its_dependencies_and_resumed_along_them() {
        let story = given_made("net port:net").when(act(Action::Suspend));
        assert_eq!(story.orders(), ["suspend port"]);
        assert_eq!(story.when_done("port").orders(), ["suspend net"]);

        let suspended = given_made("net port:net").when(act(Action::Suspend)).when_all_are_done();
        assert!(suspended.state().starts_with("SUSPEND_COMPLETE"), "{}", suspended.state());
        let story = suspended.when(act(Action::Resume));
        assert_eq!(story.orders(), ["resume net"]);
        assert_eq!(story.when_done("net").orders(), ["resume port"]);
    }

    #[test]
    fn what_is_suspended_already_is_not_suspended_again_but_every_check_looks() {
        let suspended = given_made("net").when(act(Action::Suspend)).when_all_are_done();
        assert!(suspended.when(act(Action::Suspend)).told().is_empty());
        let checked = given_made("net").when(act(Action::Check)).when_all_are_done();
        assert_eq!(checked.when(act(Action::Check)).orders(), ["check net"]);
    }

    #[test]
    fn an_action_that_is_asked_for_during_another_waits_for_its_end_once() {
        let story = given("net").when(act(Action::Check));
        assert_eq!((story.told(), story.orders()), (vec!["ActionDeferred"], vec![]));
        let story = story.when(act(Action::Check));
        assert!(story.told().is_empty());
        let story = story.when_woken().when_done("net");
        assert_eq!(story.told(), ["TraversalSettled", "TraversalStarted"]);
        assert_eq!(story.orders(), ["check net"]);
        assert_eq!(story.when_done("net").told(), ["TraversalSettled"]);
    }

    #[test]
    fn what_uses_a_resource_that_failed_its_check_is_not_looked_at_and_all_else_is() {
        let story = given_made("net other port:net").when(act(Action::Check));
        let story = story.when_it_fails("net", "NotFound: gone");
        assert_eq!((story.told(), story.orders()), (vec![], vec![]));
        let story = story.when_done("other");
        let wanted =
            "CHECK_FAILED: Resource CHECK failed: net: Resource CHECK failed: NotFound: gone";
        assert!(story.state().starts_with(wanted), "{}", story.state());
    }

    #[test]
    fn a_stack_that_is_being_deleted_does_nothing_else() {
        let refusal = given_made("net").when(delete()).refuses(act(Action::Suspend));
        assert_eq!(refusal.class, "ActionInProgress");
        assert_eq!(refusal.message, "Stack web already has an action (DELETE) in progress.");
    }
}
