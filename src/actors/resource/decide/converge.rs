//! Bring the resource to a definition: create it, leave it, update it, or ask to be replaced.
//! The order of the questions is Heat's (`states.json`, update, decision_order).

use std::collections::BTreeSet;

use crate::actors::resource::command::{
    Act, Adopted, Converge, Outcome, ResourceCommand, ResourceEffect,
};
use crate::actors::resource::state::{Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::clock::Moment;
use crate::events::resource::{
    ActionSettled, ActionStarted, AttributesObserved, Definition, ReplacementRequired,
    UpdateRefused,
};
use crate::model::{Action, Hook, JsonMap, Secret, Status};
use crate::resource_types::UpdateKind;

impl Resource {
    pub(in crate::actors::resource) fn converge(
        &mut self,
        converge: Box<Converge>,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if self.in_progress() && !self.is_pausing() {
            if self.traversal != Some(converge.traversal) {
                // A newer traversal takes the resource over once it is through with this action.
                self.working.queued = Some(ResourceCommand::Converge(converge));
                // What a child stack has not begun yet would be for nothing.
                return self.halt_child(None, knowledge);
            }
            return Decision::nothing();
        }
        let through = self.outcome.as_ref().filter(|(of, _)| *of == converge.traversal);
        // A walk that starts over after a restart may bring another definition than before it.
        let is_told = through.is_some_and(|(_, outcome)| *outcome != Outcome::Converged);
        let is_through = through.is_some();
        if is_told || (is_through && self.waits_in(converge.traversal)) {
            return Decision::nothing().and_do(ResourceEffect::Report);
        }
        self.working.heard = converge.heard.clone();
        self.working.looking = None;
        let definition = match &converge.definition {
            Ok(definition) => definition.clone(),
            Err(reason) => return self.cannot_start(&converge, reason.clone()),
        };
        if is_through && self.action == Action::Adopt && definition.external_id.is_some() {
            return self.act(Box::new(check(&converge)), knowledge);
        }
        if self.action == Action::Init {
            return self.come_to_be(converge, definition, knowledge);
        }
        let former = self.definition.clone().unwrap_or_default();
        if !knowledge.registry.may_become(&former.driver_type, &definition.driver_type) {
            return self.ask_replacement(&converge);
        }
        if former.external_id != definition.external_id {
            let text = format!(
                "NotSupported: resources.{0}: Update to property external_id of {0} ({1}) is not \
                 supported.",
                self.name, converge.type_name
            );
            let failed = Outcome::Failed { action: Action::Update, reason: text };
            return self.without_event(converge.traversal, failed);
        }
        if definition.external_id.is_some() {
            return self.leave(&converge, &definition, knowledge);
        }
        if let Some(look) = self.look_at_reality(&converge, knowledge) {
            return look;
        }
        if self.is_gone(converge.traversal) {
            return self.ask_replacement(&converge);
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
        match (self.action, self.status) {
            // A sick one is replaced, whatever its type says of failures; but where a child stack
            // found members sick, they are.
            (Action::Delete, _) if self.is_pausing() => {
                if self.traversal == Some(converge.traversal) {
                    // The pause goes on.
                    return Decision::nothing();
                }
                self.start(Action::Create, &converge, definition)
            }
            (Action::Delete, _) => self.ask_replacement(&converge),
            // What was said since the walk began is for the next: a walk that starts over after a
            // restart comes to what it came to before.
            (Action::Check, Status::Failed) if self.marked && self.changed_at > converge.since => {
                self.compare(&converge, definition, moment, knowledge)
            }
            (Action::Check, Status::Failed)
                if self.marked || self.physical_id.is_none() || !nests(&definition, knowledge) =>
            {
                self.ask_replacement(&converge)
            }
            (_, Status::Failed) => self.see_failed(converge, definition, knowledge),
            // Somebody said that it is well, and it was never made.
            (Action::Check, _) if !self.is_made => self.see_failed(converge, definition, knowledge),
            _ => self.compare(&converge, definition, moment, knowledge),
        }
    }

    /// There is nothing yet: create it, or take over what somebody else has made.
    fn come_to_be(
        &mut self,
        converge: Box<Converge>,
        definition: Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if let Some(external_id) = definition.external_id.clone() {
            let adopted = Adopted { physical_id: Some(external_id), ..Adopted::default() };
            let decision = self.take_over(&converge, definition, adopted);
            return decision.and_then(ResourceCommand::Converge(converge));
        }
        if converge.stack_action == Action::Adopt {
            if nests(&definition, knowledge) {
                return self.start(Action::Adopt, &converge, definition);
            }
            let adopted = converge.adopts.clone().unwrap_or_default();
            let decision = self.take_over(&converge, definition, adopted);
            return decision.and_then(ResourceCommand::Converge(converge));
        }
        if converge.stack_action == Action::Create {
            let held = || ResourceCommand::Converge(converge.clone());
            let (traversal, hooks) = (converge.traversal, converge.hooks.clone());
            if let Some(waits) = self.waits_before(Hook::PreCreate, traversal, &hooks, held) {
                return waits;
            }
        }
        self.start(Action::Create, &converge, definition)
    }

    /// What is there becomes the resource's own, or there is nothing to take over.
    fn take_over(
        &self,
        converge: &Converge,
        definition: Definition,
        adopted: Adopted,
    ) -> Decision<Self> {
        let (status, reason) = match &adopted.physical_id {
            Some(_) => (Status::Complete, "state changed".to_owned()),
            None => {
                let name = &self.name;
                let text = format!("Exception: resources.{name}: Resource ID was not provided.");
                (Status::Failed, text)
            }
        };
        Decision::record(ActionStarted {
            definition: Some(definition),
            ..started(Action::Adopt, converge, &converge.type_name)
        })
        .and_record(ActionSettled {
            action: Action::Adopt,
            traversal: converge.traversal,
            status,
            reason,
            physical_id: adopted.physical_id,
            data: adopted.data,
            metadata: JsonMap::new(),
            attributes: JsonMap::new(),
            unanswered: false,
            again: false,
        })
    }

    /// Asks the driver whether what failed can go on.
    fn see_failed(
        &mut self,
        converge: Box<Converge>,
        definition: Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        self.working.epoch += 1;
        let see = ResourceEffect::SeeFailed {
            epoch: self.working.epoch,
            subject: Box::new(self.subject(&definition, knowledge)),
            driver_type: definition.driver_type,
            user_id: converge.user_id.clone(),
        };
        self.working.looking = Some(converge);
        Decision::nothing().and_do(see)
    }

    pub(in crate::actors::resource) fn failed_seen(
        &mut self,
        epoch: u64,
        replace: bool,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if epoch != self.working.epoch {
            return Decision::nothing();
        }
        let Some(converge) = self.working.looking.take() else { return Decision::nothing() };
        match &converge.definition {
            Ok(definition) if !replace => {
                self.compare(&converge, definition.clone(), moment, knowledge)
            }
            _ => self.ask_replacement(&converge),
        }
    }

    pub(in crate::actors::resource) fn observed(
        &mut self,
        epoch: u64,
        attributes: JsonMap,
        secrets: &[Secret<String>],
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if epoch != self.working.epoch {
            return Decision::nothing();
        }
        let is_known =
            |(name, value): (&String, &_)| self.attributes.get(name).is_some_and(|it| it == value);
        if attributes.iter().all(is_known) {
            return Decision::nothing().and_do(ResourceEffect::Report);
        }
        let attributes = self.seal_attributes(attributes, secrets, knowledge);
        if self.in_progress() {
            // Nothing else was left to do of the action.
            let mut kept = self.attributes.clone();
            kept.extend(attributes);
            return self.settle_with(Status::Complete, "state changed".to_owned(), kept);
        }
        Decision::record(AttributesObserved { attributes }).and_do(ResourceEffect::Report)
    }

    fn compare(
        &mut self,
        converge: &Converge,
        definition: Definition,
        _moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let former = self.as_it_is(converge.traversal);
        let driver = match Self::driver(knowledge, &definition) {
            Ok(driver) => driver,
            Err(reason) => return self.cannot_start(converge, reason),
        };
        if driver.is_renewed() {
            return self.ask_replacement(converge);
        }
        let changed = self.changed(&former, &definition, knowledge);
        let is_through = self.outcome.as_ref().is_some_and(|(of, _)| *of == converge.traversal);
        let settings_changed = former.driver_type != definition.driver_type
            || former.metadata != definition.metadata
            || former.deletion_policy != definition.deletion_policy
            || former.update_policy != definition.update_policy;
        if changed.is_empty() {
            return if settings_changed || self.has_failed() {
                self.update_in_place(converge, definition)
            } else if nests(&definition, knowledge)
                && !is_through
                && converge.observes_as(knowledge)
            {
                // Whether anything in it is to be changed is for the child to see.
                self.start(Action::Update, converge, definition)
            } else if nests(&definition, knowledge) {
                self.see_child(converge, &definition, knowledge)
            } else {
                self.leave(converge, &definition, knowledge)
            };
        }
        let before = self.open_map(&former.properties, knowledge);
        match driver.on_change(&self.subject(&definition, knowledge), &before, &changed) {
            UpdateKind::InPlace => self.update_in_place(converge, definition),
            UpdateKind::Replace { .. } if converge.restricted.contains("replace") => {
                self.refuse(converge, "replace")
            }
            UpdateKind::Replace { reason } => self
                .start_without(Action::Update, converge)
                .and_record(ReplacementRequired { traversal: converge.traversal, reason })
                .and_do(ResourceEffect::Report),
            UpdateKind::Nothing if !self.has_failed() => {
                self.leave(converge, &definition, knowledge)
            }
            UpdateKind::Nothing => self.update_in_place(converge, definition),
            UpdateKind::Refuse(text) => {
                let reason = format!("NotSupported: resources.{}: {text}", self.name);
                self.cannot_start(converge, reason)
            }
        }
    }

    /// Whether the newest action failed; a mark is no action.
    fn has_failed(&self) -> bool {
        let is_marked = self.marked && self.action == Action::Check;
        self.status == Status::Failed && !is_marked
    }

    /// The properties that differ from what was reached last, or from what a failed update may
    /// have reached.
    pub(in crate::actors::resource) fn changed(
        &self,
        former: &Definition,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> BTreeSet<String> {
        let after = self.open_map(&definition.properties, knowledge);
        [Some(former), self.target.as_ref(), self.attempted.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(|before| {
                let before = self.open_map(&before.properties, knowledge);
                knowledge.registry.changed(&definition.driver_type, &before, &after)
            })
            .collect()
    }

    /// Nothing changes; attributes that the template newly reads are looked up.
    fn leave(
        &mut self,
        converge: &Converge,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        self.outcome = Some((converge.traversal, Outcome::Converged));
        let look = self.look_up(definition, knowledge);
        Decision::nothing().and_do(look.unwrap_or(ResourceEffect::Report))
    }

    /// The look for the attributes that are read and not known yet; `None` where there are none.
    pub(in crate::actors::resource) fn look_up(
        &mut self,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Option<ResourceEffect> {
        let known = |name: &&String| self.attributes.contains_key(name.as_str());
        let wanted: Vec<String> =
            definition.attributes.iter().filter(|name| !known(name)).cloned().collect();
        if wanted.is_empty() {
            return None;
        }
        self.working.epoch += 1;
        Some(ResourceEffect::Observe {
            epoch: self.working.epoch,
            driver_type: definition.driver_type.clone(),
            subject: Box::new(self.subject(definition, knowledge)),
            wanted,
            user_id: self.user_id.clone(),
        })
    }

    /// The same definition may ask for another child: of another file, or of members that are not
    /// well.
    fn see_child(
        &mut self,
        converge: &Converge,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        self.working.epoch += 1;
        self.working.looking = Some(Box::new(converge.clone()));
        Decision::nothing().and_do(ResourceEffect::SeeChild {
            epoch: self.working.epoch,
            driver_type: definition.driver_type.clone(),
            subject: Box::new(self.subject(definition, knowledge)),
            nesting: self.nesting(definition, converge.traversal, knowledge),
        })
    }

    pub(in crate::actors::resource) fn child_seen(
        &mut self,
        epoch: u64,
        differs: bool,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        if epoch != self.working.epoch || self.in_progress() {
            return Decision::nothing();
        }
        let Some(converge) = self.working.looking.take() else { return Decision::nothing() };
        match &converge.definition {
            Ok(definition) if differs => self.start(Action::Update, &converge, definition.clone()),
            Ok(definition) => self.leave(&converge, definition, knowledge),
            Err(_) => Decision::nothing(),
        }
    }

    fn start(
        &mut self,
        action: Action,
        converge: &Converge,
        definition: Definition,
    ) -> Decision<Self> {
        Decision::record(ActionStarted {
            definition: Some(definition),
            ..started(action, converge, &converge.type_name)
        })
        .and_then(ResourceCommand::Proceed)
    }

    fn start_without(&self, action: Action, converge: &Converge) -> Decision<Self> {
        Decision::record(started(action, converge, &self.type_name))
    }

    /// The action fails before its first call.
    fn cannot_start(&self, converge: &Converge, reason: String) -> Decision<Self> {
        let action = if self.action == Action::Init { Action::Create } else { Action::Update };
        Decision::record(started(action, converge, &converge.type_name))
            .and_record(ActionSettled {
                action,
                traversal: converge.traversal,
                status: Status::Failed,
                reason,
                physical_id: self.physical_id.clone(),
                data: Default::default(),
                attributes: JsonMap::new(),
                metadata: JsonMap::new(),
                unanswered: false,
                again: false,
            })
            .and_do(ResourceEffect::Report)
    }

    fn update_in_place(&mut self, converge: &Converge, definition: Definition) -> Decision<Self> {
        if !self.is_made && !self.has_failed() {
            // Its create failed and a snapshot of it was complete: there is nothing to be changed.
            return self.ask_replacement(converge);
        }
        match converge.restricted.contains("update") {
            true => self.refuse(converge, "update"),
            false => self.start(Action::Update, converge, definition),
        }
    }

    /// The environment keeps the resource from it: it stays as it is, and the update fails.
    fn refuse(&self, converge: &Converge, word: &str) -> Decision<Self> {
        let traversal = converge.traversal;
        let reason = format!("{word} is restricted for resource.");
        Decision::record(UpdateRefused { traversal, reason }).and_do(ResourceEffect::Report)
    }

    /// A new incarnation is wanted, without a word in the event list.
    fn ask_replacement(&mut self, converge: &Converge) -> Decision<Self> {
        if converge.restricted.contains("replace") {
            return self.refuse(converge, "replace");
        }
        self.outcome = Some((converge.traversal, Outcome::Replace));
        Decision::nothing().and_do(ResourceEffect::Report)
    }
}

/// Whether the work of a definition's type is a child stack.
fn nests(definition: &Definition, knowledge: &Knowledge) -> bool {
    let driver = knowledge.registry.driver(&definition.driver_type);
    driver.is_some_and(|driver| driver.nests().is_some())
}

/// What is somebody else's is looked at once it is taken over.
fn check(converge: &Converge) -> Act {
    Act {
        traversal: converge.traversal,
        action: Action::Check,
        stack: converge.stack.clone(),
        deadline: converge.deadline,
        user_id: converge.user_id.clone(),
    }
}

fn started(action: Action, converge: &Converge, type_name: &str) -> ActionStarted {
    ActionStarted {
        action,
        traversal: converge.traversal,
        stack_id: converge.stack.id,
        stack_name: converge.stack.name.clone(),
        project_id: converge.stack.project_id.clone(),
        name: converge.name.clone(),
        type_name: type_name.to_owned(),
        definition: None,
        deadline: converge.deadline,
        user_id: converge.user_id.clone(),
        hooks: Resource::hooks_behind(action, converge.stack_action, &converge.hooks),
        observes: converge.observes,
        replaces: converge.replaces.clone(),
        retains: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::story::{act, converge, given_nothing, test_resource};
    use crate::events::ResourceEvent;

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
    fn the_same_definition_again_is_no_event() {
        let story = given_nothing().when(test_resource(1, "x")).when(test_resource(2, "x"));
        assert!(story.told().is_empty());
        assert!(matches!(story.resource.outcome, Some((_, Outcome::Converged))));
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
    fn a_walk_that_starts_over_compares_again() {
        let story = given_nothing().when(test_resource(1, "x")).when(test_resource(1, "y"));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(story.resource.action, Action::Update);
    }

    #[test]
    fn another_type_is_replaced_without_a_word() {
        let other = converge(2, "OS::Heat::Value", json!({ "value": 1 }));
        let story = given_nothing().when(test_resource(1, "x")).when(other);
        assert!(story.told().is_empty());
        assert!(matches!(story.resource.outcome, Some((_, Outcome::Replace))));
    }

    #[test]
    fn what_was_never_made_is_replaced_by_its_first_change_though_a_snapshot_was_complete() {
        let failing = converge(1, "OS::Heat::TestResource", json!({ "fail": true }));
        let story = given_nothing().when(failing).when(act(2, Action::Snapshot));
        let (action, status) = (story.resource.action, story.resource.status);
        assert_eq!((action, status), (Action::Snapshot, Status::Complete));
        let story = story.when(test_resource(3, "y"));
        assert!(story.told().is_empty());
        assert!(matches!(story.resource.outcome, Some((_, Outcome::Replace))));
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
            attributes: JsonMap::new(),
            secrets: Vec::new(),
        };
        let story = story.when(ResourceCommand::Answered(Box::new(done)));
        let wanted = ["ActionSettled", "ActionStarted", "ActionSettled"];
        assert_eq!(story.told(), wanted);
        assert_eq!(story.resource.action, Action::Update);
    }
}
