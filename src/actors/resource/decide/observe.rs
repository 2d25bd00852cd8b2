//! Look at what there is in the cloud before an update is decided, where that is asked for.

use crate::actors::resource::command::{Converge, ResourceCommand, ResourceEffect};
use crate::actors::resource::state::{Decider, Knowledge, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{Definition, RealityObserved};
use crate::model::{Action, Status, TraversalId};
use crate::resource_types::Reality;

impl Decider<'_> {
    /// The look that the update waits for; `None` where none is wanted, or it was taken.
    pub(super) fn look_at_reality(&mut self, converge: &Converge) -> Option<Decision<Resource>> {
        let wanted = converge.observes_as(self.knowledge);
        let stands = self.status != Status::Failed && self.action != Action::Delete;
        let taken = self.working.observed == Some(converge.traversal)
            || self.seen_in(converge.traversal).is_some();
        let definition = self.definition.clone()?;
        let driver = self.driver(&definition).ok()?;
        let is_there = self.physical_id.is_some() && driver.nests().is_none();
        if !wanted || !stands || taken || !is_there {
            return None;
        }
        self.working.epoch += 1;
        self.working.looking = Some(Box::new(converge.clone()));
        Some(Decision::nothing().and_do(ResourceEffect::SeeReality {
            epoch: self.working.epoch,
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            trustor: converge.trustor.clone(),
        }))
    }

    /// What was seen goes on record, and the update is decided by it.
    pub(in crate::actors::resource) fn reality_seen(
        &mut self,
        epoch: u64,
        reality: Reality,
    ) -> Decision<Resource> {
        if epoch != self.working.epoch || self.in_progress() {
            return Decision::nothing();
        }
        let Some(converge) = self.working.looking.take() else { return Decision::nothing() };
        let traversal = converge.traversal;
        self.working.observed = Some(traversal);
        let (gone, properties) = match reality {
            Reality::Gone => (true, Default::default()),
            Reality::Differs(properties) => (false, self.taint_attributes(properties)),
        };
        let decision = match gone || !properties.is_empty() {
            true => Decision::record(RealityObserved { traversal, gone, properties }),
            false => Decision::nothing(),
        };
        decision.and_then(ResourceCommand::Converge(converge))
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

    /// The definition that was reached last, with what a traversal saw in its place.
    pub(in crate::actors::resource) fn as_it_is(&self, traversal: TraversalId) -> Definition {
        let mut definition = self.definition.clone().unwrap_or_default();
        if let Some(seen) = self.seen_in(traversal) {
            definition.properties.extend(seen.properties.clone());
        }
        definition
    }
}

impl Converge {
    /// Whether to compare with what there is in the cloud.
    pub(super) fn observes_as(&self, knowledge: &Knowledge) -> bool {
        self.observes || knowledge.observe_on_update
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::command::Outcome;
    use crate::actors::resource::story::{Story, given_nothing, test_resource};

    fn observing(number: u128, value: &str) -> ResourceCommand {
        let ResourceCommand::Converge(mut converge) = test_resource(number, value) else {
            panic!("another command")
        };
        converge.observes = true;
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
