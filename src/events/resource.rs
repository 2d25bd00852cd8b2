//! What happens in a resource's stream: actions start, calls are intended and answered, actions
//! settle. One stream is one incarnation; a replacement has its own.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StreamId;
use crate::model::{
    Action, CommandId, Hook, JsonMap, ProjectId, ResourceName, StackId, StackName, StackRevision,
    Status, TraversalId, TraversalOptions, Trustor,
};

events! {
    /// The facts of a resource.
    #[expect(clippy::large_enum_variant, reason = "few at a time; boxes would show in every match")]
    ResourceEvent {
        ActionStarted = 1,
        CallIntended = 2,
        AnswersKept = 1,
        CallAnswered = 2,
        CallRetried = 1,
        CreateRepeated = 1,
        ReplacementRequired = 1,
        AttributesObserved = 1,
        RealityObserved = 1,
        HealthMarked = 1,
        HookReached = 1,
        HookCleared = 1,
        HookLeft = 1,
        UpdateRefused = 1,
        SignalTaken = 1,
        ResizeTaken = 1,
        SignalHandled = 1,
        Remarked = 1,
        ActionSettled = 1,
    }
    scope: |event| match event {
        ResourceEvent::ActionStarted(started) => Some(StreamId::stack(started.stack_id)),
        _ => None,
    }
}

/// An action begins: from here on the resource is ACTION_IN_PROGRESS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionStarted {
    pub action: Action,
    pub traversal: TraversalId,
    pub stack_id: StackId,
    pub stack_name: StackName,
    pub project_id: ProjectId,
    pub name: ResourceName,
    /// The type as the template says it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The definition to be reached (none for DELETE, SUSPEND, RESUME and CHECK, which keep
    /// the former).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
    /// When the traversal runs out of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<DateTime<Utc>>,
    /// Whose trust the calls use.
    pub user_id: String,
    /// The roles of that trust; none: from before they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// The hooks behind the action, where the environment sets them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// Whether the traversal compares with what there is in the cloud.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observes: bool,
    /// Of a replacement's CREATE: what its former incarnations are in the cloud.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// Of a DELETE: what there is in the cloud stays, whatever the deletion policy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retains: bool,
}

impl ActionStarted {
    /// In whose name the calls are made.
    pub fn trustor(&self) -> Trustor {
        Trustor { user_id: self.user_id.clone(), roles: self.roles.clone() }
    }

    /// What it keeps of the traversal's options.
    pub fn options(&self) -> TraversalOptions {
        let Self { observes, retains, .. } = *self;
        TraversalOptions { observes, retains, ..TraversalOptions::default() }
    }
}

/// A resource's definition with every reference resolved. Leaves that hold a secret are sealed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct Definition {
    /// The type behind the alias, which has the driver.
    pub driver_type: String,
    pub properties: JsonMap,
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub metadata: JsonMap,
    /// `Delete`, `Retain` or `Snapshot`.
    pub deletion_policy: String,
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub update_policy: JsonMap,
    /// The object of somebody else that the resource stands for; it is only looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The attributes that the template reads, and so are observed when the action is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<String>,
    /// The stack's revision that this is of, where a child stack is made from it.
    #[serde(default, skip_serializing_if = "StackRevision::is_zero")]
    pub revision: StackRevision,
    /// How it is written: what differs here is updated in place, though no value changes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub written: String,
}

impl Definition {
    /// Whether the object in the cloud outlives the resource.
    pub fn keeps_object(&self) -> bool {
        self.external_id.is_some() || self.deletion_policy.eq_ignore_ascii_case("Retain")
    }

    /// Whether another definition is written otherwise, as far as both are known.
    pub fn is_written_otherwise(&self, other: &str) -> bool {
        !self.written.is_empty() && !other.is_empty() && self.written != other
    }
}

/// What a type's program does next: the name of its stage, and what it must remember until then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
pub struct Step {
    pub name: String,
    /// Whether the call changes the cloud: then the intent is durable before it leaves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mutates: bool,
    /// Whether it is a command to another stream of the log: as safe to repeat as a look, but its
    /// answer is awaited as that of a call that changes something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commands: bool,
    /// The program's own memory for this step.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub state: Value,
}

/// A call that changes the cloud is about to leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallIntended {
    pub step: Step,
    /// What the cloud keeps of the call, by which it is found again if the answer is lost.
    pub token: String,
}

/// What was answered to the asks of a beat. With these the type's program comes again to the
/// outcome that the event after this one records. At most 64 answers of 64 KiB are kept, and no
/// tokens; nothing is of looks that led to nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswersKept {
    /// Whether the beat looked for what an earlier call may have done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub searched: bool,
    /// What the program knew without asking.
    pub facts: Value,
    pub answers: Vec<KeptAnswer>,
}

/// An ask, and what was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptAnswer {
    /// `POST compute:/servers`, `endpoint image`, …
    pub ask: String,
    /// The answer, a secret as a whole; nothing where it was too large or must not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
}

/// What the cloud answered to the call that was intended last, or to a look at its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallAnswered {
    /// The id that the cloud gave, where this answer gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_id: Option<String>,
    /// Resource data set by this answer; null removes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, Value>,
    /// What comes next.
    pub next: Step,
}

/// A call failed transiently (connection, 429, 5xx, …) and is made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRetried {
    pub step: String,
    pub error: String,
    /// 1 for the first failure.
    pub attempt: u32,
    /// When it is made again.
    pub until: DateTime<Utc>,
}

/// A create that met a conflict or an object in error is made again, once what it made is deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CreateRepeated {
    pub traversal: TraversalId,
    /// 1 for the first repetition.
    pub attempt: u32,
}

/// An update cannot be made in place: UPDATE COMPLETE with this reason, and a new incarnation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplacementRequired {
    pub traversal: TraversalId,
    pub reason: String,
}

/// Attributes that the template reads were looked up (again); the status stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttributesObserved {
    pub attributes: JsonMap,
}

/// An update that looks first, or a check, found in the cloud something else than what is on record;
/// the status stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RealityObserved {
    pub traversal: TraversalId,
    /// There is nothing left of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// The properties that differ, as they are in the cloud. Leaves that hold a secret are sealed.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub properties: JsonMap,
}

/// Somebody who knows said that the resource is healthy (CHECK COMPLETE) or is not (CHECK FAILED).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HealthMarked {
    pub healthy: bool,
    pub reason: String,
}

/// The resource waits: before an action, or behind it and before others go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookReached {
    pub traversal: TraversalId,
    pub hook: Hook,
}

/// Somebody let the resource go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookCleared {
    pub hook: Hook,
}

/// The stack's action ended while the resource waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookLeft {
    pub hook: Hook,
    /// Whether the event list says nothing of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
}

/// The environment keeps the resource from being changed so: the resource stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateRefused {
    pub traversal: TraversalId,
    pub reason: String,
}

/// A signal came that asks for calls; they are made until `SignalHandled` says how they ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalTaken {
    pub signal: CommandId,
    /// As sent; leaves that hold a secret are sealed.
    pub details: Value,
}

/// A group is to have another size; it is brought there until `SignalHandled` says how that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResizeTaken {
    pub signal: CommandId,
    #[serde(flatten)]
    pub resize: Resize,
}

impl ResizeTaken {
    /// What a group's `SignalTaken` is: the first builds had no other event for a change of size. A
    /// group takes no signals of users, so that nothing else of that name is in its stream.
    pub fn formerly(taken: &SignalTaken) -> Option<Self> {
        let resize = Resize::deserialize(&taken.details).ok()?;
        Some(Self { signal: taken.signal, resize })
    }
}

/// A change of a group's size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resize {
    /// How many members there were.
    #[serde(rename = "capacity")]
    pub from: usize,
    /// How many there are to be.
    #[serde(rename = "size")]
    pub to: usize,
    /// What the policy says.
    pub adjustment: f64,
    #[serde(rename = "adjustment_type")]
    pub kind: String,
    /// How long the group rests after it.
    #[serde(rename = "cooldown", default, skip_serializing_if = "Option::is_none")]
    pub cooldown_secs: Option<i64>,
}

/// What a signal came to; the status stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalHandled {
    pub signal: CommandId,
    /// What the event list says of it; nothing where it is not worth a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why its calls failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it adds to the resource's metadata; leaves that hold a secret are sealed.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub metadata: JsonMap,
    /// Resource data set by it; null removes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, Value>,
    /// Attributes that have other values after it; leaves that hold a secret are sealed.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub attributes: JsonMap,
}

/// Something happened that leaves the resource as it is: a line of the event list alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remarked {
    pub reason: String,
}

/// The action is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionSettled {
    pub action: Action,
    pub traversal: TraversalId,
    /// COMPLETE or FAILED.
    pub status: Status,
    pub reason: String,
    /// The cloud's id as it is now.
    pub physical_id: Option<String>,
    /// Resource data set by the last answer; null removes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, Value>,
    /// The attributes that the template reads, as observed. Leaves that hold a secret are sealed.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub attributes: JsonMap,
    /// What the type itself adds to the resource's metadata.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub metadata: JsonMap,
    /// A call was given up without an answer: what it did is looked up before anything else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// What a failed create made is deleted, and the create comes again after a pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// An update was refused before it changed anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untouched: bool,
}

impl ActionSettled {
    /// The end of an action that learned nothing and left nothing open.
    pub fn new(action: Action, traversal: TraversalId, status: Status, reason: String) -> Self {
        Self {
            action,
            traversal,
            status,
            reason,
            physical_id: None,
            data: BTreeMap::new(),
            attributes: JsonMap::new(),
            metadata: JsonMap::new(),
            unanswered: false,
            again: false,
            untouched: false,
        }
    }
}
