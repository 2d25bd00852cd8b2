//! Looks that are taken before it is decided: at what failed, at a child stack, at attributes.

use std::time::Duration;

use super::hear::OBSERVING_PAUSE;
use super::settle::Ending;
use crate::actors::resource::command::{Converge, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{AttributesObserved, Definition};
use crate::model::JsonMap;
use crate::resource_types::Failure;

/// The pause after a look at what failed for which the cloud was not to be reached.
const LOOK_PAUSE: Duration = Duration::from_secs(2);

impl Decider<'_> {
    /// Asks the driver whether what failed can go on.
    pub(super) fn see_failed(
        &mut self,
        converge: &Converge,
        definition: Definition,
    ) -> Decision<Resource> {
        self.working.epoch += 1;
        let see = ResourceEffect::SeeFailed {
            epoch: self.working.epoch,
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            trustor: converge.trustor.clone(),
        };
        self.working.looking = Some(Box::new(converge.clone()));
        Decision::nothing().and_do(see)
    }

    pub(in crate::actors::resource) fn failed_seen(
        &mut self,
        epoch: u64,
        replace: Result<bool, Failure>,
    ) -> Decision<Resource> {
        if epoch != self.working.epoch {
            return Decision::nothing();
        }
        let Some(converge) = self.working.looking.take() else { return Decision::nothing() };
        let Ok(definition) = &converge.definition else { return Decision::nothing() };
        match replace {
            Ok(false) => self.compare(&converge, definition.clone()),
            Ok(true) => {
                let verdict = Resource::made_anew(self.terms(&converge));
                self.go_by(verdict, &converge, definition.clone())
            }
            Err(error) if error.is_transient() => {
                self.working.looking = Some(converge);
                self.later(error.retry_after().unwrap_or(LOOK_PAUSE))
            }
            Err(error) => {
                let message = self.without_secrets(&error.to_string());
                let reason = self.failure(error.class(), error.below(), &message);
                self.cannot_start(&converge, reason)
            }
        }
    }

    /// The pause after a look that could not be taken is over; `None` where nobody waits for one.
    pub(super) fn look_again(&mut self) -> Option<Decision<Resource>> {
        let converge = self.working.looking.take()?;
        let definition = converge.definition.clone().ok()?;
        Some(self.see_failed(&converge, definition))
    }

    /// The same definition may ask for another child: of another file, or of unhealthy
    /// members.
    pub(super) fn see_child(
        &mut self,
        converge: &Converge,
        definition: &Definition,
    ) -> Decision<Resource> {
        self.working.epoch += 1;
        self.working.looking = Some(Box::new(converge.clone()));
        Decision::nothing().and_do(ResourceEffect::SeeChild {
            epoch: self.working.epoch,
            driver_type: definition.driver_type.clone(),
            subject: Box::new(self.subject(definition)),
            nesting: self.nesting(definition, converge.traversal),
        })
    }

    pub(in crate::actors::resource) fn child_seen(
        &mut self,
        epoch: u64,
        differs: bool,
    ) -> Decision<Resource> {
        if epoch != self.working.epoch || self.in_progress() {
            return Decision::nothing();
        }
        let Some(converge) = self.working.looking.take() else { return Decision::nothing() };
        match &converge.definition {
            Ok(definition) if differs => {
                let updated = self.updated(self.terms(&converge));
                self.go_by(updated, &converge, definition.clone())
            }
            Ok(definition) => self.leave(&converge, definition),
            Err(_) => Decision::nothing(),
        }
    }

    /// The look for the attributes that are read and not known yet; `None` where there are none.
    pub(in crate::actors::resource) fn look_up(
        &mut self,
        definition: &Definition,
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
            subject: Box::new(self.subject(definition)),
            wanted,
            trustor: self.trustor.clone(),
        })
    }

    pub(in crate::actors::resource) fn observed(
        &mut self,
        epoch: u64,
        attributes: JsonMap,
    ) -> Decision<Resource> {
        if epoch != self.working.epoch {
            return Decision::nothing();
        }
        let is_known =
            |(name, value): (&String, &_)| self.attributes.get(name).is_some_and(|it| it == value);
        let is_new = !attributes.iter().all(is_known);
        let attributes = self.taint_attributes(attributes);
        if is_new && self.in_progress() {
            // Nothing else was left to do of the action.
            let mut kept = JsonMap::clone(&self.attributes);
            kept.extend(attributes);
            return self.settle(Ending { attributes: kept, ..Ending::complete() });
        }
        let mut decision = Decision::nothing();
        decision.events.extend(is_new.then(|| AttributesObserved { attributes }.into()));
        let decision = decision.and_do(ResourceEffect::Report);
        match self.is_observing(epoch) {
            true => decision.and_do(ResourceEffect::Later { epoch, after: OBSERVING_PAUSE }),
            false => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::command::{Outcome, ResourceCommand};
    use crate::actors::resource::story::{
        Story, converge, done, given_nothing, learned, refused, traversal, with,
    };

    fn net(number: u128, reads: &[&str]) -> ResourceCommand {
        with(converge(number, "OS::Neutron::Net", json!({})), |converge| {
            let definition = converge.definition.as_mut().unwrap();
            definition.attributes = reads.iter().map(|&name| name.to_owned()).collect();
        })
    }

    fn observed(story: Story, value: &str) -> Story {
        let epoch = story.beat();
        let attributes = JsonMap::from_iter([("status".to_owned(), value.into())]);
        story.when(ResourceCommand::Observed { epoch, attributes })
    }

    #[test]
    fn attributes_that_are_read_newly_are_looked_up_and_on_record_once() {
        let made = given_nothing().when(net(1, &[])).when_answered(done());
        let story = made.when(net(2, &["status"]));
        let [ResourceEffect::Observe { wanted, .. }] = &story.effects[..] else {
            panic!("{:?}", story.effects)
        };
        assert_eq!(wanted, &["status"]);
        let story = observed(story, "ACTIVE");
        assert_eq!(story.told(), ["AttributesObserved"]);
        let story = story.when(net(3, &["status"]));
        assert!(matches!(story.effects[..], [ResourceEffect::Report]), "{:?}", story.effects);
        assert_eq!(story.resource.attributes["status"], "ACTIVE");
    }

    #[test]
    fn whether_what_failed_goes_on_or_is_replaced_is_seen_first() {
        let failed = || {
            let story = given_nothing().when(net(1, &[]));
            story.when_answered(Err(refused("BadRequest", "no"))).when(net(2, &[]))
        };
        let seen = |replace| {
            let story = failed();
            assert!(story.told().is_empty());
            assert!(matches!(story.effects[..], [ResourceEffect::SeeFailed { .. }]));
            let epoch = story.beat();
            story.when(ResourceCommand::FailedSeen { epoch, replace })
        };
        assert_eq!(seen(Ok(true)).outcome(), Some((traversal(2), Outcome::Replace)));
        assert_eq!(seen(Ok(false)).told()[0], "ActionStarted");
        let story = seen(Err(refused("Forbidden", "not for you")));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert_eq!(story.settled().reason, "Forbidden: resources.a: not for you");
        assert_eq!(story.settled().physical_id, story.resource.physical_id);
    }

    #[test]
    fn what_cannot_be_seen_just_now_is_looked_at_again_and_not_replaced() {
        let story = given_nothing().when(net(1, &[]));
        let story = story.when_answered(Err(refused("BadRequest", "no"))).when(net(2, &[]));
        let epoch = story.beat();
        let replace = Err(Failure::Silent("no answer".to_owned()));
        let story = story.when(ResourceCommand::FailedSeen { epoch, replace });
        assert!(story.told().is_empty());
        let [ResourceEffect::Later { epoch, .. }] = story.effects[..] else {
            panic!("{:?}", story.effects)
        };
        let story = story.when(ResourceCommand::Due { epoch });
        let [ResourceEffect::SeeFailed { epoch, .. }] = story.effects[..] else {
            panic!("{:?}", story.effects)
        };
        let story = story.when(ResourceCommand::FailedSeen { epoch, replace: Ok(false) });
        assert_eq!(story.told()[0], "ActionStarted");
    }

    #[test]
    fn a_look_that_a_newer_traversal_has_overtaken_decides_nothing() {
        let story = given_nothing().when(net(1, &[]));
        let story = story.when_answered(Err(refused("BadRequest", "no"))).when(net(2, &[]));
        let epoch = story.beat();
        let story = story.when(net(3, &[]));
        let story = story.when(ResourceCommand::FailedSeen { epoch, replace: Ok(true) });
        assert!(story.told().is_empty() && story.effects.is_empty());
        let epoch = story.beat();
        let story = story.when(ResourceCommand::FailedSeen { epoch, replace: Ok(true) });
        assert_eq!(story.outcome(), Some((traversal(3), Outcome::Replace)));
    }

    #[test]
    fn a_child_stack_is_updated_only_where_it_is_not_as_it_should_be() {
        let properties =
            json!({ "count": 1, "resource_def": { "type": "OS::Heat::TestResource" } });
        let group = |number| converge(number, "OS::Heat::ResourceGroup", properties.clone());
        for (differs, told) in [(false, vec![]), (true, vec!["ActionStarted"])] {
            let story = given_nothing().when(group(1));
            let story = story.when_answered(learned("g1", "settle", false)).when_answered(done());
            let story = story.when(group(2));
            assert!(matches!(story.effects[..], [ResourceEffect::SeeChild { .. }]));
            let epoch = story.beat();
            assert_eq!(story.when(ResourceCommand::ChildSeen { epoch, differs }).told(), told);
        }
    }

    #[test]
    fn a_traversal_that_starts_over_leaves_a_child_as_it_is() {
        let properties =
            json!({ "count": 1, "resource_def": { "type": "OS::Heat::TestResource" } });
        let group = || converge(1, "OS::Heat::ResourceGroup", properties.clone());
        let story = given_nothing().when(group());
        let story = story.when_answered(learned("g1", "settle", false)).when_answered(done());
        let story = story.when(group());
        assert!(story.told().is_empty());
        assert!(matches!(story.effects[..], [ResourceEffect::Report]));
    }
}
