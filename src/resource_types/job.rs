//! What a type's program is told, and what it comes to: a resource's action as short beats, each
//! safe to repeat.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::signal_entries::SignalEntries;
use crate::events::resource::Step;
use crate::model::{
    Action, JsonMap, ProjectId, ResourceId, ResourceName, Secret, StackId, StackName, TraversalId,
};

/// What a type is told of the resource it works on. Nothing in it is sealed.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    pub stack_id: Option<StackId>,
    pub stack_name: Option<StackName>,
    pub project_id: Option<ProjectId>,
    pub resource_id: Option<ResourceId>,
    pub name: Option<ResourceName>,
    /// `STACK-RESOURCE-SHORTID`, cut to the type's limit: unique to this incarnation, and so the
    /// token by which a lost call is found again.
    pub physical_name: String,
    /// The resolved properties, as given: the type's schema knows the defaults.
    pub properties: JsonMap,
    /// The names of those that hold something that must not be seen.
    pub hidden: BTreeSet<String>,
    pub metadata: JsonMap,
    pub physical_id: Option<String>,
    /// What earlier beats asked to be remembered.
    pub data: BTreeMap<String, Value>,
    /// What signals have added to the metadata.
    pub signals: JsonMap,
    /// How many entries that are, also where they are left out.
    pub signaled: usize,
    /// The traversal that the action belongs to.
    pub traversal: Option<TraversalId>,
    /// What the incarnations are in the cloud that this one replaces, the last one first.
    pub replaces: Vec<String>,
    /// What there is stays in the cloud: the stack is abandoned.
    pub abandons: bool,
    /// What is about to be deleted is kept as a snapshot first (deletion policy Snapshot).
    pub kept_first: bool,
    pub update_policy: JsonMap,
    /// `Delete`, `Retain` or `Snapshot`.
    pub deletion_policy: String,
    /// The attributes that the stack's template reads of it.
    pub reads: Vec<String>,
    /// What a type that waits for others' signals observes of them; entries keep their marks.
    pub observed_signals: Vec<ObservedSignals>,
    /// An update failed since the properties were reached: what there is may be another's.
    pub in_doubt: bool,
    /// A creation or a deletion was given up without the answer to its call.
    pub unanswered: bool,
}

impl Subject {
    /// The project whose the resource is.
    pub(crate) fn project(&self) -> ProjectId {
        self.project_id.clone().unwrap_or_default()
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    Create,
    /// In place. `before` are the former properties, `changed` the names that differ.
    Update {
        before: JsonMap,
        changed: BTreeSet<String>,
    },
    Delete,
    /// SUSPEND, RESUME, CHECK or SNAPSHOT of the object as it is.
    Act(Action),
}

/// Whether the call may already have been made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It was not.
    First,
    /// It may have been: its intent is on record and its answer is not. Look for the token in the
    /// cloud, adopt what is there, and only then call again.
    Unanswered,
}

/// What a beat found out and is to be remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// The cloud's id, where it became known.
    pub physical_id: Option<String>,
    /// Resource data; null removes.
    pub data: BTreeMap<String, Value>,
    /// What the end of an action adds to the resource's metadata.
    pub metadata: JsonMap,
}

/// What a beat came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Beat {
    /// Something was learned; it is written down, and `next` follows at once.
    Next { learned: Learned, next: Step },
    /// Not yet: the same step again. `None` leaves the time to the adaptive poller.
    Wait { after: Option<Duration> },
    /// The action is done.
    Done { learned: Learned },
    /// The update cannot be made in place after all; the reason as the event shows it.
    Replace { reason: String },
}

/// What became of an action that needs no call at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalOutcome {
    pub learned: Learned,
    pub attributes: JsonMap,
}

/// What there is of a resource in the cloud.
#[derive(Clone, Debug, PartialEq)]
pub enum Reality {
    /// Nothing.
    Gone,
    /// An object; the properties in which it differs from what is on record, as it has them.
    Differs(JsonMap),
}

/// A change of a resource: the former properties, and the names of those that differ. The subject
/// has the new ones.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub subject: &'a Subject,
    pub before: &'a JsonMap,
    pub changed: &'a BTreeSet<String>,
}

/// How a change of properties is to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// By calls to the live object.
    InPlace,
    /// By a new incarnation. The reason is the event's: `The Resource a requires replacement.`, or,
    /// where Heat's class itself decides, `The Resource CLASS "a" [phys] Stack … requires
    /// replacement.`
    Replace { reason: String },
    /// Nothing is to be done.
    Nothing,
    /// Heat's `NotSupported`: the text.
    Refuse(String),
}

/// Another resource of the stack, as one that waits for signals is told of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedSignals {
    pub name: ResourceName,
    /// What `get_resource` gives for it.
    pub reference: Value,
    /// None: it is no handle.
    pub signals: Option<Signals>,
}

/// The signals that a handle has got.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// By their ids, with their marks.
    pub entries: SignalEntries,
    /// None is expected: whoever waits for them need not.
    pub unneeded: bool,
    /// The object in Swift that further ones are put to: whoever waits for them looks there.
    pub object: Option<String>,
    /// The queue that further ones are posted to: whoever waits for them looks there.
    pub queue: Option<Queue>,
}

impl Signals {
    /// Whether each signal is told of: nobody tells of what is put to an object or posted to a queue.
    pub fn are_told(&self) -> bool {
        self.object.is_none() && self.queue.is_none()
    }
}

/// A queue in Zaqar, and the stack's user to whose project it belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    pub name: String,
    pub user: StackUser,
}

/// A user as his resource knows him.
#[derive(Clone, Debug, PartialEq)]
pub struct StackUser {
    pub id: String,
    pub password: Secret<String>,
    pub project: String,
}

/// What a signal comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Signaled {
    /// The type takes no signals.
    Unsupported,
    /// It changes nothing but the resource itself.
    Handled(SignalOutcome),
    /// It cannot be read; what it comes to where nobody asks why.
    Unread { why: &'static str, outcome: SignalOutcome },
    /// It asks for calls: `carry_out_signal`.
    Work,
}

/// What became of a signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalOutcome {
    pub said: Said,
    /// What it adds to the resource's metadata.
    pub metadata: JsonMap,
    /// Resource data; null removes.
    pub data: BTreeMap<String, Value>,
    /// What it has led to in a child stack.
    pub in_child: Option<Box<ChildSignaled>>,
}

/// What a signal has led to in a child stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChildSignaled {
    /// The attributes that the template reads, with marks on secrets.
    pub attributes: JsonMap,
    /// Why the child failed.
    pub error: Option<String>,
}

/// What the event list says of a signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Said {
    /// Nothing: it was not worth a line (Heat's `NoActionRequired`), or could not be read.
    #[default]
    Nothing,
    /// What its details say.
    Details,
    /// `Signal: ` and this.
    Result(String),
}
