//! The hatch: what a type does otherwise than its file can say. Each method inherits the
//! interpreter's way, so that an override is about the difference alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Declared;
use super::steps::Beating;
use crate::events::resource::Step;
use crate::model::{JsonMap, Refusal};
use crate::resource_types::asks::Asks;
use crate::resource_types::driver::{Beat, DriverError, Subject, UpdateKind, Work};

/// What a body is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Create,
    Update,
}

/// The differences of one type.
pub(crate) trait Special: Send + Sync + 'static {
    /// The step that an action begins with.
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        declared.first_step(work, subject)
    }

    /// Makes one beat.
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        declared.plain_beat(beating)
    }

    /// Deletes what a snapshot made; see `Driver::delete_snapshot`.
    fn delete_snapshot(
        &self,
        _cloud: &Asks<'_>,
        _data: &BTreeMap<String, Value>,
    ) -> Result<bool, DriverError> {
        Ok(true)
    }

    /// What a restore changes; see `Driver::restored`.
    fn restored(&self, _properties: &JsonMap, _data: &BTreeMap<String, Value>) -> JsonMap {
        JsonMap::new()
    }

    /// A last change to the fields of a body.
    fn body(&self, _purpose: Purpose, _subject: &Subject, _body: &mut JsonMap) {}

    /// How a change is carried out.
    fn on_change(
        &self,
        declared: &Declared,
        subject: &Subject,
        _before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> UpdateKind {
        declared.plain_on_change(subject, changed)
    }

    /// Why an update will fail, where that can be told beforehand.
    fn warning(&self, _before: &JsonMap, _after: &JsonMap) -> Option<&'static str> {
        None
    }

    /// Attributes that the shown object does not have as its fields; the others are read from it.
    /// `object` is null where the type has no call that shows one.
    fn attribute(
        &self,
        _declared: &Declared,
        _cloud: &Asks<'_>,
        _subject: &Subject,
        _object: &Value,
        _name: &str,
    ) -> Result<Option<Value>, DriverError> {
        Ok(None)
    }

    /// The live object; `None` where it is gone, null where the type has no call that shows one.
    fn object(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<Option<Value>, DriverError> {
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
        declared: &Declared,
        _cloud: &Asks<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, DriverError> {
        Ok(declared.plain_live(object, name, wanted))
    }

    /// What `get_resource` gives.
    fn reference(&self, declared: &Declared, subject: &Subject) -> Value {
        declared.plain_reference(subject)
    }

    /// What the cloud alone can say of the properties, before anything is created.
    fn validate_in_cloud(&self, _cloud: &Asks<'_>, _properties: &JsonMap) -> Result<(), Refusal> {
        Ok(())
    }

    /// What the schema cannot say of the properties of the resource of a name; they have defaults
    /// and newer names.
    fn validate(&self, _name: &str, _properties: &JsonMap) -> Result<(), Refusal> {
        Ok(())
    }
}

/// A type without differences.
pub(crate) struct Plain;

impl Special for Plain {}
