//! An action is over: what is recorded of its end, and what follows it.

use crate::actors::resource::command::{ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{ActionSettled, Definition};
use crate::model::sizes::REASON;
use crate::model::{Action, JsonMap, Status};
use crate::resource_types::{Failure, Learned};

/// How an action ends.
#[derive(Default)]
pub(super) struct Ending {
    pub(super) status: Status,
    pub(super) reason: String,
    /// Its secrets are marked, and those of the attributes.
    pub(super) learned: Learned,
    pub(super) attributes: JsonMap,
    /// A call was given up without its answer.
    pub(super) in_doubt: bool,
    /// It was refused before it changed anything.
    pub(super) untouched: bool,
}

impl Ending {
    pub(super) fn complete() -> Self {
        Self { status: Status::Complete, reason: "state changed".to_owned(), ..Self::default() }
    }

    pub(super) fn failed(reason: String) -> Self {
        Self { status: Status::Failed, reason, ..Self::default() }
    }
}

impl Decider<'_> {
    /// The action is done.
    pub(super) fn complete(
        &mut self,
        learned: Learned,
        mut attributes: JsonMap,
        definition: &Definition,
    ) -> Decision<Resource> {
        for name in &definition.attributes {
            // An attribute without a value was looked up all the same.
            attributes.entry(name.clone()).or_insert(serde_json::Value::Null);
        }
        let attributes = self.taint_attributes(attributes);
        let learned = self.taint_learned(learned);
        self.settle(Ending { learned, attributes, ..self.done(definition) })
    }

    /// The end of an action that is done: a retired type says that it does nothing.
    pub(super) fn done(&self, definition: &Definition) -> Ending {
        let driver = self.knowledge.registry.driver(&definition.driver_type);
        let retirement = driver.and_then(|driver| driver.declaration().retirement());
        match retirement.filter(|_| self.action != Action::Delete) {
            Some(words) => {
                Ending { reason: format!("state changed: {words}"), ..Ending::complete() }
            }
            None => Ending::complete(),
        }
    }

    /// The action fails for good: the class, the place and the cloud's own words.
    pub(super) fn fail(&mut self, error: &Failure) -> Decision<Resource> {
        let message = self.without_secrets(&error.to_string());
        let reason = self.failure(error.class(), error.below(), &message);
        // A search that failed has not found out what it was for.
        let in_doubt = error.is_unanswered() || self.working.searching;
        let is_whole = error.is_refusal() && !in_doubt && !self.touched();
        let untouched = is_whole && self.action == Action::Update;
        let ending = Ending { in_doubt, untouched, ..Ending::failed(reason) };
        match self.repeats(error) {
            true => self.repeat(ending),
            false => self.settle(ending),
        }
    }

    /// Whether the action has changed the cloud, or may have.
    fn touched(&self) -> bool {
        self.phase.at_work().is_some_and(|at_work| at_work.touched)
    }

    /// Ends the action, and goes on with what was asked for meanwhile.
    pub(super) fn settle(&mut self, ending: Ending) -> Decision<Resource> {
        let complete = ending.status == Status::Complete;
        let hook = self.reached_after(ending.status);
        let waits = |queued: &ResourceCommand| matches!(queued, ResourceCommand::Act(_));
        // What is to be done with the resource as it is waits for the create to have its end.
        let again = self.repeats_create()
            && (self.action, complete) == (Action::Delete, true)
            && self.working.queued.as_deref().is_none_or(waits);
        let settled = Decision::record(ActionSettled { again, ..self.settled(ending) });
        if again {
            return settled.and_do(self.pause());
        }
        let is_last = complete && self.working.queued.is_none();
        if let Some(another) = self.working.another.take().filter(|_| is_last) {
            let converge = ResourceCommand::Converge(another);
            // The stack hears of what comes of that.
            let Some(hook) = hook else { return settled.and_then(converge) };
            self.working.held = Some(Box::new(converge));
            return settled.and_record(hook).and_do(ResourceEffect::Report);
        }
        let settled = settled.and_do(ResourceEffect::Report);
        match (self.working.queued.take(), hook) {
            (Some(queued), _) => settled.and_then(*queued),
            (None, Some(hook)) => settled.and_record(hook),
            (None, None) => settled,
        }
    }

    /// The end as it is recorded. A beat that is still out no longer counts.
    pub(super) fn settled(&mut self, ending: Ending) -> ActionSettled {
        self.working.epoch += 1;
        self.working.changing = false;
        self.working.polls = 0;
        self.working.cancel = None;
        let Ending { status, reason, learned, attributes, in_doubt, untouched } = ending;
        // What was not found out yet is to be found out still.
        let still = self.unanswered && (self.action, status) == (Action::Delete, Status::Failed);
        let leaves_call = matches!(self.action, Action::Create | Action::Delete);
        let traversal = self.traversal.unwrap_or_default();
        ActionSettled {
            physical_id: learned.physical_id.or_else(|| self.physical_id.clone()),
            data: learned.data,
            attributes,
            metadata: learned.metadata,
            unanswered: still || (in_doubt && leaves_call),
            untouched,
            ..ActionSettled::new(self.action, traversal, status, REASON.shortened(reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::command::Outcome;
    use crate::actors::resource::story::{
        Story, converge, done, given_nothing, hooked, learned, lost, refused, test_resource,
        traversal,
    };
    use crate::model::Hook;
    use crate::model::taint::taint;

    fn net(number: u128, name: &str) -> ResourceCommand {
        converge(number, "OS::Neutron::Net", json!({ "name": name }))
    }

    #[test]
    fn another_definition_of_the_traversal_waits_at_the_hook_behind_the_action() {
        let net = |name: &str| hooked(net(1, name), Hook::PostCreate);
        let story = given_nothing().when(net("x")).when_answered(learned("n1", "ready", false));
        let story = story.when_woken().when(net("y")).when_answered(done());
        assert_eq!(story.told(), ["ActionSettled", "HookReached"]);
        assert_eq!(story.report().outcome, None);
        let clear =
            ResourceCommand::ClearHook { hook: "post-create".to_owned(), shown: String::new() };
        let story = story.when(clear);
        assert_eq!(story.told(), ["HookCleared", "ActionStarted", "CallIntended"]);
        assert_eq!(
            story.when_answered(done()).report().outcome,
            Some((traversal(1), Outcome::Converged))
        );
    }

    fn updating() -> Story {
        let story = given_nothing().when(net(1, "x"));
        story.when_answered(learned("n1", "ready", false)).when_answered(done()).when(net(2, "y"))
    }

    #[test]
    fn a_resource_that_waits_behind_its_action_has_not_converged_before_it_is_cleared() {
        let story = given_nothing().when(hooked(test_resource(1, "x"), Hook::PostCreate));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled", "HookReached"]);
        assert_eq!(story.report().outcome, None);
        let hook = Hook::PostCreate.to_string();
        let story = story.when(ResourceCommand::ClearHook { hook, shown: "{}".to_owned() });
        assert_eq!(story.report().outcome, Some((traversal(1), Outcome::Converged)));
    }

    #[test]
    fn an_update_that_was_refused_at_once_leaves_the_resource_as_it_was() {
        let story = updating().when_answered(Err(refused("BadRequest", "no")));
        assert!(story.settled().untouched && story.resource.target.is_none());
        let story = updating().when_answered(learned("n1", "ready", false));
        let story = story.when_answered(Err(refused("BadRequest", "no")));
        assert!(!story.settled().untouched && story.resource.target.is_some());
    }

    #[test]
    fn an_update_whose_call_was_lost_may_have_changed_something() {
        let mut story = updating().when_answered(Err(lost()));
        for _ in 0..20 {
            let epoch = story.beat();
            if story.told() == ["CallRetried"] {
                let due = ResourceCommand::Due { epoch };
                story = story.after(20).when(due).when_answered(Err(lost()));
            }
        }
        assert!(!story.settled().untouched && story.resource.target.is_some());
    }

    #[test]
    fn a_failure_repeats_no_secret() {
        let hidden = converge(1, "OS::Neutron::Net", json!({ "name": taint("hidden-now".into()) }));
        let story = given_nothing().when(hidden);
        let story = story.when_answered(Err(refused("BadRequest", "no net hidden-now")));
        let reason = &story.settled().reason;
        assert!(reason.starts_with("BadRequest: resources.a: no net "), "{reason}");
        assert!(!reason.contains("hidden-now"), "{reason}");
    }

    #[test]
    fn a_type_of_a_retired_service_says_that_it_does_nothing() {
        let retired = converge(1, "OS::Monasca::Notification", json!({}));
        let reason = "state changed: OS::Monasca::Notification does nothing any more";
        assert_eq!(given_nothing().when(retired).settled().reason, reason);
    }
}
