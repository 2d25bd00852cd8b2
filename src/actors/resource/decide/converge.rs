//! Bring the resource to a definition: create it, leave it, update it, or ask to be replaced.
//! The order of the questions is Heat's (`states.json`, update, decision_order).

use super::begin::begun;
use super::come_to_be::check;
use crate::actors::resource::command::{Converge, Outcome, ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{ActionSettled, ActionStarted, Definition};
use crate::model::sizes::REASON;
use crate::model::{Action, Hook, Status};

impl Decider<'_> {
    pub(in crate::actors::resource) fn converge(
        &mut self,
        converge: Box<Converge>,
    ) -> Decision<Resource> {
        if self.in_progress() && !self.is_pausing() {
            if self.traversal != Some(converge.traversal) {
                // A newer traversal takes the resource over once it is through with this action.
                self.working.queued = Some(Box::new(ResourceCommand::Converge(converge)));
                // What a child stack has not begun yet would be for nothing.
                return self.halt_child(None);
            }
            return self.at_work_in(converge);
        }
        let through = self.outcome().filter(|(of, _)| *of == converge.traversal);
        // A traversal that starts over after a restart may bring another definition than before it.
        let is_told = through.is_some_and(|(_, outcome)| *outcome != Outcome::Converged);
        let is_through = through.is_some();
        if is_told || (is_through && self.waits_in(converge.traversal)) {
            return Decision::nothing().and_do(ResourceEffect::Report);
        }
        self.working.observed_signals = converge.observed_signals.clone();
        self.working.looking = None;
        self.working.checking = None;
        let definition = match &converge.definition {
            Ok(definition) => definition.clone(),
            Err(reason) => return self.cannot_start(&converge, reason.clone()),
        };
        if is_through && self.action == Action::Adopt && definition.external_id.is_some() {
            return self.act(Box::new(check(&converge)));
        }
        if self.action == Action::Init {
            return self.come_to_be(converge, definition);
        }
        if let Some(verdict) = self.outright(self.terms(&converge), &definition, self.knowledge) {
            if self.is_pausing() {
                // Nothing else would end the pause.
                let reason = "CREATE aborted (superseded by another definition)".to_owned();
                return self.give_up_pause(reason).and_then(ResourceCommand::Converge(converge));
            }
            return self.go_by(verdict, &converge, definition);
        }
        if let Some(look) = self.look_at_reality(&converge) {
            return look;
        }
        if self.is_gone(converge.traversal) {
            let verdict = Resource::made_anew(self.terms(&converge));
            return self.go_by(verdict, &converge, definition);
        }
        let held = || ResourceCommand::Converge(converge.clone());
        let (traversal, hooks) = (converge.traversal, converge.hooks.clone());
        let waits = match is_through {
            true => None,
            false => self.waits_before(Hook::PreUpdate, traversal, &hooks, held),
        };
        if let Some(waits) = waits {
            return waits;
        }
        if self.action == Action::Delete && self.is_pausing() {
            if self.traversal == Some(converge.traversal) {
                // The pause goes on.
                return self.at_work_in(converge);
            }
            return self.start(Action::Create, &converge, definition);
        }
        match self.as_it_stands(self.terms(&converge), &definition, self.knowledge) {
            Some(verdict) => self.go_by(verdict, &converge, definition),
            None => self.compare(&converge, definition),
        }
    }

    /// The traversal's own action goes on.
    fn at_work_in(&mut self, converge: Box<Converge>) -> Decision<Resource> {
        let is_another =
            |definition| self.target.as_deref().is_some_and(|target| target != definition);
        let is_another = converge.definition.as_ref().is_ok_and(is_another);
        self.working.another = is_another.then_some(converge);
        Decision::nothing()
    }

    pub(super) fn start(
        &mut self,
        action: Action,
        converge: &Converge,
        definition: Definition,
    ) -> Decision<Resource> {
        Decision::record(ActionStarted {
            definition: Some(definition),
            ..begun(action, converge, &converge.type_name)
        })
        .and_then(ResourceCommand::Proceed)
    }

    pub(super) fn start_without(&self, action: Action, converge: &Converge) -> Decision<Resource> {
        Decision::record(begun(action, converge, &self.type_name))
    }

    /// The action fails before its first call.
    pub(super) fn cannot_start(&self, converge: &Converge, reason: String) -> Decision<Resource> {
        let is_unmade = self.action == Action::Init || self.is_pausing();
        let action = if is_unmade { Action::Create } else { Action::Update };
        Decision::record(begun(action, converge, &converge.type_name))
            .and_record(ActionSettled {
                physical_id: self.physical_id.clone(),
                ..ActionSettled::new(
                    action,
                    converge.traversal,
                    Status::Failed,
                    REASON.shortened(reason),
                )
            })
            .and_do(ResourceEffect::Report)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::story::{
        Story, act, converge, done, given_nothing, learned, refused, test_resource,
    };
    use crate::events::ResourceEvent;
    use crate::model::JsonMap;

    #[test]
    fn a_type_that_calls_no_cloud_is_created_at_once() {
        let story = given_nothing().when(test_resource(1, "x"));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(
            (story.resource.action, story.resource.status),
            (Action::Create, Status::Complete)
        );
    }

    #[test]
    fn another_definition_of_the_same_traversal_comes_after_what_is_begun() {
        let net = |name: &str| converge(1, "OS::Neutron::Net", json!({ "name": name }));
        let begun = || given_nothing().when(net("x")).when_answered(learned("n1", "ready", false));
        let reports = |story: &Story| {
            let effects = story.effects.iter();
            effects.filter(|effect| matches!(effect, ResourceEffect::Report)).count()
        };
        let same = begun().when_woken().when(net("x")).when_answered(done());
        assert_eq!((same.told(), reports(&same)), (vec!["ActionSettled"], 1));

        let other = begun().when_woken().when(net("y"));
        assert!(other.told().is_empty());
        let other = other.when_answered(done());
        assert_eq!(other.told(), ["ActionSettled", "ActionStarted", "CallIntended"]);
        assert_eq!(reports(&other), 0, "the stack would take the former one's end for its");
        let other = other.when_answered(done());
        assert_eq!(
            (other.resource.action, other.resource.status),
            (Action::Update, Status::Complete)
        );
        assert_eq!(other.resource.definition.as_ref().unwrap().properties["name"], "y");
        assert_eq!(reports(&other), 1);

        let fails =
            begun().when_woken().when(net("y")).when_answered(Err(refused("Conflict", "no")));
        assert_eq!((fails.told(), reports(&fails)), (vec!["ActionSettled"], 1));
        assert!(fails.working.another.is_none());
    }

    #[test]
    fn the_same_definition_again_is_no_event() {
        let story = given_nothing().when(test_resource(1, "x")).when(test_resource(2, "x"));
        assert!(story.told().is_empty());
        assert!(matches!(story.outcome(), Some((_, Outcome::Converged))));
    }

    #[test]
    fn a_changed_value_updates_in_place() {
        let story = given_nothing().when(test_resource(1, "x")).when(test_resource(2, "y"));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(story.resource.action, Action::Update);
    }

    #[test]
    fn a_change_that_needs_a_new_incarnation_says_so() {
        let changed =
            converge(2, "OS::Heat::TestResource", json!({ "value": "y", "update_replace": true }));
        let story = given_nothing().when(test_resource(1, "x")).when(changed);
        assert_eq!(story.told(), ["ActionStarted", "ReplacementRequired"]);
        let (status, reason) = (story.resource.status, &story.resource.reason);
        assert_eq!(status, Status::Complete);
        assert!(reason.ends_with("requires replacement."), "{reason}");
    }

    #[test]
    fn a_traversal_that_starts_over_compares_again() {
        let story = given_nothing().when(test_resource(1, "x")).when(test_resource(1, "y"));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(story.resource.action, Action::Update);
    }

    #[test]
    fn what_each_update_makes_anew_is_made_once_in_a_traversal_that_starts_over() {
        let handle = |number| converge(number, "OS::Heat::UpdateWaitConditionHandle", json!({}));
        let story = given_nothing().when(handle(1)).when_answered(done()).when_woken();
        assert_eq!(story.resource.status, Status::Complete);
        let story = story.when(handle(1));
        assert!(story.told().is_empty());
        assert!(matches!(story.outcome(), Some((_, Outcome::Converged))));
        let story = story.when(handle(2));
        assert!(matches!(story.outcome(), Some((_, Outcome::Replace))));
    }

    #[test]
    fn another_type_is_replaced_without_a_word() {
        let other = converge(2, "OS::Heat::Value", json!({ "value": 1 }));
        let story = given_nothing().when(test_resource(1, "x")).when(other);
        assert!(story.told().is_empty());
        assert!(matches!(story.outcome(), Some((_, Outcome::Replace))));
    }

    #[test]
    fn what_was_never_made_is_replaced_by_its_first_change_though_a_snapshot_was_complete() {
        let failing = converge(1, "OS::Heat::TestResource", json!({ "fail": true }));
        let story = given_nothing().when(failing).when(act(2, Action::Snapshot));
        let (action, status) = (story.resource.action, story.resource.status);
        assert_eq!((action, status), (Action::Snapshot, Status::Complete));
        let story = story.when(test_resource(3, "y"));
        assert!(story.told().is_empty());
        assert!(matches!(story.outcome(), Some((_, Outcome::Replace))));
    }

    #[test]
    fn a_failed_create_names_class_place_and_cause() {
        let failing = converge(1, "OS::Heat::TestResource", json!({ "fail": true }));
        let story = given_nothing().when(failing);
        let Some(ResourceEvent::ActionSettled(settled)) = story.events.last() else {
            panic!("{:?}", story.told())
        };
        assert_eq!(settled.reason, "ValueError: resources.a: Test Resource failed a");
    }

    #[test]
    fn a_newer_traversal_takes_over_when_the_action_is_through() {
        let waiting =
            converge(1, "OS::Heat::TestResource", json!({ "value": "x", "wait_secs": 9 }));
        let story = given_nothing().when(waiting).when(test_resource(2, "y"));
        assert!(story.told().is_empty());
        let epoch = story.beat();
        let done = crate::actors::resource::Answered {
            epoch,
            result: Ok(crate::resource_types::Beat::Done { learned: Default::default() }),
            kept: None,
            attributes: JsonMap::new(),
            reality: None,
        };
        let story = story.when(ResourceCommand::Answered(Box::new(done)));
        let wanted = ["ActionSettled", "ActionStarted", "ActionSettled"];
        assert_eq!(story.told(), wanted);
        assert_eq!(story.resource.action, Action::Update);
    }
}
