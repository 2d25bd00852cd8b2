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
