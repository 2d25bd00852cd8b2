//! What a stack is asked to do, and what it does in turn.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::known::Known;
use crate::actors::resource::{Report, ResourceCommand};
use crate::events::log::BlobId;
use crate::events::stack::{Claim, DriftLooked, Owner, ResourceKept};
use crate::model::{
    Action, CommandId, JsonMap, ProjectId, ResourceId, ResourceName, StackId, StackName,
    StackRevision, StackSettings, TraversalId, TraversalOptions, Trustor,
};

/// A new definition for the stack, read and checked.
#[derive(Clone)]
pub struct Revise {
    pub known: Arc<Known>,
    /// Where the source is kept.
    pub source: BlobId,
    /// In bytes.
    pub source_bytes: u64,
    /// As given by the user, hidden ones sealed.
    pub parameters: JsonMap,
    pub settings: StackSettings,
    /// In whose name the work is done.
    pub trustor: Trustor,
    pub options: TraversalOptions,
    /// The earlier revision whose definition it is again.
    pub back_to: Option<StackRevision>,
    /// The stack around it goes on from where it was suspended, and this one with it.
    pub from_rest: bool,
    /// What a nested stack sees of its resource, secrets sealed; null in any other.
    pub facade: Value,
    /// The key that it is asked for with.
    pub claim: Option<Claim>,
}

/// A stack to be created, and its first definition.
#[derive(Clone)]
pub struct Create {
    pub id: StackId,
    pub name: StackName,
    pub project_id: ProjectId,
    pub owner_user_name: String,
    /// The resource that a nested stack stands for.
    pub owner: Option<Owner>,
    pub revise: Revise,
    /// What there is of the resources, by their names and sealed, where the stack is adopted.
    pub adopts: Option<Value>,
}

/// A snapshot to be taken.
#[derive(Clone)]
pub struct TakeSnapshot {
    pub snapshot: TraversalId,
    pub name: Option<String>,
    /// How many the stack may have.
    pub limit: Option<usize>,
    pub trustor: Option<Trustor>,
}

/// A command to a stack. Where it says who asks (`trustor`), the work is done in that name; else in
/// that of whoever last made or changed the stack.
#[derive(Clone)]
pub enum StackCommand {
    Create(Box<Create>),
    Update(Box<Revise>),
    /// Have what is not healthy made anew, under the definition that there is: a signal asks for it.
    Restart {
        signal: CommandId,
    },
    Delete {
        trustor: Option<Trustor>,
    },
    /// Delete the stack, and leave in the cloud what it has there.
    Abandon,
    /// Stop the update under way and go back to the revision before.
    CancelUpdate,
    /// Stop where the stack is: what is at work ends, nothing further starts.
    CancelWithoutRollback,
    /// Give up whatever is under way, and go back nowhere: an operator's last resort.
    Reset,
    /// The stack's schedule had it compared with what there is in the cloud.
    DriftLooked(Box<DriftLooked>),
    /// Suspend, resume or check what is there.
    Act {
        action: Action,
        trustor: Option<Trustor>,
    },
    /// Keep how the stack is now.
    TakeSnapshot(TakeSnapshot),
    DeleteSnapshot {
        snapshot: TraversalId,
        trustor: Option<Trustor>,
    },
    /// What a snapshot kept in the cloud is gone, or cannot be deleted.
    SnapshotDropped {
        snapshot: TraversalId,
        result: Result<(), String>,
    },
    /// Bring the stack to the definition that a snapshot keeps.
    Restore(Box<Revise>),
    /// How a resource stands.
    Report(Box<Report>),
    /// Hand out what is ready.
    Advance,
    /// The project of the stack's users is gone, or cannot be deleted.
    UserProjectDropped {
        result: Result<(), String>,
    },
    /// The traversal's time is over.
    TimedOut {
        traversal: TraversalId,
    },
}

/// Something that a stack does outside its own state.
pub enum StackEffect {
    /// Tell a resource, waking it if need be.
    Tell { id: ResourceId, name: ResourceName, command: ResourceCommand },
    /// Wake a resource whose action is under way.
    Rouse { id: ResourceId },
    /// Come back with `Advance` once others had their turn: more is ready than one turn allows.
    TakeTurns,
    /// Come back when the traversal's time is over.
    Deadline { traversal: TraversalId, at: DateTime<Utc> },
    /// Delete what a snapshot made in the cloud; comes back as `SnapshotDropped`.
    DropSnapshot {
        snapshot: TraversalId,
        project_id: ProjectId,
        trustor: Trustor,
        resources: Vec<ResourceKept>,
    },
    /// Delete the project of the stack's users; comes back as `UserProjectDropped`.
    DropUserProject { project_id: ProjectId },
    /// The stack is gone: its name is free.
    Release { project_id: ProjectId, name: StackName, id: StackId },
}
