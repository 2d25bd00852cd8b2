//! Suspend, resume, check and snapshot: as the type does it, where it does anything. And a word from outside
//! on whether the resource is healthy.

use super::started;
use crate::actors::resource::command::{Act, Outcome, ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{ActionSettled, ActionStarted, HealthMarked};
use crate::model::{Action, JsonMap, Refusal, ResourceName, Status, TraversalId, TraversalOptions};

impl Decider<'_> {
    pub(in crate::actors::resource) fn act(&mut self, act: Box<Act>) -> Decision<Resource> {
        if self.in_progress() {
            if self.traversal != Some(act.traversal) {
                self.working.queued = Some(Box::new(ResourceCommand::Act(act)));
            }
            return Decision::nothing();
        }
        self.working.looking = None;
        self.working.checking = None;
        // What was taken over is looked at in the same traversal.
        let is_through = matches!(self.outcome(), Some((of, _)) if *of == act.traversal);
        if is_through && self.action != Action::Adopt {
            return Decision::nothing().and_do(ResourceEffect::Report);
        }
        if (self.action, self.status) == (Action::Delete, Status::Complete) {
            // There is nothing that could be suspended or looked at.
            return self.without_event(act.traversal, Outcome::Converged);
        }
        let is_awake = act.in_part && self.status == Status::Complete;
        if act.action == Action::Resume && is_awake && !self.may(Action::Resume) {
            // It was made since the stack was suspended, or goes on from before.
            return self.without_event(act.traversal, Outcome::Converged);
        }
        if !self.may(act.action) {
            let word = act.action.as_str().to_lowercase();
            let reason = format!(
                "Error: resources.{}: State ('{}', '{}') invalid for {word}",
                self.name, self.action, self.status
            );
            let failed = Outcome::Failed { action: act.action, reason };
            return self.without_event(act.traversal, failed);
        }
        let known = self.definition.as_ref().map(|definition| &definition.driver_type);
        let driver = self.knowledge.registry.driver(known.unwrap_or(&act.driver_type));
        let handles = driver.as_ref().is_some_and(|driver| driver.acts(act.action));
        if act.action == Action::Check && !handles {
            return self.unchecked(&act);
        }
        if act.action == Action::Check && self.action == Action::Init {
            let reason = unmade(&self.name);
            return Decision::record(ActionSettled::new(
                act.action,
                act.traversal,
                Status::Failed,
                reason,
            ))
            .and_do(ResourceEffect::Report);
        }
        let nests = driver.is_some_and(|driver| driver.nests().is_some());
        let started = Decision::record(self.act_started(&act));
        match self.cannot(act.action, nests) {
            Some(reason) => started
                .and_record(ActionSettled::new(act.action, act.traversal, Status::Failed, reason))
                .and_do(ResourceEffect::Report),
            None => started.and_then(ResourceCommand::Proceed),
        }
    }

    /// Why an action fails that wants something to be there, where no create has begun.
    fn cannot(&self, action: Action, nests: bool) -> Option<String> {
        if !self.is_unbegun() || action == Action::Snapshot {
            return None;
        }
        let (word, name) = (action.as_str().to_lowercase(), &self.name);
        if nests {
            return Some(format!(
                "Error: resources.{name}: Cannot {word} {name}, stack not created"
            ));
        }
        (action == Action::Check)
            .then(|| format!("Exception: resources.{name}: Resource not created"))
    }

    fn act_started(&self, act: &Act) -> ActionStarted {
        let (name, type_name) = (&self.name, self.type_name_or(&act.type_name));
        let Act { action, traversal, stack, deadline, trustor, .. } = act;
        let options = TraversalOptions::default();
        let started = started(*action, *traversal, stack, name, &type_name, trustor, options);
        ActionStarted { deadline: *deadline, ..started }
    }

    /// A check of a type that has none: said once, after a look at what differs.
    fn unchecked(&mut self, act: &Act) -> Decision<Resource> {
        if let Some(look) = self.look_in_check(act) {
            return look;
        }
        let reason = format!("CHECK not supported for {}", self.type_name_or(&act.type_name));
        let is_said = (self.action, self.status) == (Action::Check, Status::Complete)
            && self.reason == reason;
        if is_said {
            return self.without_event(act.traversal, Outcome::Converged);
        }
        let definition = self.definition.clone().unwrap_or_default();
        let look = match definition.external_id {
            Some(_) => self.look_up(&definition),
            None => None,
        };
        Decision::record(ActionSettled {
            physical_id: self.physical_id.clone(),
            attributes: JsonMap::clone(&self.attributes),
            ..ActionSettled::new(act.action, act.traversal, Status::Complete, reason)
        })
        .and_do(look.unwrap_or(ResourceEffect::Report))
    }

    pub(super) fn without_event(
        &mut self,
        traversal: TraversalId,
        outcome: Outcome,
    ) -> Decision<Resource> {
        self.working.concluded = Some((traversal, outcome));
        Decision::nothing().and_do(ResourceEffect::Report)
    }

    /// Somebody who knows says that the resource is healthy, or is not.
    pub(in crate::actors::resource) fn mark(
        &mut self,
        healthy: bool,
        reason: String,
    ) -> Result<Decision<Resource>, Refusal> {
        if self.in_progress() {
            let stack = self.stack.as_ref().map(|stack| stack.name.as_str()).unwrap_or_default();
            return Err(Refusal::new(
                "ActionInProgress",
                format!("Stack {stack} already has an action ({}) in progress.", self.action),
            ));
        }
        let is_ill = (self.action, self.status) == (Action::Check, Status::Failed);
        if (healthy && !is_ill) || self.action == Action::Delete {
            return Ok(Decision::nothing());
        }
        Ok(Decision::record(HealthMarked { healthy, reason }).and_do(ResourceEffect::Report))
    }
}

impl Resource {
    /// What the template calls the type; what was never begun has it from who knows.
    pub(super) fn type_name_or(&self, told: &str) -> String {
        match self.type_name.is_empty() {
            true => told.to_owned(),
            false => self.type_name.clone(),
        }
    }

    /// Whether no create has begun, whatever else was done since.
    pub(super) fn is_unbegun(&self) -> bool {
        self.definition.is_none() && self.target.is_none()
    }

    /// Whether it is suspended, whatever was done to it since.
    pub fn is_suspended(&self) -> bool {
        self.rests || (self.action, self.status) == (Action::Suspend, Status::Complete)
    }

    /// Whether the action may follow on the resource's state.
    pub(in crate::actors) fn may(&self, action: Action) -> bool {
        let state = (self.action, self.status);
        if action == Action::Suspend {
            return state.0 != Action::Delete
                && (state.0 == Action::Suspend || state.1 == Status::Complete);
        }
        action != Action::Resume || self.is_suspended() || state.0 == Action::Resume
    }
}

/// What the event list says where what is to be checked was never made.
fn unmade(name: &ResourceName) -> String {
    format!("Can not check {name}, resource not created yet.")
}

/// Why an action failed, as the stack hears it: as Heat has it, the event list has other words for
/// the check of what was never made.
pub(in crate::actors::resource) fn told_reason(name: &ResourceName, reason: &str) -> String {
    match reason == unmade(name) {
        true => format!("Exception: resources.{name}: Resource {name} not created yet."),
        false => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use serde_json::json;

    use super::*;
    use crate::actors::resource::story::{
        self, Story, converge, given_nothing, test_resource, traversal,
    };

    fn act(story: Story, number: u128, action: Action) -> Story {
        story.when(story::act(number, action))
    }

    fn state(story: &Story) -> (Action, Status) {
        (story.resource.action, story.resource.status)
    }

    #[test]
    fn a_type_without_a_way_of_its_own_is_suspended_and_resumed_at_once() {
        let story = act(given_nothing().when(test_resource(1, "x")), 2, Action::Suspend);
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(state(&story), (Action::Suspend, Status::Complete));
        assert!(story.resource.definition.is_some());
        let story = act(story, 3, Action::Resume);
        assert_eq!(state(&story), (Action::Resume, Status::Complete));
    }

    #[test]
    fn what_was_never_begun_is_suspended_and_resumed_and_then_replaced() {
        let story = act(given_nothing(), 1, Action::Suspend);
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(story.resource.type_name, "OS::Heat::TestResource");
        let story = act(story, 2, Action::Resume).when(test_resource(3, "x"));
        assert_eq!(story.outcome(), Some((traversal(3), Outcome::Replace)));
    }

    #[test]
    fn what_was_never_begun_fails_its_check_and_is_replaced() {
        let story = act(given_nothing(), 1, Action::Check);
        assert_eq!(story.told(), ["ActionSettled"]);
        assert_eq!(story.resource.reason, "Can not check a, resource not created yet.");
        let reason = "Exception: resources.a: Resource a not created yet.".to_owned();
        let failed = Outcome::Failed { action: Action::Check, reason };
        assert_eq!(story.outcome(), Some((traversal(1), failed)));
        let story = story.when(test_resource(2, "x"));
        assert_eq!(story.outcome(), Some((traversal(2), Outcome::Replace)));
        assert_eq!(story.when(story::clean_up(2)).told(), ["ActionStarted", "ActionSettled"]);
    }

    #[test]
    fn what_is_done_with_a_resource_leaves_its_type() {
        let random = converge(1, "OS::Heat::RandomString", json!({ "length": 4 }));
        let story = act(given_nothing().when(random), 2, Action::Suspend);
        assert_eq!(state(&story), (Action::Suspend, Status::Complete));
        assert_eq!(story.resource.type_name, "OS::Heat::RandomString");
    }

    #[test]
    fn what_is_not_suspended_cannot_be_resumed_and_says_nothing() {
        let story = act(given_nothing().when(test_resource(1, "x")), 2, Action::Resume);
        assert!(story.told().is_empty());
        assert_eq!(state(&story), (Action::Create, Status::Complete));
        let reason = "Error: resources.a: State ('CREATE', 'COMPLETE') invalid for resume";
        let failed = Outcome::Failed { action: Action::Resume, reason: reason.to_owned() };
        assert_eq!(story.outcome(), Some((traversal(2), failed)));
    }

    #[test]
    fn what_was_changed_while_it_was_suspended_can_be_resumed() {
        let story = act(given_nothing().when(test_resource(1, "x")), 2, Action::Suspend);
        let story = story.when(test_resource(3, "y"));
        assert_eq!(state(&story), (Action::Update, Status::Complete));
        assert!(story.resource.is_suspended());
        let story = act(story, 4, Action::Resume);
        assert_eq!(state(&story), (Action::Resume, Status::Complete));
        assert!(!story.resource.is_suspended());
    }

    #[test]
    fn what_never_was_suspended_is_left_where_others_are_resumed() {
        let mut resume = story::act(2, Action::Resume);
        if let ResourceCommand::Act(act) = &mut resume {
            act.in_part = true;
        }
        let story = given_nothing().when(test_resource(1, "x")).when(resume);
        assert!(story.told().is_empty());
        assert_eq!(story.outcome(), Some((traversal(2), Outcome::Converged)));
    }

    #[test]
    fn a_resource_at_work_is_not_marked() {
        let slow = converge(1, "OS::Neutron::Net", json!({}));
        let mut story = given_nothing().when(slow);
        let mark = ResourceCommand::Mark { healthy: false, reason: "seen".to_owned() };
        let text = "Stack web already has an action (CREATE) in progress.";
        assert_eq!(story.refuses(mark).message, text);
    }

    #[test]
    fn a_check_keeps_definition_and_attributes() {
        let story = given_nothing().when(test_resource(1, "x"));
        let (definition, attributes) =
            (story.resource.definition.clone(), story.resource.attributes.clone());
        let story = act(story, 2, Action::Check);
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(state(&story), (Action::Check, Status::Complete));
        assert_eq!(story.resource.definition, definition);
        assert_eq!(story.resource.attributes, attributes);
    }

    #[test]
    fn a_marked_resource_is_replaced_and_a_healed_one_kept() {
        let marked = |story: Story, healthy| {
            story.when(ResourceCommand::Mark { healthy, reason: "seen".to_owned() })
        };
        let story = marked(given_nothing().when(test_resource(1, "x")), false);
        assert_eq!(story.told(), ["HealthMarked"]);
        assert_eq!(state(&story), (Action::Check, Status::Failed));
        let story = marked(story, true);
        assert_eq!(state(&story), (Action::Check, Status::Complete));
        let story = story.when(test_resource(2, "x"));
        assert_eq!(story.outcome(), Some((traversal(2), Outcome::Converged)));
        let story = marked(story, false).when(test_resource(3, "x"));
        assert_eq!(story.outcome(), Some((traversal(3), Outcome::Replace)));
    }

    #[test]
    fn what_is_marked_while_a_traversal_is_on_its_way_is_replaced_where_it_would_be_changed() {
        let begun_before = |number, value| {
            let mut command = test_resource(number, value);
            if let ResourceCommand::Converge(converge) = &mut command {
                converge.since = DateTime::<Utc>::MIN_UTC;
            }
            command
        };
        let unhealthy = || ResourceCommand::Mark { healthy: false, reason: "seen".to_owned() };
        let marked = || given_nothing().when(test_resource(1, "x")).when(unhealthy());
        let story = marked().when(begun_before(2, "x"));
        assert_eq!(story.outcome(), Some((traversal(2), Outcome::Converged)));
        assert_eq!(state(&story), (Action::Check, Status::Failed));
        let story = marked().when(begun_before(2, "y"));
        assert_eq!(story.outcome(), Some((traversal(2), Outcome::Replace)));
    }
}
