//! A traversal ends: complete, or failed and perhaps rolled back.

use crate::actors::resource::ResourceCommand;
use crate::actors::shell::Decision;
use crate::actors::stack::command::{StackCommand, StackEffect};
use crate::actors::stack::state::{Decider, Stack, is_act};
use crate::events::stack::TraversalSettled;
use crate::model::sizes::REASON;
use crate::model::{Action, Status};

impl Decider<'_> {
    /// Everything is done.
    pub(super) fn complete(&self) -> Decision<Stack> {
        let in_part = match self.action == Action::Check && !self.checks_fully() {
            true => ". 'CHECK' not fully supported (see resources)",
            false => "",
        };
        if let Some(reason) = self.failed_checks() {
            return self.fail(reason + in_part);
        }
        let reason = format!("Stack {} completed successfully{in_part}", self.action);
        let mut settled = self.settled(Status::Complete, reason);
        if !is_act(self.action) {
            settled.rows = None;
        }
        let decision = self.ending(settled);
        if self.action == Action::Delete {
            return decision.and_do(self.release());
        }
        self.and_deferred(decision)
    }

    /// The stack's name is free.
    pub(in crate::actors::stack) fn release(&self) -> StackEffect {
        StackEffect::Release {
            project_id: self.project_id.clone(),
            name: self.name.clone(),
            id: self.id,
        }
    }

    /// Something failed: nothing further starts, and a create or update goes back where asked.
    pub(super) fn fail(&self, reason: String) -> Decision<Stack> {
        let decision = self.ending(self.settled(Status::Failed, reason));
        let is_change = matches!(
            self.action,
            Action::Create | Action::Adopt | Action::Update | Action::Restore
        );
        let goes_back =
            is_change && self.revision().is_some_and(|newest| !newest.settings.disable_rollback);
        match goes_back {
            true => self.roll_back(decision),
            false => self.and_deferred(decision),
        }
    }

    /// Records the end of the traversal, and of the snapshot that it takes; after a failure nobody
    /// waits at hooks any more.
    pub(super) fn ending(&self, settled: TraversalSettled) -> Decision<Stack> {
        let failed = settled.status == Status::Failed;
        let mut decision = Decision::nothing();
        let snapshot = self.snapshot_settled(settled.status, &settled.reason);
        decision.events.extend(snapshot.map(Into::into));
        let waiting = self.working.reports.values().filter(|report| failed && report.waits);
        decision.effects.extend(waiting.map(|report| StackEffect::Tell {
            id: report.id,
            name: report.name.clone(),
            command: ResourceCommand::LeaveHook,
        }));
        decision.and_record(settled)
    }

    /// A new revision with the definition of the one before, and the traversal towards it.
    pub(super) fn roll_back(&self, decision: Decision<Stack>) -> Decision<Stack> {
        let Some(accepted) = self.rolled_back() else { return decision };
        let known = self.working.definitions.get(&accepted.origin);
        let mut started = self.traversal_of(Action::Rollback, &accepted, known);
        if !decision.events.is_empty() {
            // The settling that stands before it says how the incarnations are.
            started.rows = None;
        }
        // What could not be adopted is somebody else's still.
        started.options.retains = self.action == Action::Adopt;
        let deadline = Stack::deadline_of(&started);
        decision
            .and_record(accepted)
            .and_record(started)
            .and_do(deadline)
            .and_then(StackCommand::Advance)
    }

    /// The end of the traversal under way.
    pub(super) fn settled(&self, status: Status, reason: String) -> TraversalSettled {
        TraversalSettled {
            traversal: self.traversal.as_ref().map(|traversal| traversal.id).unwrap_or_default(),
            action: self.action,
            status,
            reason: REASON.shortened(reason),
            outputs: self.view().outputs(self.knowledge),
            rows: Some(self.view().current_rows().cloned().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::stack::story::{
        act, create, given, given_made, given_nothing, reported, revise, revise_of, rolling_back,
        update,
    };
    use crate::events::StackEvent;

    #[test]
    fn a_failed_create_is_undone_where_that_was_asked_for() {
        let story = given_nothing().when(create(rolling_back(revise("net port:net"))));
        let story = story.when_done("net").when_it_fails("port", "boom");
        let wanted = ["TraversalSettled", "RevisionAccepted", "TraversalStarted"];
        assert_eq!(story.told(), wanted);
        assert_eq!(story.orders(), ["clean up port"]);
        let story = story.when_done("port");
        assert_eq!(story.orders(), ["clean up net"]);
        let story = story.when_done("net");
        assert_eq!(story.state(), "ROLLBACK_COMPLETE: Stack ROLLBACK completed successfully");
    }

    #[test]
    fn a_rollback_that_fails_is_not_rolled_back() {
        let update = update(rolling_back(revise("net port")));
        let story = given_made("net").when(update).when_it_fails("port", "boom");
        assert_eq!(story.started().action, Action::Rollback);
        let story = story.when_it_fails("port", "again");
        assert_eq!(story.told(), ["TraversalSettled"]);
        assert!(story.state().starts_with("ROLLBACK_FAILED"), "{}", story.state());
    }

    #[test]
    fn nobody_waits_at_a_hook_of_a_traversal_that_has_failed() {
        let story = given("net other");
        let mut waiting = story.report("other");
        waiting.waits = true;
        let story = story.when(reported(waiting)).when_it_fails("net", "boom");
        assert_eq!(story.orders(), ["leave hook other"]);
        let complete = given("net").when_done("net");
        assert!(complete.orders().is_empty());
    }

    #[test]
    fn outputs_are_on_record_with_the_end_of_a_traversal() {
        let net = json!({ "type": "OS::Heat::TestResource" });
        let output = json!({ "value": { "get_resource": "net" } });
        let template = json!({ "resources": { "net": net }, "outputs": { "id": output } });
        let story = given_nothing().when(create(revise_of(&template))).when_done("net");
        let [StackEvent::TraversalSettled(settled)] = &story.events[..] else {
            panic!("{:?}", story.told())
        };
        assert_eq!((settled.status, &settled.outputs[0].value), (Status::Complete, &json!("net")));
    }

    #[test]
    fn a_check_says_where_a_type_has_none_of_its_own() {
        let template = json!({ "resources": { "text": { "type": "OS::Heat::RandomString" } } });
        let story = given_nothing().when(create(revise_of(&template))).when_all_are_done();
        let story = story.when(act(Action::Check)).when_done("text");
        let wanted = "CHECK_COMPLETE: Stack CHECK completed successfully. \
                      'CHECK' not fully supported (see resources)";
        assert_eq!(story.state(), wanted);
    }
}
