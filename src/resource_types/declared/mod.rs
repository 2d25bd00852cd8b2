//! Declared types: the format of a type's YAML file and the one interpreter that runs them all.

mod attributes;
mod awaiting;
mod beating;
mod besides;
mod body;
mod calls;
mod changes;
pub(super) mod coherence;
mod dotted;
mod find;
pub(super) mod flat;
mod format;
mod id;
mod local;
mod members;
pub(crate) mod nesting;
mod paths;
mod plain_stage;
mod progress;
pub(in crate::resource_types) mod reader;
mod ready;
mod reality;
mod same;
mod sequence;
mod shape;
mod software;
mod stack;
mod steps;
#[cfg(test)]
mod tests;
mod translation;
mod waits;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

pub use beating::Beating;
pub use format::{After, Declaration};
use paths::words;
pub(crate) use plain_stage::PlainStage;
pub(crate) use progress::{Progress, done, next};
pub use translation::Translation;

use self::nesting::Nesting;
use super::child::Nested;
use super::groups::Adjustment;
use super::job::{
    Attempt, Beat, Change, LocalOutcome, ObservedSignals, Reality, Subject, UpdateKind, Work,
};
use super::resource_type::{At, Plain, ResourceType};
use super::rules;
use super::schema::{PropertySchema, filled};
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::{Action, JsonMap, Refusal};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::stack_user;
use crate::resource_types::stage::Stages;

/// A resource type: what its file says, and the program that does some things otherwise.
pub struct Declared {
    declaration: Declaration,
    program: Arc<dyn ResourceType>,
}

impl Declared {
    /// The type that a file declares, with the program that it names or that its keys call for.
    pub fn new(declaration: Declaration) -> Self {
        let program: Arc<dyn ResourceType> = if let Some(program) = declaration.program.clone() {
            program.start()
        } else if let Some(waits) = &declaration.waits {
            Arc::new(waits::Waiting(waits.clone()))
        } else if let Some(config) = &declaration.software_config {
            Arc::new(software::Kept(config.clone()))
        } else if let Some(stack) = &declaration.stack {
            Arc::new(Nesting(stack::Child::of(&declaration, stack)))
        } else {
            Arc::new(Plain)
        };
        Self { declaration, program }
    }

    /// What the file says.
    pub fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    /// What the type does otherwise than the file says.
    pub fn program(&self) -> &dyn ResourceType {
        self.program.as_ref()
    }

    /// The resource's properties with defaults filled in and older names replaced by newer ones.
    pub(crate) fn properties(&self, given: &JsonMap) -> JsonMap {
        if self.declaration.accepts_anything {
            return given.clone();
        }
        self.declaration.translated(filled(&self.declaration.properties, given))
    }

    /// Heat's words for the resource when its class itself decides to replace it.
    pub(crate) fn replaced_by_class(&self, subject: &Subject) -> UpdateKind {
        let class = &self.declaration.class;
        let (name, stack) = (shown(&subject.name), shown(&subject.stack_name));
        let place = match (&subject.physical_id, &subject.stack_id) {
            (Some(physical_id), Some(id)) => format!(" [{physical_id}] Stack \"{stack}\" [{id}]"),
            _ => String::new(),
        };
        let reason = format!("The Resource {class} \"{name}\"{place} requires replacement.");
        UpdateKind::Replace { reason }
    }

    /// Heat's words for a resource that its properties require to replace.
    pub(crate) fn replaced(&self, subject: &Subject) -> UpdateKind {
        UpdateKind::Replace {
            reason: format!("The Resource {} requires replacement.", shown(&subject.name)),
        }
    }

    /// Heat's default rule for a change.
    pub(crate) fn plain_on_change(
        &self,
        subject: &Subject,
        changed: &BTreeSet<String>,
    ) -> UpdateKind {
        if self.declaration.is_kept() {
            return UpdateKind::Nothing;
        }
        // A type without any way to update replaces, whatever its schema allows.
        let update = self.declaration.update.as_ref();
        if update.is_some_and(|update| update.replaces.iter().any(|name| changed.contains(name))) {
            return self.replaced(subject);
        }
        self.change_by_schema(subject, changed, update.is_some())
    }

    /// What the schema allows of a change, for a type that has a way to update or has none.
    pub(crate) fn change_by_schema(
        &self,
        subject: &Subject,
        changed: &BTreeSet<String>,
        updates: bool,
    ) -> UpdateKind {
        let schema = &self.declaration.properties;
        let is =
            |name: &String, flag: fn(&PropertySchema) -> bool| schema.get(name).is_some_and(flag);
        let immutable: Vec<&str> = changed
            .iter()
            .filter(|name| is(name, |property| property.immutable))
            .map(String::as_str)
            .collect();
        if !immutable.is_empty() {
            let (names, of) = (immutable.join(", "), shown(&subject.name));
            let type_name = &self.declaration.type_name;
            return UpdateKind::Refuse(format!(
                "Update to properties {names} of {of} ({type_name}) is not supported."
            ));
        }
        if updates && changed.iter().all(|name| is(name, |property| property.update_allowed)) {
            UpdateKind::InPlace
        } else {
            self.replaced(subject)
        }
    }

    /// The physical id, or the resource's name before there is one.
    pub(crate) fn plain_reference(&self, subject: &Subject) -> Value {
        match &subject.physical_id {
            Some(id) => id.as_str().into(),
            None => shown(&subject.name).into(),
        }
    }
}

fn shown(name: &Option<impl std::fmt::Display>) -> String {
    name.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// What the engine asks a type; [`ResourceType`] says the same of its programs.
impl Declared {
    pub fn local(
        &self,
        work: &Work,
        subject: &Subject,
        moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        self.program.local(self, work, subject, moment)
    }

    pub fn first(&self, work: &Work, subject: &Subject) -> Step {
        if let Work::Update { before, changed } = work
            && self.may_be_same(subject, before, changed)
        {
            return PlainStage::Compare.step();
        }
        self.program.first(self, work, subject)
    }

    pub fn beat(
        &self,
        cloud: &Asks<'_>,
        work: &Work,
        subject: &Subject,
        step: &Step,
        attempt: Attempt,
    ) -> Result<Beat, Failure> {
        let reduced = same::reduced(work, step);
        let work = reduced.as_ref().unwrap_or(work);
        let beating = Beating { cloud, work, subject, step, attempt };
        match PlainStage::of(step) {
            // No type's own.
            Some(PlainStage::Compare | PlainStage::Done) => self.plain_beat(&beating),
            _ => Ok(same::carried_on(self.program.beat(self, &beating)?, step)),
        }
    }

    /// Whether a change may be none: it writes names for ids, or ids for names, which the first
    /// beat of an update looks up. `Beat::Replace` is then what [`Self::on_change`] says of it.
    pub fn may_be_same(
        &self,
        subject: &Subject,
        before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> bool {
        !subject.in_doubt && !self.doubtful(before, &subject.properties, changed).is_empty()
    }

    pub fn on_change(
        &self,
        subject: &Subject,
        before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> UpdateKind {
        self.program.on_change(self, Change { subject, before, changed })
    }

    pub fn replace_failed(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<bool, Failure> {
        self.program.replace_failed(At { declared: self, cloud, subject })
    }

    /// Whether the type does anything of its own for SUSPEND, RESUME, CHECK or SNAPSHOT.
    pub fn acts(&self, action: Action) -> bool {
        let moment = match action {
            Action::Suspend => Some(besides::Moment::Suspend),
            Action::Resume => Some(besides::Moment::Resume),
            _ => None,
        };
        let mut calls = self.declaration.calls.iter();
        self.declaration.acts.contains(&action)
            || moment.is_some_and(|moment| calls.any(|call| call.when.contains(&moment)))
    }

    /// What the type has for a child stack, where its work is one.
    pub fn nests(&self) -> Option<&dyn Nested> {
        self.program.nests()
    }

    /// Whether the object is there, as far as the cloud can tell.
    pub fn exists(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<bool, Failure> {
        Ok(self.declaration.show.is_none() || self.look(cloud, subject)?.is_some())
    }

    /// What there is, against the properties that the subject has on record.
    pub fn reality(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Reality, Failure> {
        self.compared(cloud, subject)
    }

    /// The attributes asked for, from the cloud's present state. Empty asks for all.
    pub fn attributes(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        wanted: &[String],
    ) -> Result<JsonMap, Failure> {
        self.program.attributes(At { declared: self, cloud, subject }, wanted)
    }

    pub fn unmade(&self, subject: &Subject) -> JsonMap {
        self.program.unmade(self, subject)
    }

    /// Whether a look at signals to others would say no more than that the wait goes on.
    pub fn waits_on(&self, properties: &JsonMap, observed_signals: &[ObservedSignals]) -> bool {
        self.program.waits_on(self, properties, observed_signals)
    }

    pub fn reference(&self, subject: &Subject) -> Value {
        self.program.reference(self, subject)
    }

    pub fn adjustment(&self, subject: &Subject) -> Option<Adjustment> {
        self.program.adjustment(self, subject)
    }

    pub fn restarts(&self, subject: &Subject) -> Option<String> {
        self.program.restarts(self, subject)
    }

    pub fn validate(&self, subject: &Subject) -> Result<(), Refusal> {
        let properties = self.properties(&subject.properties);
        let name = shown(&subject.name);
        self.program.validate_metadata(&subject.metadata, &properties)?;
        rules::check(&self.declaration.rules, &name, &properties)?;
        self.program.validate(&name, &properties)
    }

    pub fn asked_of_cloud(&self, properties: &JsonMap) -> Option<JsonMap> {
        self.program.asked_of_cloud(properties)
    }

    pub fn validate_in_cloud(&self, cloud: &Asks<'_>, asked: &JsonMap) -> Result<(), Refusal> {
        self.program.validate_in_cloud(cloud, asked)
    }

    pub fn is_secret(&self, name: &str) -> bool {
        stack_user::is_secret(name) || self.program.is_secret(self, name)
    }
}

/// The interpreter's way of what a program may do otherwise.
impl Declared {
    pub(crate) fn plain_replace_failed(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<bool, Failure> {
        let Some(failed) = &self.declaration.failed else { return Ok(true) };
        if subject.physical_id.is_none() {
            return Ok(true);
        }
        let Some(object) = self.look(cloud, subject)? else { return Ok(true) };
        let field = failed.field.as_deref().unwrap_or("status");
        let status = object[field].as_str().unwrap_or_default();
        Ok(failed.replaced_when.iter().any(|bad| bad == status))
    }

    pub(crate) fn plain_attributes(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        wanted: &[String],
    ) -> Result<JsonMap, Failure> {
        if self.declaration.local.is_some() {
            return self.local_attributes(subject, wanted);
        }
        let all: Vec<String>;
        let wanted = match wanted {
            [] => {
                all = self.declaration.attributes.keys().cloned().chain(["show".into()]).collect();
                &all
            }
            some => some,
        };
        let mut attributes = JsonMap::new();
        if subject.physical_id.is_none() {
            return Ok(attributes);
        }
        let object = self.show(cloud, subject)?;
        for name in wanted {
            let value = match self.program.attribute(
                At { declared: self, cloud, subject },
                &object,
                name,
            )? {
                Some(value) => value,
                None if name == "show" => object.clone(),
                None => self.attribute(cloud, subject, &object, name)?,
            };
            attributes.insert(name.clone(), value);
        }
        Ok(attributes)
    }
}
