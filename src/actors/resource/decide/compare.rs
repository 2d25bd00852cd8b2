//! Carry out what a definition makes of the resource: leave it, update it or ask to be replaced.

use crate::actors::resource::command::{Converge, Outcome, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::resource::verdict::Verdict;
use crate::actors::shell::Decision;
use crate::events::resource::{ActionSettled, Definition, ReplacementRequired, UpdateRefused};
use crate::model::{Action, JsonMap, Status, TraversalId};

impl Decider<'_> {
    pub(super) fn compare(
        &mut self,
        converge: &Converge,
        definition: Definition,
    ) -> Decision<Resource> {
        let verdict =
            self.compared(self.terms(converge), &definition, &Default::default(), self.knowledge);
        // The update looks, and asks to be replaced where it is so.
        let looks = matches!(verdict, Verdict::Replaced(Some(_)))
            && self.may_be_same(converge.traversal, &definition, self.knowledge);
        let verdict = if looks { Verdict::Updated } else { verdict };
        self.go_by(verdict, converge, definition)
    }

    pub(super) fn go_by(
        &mut self,
        verdict: Verdict,
        converge: &Converge,
        definition: Definition,
    ) -> Decision<Resource> {
        match verdict {
            Verdict::Left => self.leave(converge, &definition),
            Verdict::Mended => self.mend(converge.traversal),
            Verdict::SeeFailed => self.see_failed(converge, definition),
            Verdict::SeeChild => self.see_child(converge, &definition),
            Verdict::Updated => self.start(Action::Update, converge, definition),
            Verdict::Replaced(None) => self.without_event(converge.traversal, Outcome::Replace),
            Verdict::Replaced(Some(reason)) => self
                .start_without(Action::Update, converge)
                .and_record(ReplacementRequired { traversal: converge.traversal, reason })
                .and_do(ResourceEffect::Report),
            Verdict::Restricted(word) => self.refuse(converge, word),
            Verdict::Refused(reason) => self.cannot_start(converge, reason),
            Verdict::Unsupported(reason) => {
                let failed = Outcome::Failed { action: Action::Update, reason };
                self.without_event(converge.traversal, failed)
            }
        }
    }

    /// Nothing changes; attributes that the template newly reads are looked up.
    pub(super) fn leave(
        &mut self,
        converge: &Converge,
        definition: &Definition,
    ) -> Decision<Resource> {
        self.working.concluded = Some((converge.traversal, Outcome::Converged));
        let look = self.look_up(definition);
        Decision::nothing().and_do(look.unwrap_or(ResourceEffect::Report))
    }

    /// What no update touches is healthy again with the next one, in Heat's words.
    fn mend(&self, traversal: TraversalId) -> Decision<Resource> {
        let reason = "Update status to COMPLETE for FAILED resource neither update nor replace.";
        let reason = reason.to_owned();
        Decision::record(ActionSettled {
            physical_id: self.physical_id.clone(),
            attributes: JsonMap::clone(&self.attributes),
            ..ActionSettled::new(self.action, traversal, Status::Complete, reason)
        })
        .and_do(ResourceEffect::Report)
    }

    /// The environment keeps the resource from it: it stays as it is, and the update fails.
    fn refuse(&self, converge: &Converge, word: &str) -> Decision<Resource> {
        let traversal = converge.traversal;
        let reason = format!("{word} is restricted for resource.");
        Decision::record(UpdateRefused { traversal, reason }).and_do(ResourceEffect::Report)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::command::ResourceCommand;
    use crate::actors::resource::story::{
        converge, done, given_nothing, learned, test_resource, traversal, with,
    };

    #[test]
    fn a_change_that_the_environment_restricts_fails_and_changes_nothing() {
        let changed = json!({ "value": "y", "update_replace": true });
        let replaced = converge(2, "OS::Heat::TestResource", changed);
        for (command, word) in [(test_resource(2, "y"), "update"), (replaced, "replace")] {
            let restricted = with(command, |converge| {
                converge.restricted.insert(word.to_owned());
            });
            let story = given_nothing().when(test_resource(1, "x")).when(restricted);
            assert_eq!(story.told(), ["UpdateRefused"]);
            let reason = format!(
                "ResourceActionRestricted: resources.a: {word} is restricted for resource."
            );
            let failed = Outcome::Failed { action: Action::Update, reason };
            assert_eq!(story.outcome(), Some((traversal(2), failed)));
            let stands = (story.resource.action, story.resource.status);
            assert_eq!(stands, (Action::Create, Status::Complete));
        }
    }

    #[test]
    fn what_no_update_touches_is_healthy_again_with_the_next_one() {
        let retired = |number| converge(number, "OS::Monasca::Notification", json!({}));
        let unhealthy = ResourceCommand::Mark { healthy: false, reason: "seen".to_owned() };
        let story = given_nothing().when(retired(1)).when(unhealthy).when(retired(2));
        assert_eq!(story.told(), ["ActionSettled"]);
        assert_eq!(story.settled().status, Status::Complete);
        let reason = "Update status to COMPLETE for FAILED resource neither update nor replace.";
        assert_eq!(story.settled().reason, reason);
    }

    #[test]
    fn what_may_be_the_same_by_another_name_is_looked_at_before_it_is_replaced() {
        let port =
            |number, network| converge(number, "OS::Neutron::Port", json!({ "network": network }));
        let story = given_nothing().when(port(1, "net"));
        let story = story.when_answered(learned("p1", "ready", false)).when_answered(done());
        let story = story.when(port(2, "6d2c1f4e-0000-4000-8000-000000000001"));
        assert_eq!(story.told(), ["ActionStarted"]);
        assert!(!story.call().unwrap().step.mutates);
    }

    #[test]
    fn what_is_somebody_elses_does_not_become_another() {
        let external = |number, id: &str| {
            with(converge(number, "OS::Neutron::Net", json!({})), |converge| {
                converge.definition.as_mut().unwrap().external_id = Some(id.to_owned());
            })
        };
        let story = given_nothing().when(external(1, "theirs"));
        let story = story.when(external(2, "another"));
        assert!(story.told().is_empty());
        let Some((_, Outcome::Failed { reason, .. })) = story.outcome() else {
            panic!("{:?}", story.outcome())
        };
        let words = "Update to property external_id of a (OS::Neutron::Net) is not supported.";
        assert_eq!(reason, format!("NotSupported: resources.a: {words}"));
    }
}
