//! The program of a type whose work is a child stack: where that stands here, its beats are the
//! engine's.

pub(crate) mod elsewhere;

use serde_json::Value;

use super::{Beating, Declared};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::Elsewhere;
use crate::resource_types::child::Nested;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Change, Learned, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

/// The program of a type whose work is a child stack.
pub(crate) struct Nesting<N>(pub(crate) N);

stages! {
    /// What a resource with a child stack goes through.
    pub(crate) enum ChildStage {
        Define = "define" Commands,
        Delete = "delete" Commands,
        Act = "act" Commands,
        Settle = "settle" Looks,
        Pause = "pause" Looks,
    }
}

stages! {
    /// What comes before: the type's own look at the cloud.
    enum Before {
        Look = "look" Looks,
    }
}

/// Whether a beat is the type's own look at the cloud, and not the engine's.
pub(crate) fn is_look(step: &Step) -> bool {
    Before::of(step).is_some()
}

impl<N: Nested> ResourceType for Nesting<N> {
    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create | Work::Update { .. } if self.0.looks(subject) => Before::Look.step(),
            Work::Create | Work::Update { .. } => ChildStage::Define.step(),
            Work::Delete => ChildStage::Delete.step(),
            Work::Act(_) => ChildStage::Act.step(),
        }
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if is_look(beating.step) {
            let data = self.0.look(beating.cloud, beating.subject)?;
            let learned = Learned { data, ..Learned::default() };
            return Ok(Beat::Next { learned, next: ChildStage::Define.step() });
        }
        if self.0.elsewhere(beating.subject) != Elsewhere::default() {
            return elsewhere::beat(beating);
        }
        // The engine makes the beats of what stands here.
        Err(Failure::Silent("There is no engine to make a child stack.".to_owned()))
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        let by_type = self.0.on_change(change);
        by_type.unwrap_or_else(|| declared.change_by_schema(subject, changed, true))
    }

    /// The child's own resources say what is to be replaced.
    fn replace_failed(&self, at: At<'_>) -> Result<bool, Failure> {
        Ok(at.subject.physical_id.is_none())
    }

    fn attributes(&self, _at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        Ok(JsonMap::new())
    }

    fn reference(&self, declared: &Declared, subject: &Subject) -> Value {
        match &subject.physical_id {
            Some(_) => self.0.reference(subject),
            None => declared.plain_reference(subject),
        }
    }

    fn nests(&self) -> Option<&dyn Nested> {
        Some(&self.0)
    }
}
