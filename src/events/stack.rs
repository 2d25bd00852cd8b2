//! What happens in a stack's stream: revisions are accepted, traversals start and settle.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::log::BlobId;
use crate::model::{
    Action, CommandId, JsonMap, ProjectId, ResourceId, ResourceName, StackId, StackName,
    StackRevision, StackSettings, Status, TraversalId, TraversalOptions, Trustor,
};

events! {
    /// The facts of a stack.
    #[expect(clippy::large_enum_variant, reason = "few at a time; boxes would show in every match")]
    StackEvent {
        StackCreated = 1,
        RevisionAccepted = 1,
        TraversalStarted = 1,
        ReplacementStarted = 1,
        ActionDeferred = 1,
        TraversalSettled = 1,
        SnapshotStarted = 1,
        SnapshotSettled = 1,
        SnapshotDeletionStarted = 1,
        SnapshotDeletionSettled = 1,
        OutputsChanged = 1,
        UserProjectMade = 1,
        UserProjectDeleted = 1,
        DriftLooked = 1,
    }
    only_notes: DriftLooked
}

impl StackEvent {
    /// The incarnations of resources that the event names.
    pub fn incarnations(&self) -> Vec<(ResourceId, ResourceName)> {
        let of_rows = |rows: &Option<Vec<Row>>| -> Vec<(ResourceId, ResourceName)> {
            rows.iter().flatten().map(|row| (row.id, row.name.clone())).collect()
        };
        match self {
            StackEvent::TraversalStarted(started) => {
                let nodes = started.nodes.iter().map(|node| (node.id, node.name.clone()));
                nodes.chain(of_rows(&started.rows)).collect()
            }
            StackEvent::ReplacementStarted(replacement) => {
                vec![(replacement.new, replacement.name.clone())]
            }
            StackEvent::TraversalSettled(settled) => of_rows(&settled.rows),
            _ => Vec::new(),
        }
    }
}

/// The stack exists from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackCreated {
    pub stack_id: StackId,
    pub name: StackName,
    pub project_id: ProjectId,
    /// Keystone's id of the user whose trust the stack works with.
    pub owner_user_id: String,
    pub owner_user_name: String,
    /// The resource that a nested stack stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
}

/// Where a nested stack stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    /// The stack of the resource.
    pub stack: StackId,
    pub resource: ResourceId,
    pub name: ResourceName,
    /// The outermost stack.
    pub root: StackId,
    /// How many stacks this one stands within.
    pub depth: u32,
}

/// A definition that the stack will be brought to: what was asked for by create, update, rollback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevisionAccepted {
    pub revision: StackRevision,
    /// The action that asked for it: CREATE, ADOPT, UPDATE, ROLLBACK, RESTORE.
    pub action: Action,
    /// The revision whose definition this is: itself, or, for a rollback, the one gone back to.
    pub origin: StackRevision,
    /// `{template, environment, files}` as canonical JSON; `None` is the empty template to which
    /// a failed create rolls back.
    pub source: Option<BlobId>,
    /// The length of that JSON; 0 where it stands there already for another revision.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub source_bytes: u64,
    /// The parameters that the user gave, hidden ones sealed.
    pub parameters: JsonMap,
    /// Every parameter as a stack's show has it: text, hidden ones `******`.
    pub shown_parameters: JsonMap,
    /// The template's own description.
    pub description: String,
    pub outputs: Vec<OutputDeclared>,
    #[serde(flatten)]
    pub settings: StackSettings,
    /// The earlier revision whose definition was asked for again, as a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to: Option<StackRevision>,
    /// What the data say that the stack is adopted from: resources by their names, sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopts: Option<Value>,
    /// The user whose trust the work uses, where it is not the stack's creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The roles of that trust; none: from before they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// What the templates of a nested stack see of its resource: metadata, deletion_policy,
    /// update_policy. Leaves that hold a secret are sealed.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub facade: Value,
    /// Where the environment has the stack's events sent, as it says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_sinks: Vec<Value>,
    /// The key that it was asked for with, where it is to be accepted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The signal that has a resource made anew under the definition that the stack had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<CommandId>,
}

/// A request's `Idempotency-Key`, as the project's stream has it claimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub key: String,
    pub command: CommandId,
}

impl RevisionAccepted {
    /// In whose name the work is done, where the revision says so.
    pub fn trustor(&self) -> Option<Trustor> {
        Some(Trustor { user_id: self.user_id.clone()?, roles: self.roles.clone() })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An output that a revision declares, before it has a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputDeclared {
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// It reads what the cloud is asked for whenever the output is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
}

/// A traversal of the graph begins; a traversal that ran until here is over with this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraversalStarted {
    pub traversal: TraversalId,
    /// CREATE, ADOPT, UPDATE, DELETE, ROLLBACK, SUSPEND, RESUME, CHECK, SNAPSHOT, RESTORE.
    pub action: Action,
    pub revision: StackRevision,
    /// One for each resource that the revision has (none for a DELETE).
    pub nodes: Vec<Node>,
    /// The incarnations that exist, where that does not follow from the events before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Row>>,
    /// When the traversal runs out of time.
    pub deadline: Option<DateTime<Utc>>,
    #[serde(flatten)]
    pub options: TraversalOptions,
    /// In whose name, where it is not that of the newest revision: who asked for this action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trustor: Option<Trustor>,
}

/// A resource of the revision and the incarnation that is brought to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub name: ResourceName,
    pub id: ResourceId,
    /// The type as the template says it: an alias stays an alias.
    #[serde(rename = "type")]
    pub type_name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<ResourceName>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// An incarnation of a resource as the stack knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub name: ResourceName,
    pub id: ResourceId,
    #[serde(rename = "type")]
    pub type_name: String,
    /// The incarnations that it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<ResourceId>,
    /// The origin of the revision that it was last brought to; 0 before the first.
    #[serde(default)]
    pub revision: StackRevision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<ResourceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<ResourceId>,
}

/// A resource is created anew beside its former incarnation, which goes afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplacementStarted {
    pub traversal: TraversalId,
    pub name: ResourceName,
    pub old: ResourceId,
    pub new: ResourceId,
    #[serde(rename = "type")]
    pub type_name: String,
}

/// SUSPEND, RESUME or CHECK was asked for during a traversal; it starts when that one is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionDeferred {
    pub action: Action,
    /// Who asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trustor: Option<Trustor>,
}

/// A traversal is over. DELETE COMPLETE ends the stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraversalSettled {
    pub traversal: TraversalId,
    pub action: Action,
    /// COMPLETE or FAILED.
    pub status: Status,
    pub reason: String,
    /// The outputs of the revision as they resolve now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputResolved>,
    /// The incarnations that exist, where they are not just the traversal's nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Row>>,
}

/// The outputs have other values than before, though no traversal has led to that: a resource that they
/// read has changed by itself, by a signal say, or ended after its stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputsChanged {
    pub outputs: Vec<OutputResolved>,
}

/// The stack has a project in the domain of stacks' users: a resource of it has a user there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserProjectMade {
    pub project_id: ProjectId,
}

/// That project is gone: the stack is being deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserProjectDeleted {
    pub project_id: ProjectId,
}

/// An output's value, or why it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputResolved {
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Leaves that hold a secret are sealed (`vault`).
    pub value: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A snapshot of the stack is being taken, by the traversal of the same id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotStarted {
    pub snapshot: TraversalId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The revision whose template, environment, files and parameters it keeps.
    pub revision: StackRevision,
}

/// A snapshot is taken, or cannot be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotSettled {
    pub snapshot: TraversalId,
    /// COMPLETE or FAILED.
    pub status: Status,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceKept>,
}

/// A resource as a snapshot keeps it. Leaves that hold a secret are sealed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceKept {
    pub name: ResourceName,
    /// The type as the template says it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The type behind the alias, which has the driver.
    pub driver_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_id: Option<String>,
    pub action: Action,
    pub status: Status,
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub metadata: JsonMap,
    /// Resource data: what the snapshot made in the cloud is among it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, Value>,
}

/// What a snapshot keeps in the cloud is being deleted, and then the snapshot is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotDeletionStarted {
    pub snapshot: TraversalId,
    /// Whose trust the calls use.
    pub user_id: String,
    /// The roles of that trust; none: from before they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
}

impl SnapshotDeletionStarted {
    /// In whose name the calls are made.
    pub fn trustor(&self) -> Trustor {
        Trustor { user_id: self.user_id.clone(), roles: self.roles.clone() }
    }
}

/// A snapshot is gone (COMPLETE), or something of it cannot be deleted (FAILED).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotDeletionSettled {
    pub snapshot: TraversalId,
    pub status: Status,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A look at the cloud that the stack's schedule asked for was taken. It changes nothing that `If-Match`
/// or a plan goes by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriftLooked {
    /// How many resources are in the cloud as they are on record.
    pub same: u64,
    /// Those that are not, secrets masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceDrifted>,
    /// How many more there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

/// A resource that is not as it is on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceDrifted {
    /// Its name, behind those that lead to it through stacks within.
    pub path: String,
    pub type_name: String,
    /// `differs`, `gone` or `unknown`.
    pub drift: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<FieldDrifted>,
}

/// A property that is another in the cloud; values that are too long are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldDrifted {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Value>,
}
