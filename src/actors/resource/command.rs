//! What a resource is asked to do, and what it does in turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::events::resource::{AnswersKept, Definition, Resize, ResizeTaken, SignalTaken, Step};
use crate::events::stack::ResourceKept;
use crate::model::{
    Action, CommandId, Hook, JsonMap, ProjectId, ResourceId, ResourceName, StackId, StackName,
    StackRevision, Status, TraversalId, TraversalOptions, Trustor,
};
use crate::resource_types::{
    Adjustment, Attempt, Beat, Failure, ObservedSignals, Reality, SignalOutcome, Signals, Subject,
    Work,
};

/// The stack that a resource belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackIdentity {
    pub id: StackId,
    pub name: StackName,
    pub project_id: ProjectId,
}

/// Bring the resource to a definition.
#[derive(Clone, Debug)]
pub struct Converge {
    pub traversal: TraversalId,
    /// When the traversal started.
    pub since: DateTime<Utc>,
    pub stack: StackIdentity,
    pub name: ResourceName,
    /// As the template says it.
    pub type_name: String,
    /// Secrets in it are marked; an error is why it cannot be resolved (`CLASS: path: text`).
    pub definition: Result<Definition, String>,
    pub deadline: Option<DateTime<Utc>>,
    pub trustor: Trustor,
    /// What the resource observes of others, where its type waits for their signals; still marked.
    pub observed_signals: Vec<ObservedSignals>,
    /// What the stack does: CREATE, UPDATE, ROLLBACK, …
    pub stack_action: Action,
    pub options: TraversalOptions,
    /// What the environment has the resource wait for.
    pub hooks: BTreeSet<Hook>,
    /// What the environment keeps the resource from: `update`, `replace`.
    pub restricted: BTreeSet<String>,
    /// What a stack that is adopted says of the resource.
    pub adopts: Option<Adopted>,
    /// What the incarnations are in the cloud that the resource, not yet made, replaces.
    pub replaces: Vec<String>,
}

/// What there is of a resource that is taken over as it is; secrets are marked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adopted {
    pub physical_id: Option<String>,
    pub data: BTreeMap<String, Value>,
}

/// Delete what the resource has in the cloud, as its deletion policy says.
#[derive(Clone, Debug)]
pub struct CleanUp {
    pub traversal: TraversalId,
    pub stack: StackIdentity,
    /// What the template calls its type.
    pub type_name: String,
    pub deadline: Option<DateTime<Utc>>,
    pub trustor: Trustor,
    /// What the stack does: a DELETE alone waits at hooks.
    pub stack_action: Action,
    pub hooks: BTreeSet<Hook>,
    pub options: TraversalOptions,
}

/// Suspend, resume, check or snapshot the resource as it is.
#[derive(Clone, Debug)]
pub struct Act {
    pub traversal: TraversalId,
    pub action: Action,
    pub stack: StackIdentity,
    /// What the template calls its type, and the type that it is: for what was never begun.
    pub type_name: String,
    pub driver_type: String,
    pub deadline: Option<DateTime<Utc>>,
    pub trustor: Trustor,
    /// Not all of the stack is suspended: what is not has nothing to be resumed from.
    pub in_part: bool,
}

/// Word from outside, as the type understands it.
#[derive(Clone, Debug)]
pub struct Signal {
    /// The same signal again is taken once.
    pub id: CommandId,
    /// An object, or null.
    pub details: Value,
    /// Whether one that the type cannot read is refused, and does not come to nothing.
    pub is_checked: bool,
}

/// A change of a group's size, as a policy asks for it.
#[derive(Clone, Debug)]
pub struct Adjust {
    /// The same again is taken once.
    pub id: CommandId,
    pub adjustment: Adjustment,
}

/// What was taken and is not done yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Due {
    /// What a signal asks for, with what it brought.
    Sent(SignalTaken),
    Resize(ResizeTaken),
}

impl Due {
    pub fn id(&self) -> CommandId {
        match self {
            Self::Sent(taken) => taken.signal,
            Self::Resize(taken) => taken.signal,
        }
    }
}

/// How an adjustment ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adjusted {
    Made,
    /// There was nothing to change, or no time for it.
    Declined,
    Failed(String),
}

/// What became of a beat.
#[derive(Debug)]
pub struct Answered {
    /// The beat's number; an older one's answer no longer counts.
    pub epoch: u64,
    pub result: Result<Beat, Failure>,
    /// What its program was answered on the way.
    pub kept: Option<AnswersKept>,
    /// The attributes asked for, where the beat ended the action; what a child stack has for secret
    /// is marked.
    pub attributes: JsonMap,
    /// What there is in the cloud, where the beat ended a check.
    pub reality: Option<Reality>,
}

/// A command to a resource.
#[derive(Debug)]
pub enum ResourceCommand {
    Converge(Box<Converge>),
    CleanUp(CleanUp),
    Act(Box<Act>),
    /// Somebody who knows says that the resource is healthy, or is not.
    Mark {
        healthy: bool,
        reason: String,
    },
    Signal(Signal),
    /// Others were signaled, and the type waits for that; secrets are marked.
    ObserveSignals(Vec<ObservedSignals>),
    /// Change the size of the group.
    Adjust(Box<Adjust>),
    /// The size that an adjustment leads to; none where the group has it already.
    Sized {
        id: CommandId,
        resize: Option<Resize>,
    },
    /// Let the resource go on that waits at a hook.
    ClearHook {
        hook: String,
        /// The resource in Heat's words, `{}` for its name and physical id.
        shown: String,
    },
    /// Give up waiting at a hook.
    LeaveHook,
    /// What the calls of a signal came to.
    SignalCarriedOut {
        signal: CommandId,
        result: Result<SignalOutcome, Failure>,
    },
    /// Give up the action under way: `ACTION aborted (REASON)`.
    Cancel {
        reason: String,
    },
    /// Give up the action under way because the stack's time is over.
    TimeOut,
    /// Nothing further is to start, here or in a child stack; what is at work ends.
    BeginNothing,
    Answered(Box<Answered>),
    /// Do what is next of the action under way.
    Proceed,
    /// The pause before the next beat is over.
    Due {
        epoch: u64,
    },
    /// Whether the FAILED resource is to be replaced, as its driver sees the live object.
    FailedSeen {
        epoch: u64,
        replace: Result<bool, Failure>,
    },
    /// What there is of the resource in the cloud.
    RealitySeen {
        epoch: u64,
        reality: Reality,
    },
    /// Whether the child stack differs from what it should be, or is not healthy.
    ChildSeen {
        epoch: u64,
        differs: bool,
    },
    /// Attributes that the template newly reads were looked up.
    Observed {
        epoch: u64,
        attributes: JsonMap,
    },
}

impl ResourceCommand {
    /// The traversal that a task belongs to.
    pub(super) fn traversal(&self) -> Option<TraversalId> {
        match self {
            ResourceCommand::Converge(converge) => Some(converge.traversal),
            ResourceCommand::CleanUp(clean_up) => Some(clean_up.traversal),
            ResourceCommand::Act(act) => Some(act.traversal),
            ResourceCommand::Mark { .. }
            | ResourceCommand::Cancel { .. }
            | ResourceCommand::ObserveSignals(_)
            | ResourceCommand::Signal(_)
            | ResourceCommand::Adjust(_)
            | ResourceCommand::Sized { .. }
            | ResourceCommand::ClearHook { .. }
            | ResourceCommand::LeaveHook
            | ResourceCommand::SignalCarriedOut { .. }
            | ResourceCommand::TimeOut
            | ResourceCommand::BeginNothing
            | ResourceCommand::Answered(_)
            | ResourceCommand::Proceed
            | ResourceCommand::Due { .. }
            | ResourceCommand::FailedSeen { .. }
            | ResourceCommand::RealitySeen { .. }
            | ResourceCommand::ChildSeen { .. }
            | ResourceCommand::Observed { .. } => None,
        }
    }
}

/// What came of a task that the stack gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The resource is as the revision wants it.
    Converged,
    /// Nothing of it is left, or it is retained.
    CleanedUp,
    /// It has to be created anew.
    Replace,
    Failed {
        action: Action,
        reason: String,
    },
}

/// How a resource stands, as its stack is told.
#[derive(Clone, Debug)]
pub struct Report {
    pub id: ResourceId,
    pub name: ResourceName,
    pub action: Action,
    pub status: Status,
    /// The traversal of the newest action.
    pub traversal: Option<TraversalId>,
    /// The newest task that came to an end, and how.
    pub outcome: Option<(TraversalId, Outcome)>,
    /// The traversal of a task that was given up before it was begun.
    pub dropped: Option<TraversalId>,
    pub physical_id: Option<String>,
    /// What `get_resource` gives; sealed where it is a secret.
    pub reference: Option<Value>,
    /// As observed; leaves that hold a secret are sealed.
    pub attributes: Arc<JsonMap>,
    pub created_at: DateTime<Utc>,
    pub changed_at: DateTime<Utc>,
    /// The signals that it has got, where others may wait for them; sealed where secret.
    pub signals: Option<Signals>,
    /// Whether a signal asks for calls that are not made yet.
    pub owes_signal: bool,
    /// Whether it waits at a hook.
    pub waits: bool,
    /// The stack's project in the domain of stacks' users, where the resource has a user there.
    pub user_project: Option<ProjectId>,
    /// What a snapshot keeps of it, once one was taken.
    pub kept: Option<Box<ResourceKept>>,
}

impl Report {
    /// Whether an action is under way.
    pub fn in_progress(&self) -> bool {
        self.status == Status::InProgress
    }

    /// Whether anything is left to be done.
    pub fn at_work(&self) -> bool {
        self.in_progress() || self.owes_signal
    }
}

/// A beat to be made.
#[derive(Debug)]
pub struct BeatCall {
    pub epoch: u64,
    pub driver_type: String,
    pub work: Work,
    pub subject: Subject,
    pub step: Step,
    pub attempt: Attempt,
    /// The attributes to look up when the beat ends the action.
    pub observe: Vec<String>,
    pub trustor: Trustor,
    /// Where the work is a child stack: what it is made with.
    pub nesting: Option<Nesting>,
}

/// What a child stack is made with beside its resource's own definition.
#[derive(Clone, Debug)]
pub struct Nesting {
    pub traversal: TraversalId,
    /// The revision of the resource's stack that the definition is of.
    pub revision: StackRevision,
    /// How often the create was repeated: each time there is another child.
    pub repetition: u32,
    /// How many actions the resource began in the traversal before this one.
    pub earlier: u32,
    /// Of the resource's traversal, as the child's have them, too.
    pub options: TraversalOptions,
    /// The definition's, with marks on what is secret.
    pub properties: JsonMap,
    pub metadata: JsonMap,
    /// In whose name the child works.
    pub trustor: Trustor,
}

/// Something that a resource does outside its own state.
#[derive(Debug)]
pub enum ResourceEffect {
    /// Make a beat; its answer comes back as `Answered`.
    Call(Box<BeatCall>),
    /// Beat again after a pause.
    Later { epoch: u64, after: Duration },
    /// Ask the driver whether a FAILED resource is to be replaced.
    SeeFailed { epoch: u64, driver_type: String, subject: Box<Subject>, trustor: Trustor },
    /// See what there is of the resource in the cloud; the subject is as it is on record.
    SeeReality { epoch: u64, driver_type: String, subject: Box<Subject>, trustor: Trustor },
    /// See whether the child stack is as the definition wants it.
    SeeChild { epoch: u64, driver_type: String, subject: Box<Subject>, nesting: Nesting },
    /// Nothing further of the child stack is to start.
    HaltChild { child: StackId },
    /// Look attributes up.
    Observe {
        epoch: u64,
        driver_type: String,
        subject: Box<Subject>,
        wanted: Vec<String>,
        trustor: Trustor,
    },
    /// Do what is due of a signal; what that comes to comes back as `SignalCarriedOut`.
    CarryOutSignal {
        due: Due,
        nesting: Box<Nesting>,
        driver_type: String,
        subject: Box<Subject>,
        attempt: Attempt,
        trustor: Trustor,
    },
    /// Look up the size that an adjustment leads to; it comes back as `Sized`.
    Size { adjust: Box<Adjust>, driver_type: String, subject: Box<Subject> },
    /// Tell the stack how the resource stands.
    Report,
}
