//! What a type does otherwise than its file can say. Each method has the interpreter's way for its
//! default, so that an override is about the difference alone.

use std::collections::BTreeMap;

use serde_json::Value;

use super::asks::Asks;
use super::child::Nested;
use super::declared::{Beating, Declared};
use super::failure::Failure;
use super::groups::Adjustment;
use super::job::{
    Beat, Change, LocalOutcome, ObservedSignals, SignalOutcome, Signaled, Signals, Subject,
    UpdateKind, Work,
};
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::{JsonMap, Refusal};

/// What a body is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Create,
    Update,
}

/// What is looked at: a resource's object, by what the type's file says.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub declared: &'a Declared,
    pub cloud: &'a Asks<'a>,
    pub subject: &'a Subject,
}

/// The program of a resource type. It holds no state of its own: all it knows is what it is told
/// and what was answered, so that any beat can be made by a process that was started after the one
/// before. `declared` is what the type's file says, with the interpreter's way of doing things.
pub trait ResourceType: Send + Sync + 'static {
    // The next step of an action.

    /// The outcome of an action that needs neither a call nor time (OS::Heat::Value, …). Pure but
    /// for the moment's chance. `None`: beats are needed.
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        declared.plain_local(work, subject)
    }

    /// The step that an action begins with.
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        declared.first_step(work, subject)
    }

    /// Makes one beat.
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        declared.plain_beat(beating)
    }

    /// The last step of an action that is given up where `step` is next: it takes back what others
    /// were told to go on with, and is safe to repeat.
    fn cancellation_cleanup(&self, _step: &Step) -> Option<Step> {
        None
    }

    /// A last change to the fields of a body.
    fn body(&self, _purpose: Purpose, _subject: &Subject, _body: &mut JsonMap) {}

    /// What the type has for a child stack, where its work is one. Its beats then speak to the
    /// engine instead of a cloud, and are the same for all such types.
    fn nests(&self) -> Option<&dyn Nested> {
        None
    }

    // What a change of properties comes to.

    /// How a change is carried out; `changed` is never empty.
    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        declared.plain_on_change(subject, changed)
    }

    /// Why an update will fail, where that can be told beforehand: for plans.
    fn warning(&self, _before: &JsonMap, _after: &JsonMap) -> Option<&'static str> {
        None
    }

    /// Whether a FAILED resource is replaced by the next update (Heat's `needs_replace_failed`),
    /// asked of the cloud where the type keeps a live object.
    fn replace_failed(&self, at: At<'_>) -> Result<bool, Failure> {
        let At { declared, cloud, subject, .. } = at;
        declared.plain_replace_failed(cloud, subject)
    }

    // What is checked before anything is made.

    /// What the schema cannot say of the properties of the resource of a name; they have defaults
    /// and newer names. Values that depend on other resources stand for them: a reference is the
    /// resource's name, an attribute is null. The text of the refusal is final.
    fn validate(&self, _name: &str, _properties: &JsonMap) -> Result<(), Refusal> {
        Ok(())
    }

    /// The same of the metadata that stand beside the properties.
    fn validate_metadata(&self, _metadata: &JsonMap, _properties: &JsonMap) -> Result<(), Refusal> {
        Ok(())
    }

    /// What of the properties, which have no defaults here, the cloud is asked about beyond their
    /// constraints. A request asks about the same once.
    fn asked_of_cloud(&self, _properties: &JsonMap) -> Option<JsonMap> {
        None
    }

    /// What the cloud alone can say of what it is asked about.
    fn validate_in_cloud(&self, _cloud: &Asks<'_>, _asked: &JsonMap) -> Result<(), Refusal> {
        Ok(())
    }

    // What others read of the resource.

    /// What `get_resource` gives (Heat's FnGetRefId).
    fn reference(&self, declared: &Declared, subject: &Subject) -> Value {
        declared.plain_reference(subject)
    }

    /// The attributes asked for, from the cloud's present state. Empty asks for all.
    fn attributes(&self, at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, cloud, subject, .. } = at;
        declared.plain_attributes(cloud, subject, wanted)
    }

    /// An attribute that the shown object does not have as its field; the others are read from it.
    /// `object` is null where the type has no call that shows one.
    fn attribute(
        &self,
        _at: At<'_>,
        _object: &Value,
        _name: &str,
    ) -> Result<Option<Value>, Failure> {
        Ok(None)
    }

    /// The attributes that are known before anything is made, by what the template says alone.
    fn unmade(&self, _declared: &Declared, _subject: &Subject) -> JsonMap {
        JsonMap::new()
    }

    /// Whether an attribute or resource data of a name is a secret.
    fn is_secret(&self, declared: &Declared, name: &str) -> bool {
        declared.declaration().secrets.iter().any(|secret| secret == name)
    }

    // What there is of the object.

    /// The live object; `None` where it is gone, null where the type has no call that shows one.
    fn object(&self, at: At<'_>) -> Result<Option<Value>, Failure> {
        let At { declared, cloud, subject, .. } = at;
        match declared.declaration().show {
            Some(_) => declared.look(cloud, subject),
            None => Ok(Some(Value::Null)),
        }
    }

    /// Whether a property is compared with the live object: one that an update may change is.
    fn observes(&self, _subject: &Subject, _name: &str, update_allowed: bool) -> bool {
        update_allowed
    }

    /// A property as the live object has it; `None` where that is not known. `wanted` is the
    /// property on record, names resolved.
    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let At { declared, .. } = at;
        Ok(declared.plain_live(object, name, wanted))
    }

    // Signals.

    /// What a signal comes to. `details` are an object, or null where the sender gave none; of what
    /// former signals have left the subject has the number alone.
    fn signal(&self, _subject: &Subject, _details: &Value) -> Signaled {
        Signaled::Unsupported
    }

    /// Makes the calls that a signal asks for; safe to repeat by a process that was started after
    /// the one that took the signal.
    fn carry_out_signal(
        &self,
        _cloud: &Asks<'_>,
        _subject: &Subject,
        _details: &Value,
    ) -> Result<SignalOutcome, Failure> {
        Ok(SignalOutcome::default())
    }

    /// The change of a group's size that a signal asks for, where it asks for one: the engine makes
    /// it.
    fn adjustment(&self, _declared: &Declared, _subject: &Subject) -> Option<Adjustment> {
        None
    }

    /// What `get_resource` gives for the resource that a signal has made anew, where it has one:
    /// the engine sees to it.
    fn restarts(&self, _declared: &Declared, _subject: &Subject) -> Option<String> {
        None
    }

    /// The signals that others may wait for; `None` where the type is no handle.
    fn signals(&self, _subject: &Subject) -> Option<Signals> {
        None
    }

    /// Whether the type waits for signals to other resources, and so is told of them.
    fn observes_signals(&self) -> bool {
        false
    }

    /// Whether a look at these signals would say no more than that the wait goes on. Whoever does
    /// not know says no, and looks.
    fn waits_on(
        &self,
        _declared: &Declared,
        _properties: &JsonMap,
        _observed_signals: &[ObservedSignals],
    ) -> bool {
        false
    }

    // What the stack's users may ask about.

    /// The resources that the resource's user may ask about beside his own: those that all of these
    /// policies admit, by their names; none is without a limit. `None`: he may ask about no other.
    fn policies<'a>(&self, _properties: &'a JsonMap) -> Option<Vec<&'a str>> {
        None
    }

    /// The names of the resources that a policy admits; `None`: the resource is no policy.
    fn admits<'a>(&self, _properties: &'a JsonMap) -> Option<&'a [Value]> {
        None
    }

    // Snapshots.

    /// Deletes what a snapshot of the resource made in the cloud, by the data that it left; safe to
    /// repeat. Whether it is gone; if not, it is asked again.
    fn delete_snapshot(
        &self,
        _cloud: &Asks<'_>,
        _data: &BTreeMap<String, Value>,
    ) -> Result<bool, Failure> {
        Ok(true)
    }

    /// The properties that differ from the template's when the resource is restored from the data
    /// of its snapshot; null takes a property away.
    fn restored(&self, _properties: &JsonMap, _data: &BTreeMap<String, Value>) -> JsonMap {
        JsonMap::new()
    }
}

/// A type that does what its file says and nothing else.
pub(crate) struct Plain;

impl ResourceType for Plain {}
