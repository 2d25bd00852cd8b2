//! Snapshots: taken by a traversal that bears the snapshot's id, deleted by what they made in the cloud,
//! and all of them with the stack.

// Snapshot: none ─SnapshotStarted▶ CREATE IN_PROGRESS ─SnapshotSettled▶ CREATE COMPLETE or FAILED
//           CREATE COMPLETE or FAILED, DELETE FAILED ─SnapshotDeletionStarted▶ DELETE IN_PROGRESS
//           DELETE IN_PROGRESS ─SnapshotDeletionSettled▶ none, or DELETE FAILED

use crate::actors::shell::Decision;
use crate::actors::stack::command::{StackCommand, StackEffect, TakeSnapshot};
use crate::actors::stack::state::{Decider, Snapshot, Stack};
use crate::events::stack::{
    ResourceKept, SnapshotDeletionSettled, SnapshotDeletionStarted, SnapshotSettled,
    SnapshotStarted,
};
use crate::model::{Action, Refusal, Status, TraversalId, Trustor};

impl Decider<'_> {
    pub(in crate::actors::stack) fn take_snapshot(
        &mut self,
        take: TakeSnapshot,
    ) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        if self.in_progress() {
            let (name, action) = (&self.name, self.action);
            let text = format!("Stack {name} already has an action ({action}) in progress.");
            return Err(Refusal::new("ActionInProgress", text));
        }
        if let Some(limit) = take.limit.filter(|limit| self.snapshots.len() >= *limit) {
            return Err(Refusal::new(
                "RequestLimitExceeded",
                format!(
                    "Request limit exceeded: You have reached the maximum snapshots per stack, \
                     {limit}. Please delete some snapshots."
                ),
            ));
        }
        let Some(newest) = self.revision() else { return Ok(Decision::nothing()) };
        let started =
            SnapshotStarted { snapshot: take.snapshot, name: take.name, revision: newest.revision };
        let mut traversal = self.act_traversal(Action::Snapshot, newest);
        traversal.traversal = take.snapshot;
        traversal.trustor = take.trustor;
        let deadline = Stack::deadline_of(&traversal);
        let decision = Decision::record(started).and_record(traversal);
        Ok(decision.and_do(deadline).and_then(StackCommand::Advance))
    }

    /// The end of the snapshot that the traversal under way takes, if it takes one.
    pub(super) fn snapshot_settled(&self, status: Status, reason: &str) -> Option<SnapshotSettled> {
        let traversal = self.traversal.as_ref().filter(|it| it.action == Action::Snapshot)?;
        let kept = |id| -> Option<ResourceKept> {
            self.view().reports().get(id)?.kept.as_deref().cloned()
        };
        Some(SnapshotSettled {
            snapshot: traversal.id,
            status,
            reason: reason.to_owned(),
            resources: traversal.nodes.values().filter_map(kept).collect(),
        })
    }

    pub(in crate::actors::stack) fn delete_snapshot(
        &mut self,
        id: TraversalId,
        trustor: Option<Trustor>,
    ) -> Result<Decision<Stack>, Refusal> {
        self.alive()?;
        let Some(snapshot) = self.snapshots.get(&id) else {
            return Err(snapshot_not_found(id));
        };
        match (snapshot.action, snapshot.status) {
            (Action::Create, Status::InProgress) => {
                Err(Refusal::new("NotSupported", "Deleting in-progress snapshot is not supported."))
            }
            (Action::Delete, Status::InProgress) => Ok(Decision::nothing()),
            _ => {
                let trustor = trustor.as_ref();
                Ok(self.begin_deletion(Decision::nothing(), (id, snapshot), trustor))
            }
        }
    }

    /// Every snapshot goes with the stack; one that is under way ends with what it has.
    pub(super) fn delete_snapshots(
        &self,
        mut decision: Decision<Stack>,
        trustor: Option<&Trustor>,
    ) -> Decision<Stack> {
        for (id, snapshot) in &self.snapshots {
            if (snapshot.action, snapshot.status) != (Action::Delete, Status::InProgress) {
                decision = self.begin_deletion(decision, (*id, snapshot), trustor);
            }
        }
        decision
    }

    fn begin_deletion(
        &self,
        decision: Decision<Stack>,
        (id, snapshot): (TraversalId, &Snapshot),
        trustor: Option<&Trustor>,
    ) -> Decision<Stack> {
        let trustor = trustor.unwrap_or(&self.trustor).clone();
        let Trustor { user_id, roles } = trustor.clone();
        let started = SnapshotDeletionStarted { snapshot: id, user_id, roles };
        // What the traversal under way has kept so far is recorded with its end, in this decision too.
        let under_way = (snapshot.status == Status::InProgress)
            .then(|| self.snapshot_settled(Status::Failed, ""))
            .flatten()
            .map(|settled| settled.resources);
        let resources = under_way.unwrap_or_else(|| snapshot.resources.clone());
        decision.and_record(started).and_do(StackEffect::DropSnapshot {
            snapshot: id,
            project_id: self.project_id.clone(),
            trustor,
            resources,
        })
    }

    /// What a deletion came to.
    pub(in crate::actors::stack) fn snapshot_dropped(
        &mut self,
        id: TraversalId,
        result: Result<(), String>,
    ) -> Decision<Stack> {
        let is_owed = self.snapshots.get(&id).is_some_and(|snapshot| {
            (snapshot.action, snapshot.status) == (Action::Delete, Status::InProgress)
        });
        if !is_owed {
            return Decision::nothing();
        }
        let ends = self.in_progress() && self.action == Action::Delete;
        match result {
            Ok(()) => {
                let gone = SnapshotDeletionSettled {
                    snapshot: id,
                    status: Status::Complete,
                    reason: String::new(),
                };
                let decision = Decision::record(gone);
                if ends { decision.and_then(StackCommand::Advance) } else { decision }
            }
            Err(reason) => {
                let failed = SnapshotDeletionSettled {
                    snapshot: id,
                    status: Status::Failed,
                    reason: reason.clone(),
                };
                let mut decision = Decision::record(failed);
                if ends {
                    let mut failed = self.fail(reason);
                    decision.events.append(&mut failed.events);
                    decision.effects.append(&mut failed.effects);
                    decision.then = failed.then;
                }
                decision
            }
        }
    }
}

impl Stack {
    /// The deletions of snapshots that are on record and not known to be done.
    pub(in crate::actors::stack) fn deletions_owed(&self) -> Vec<StackEffect> {
        let deleting = self.snapshots.iter().filter(|(_, snapshot)| {
            (snapshot.action, snapshot.status) == (Action::Delete, Status::InProgress)
        });
        let effect = |(id, snapshot): (&TraversalId, &Snapshot)| StackEffect::DropSnapshot {
            snapshot: *id,
            project_id: self.project_id.clone(),
            trustor: snapshot.deleter.clone().unwrap_or_else(|| self.trustor.clone()),
            resources: snapshot.resources.clone(),
        };
        deleting.map(effect).collect()
    }
}

/// Heat's words for a snapshot that a stack does not have.
pub(in crate::actors) fn snapshot_not_found(snapshot: TraversalId) -> Refusal {
    Refusal::new("NotFound", format!("Snapshot with id {snapshot} not found"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::story::{Story, delete, given, given_made, reported, revise, update};

    fn take(number: u128) -> StackCommand {
        let snapshot = id(number);
        StackCommand::TakeSnapshot(TakeSnapshot {
            snapshot,
            name: None,
            limit: Some(1),
            trustor: None,
        })
    }

    fn id(number: u128) -> TraversalId {
        TraversalId(uuid::Uuid::from_u128(number))
    }

    fn drop_it(number: u128) -> StackCommand {
        StackCommand::DeleteSnapshot { snapshot: id(number), trustor: None }
    }

    fn dropped(result: Result<(), &str>) -> StackCommand {
        StackCommand::SnapshotDropped { snapshot: id(9), result: result.map_err(str::to_owned) }
    }

    fn given_snapshot() -> Story {
        given_made("net").when(take(9)).when_all_are_done()
    }

    #[test]
    fn a_snapshot_is_a_traversal_of_its_own_id_and_ends_with_it() {
        let story = given_made("net").when(take(9));
        assert_eq!(story.told(), ["SnapshotStarted", "TraversalStarted"]);
        assert_eq!(
            (story.started().traversal, story.orders()),
            (id(9), vec!["snapshot net".into()])
        );
        let story = story.when_done("net");
        assert_eq!(story.told(), ["SnapshotSettled", "TraversalSettled"]);
        assert_eq!(story.stack.snapshots[&id(9)].status, Status::Complete);
    }

    #[test]
    fn no_snapshot_is_taken_beyond_the_limit_nor_during_an_action() {
        let refusal = given_snapshot().refuses(take(10));
        let words = "Request limit exceeded: You have reached the maximum snapshots per stack, 1. \
                     Please delete some snapshots.";
        assert_eq!((&*refusal.class, &*refusal.message), ("RequestLimitExceeded", words));
        let refusal = given("net").refuses(take(9));
        let words = "Stack web already has an action (CREATE) in progress.";
        assert_eq!((&*refusal.class, &*refusal.message), ("ActionInProgress", words));
    }

    #[test]
    fn a_snapshot_is_deleted_once_and_after_a_restart_what_is_owed_is_done_again() {
        let story = given_snapshot().when(drop_it(9));
        assert_eq!(story.told(), ["SnapshotDeletionStarted"]);
        assert_eq!(story.orders(), ["drop snapshot"]);
        let story = story.when(drop_it(9));
        assert!(story.told().is_empty() && story.orders().is_empty());
        let story = story.when_woken();
        assert_eq!((story.told(), story.orders()), (vec![], vec!["drop snapshot".to_owned()]));
        let story = story.when(dropped(Ok(())));
        assert_eq!(story.told(), ["SnapshotDeletionSettled"]);
        let mut story = story.when(dropped(Ok(())));
        assert!(story.told().is_empty());
        let refusal = story.refuses(drop_it(9));
        assert_eq!(refusal.message, format!("Snapshot with id {} not found", id(9)));
    }

    #[test]
    fn a_snapshot_that_is_being_taken_is_not_deleted_and_ends_where_the_stack_is_led_elsewhere() {
        let mut story = given_made("net").when(take(9));
        let refusal = story.refuses(drop_it(9));
        assert_eq!(refusal.message, "Deleting in-progress snapshot is not supported.");
        let story = story.when(update(revise("net")));
        assert_eq!(story.told(), ["SnapshotSettled", "RevisionAccepted", "TraversalStarted"]);
        assert_eq!(story.stack.snapshots[&id(9)].status, Status::Failed);
    }

    #[test]
    fn a_stack_is_not_gone_before_its_snapshots_are() {
        let story = given_snapshot().when(delete());
        assert_eq!(story.told(), ["TraversalStarted", "SnapshotDeletionStarted"]);
        assert_eq!(story.orders(), ["clean up net", "drop snapshot"]);
        let story = story.when_done("net");
        assert!(story.told().is_empty());
        let story = story.when(dropped(Ok(())));
        assert_eq!(story.told(), ["SnapshotDeletionSettled", "TraversalSettled"]);
        assert_eq!(story.orders(), ["release web"]);
    }

    #[test]
    fn what_a_snapshot_has_kept_by_the_time_its_stack_is_deleted_goes_too() {
        let story = given_made("net other").when(take(9));
        let mut kept = story.report("net");
        kept.kept = Some(Box::new(ResourceKept {
            name: "net".into(),
            type_name: String::new(),
            driver_type: String::new(),
            physical_id: None,
            action: Action::Snapshot,
            status: Status::InProgress,
            metadata: Default::default(),
            data: Default::default(),
        }));
        let story = story.when(reported(kept)).when(delete());
        assert_eq!(story.told()[..2], ["SnapshotSettled", "TraversalSettled"]);
        let is_dropped = |effect: &StackEffect| matches!(effect, StackEffect::DropSnapshot { resources, .. } if resources.len() == 1);
        assert!(story.effects.iter().any(is_dropped), "{:?}", story.orders());
        assert_eq!(story.stack.snapshots[&id(9)].resources.len(), 1);
    }

    #[test]
    fn a_snapshot_that_cannot_be_deleted_fails_the_deletion_of_its_stack() {
        let story = given_snapshot().when(delete()).when_done("net").when(dropped(Err("in use")));
        assert_eq!(story.told(), ["SnapshotDeletionSettled", "TraversalSettled"]);
        assert_eq!(story.state(), "DELETE_FAILED: in use");
    }
}
