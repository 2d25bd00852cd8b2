//! Look at what there is in the cloud before an update is decided, where that is asked for, and in
//! the check of a type that has none of its own.

use crate::actors::resource::command::{Act, Converge, ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Decider, Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{Definition, RealityObserved};
use crate::model::taint::{is_tainted, taint, taint_repeated};
use crate::model::{Action, JsonMap, Status, TraversalId, Trustor};
use crate::resource_types::Reality;

impl Decider<'_> {
    /// The look that the update waits for; `None` where none is wanted, or it was taken.
    pub(super) fn look_at_reality(&mut self, converge: &Converge) -> Option<Decision<Resource>> {
        let wanted = self.knowledge.observes(converge.options);
        let stands = self.status != Status::Failed && self.action != Action::Delete;
        if !wanted || !stands {
            return None;
        }
        let look = self.look_in(converge.traversal, &converge.trustor)?;
        self.working.looking = Some(Box::new(converge.clone()));
        Some(Decision::nothing().and_do(look))
    }

    /// The look that a check waits for; `None` where it was taken, or the object is none of ours.
    pub(super) fn look_in_check(&mut self, act: &Act) -> Option<Decision<Resource>> {
        if self.definition.as_ref()?.external_id.is_some() {
            return None;
        }
        let look = self.look_in(act.traversal, &act.trustor)?;
        self.working.checking = Some(Box::new(act.clone()));
        Some(Decision::nothing().and_do(look))
    }

    /// A look, once in a traversal, where there is something to be seen.
    fn look_in(&mut self, traversal: TraversalId, trustor: &Trustor) -> Option<ResourceEffect> {
        let taken = self.working.observed == Some(traversal) || self.seen_in(traversal).is_some();
        let definition = self.definition.clone()?;
        let driver = self.driver(&definition).ok()?;
        if taken || self.physical_id.is_none() || driver.nests().is_some() {
            return None;
        }
        self.working.epoch += 1;
        Some(ResourceEffect::SeeReality {
            epoch: self.working.epoch,
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            trustor: trustor.clone(),
        })
    }

    /// What was seen goes on record, and what waits for it is decided.
    pub(in crate::actors::resource) fn reality_seen(
        &mut self,
        epoch: u64,
        reality: Reality,
    ) -> Decision<Resource> {
        if epoch != self.working.epoch || self.in_progress() {
            return Decision::nothing();
        }
        let (traversal, waiting) = if let Some(converge) = self.working.looking.take() {
            (converge.traversal, ResourceCommand::Converge(converge))
        } else if let Some(act) = self.working.checking.take() {
            (act.traversal, ResourceCommand::Act(act))
        } else {
            return Decision::nothing();
        };
        self.working.observed = Some(traversal);
        let mut decision = Decision::nothing();
        decision.events.extend(self.found(traversal, reality).map(Into::into));
        decision.and_then(waiting)
    }

    /// What goes on record of a look: what is not as it is there.
    pub(super) fn found(
        &self,
        traversal: TraversalId,
        reality: Reality,
    ) -> Option<RealityObserved> {
        let (gone, properties) = match reality {
            Reality::Gone => (true, Default::default()),
            Reality::Differs(live) => (false, self.as_live(live, self.knowledge)),
        };
        let differs = gone || !properties.is_empty();
        differs.then_some(RealityObserved { traversal, gone, properties })
    }
}

impl Resource {
    /// What was seen in a traversal, where it is not what is on record.
    fn seen_in(&self, traversal: TraversalId) -> Option<&RealityObserved> {
        self.reality.as_deref().filter(|seen| seen.traversal == traversal)
    }

    /// Whether nothing was there when a traversal looked.
    pub(super) fn is_gone(&self, traversal: TraversalId) -> bool {
        self.seen_in(traversal).is_some_and(|seen| seen.gone)
    }

    /// Properties as the cloud has them, with marks: whole where they stand in the place of a secret,
    /// because what was one before may be there still, else where they repeat one.
    pub(in crate::actors) fn as_live(&self, live: JsonMap, knowledge: &Knowledge) -> JsonMap {
        let secrets = self.secrets();
        let is_secret = |definition: &Definition, name: &str| {
            let type_name = &definition.driver_type;
            let driver = knowledge.registry.driver(type_name);
            driver.is_some_and(|driver| driver.is_secret(name))
                || knowledge.registry.is_secret(type_name, name)
                || definition.properties.get(name).is_some_and(is_tainted)
        };
        let live = live.into_iter().map(|(name, value)| {
            let value = match self.definitions().any(|definition| is_secret(definition, &name)) {
                true => taint(value),
                false => taint_repeated(value, &secrets),
            };
            (name, value)
        });
        live.collect()
    }

    /// The definition that was reached last, with what a traversal saw in its place.
    pub(in crate::actors::resource) fn as_it_is(&self, traversal: TraversalId) -> Definition {
        let mut definition = self.definition.clone().unwrap_or_default();
        if let Some(seen) = self.seen_in(traversal) {
            definition.properties.extend(seen.properties.clone());
        }
        definition
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::actors::resource::command::Outcome;
    use crate::actors::resource::story::{
        Story, act, converge, given_nothing, test_resource, traversal,
    };
    use crate::events::ResourceEvent;
    use crate::model::taint::{MASK, masked};

    fn observing(number: u128, value: &str) -> ResourceCommand {
        let ResourceCommand::Converge(mut converge) = test_resource(number, value) else {
            panic!("another command")
        };
        converge.options.observes = true;
        ResourceCommand::Converge(converge)
    }

    fn seen(story: Story, reality: Reality) -> Story {
        assert!(story.told().is_empty());
        assert!(matches!(story.effects[..], [ResourceEffect::SeeReality { .. }]));
        let epoch = story.beat();
        story.when(ResourceCommand::RealitySeen { epoch, reality })
    }

    #[test]
    fn what_is_as_on_record_makes_no_event() {
        let story = given_nothing().when(test_resource(1, "x")).when(observing(2, "x"));
        let story = seen(story, Reality::Differs(Default::default()));
        assert!(story.told().is_empty());
        assert!(matches!(story.outcome(), Some((_, Outcome::Converged))));
    }

    #[test]
    fn what_differs_is_on_record_and_updated() {
        let story = given_nothing().when(test_resource(1, "x")).when(observing(2, "x"));
        let differs = json!({ "value": "other" }).as_object().cloned().unwrap_or_default();
        let story = seen(story, Reality::Differs(differs));
        assert_eq!(story.told(), ["RealityObserved", "ActionStarted", "ActionSettled"]);
        assert_eq!(story.resource.action, Action::Update);
        let story = story.when(test_resource(3, "x"));
        assert!(story.told().is_empty(), "what was seen once does not count for ever");
    }

    #[test]
    fn what_stands_in_the_place_of_a_secret_is_one() {
        let made = given_nothing().when(converge(
            1,
            "OS::Heat::RandomString",
            json!({ "length": taint(4.into()), "salt": taint("hidden-now".into()) }),
        ));
        let differs = json!({ "length": 5, "salt": "hidden-before", "sequence": "of hidden-now",
                              "sent": { "within": "aGlkZGVuLW5vdw==" } });
        let differs = differs.as_object().cloned().unwrap_or_default();
        let story = seen(made.when(act(2, Action::Check)), Reality::Differs(differs));
        let [ResourceEvent::RealityObserved(found), ..] = &story.events[..] else {
            panic!("{:?}", story.told())
        };
        let found = &found.properties;
        let shown = json!({ "length": MASK, "salt": MASK, "sequence": MASK,
                            "sent": { "within": MASK } });
        assert_eq!(masked(&Value::Object(found.clone())), shown);
    }

    #[test]
    fn a_check_of_a_type_without_one_looks_and_puts_on_record_what_differs() {
        let made =
            || given_nothing().when(converge(1, "OS::Heat::RandomString", json!({ "length": 4 })));
        let differs = json!({ "length": 5 }).as_object().cloned().unwrap_or_default();
        let story = seen(made().when(act(2, Action::Check)), Reality::Differs(differs.clone()));
        assert_eq!(story.told(), ["RealityObserved", "ActionSettled"]);
        assert_eq!(story.resource.reason, "CHECK not supported for OS::Heat::RandomString");
        // The words are said once; what is found is told each time.
        let story = seen(story.when(act(3, Action::Check)), Reality::Differs(differs));
        assert_eq!(story.told(), ["RealityObserved"]);
        assert_eq!(story.outcome(), Some((traversal(3), Outcome::Converged)));
        let story = seen(made().when(act(2, Action::Check)), Reality::Differs(Default::default()));
        assert_eq!(story.told(), ["ActionSettled"]);
        // A process that dies before it is answered looks again.
        let story = made().when(act(2, Action::Check)).when_woken().when(act(2, Action::Check));
        assert_eq!(seen(story, Reality::Gone).told(), ["RealityObserved", "ActionSettled"]);
    }

    #[test]
    fn what_is_gone_is_replaced_also_after_a_restart() {
        let story = given_nothing().when(test_resource(1, "x")).when(observing(2, "x"));
        let story = seen(story, Reality::Gone);
        assert_eq!(story.told(), ["RealityObserved"]);
        assert!(matches!(story.outcome(), Some((_, Outcome::Replace))));
        let story = story.when_woken().when(observing(2, "x"));
        assert!(story.told().is_empty());
        assert!(matches!(story.outcome(), Some((_, Outcome::Replace))));
    }
}
