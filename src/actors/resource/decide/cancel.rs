//! Give up the action under way, and what was to follow it. A call that changes the cloud is never
//! given up in mid-air: its answer is awaited, so that what it made is known. A type that has told
//! others to go on takes that back first.

use super::settle::Ending;
use crate::actors::nested::own_child;
use crate::actors::resource::command::ResourceEffect;
use crate::actors::resource::phase::Call;
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::Step;
use crate::model::Action;
use crate::resource_types::{Attempt, Work};

impl Decider<'_> {
    pub(in crate::actors::resource) fn cancel(&mut self, reason: String) -> Decision<Resource> {
        if !self.in_progress() {
            let mut decision = self.leave_hook(false);
            decision.effects.extend(self.leave_look());
            return decision;
        }
        if let Some(queued) = self.working.queued.take() {
            self.working.dropped = queued.traversal();
        }
        if self.is_pausing() {
            return self.give_up_pause(format!("CREATE aborted ({reason})"));
        }
        self.working.cancel = Some(reason.clone());
        if self.working.changing {
            return Decision::nothing();
        }
        if let Some(last) = self.part() {
            return last;
        }
        self.working.cancel = None;
        let reason = self.aborted(&reason);
        let in_doubt = self.unanswered || self.awaits_answer();
        let halted = self.halt_child(None);
        let mut decision = self.settle(Ending { in_doubt, ..Ending::failed(reason) });
        decision.effects.extend(halted.effects);
        decision
    }

    /// What is at work goes to its end. What was to follow stays undone, and so does what a child
    /// stack has not begun.
    pub(in crate::actors::resource) fn begin_nothing(&mut self) -> Decision<Resource> {
        let mut decision = self.halt_child(None);
        if let Some(queued) = self.working.queued.take() {
            self.working.dropped = queued.traversal();
        }
        decision.effects.extend(self.leave_look());
        decision
    }

    /// Nobody wants any more what a look is taken for: it decides nothing when it comes back.
    fn leave_look(&mut self) -> Option<ResourceEffect> {
        let looking = self.working.looking.take().map(|it| it.traversal);
        let checking = self.working.checking.take().map(|it| it.traversal);
        self.working.dropped = Some(looking.or(checking)?);
        Some(ResourceEffect::Report)
    }

    /// The words for an action that was given up.
    pub(super) fn aborted(&self, reason: &str) -> String {
        format!("{} aborted ({reason})", self.action)
    }

    /// Takes back what others were told, where the action is given up and its type does that.
    pub(super) fn part(&mut self) -> Option<Decision<Resource>> {
        self.working.cancel.as_ref()?;
        let Some(Call::Due(step)) = self.call() else { return None };
        let (last, work) = self.cancellation_cleanup(step)?;
        Some(self.beat_again(last, Attempt::First, work))
    }

    /// The driver's last step where the action is given up at a step.
    pub(super) fn cancellation_cleanup(&self, step: &Step) -> Option<(Step, Work)> {
        let definition = self.working_definition()?;
        let driver = self.knowledge.registry.driver(&definition.driver_type)?;
        Some((driver.program().cancellation_cleanup(step)?, self.work(&definition, self.knowledge)))
    }

    /// Nothing further of the child stack that is being made or changed is to start.
    pub(in crate::actors::resource) fn halt_child(
        &self,
        learned: Option<&String>,
    ) -> Decision<Resource> {
        let changes = matches!(self.action, Action::Create | Action::Update);
        let nests = self.working_definition().is_some_and(|definition| {
            let driver = self.knowledge.registry.driver(&definition.driver_type);
            driver.is_some_and(|driver| driver.nests().is_some())
        });
        let named = learned.or(self.physical_id.as_ref());
        match own_child(self.id, named.map(String::as_str)) {
            Some(child) if nests && changes && self.in_progress() => {
                Decision::nothing().and_do(ResourceEffect::HaltChild { child })
            }
            Some(_) | None => Decision::nothing(),
        }
    }

    /// The stack's time is over: Heat's words for its task that ran out of time.
    pub(in crate::actors::resource) fn time_out(&mut self) -> Decision<Resource> {
        let class = self.type_name.rsplit("::").next().unwrap_or_default();
        let (stack_name, stack_id) = match &self.stack {
            Some(stack) => (stack.name.to_string(), stack.id.to_string()),
            None => Default::default(),
        };
        let reason = format!(
            "Task {} from {class} \"{}\" Stack \"{stack_name}\" [{stack_id}] Timed out",
            self.action.as_str().to_lowercase(),
            self.name,
        );
        self.cancel(reason)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::actors::nested::child_of;
    use crate::actors::resource::command::{Outcome, ResourceCommand, ResourceEffect};
    use crate::actors::resource::story::{
        Story, cancel, converge, done, given_nothing, learned, refused, test_resource, traversal,
    };

    fn creating() -> Story {
        given_nothing().when(converge(1, "OS::Neutron::Net", json!({})))
    }

    #[test]
    fn between_two_calls_an_action_ends_at_once_and_keeps_what_it_made() {
        let story = creating().when_answered(learned("n1", "ready", false)).when(cancel());
        assert_eq!(story.told(), ["ActionSettled"]);
        assert_eq!(story.settled().reason, "CREATE aborted (user triggered cancel)");
        assert_eq!(story.resource.physical_id.as_deref(), Some("n1"));
        assert!(!story.resource.unanswered);
    }

    #[test]
    fn what_was_to_follow_is_given_up_with_the_action_and_its_stack_hears_of_that() {
        let story = creating().when(converge(2, "OS::Neutron::Net", json!({}))).when(cancel());
        assert_eq!(story.report().dropped, Some(traversal(2)));
        let story = story.when_answered(learned("n1", "ready", false));
        assert_eq!(story.told(), ["ActionSettled"]);
    }

    #[test]
    fn what_has_ended_is_not_ended_again() {
        let story = given_nothing().when(test_resource(1, "x")).when(cancel());
        assert!(story.told().is_empty() && story.effects.is_empty());
    }

    #[test]
    fn a_resource_that_is_to_begin_nothing_ends_what_it_is_at() {
        let story = creating().when(converge(2, "OS::Neutron::Net", json!({})));
        let story = story.when(ResourceCommand::BeginNothing);
        assert!(story.told().is_empty());
        assert_eq!(story.report().dropped, Some(traversal(2)));
        let story = story.when_answered(done());
        assert_eq!(story.told(), ["ActionSettled"]);
        assert_eq!(story.outcome(), Some((traversal(1), Outcome::Converged)));
    }

    #[test]
    fn a_look_that_is_given_up_decides_nothing_any_more() {
        for end in [ResourceCommand::BeginNothing, cancel(), ResourceCommand::TimeOut] {
            let failed = creating().when_answered(Err(refused("BadRequest", "no")));
            let story = failed.when(converge(2, "OS::Neutron::Net", json!({})));
            assert!(matches!(story.effects[..], [ResourceEffect::SeeFailed { .. }]));
            let epoch = story.beat();
            let story = story.when(end);
            assert_eq!(story.report().dropped, Some(traversal(2)));
            assert!(matches!(story.effects[..], [ResourceEffect::Report]));
            let story = story.when(ResourceCommand::FailedSeen { epoch, replace: Ok(false) });
            assert!(story.told().is_empty() && story.effects.is_empty());
        }
    }

    #[test]
    fn a_child_stack_that_was_told_to_begin_is_halted_with_its_resource() {
        let group = json!({ "count": 1, "resource_def": { "type": "OS::Heat::TestResource" } });
        let story = given_nothing().when(converge(1, "OS::Heat::ResourceGroup", group));
        let child = child_of(story.resource.id, 0);
        let story = story.when(cancel());
        assert!(story.effects.is_empty(), "the child may not have heard of it yet");
        let story = story.when_answered(learned(&child.to_string(), "settle", false));
        assert_eq!(story.told(), ["ActionSettled"]);
        let halts = |effect: &ResourceEffect| matches!(effect, ResourceEffect::HaltChild { child: halted } if *halted == child);
        assert!(story.effects.iter().any(halts), "{:?}", story.effects);
    }

    #[test]
    fn a_resource_whose_stack_has_no_more_time_says_which_task_that_was() {
        let story = creating().when_answered(learned("n1", "ready", false));
        let story = story.when(ResourceCommand::TimeOut);
        let stack = story.resource.stack.as_ref().unwrap().id;
        let task = format!("Task create from Net \"a\" Stack \"web\" [{stack}] Timed out");
        assert_eq!(story.settled().reason, format!("CREATE aborted ({task})"));
    }
}
