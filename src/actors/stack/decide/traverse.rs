//! Start a traversal: which incarnation of each resource goes on, and until when.

use std::sync::Arc;

use chrono::TimeDelta;

use crate::actors::stack::command::StackEffect;
use crate::actors::stack::known::Known;
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::{Node, RevisionAccepted, TraversalStarted};
use crate::model::{Action, ResourceId, TraversalId, TraversalOptions, Trustor};

impl Decider<'_> {
    /// A traversal towards a revision, or away from everything (`None`).
    pub(super) fn traversal_of(
        &self,
        action: Action,
        accepted: &RevisionAccepted,
        known: Option<&Arc<Known>>,
    ) -> TraversalStarted {
        let former = self.revision().map(|newest| newest.origin);
        // What a revision goes back to may still be there, from a change that did not come to its end.
        let back = accepted.back_to.and_then(|back| self.revision_of(back));
        let origin = back.unwrap_or(accepted).origin;
        let nodes = known.into_iter().flat_map(|known| {
            known.dependencies.iter().filter_map(move |(name, requires)| {
                let declared = known.definition.resources().get(name)?;
                let id = self.view().incarnation_for(name, origin, former);
                Some(Node {
                    name: name.clone(),
                    id: id.unwrap_or_else(|| ResourceId(self.moment.fresh_id())),
                    type_name: declared.declared_type.clone(),
                    requires: requires.iter().cloned().collect(),
                    description: declared.description.clone(),
                })
            })
        });
        let timeout = match accepted.settings.timeout_mins {
            Some(minutes) => TimeDelta::minutes(i64::from(minutes)),
            None => {
                TimeDelta::from_std(self.knowledge.stack_action_timeout).unwrap_or(TimeDelta::MAX)
            }
        };
        TraversalStarted {
            traversal: TraversalId(self.moment.fresh_id()),
            action,
            revision: accepted.revision,
            nodes: nodes.collect(),
            rows: self.in_progress().then(|| self.view().current_rows().cloned().collect()),
            deadline: self.moment.now.checked_add_signed(timeout),
            options: TraversalOptions::default(),
            trustor: None,
        }
    }

    /// In whose name the traversal is.
    pub(super) fn acting(&self) -> Trustor {
        self.traversal.as_ref().map_or(&self.trustor, |traversal| &traversal.trustor).clone()
    }
}

impl Stack {
    /// The timer of a traversal.
    pub(super) fn deadline_of(started: &TraversalStarted) -> StackEffect {
        StackEffect::Deadline {
            traversal: started.traversal,
            at: started.deadline.unwrap_or(chrono::DateTime::<chrono::Utc>::MAX_UTC),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::resource::Outcome;
    use crate::actors::stack::story::{
        create, given, given_made, given_nothing, revise, rolling_back, update,
    };
    use crate::model::StackRevision;

    #[test]
    fn what_is_there_goes_on_and_what_is_new_has_an_incarnation_of_its_own() {
        let story = given_made("net");
        let net = story.incarnations()["net"];
        let story = story.when(update(revise("net port")));
        assert_eq!(story.incarnations()["net"], net);
        assert_eq!(story.incarnations().len(), 2);
        assert_ne!(story.incarnations()["port"], net);
    }

    #[test]
    fn a_rollback_goes_on_with_what_stood_before_and_not_with_its_replacement() {
        let story = given_made("net port:net");
        let net = story.incarnations()["net"];
        let story = story.when(update(rolling_back(revise("net port:net"))));
        let story = story.when_it_ends("net", Outcome::Replace).when_done("net");
        assert_ne!(story.incarnations()["net"], net);
        let story = story.when_it_fails("port", "boom");
        assert_eq!(story.started().action, Action::Rollback);
        assert_eq!(story.incarnations()["net"], net);
    }

    #[test]
    fn going_back_by_history_goes_on_with_what_still_stands() {
        let back = |revision| {
            let mut revise = revise("net port:net");
            revise.back_to = Some(StackRevision(revision));
            update(revise)
        };
        let story = given_made("net port:net");
        let story = story.when(update(revise("net port:net"))).when_all_are_done();
        let net = story.incarnations()["net"];
        let story = story.when(back(1)).when_it_ends("net", Outcome::Replace).when_done("net");
        assert_ne!(story.incarnations()["net"], net);
        let story = story.when_it_fails("port", "boom").when(back(2));
        assert_eq!(story.incarnations()["net"], net);
    }

    #[test]
    fn what_failed_is_the_last_choice() {
        let story = given_made("net");
        let net = story.incarnations()["net"];
        let story = story.when(update(revise("net"))).when_it_ends("net", Outcome::Replace);
        let story = story.when_it_fails("net", "boom").when(update(revise("net")));
        assert_eq!(story.incarnations()["net"], net);
        assert_eq!(story.orders(), ["clean up net"]);
        assert_eq!(story.when_done("net").orders(), ["converge net"]);
    }

    #[test]
    fn a_traversal_has_the_time_that_the_stack_says_or_else_the_operator() {
        let mut short = revise("net");
        short.settings.timeout_mins = Some(5);
        for (story, minutes) in [(given("net"), 60), (given_nothing().when(create(short)), 5)] {
            let time = story.started().deadline.unwrap() - story.stack.created_at;
            assert_eq!(time, TimeDelta::minutes(minutes));
        }
    }
}
