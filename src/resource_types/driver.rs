//! The driver trait: a resource's action as short beats, each safe to repeat.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::child::Nested;
use super::groups::Adjustment;
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::{
    Action, JsonMap, ProjectId, Refusal, ResourceId, ResourceName, StackId, StackName, TraversalId,
};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::PlainStage;
use crate::resource_types::stage::Stages;

/// What a driver is told of the resource it works on. Nothing in it is sealed.
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
    /// The resolved properties, as given: the driver's schema knows the defaults.
    pub properties: JsonMap,
    pub metadata: JsonMap,
    pub physical_id: Option<String>,
    /// What earlier beats asked to be remembered.
    pub data: BTreeMap<String, Value>,
    /// What signals have added to the metadata.
    pub signals: JsonMap,
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
    /// What a type that waits for others' signals hears of them.
    pub observed_signals: Vec<ObservedSignals>,
    /// An update failed since the properties were reached: what there is may be another's.
    pub in_doubt: bool,
    /// Physical ids of the stack's other resources: what a search for a lost call must not adopt.
    pub taken: BTreeSet<String>,
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
    /// By their ids.
    pub entries: JsonMap,
    /// None is expected: whoever waits for them need not.
    pub unneeded: bool,
}

/// What a signal comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Signaled {
    /// The type takes no signals.
    Unsupported,
    /// It changes nothing but the resource itself.
    Handled(SignalOutcome),
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

/// Why a beat failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct DriverError {
    /// Heat's or its client library's exception class, as status reasons show it: `BadRequest`,
    /// `Conflict`, `ResourceInError`, …
    pub class: String,
    /// Where below the resource it failed: `.resources.z` of its child stack; else empty.
    pub below: String,
    /// The cloud's own words.
    pub message: String,
    /// Transient: the beat is made again, with back-off.
    pub transient: bool,
    /// The call may have been carried out though no answer came: the next attempt is
    /// `Attempt::Unanswered`.
    pub unanswered: bool,
    /// The cloud's own wish for the pause.
    pub retry_after: Option<Duration>,
    /// Another object was in the way: a create is made again as a whole.
    pub conflict: bool,
    /// The cloud refused a call, and before it nothing was changed.
    pub refused: bool,
}

impl DriverError {
    /// An error that is final.
    pub fn fatal(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            below: String::new(),
            message: message.into(),
            transient: false,
            unanswered: false,
            retry_after: None,
            conflict: false,
            refused: false,
        }
    }
}

/// In the place of the names of all secrets: everything is one.
pub(crate) const ANY: &str = "*";

/// Runs one resource type. Drivers hold no state of their own: all they know is in the `Subject`
/// and the `Step`, so that any beat can be made by a process that was started after the one before.
pub trait Driver: Send + Sync + 'static {
    /// The outcome of an action that needs neither a call nor time (OS::Heat::Value, …). Pure but
    /// for the moment's chance. `None`: beats are needed.
    fn local(
        &self,
        _work: &Work,
        _subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, DriverError>> {
        None
    }

    /// The step that an action begins with, where it needs one.
    fn first(&self, _work: &Work, _subject: &Subject) -> Step {
        PlainStage::Done.step()
    }

    /// Makes one beat.
    fn beat(
        &self,
        _cloud: &Asks<'_>,
        _work: &Work,
        _subject: &Subject,
        _step: &Step,
        _attempt: Attempt,
    ) -> Result<Beat, DriverError> {
        Ok(Beat::Done { learned: Learned::default() })
    }

    /// The last step of an action that is given up where `step` is next: it takes back what others
    /// were told to go on with, and is safe to repeat.
    fn cancellation_cleanup(&self, _step: &Step) -> Option<Step> {
        None
    }

    /// How a change is carried out; `changed` is never empty. The default rule of Heat: replace
    /// when a changed property is not update_allowed.
    fn on_change(
        &self,
        subject: &Subject,
        before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> UpdateKind;

    /// Whether a change may be none: it writes names for ids, or ids for names, which the first
    /// beat of an update looks up. `Beat::Replace` is then what [`Self::on_change`] says of it.
    fn may_be_same(
        &self,
        _subject: &Subject,
        _before: &JsonMap,
        _changed: &BTreeSet<String>,
    ) -> bool {
        false
    }

    /// Why an update will fail, where that can be told beforehand: for plans.
    fn warning(&self, _before: &JsonMap, _after: &JsonMap) -> Option<&'static str> {
        None
    }

    /// Whether what is made has no id, and is known by the properties alone.
    fn has_no_id(&self) -> bool {
        false
    }

    /// Whether each update of the stack makes the resource anew, without a word.
    fn is_renewed(&self) -> bool {
        false
    }

    /// Whether the type does anything of its own for SUSPEND, RESUME, CHECK or SNAPSHOT.
    fn acts(&self, _action: Action) -> bool {
        false
    }

    /// Whether no update ever changes or replaces the resource, however it stands.
    fn is_kept(&self) -> bool {
        false
    }

    /// Whether a FAILED resource is replaced by the next update (Heat's `needs_replace_failed`),
    /// asked of the cloud where the type keeps a live object. Default: replaced.
    fn replace_failed(&self, _cloud: &Asks<'_>, _subject: &Subject) -> bool {
        true
    }

    /// What a signal comes to. `details` are an object, or null where the sender gave none.
    fn signal(&self, _subject: &Subject, _details: &Value, _moment: &Moment<'_>) -> Signaled {
        Signaled::Unsupported
    }

    /// The signals that others may wait for; `None` where the type is no handle.
    fn signals(&self, _subject: &Subject) -> Option<Signals> {
        None
    }

    /// Whether the type waits for signals to other resources, and so is told of them.
    fn observes_signals(&self) -> bool {
        false
    }

    /// The change of a group's size that a signal asks for, where it asks for one: the engine makes
    /// it.
    fn adjustment(&self, _subject: &Subject) -> Option<Adjustment> {
        None
    }

    /// Makes the calls that a signal asks for; safe to repeat by a process that was started after
    /// the one that took the signal (`Attempt::Unanswered`).
    fn carry_out_signal(
        &self,
        _cloud: &Asks<'_>,
        _subject: &Subject,
        _details: &Value,
        _attempt: Attempt,
    ) -> Result<SignalOutcome, DriverError> {
        Ok(SignalOutcome::default())
    }

    /// Whether the object is there, as far as the cloud can tell.
    fn exists(&self, _cloud: &Asks<'_>, _subject: &Subject) -> Result<bool, DriverError> {
        Ok(true)
    }

    /// What there is, against the properties that the subject has on record.
    fn reality(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Reality, DriverError> {
        Ok(match self.exists(cloud, subject)? {
            true => Reality::Differs(JsonMap::new()),
            false => Reality::Gone,
        })
    }

    /// Deletes what a snapshot of the resource made in the cloud, by the data that it left; safe to
    /// repeat. Whether it is gone; if not, it is asked again.
    fn delete_snapshot(
        &self,
        _cloud: &Asks<'_>,
        _data: &BTreeMap<String, Value>,
    ) -> Result<bool, DriverError> {
        Ok(true)
    }

    /// The properties that differ from the template's when the resource is restored from the data
    /// of its snapshot; null takes a property away.
    fn restored(&self, _properties: &JsonMap, _data: &BTreeMap<String, Value>) -> JsonMap {
        JsonMap::new()
    }

    /// The attributes asked for, from the cloud's present state. Empty asks for all.
    fn attributes(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        wanted: &[String],
    ) -> Result<JsonMap, DriverError>;

    /// The attributes that are known before anything is made, by what the template says alone.
    fn unmade(&self, _subject: &Subject) -> JsonMap {
        JsonMap::new()
    }

    /// The properties with their defaults.
    fn properties(&self, given: &JsonMap) -> JsonMap {
        given.clone()
    }

    /// What `get_resource` gives (Heat's FnGetRefId): the physical id, unless the type says else.
    fn reference(&self, subject: &Subject) -> Value {
        match &subject.physical_id {
            Some(id) => Value::String(id.clone()),
            None => subject.name.as_ref().map_or(Value::Null, |name| name.as_str().into()),
        }
    }

    /// What the type's schema cannot say of its properties, checked before anything is created.
    /// Values that depend on other resources stand for them: a reference is the resource's name,
    /// an attribute is null. The text of the refusal is final.
    fn validate(&self, _subject: &Subject) -> Result<(), Refusal> {
        Ok(())
    }

    /// What the cloud alone can say of the properties, checked before anything is created.
    fn validate_in_cloud(&self, _cloud: &Asks<'_>, _properties: &JsonMap) -> Result<(), Refusal> {
        Ok(())
    }

    /// The names of attributes and resource data whose values are secrets (passwords, private
    /// keys); [`ANY`] stands for all.
    fn secret_names(&self) -> &[String] {
        &[]
    }

    /// Whether an attribute or resource data of a name is a secret.
    fn is_secret(&self, name: &str) -> bool {
        self.secret_names().iter().any(|secret| secret == name || secret == ANY)
    }

    /// What the type has for a child stack, where its work is one. Its beats then speak to the
    /// engine instead of a cloud, and are the same for all such types.
    fn nests(&self) -> Option<&dyn Nested> {
        None
    }

    /// The longest physical name that the type takes (Heat's `physical_resource_name_limit`).
    fn physical_name_limit(&self) -> usize {
        255
    }
}
