//! The order of what an action does besides making its object.
//!
//! ```text
//! create ─▶ members before the update, calls, members, ready, calls after it
//! members before the update, calls, update, members, ready, calls after it
//! calls, members to be dropped, delete
//! ```

use serde_json::Value;

use super::Declared;
use super::besides::{Moment, PropertyCall};
use super::calls::Awaited;
use super::members::Members;
use super::paths::words;
use super::progress::{Progress, done, next};
use super::steps::{Beating, carried};
use crate::events::resource::Step;
use crate::model::Action;
use crate::resource_types::driver::{Beat, Learned, Subject, Work};

/// A beat that stands in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Members(u32),
    Call(u32),
    Update,
    Ready,
    Delete,
}

impl Stage {
    fn step(self) -> Step {
        let at = |index| Progress { index, ..Progress::default() };
        match self {
            Stage::Members(index) => at(index).change("members"),
            Stage::Call(index) => at(index).change("call"),
            Stage::Update => at(0).change("update"),
            Stage::Ready => at(0).look("ready"),
            Stage::Delete => at(0).change("delete"),
        }
    }
}

impl Declared {
    /// The step behind a stage, or the first of all.
    pub(super) fn following(&self, work: &Work, subject: &Subject, behind: Option<Stage>) -> Step {
        let stages = self.stages(work);
        let from = behind.and_then(|stage| stages.iter().position(|other| *other == stage));
        let rest = stages.iter().skip(from.map_or(0, |index| index + 1));
        let mut due = rest.filter(|stage| self.is_due(**stage, work, subject));
        due.next().map_or_else(|| Progress::default().look("done"), |stage| stage.step())
    }

    /// The beat that ends a stage.
    pub(super) fn after(&self, beating: &Beating<'_>, stage: Stage) -> Beat {
        let following = self.following(beating.work, beating.subject, Some(stage));
        match following.name.as_str() {
            "done" => done(),
            _ => next(Learned::default(), carried(&beating.progress(), following)),
        }
    }

    /// All that an action may do, in its order.
    fn stages(&self, work: &Work) -> Vec<Stage> {
        let declaration = self.declaration();
        let members = |is_meant: &dyn Fn(&Members) -> bool| -> Vec<Stage> {
            let all = declaration.members.iter().zip(0..);
            all.filter(|(members, _)| is_meant(members)).map(|(_, at)| Stage::Members(at)).collect()
        };
        let calls = |is_after: bool| -> Vec<Stage> {
            let all = declaration.calls.iter().zip(0..);
            let meant = all.filter(|(call, _)| call.after.is_some() == is_after);
            meant.map(|(_, at)| Stage::Call(at)).collect()
        };
        match work {
            Work::Create | Work::Update { .. } => [
                members(&Members::is_before_update),
                calls(false),
                vec![Stage::Update],
                members(&|members| !members.is_before_update()),
                vec![Stage::Ready],
                calls(true),
            ]
            .concat(),
            Work::Delete => {
                [calls(false), calls(true), members(&Members::is_dropped), vec![Stage::Delete]]
                    .concat()
            }
            Work::Act(_) => [calls(false), calls(true)].concat(),
        }
    }

    fn is_due(&self, stage: Stage, work: &Work, subject: &Subject) -> bool {
        let declaration = self.declaration();
        match (stage, work) {
            (Stage::Members(index), _) => declaration
                .members
                .get(index as usize)
                .is_some_and(|members| self.has_members(members, work, subject)),
            (Stage::Call(index), _) => declaration
                .calls
                .get(index as usize)
                .is_some_and(|call| self.is_called(call, work, subject)),
            (Stage::Update, Work::Update { changed, .. }) => self.sends_update(changed),
            (Stage::Ready, Work::Update { changed, .. }) => {
                let awaits = declaration.update.as_ref().map(|update| &update.ready);
                let is_changed = |members: &Members| {
                    !members.is_before_update() && self.has_members(members, work, subject)
                };
                matches!(awaits, Some(Awaited::AsCreated | Awaited::With(_)))
                    && (self.sends_update(changed) || declaration.members.iter().any(is_changed))
            }
            (Stage::Ready, Work::Create) => declaration.ready.is_some(),
            (Stage::Delete, Work::Delete) => true,
            (Stage::Update | Stage::Ready | Stage::Delete, _) => false,
        }
    }

    fn has_members(&self, members: &Members, work: &Work, subject: &Subject) -> bool {
        let properties = self.properties(&subject.properties);
        let is_set =
            members.has_others() || properties.get(members.property()).is_some_and(is_something);
        let is_meant = members.is_meant(&Value::Object(properties));
        match work {
            // What the body of the creation carries needs no calls.
            Work::Create => {
                is_set && is_meant && members.adds() && !self.creates_with(members.property())
            }
            Work::Update { changed, .. } => {
                let mut names = members.owners().chain([members.property()]);
                is_meant && names.any(|name| changed.contains(name))
            }
            Work::Delete => is_set && is_meant,
            Work::Act(_) => false,
        }
    }

    fn creates_with(&self, property: &str) -> bool {
        let declaration = self.declaration();
        let is_omitted = declaration.body.omit.iter().any(|name| name == property);
        declaration.create.is_some() && declaration.body.shape.is_none() && !is_omitted
    }

    fn is_called(&self, call: &PropertyCall, work: &Work, subject: &Subject) -> bool {
        let moment = match work {
            Work::Create => Moment::Create,
            Work::Update { .. } => Moment::Update,
            Work::Delete => Moment::Delete,
            Work::Act(Action::Suspend) => Moment::Suspend,
            Work::Act(Action::Resume) => Moment::Resume,
            Work::Act(_) => return false,
        };
        let is_set = |name: &String| {
            self.properties(&subject.properties).get(name).is_some_and(is_something)
        };
        call.when.contains(&moment)
            && match (&call.for_property, work) {
                (None, _) => true,
                (Some(name), Work::Update { changed, .. }) => changed.contains(name),
                (Some(name), Work::Create | Work::Delete | Work::Act(_)) => is_set(name),
            }
    }

    /// Whether an update of these properties has a body.
    fn sends_update(&self, changed: &std::collections::BTreeSet<String>) -> bool {
        let declaration = self.declaration();
        let body = &declaration.body;
        let has_call = declaration.update.as_ref().is_some_and(|update| update.parts().is_some());
        let is_sent = |name: &String| {
            (!body.omit.contains(name) || body.merge.contains(name)) && !self.is_member(name)
        };
        // What has moved is sent to where it is now.
        let path = declaration.update.as_ref().and_then(|update| Some(update.parts()?.1));
        let mut place = path.into_iter().flat_map(words);
        has_call && (changed.iter().any(is_sent) || place.any(|word| changed.contains(word)))
    }

    /// Whether a property is no part of an update, but calls of its own.
    pub(super) fn is_member(&self, property: &str) -> bool {
        self.declaration().members.iter().any(|members| members.property() == property)
    }
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
