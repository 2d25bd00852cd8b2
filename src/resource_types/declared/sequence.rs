//! The order of what an action does besides making its object.
//!
//! ```text
//! create ─▶ members before the update, calls, members, ready, members and calls after it
//! members before the update, calls, update, members, ready, members and calls after it
//! calls, members to be dropped, delete
//! ```

use serde_json::Value;

use super::Declared;
use super::beating::Beating;
use super::besides::{Moment, PropertyCall};
use super::calls::Awaited;
use super::members::format::Members;
use super::paths::words;
use super::plain_stage::PlainStage;
use super::progress::{Progress, done, next};
use crate::events::resource::Step;
use crate::model::Action;
use crate::resource_types::job::{Beat, Learned, Subject, Work};

/// A beat that stands in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Members(u32),
    Call(u32),
    Update,
    Ready,
    Delete,
}

impl Turn {
    /// Its step, which remembers what the one before did.
    pub(super) fn step(self, progress: &Progress) -> Step {
        let (stage, index) = match self {
            Turn::Members(index) => (PlainStage::Members, index),
            Turn::Call(index) => (PlainStage::Call, index),
            Turn::Update => (PlainStage::Update, 0),
            Turn::Ready => (PlainStage::Ready, 0),
            Turn::Delete => (PlainStage::Delete, 0),
        };
        progress.at(index).to(stage)
    }
}

impl Declared {
    /// What follows a turn, or comes first of all; `None`: nothing is left to be done.
    pub(super) fn following(
        &self,
        work: &Work,
        subject: &Subject,
        behind: Option<Turn>,
    ) -> Option<Turn> {
        let turns = self.turns(work);
        let from = behind.and_then(|turn| turns.iter().position(|other| *other == turn));
        let mut rest = turns.into_iter().skip(from.map_or(0, |index| index + 1));
        rest.find(|turn| self.is_due(*turn, work, subject))
    }

    /// The beat that ends a turn.
    pub(super) fn after(&self, beating: &Beating<'_>, turn: Turn) -> Beat {
        match self.following(beating.work, beating.subject, Some(turn)) {
            None => done(),
            Some(turn) => next(Learned::default(), turn.step(&beating.progress())),
        }
    }

    /// All that an action may do, in its order.
    fn turns(&self, work: &Work) -> Vec<Turn> {
        let declaration = self.declaration();
        let members = |is_meant: &dyn Fn(&Members) -> bool| -> Vec<Turn> {
            let all = declaration.members.iter().zip(0..);
            all.filter(|(members, _)| is_meant(members)).map(|(_, at)| Turn::Members(at)).collect()
        };
        let calls = |is_after: bool| -> Vec<Turn> {
            let all = declaration.calls.iter().zip(0..);
            let meant = all.filter(|(call, _)| call.after.is_some() == is_after);
            meant.map(|(_, at)| Turn::Call(at)).collect()
        };
        match work {
            Work::Create | Work::Update { .. } => [
                members(&Members::is_before_update),
                calls(false),
                vec![Turn::Update],
                members(&|members| !members.is_before_update() && !members.is_after_ready()),
                vec![Turn::Ready],
                members(&Members::is_after_ready),
                calls(true),
            ]
            .concat(),
            Work::Delete => {
                [calls(false), calls(true), members(&Members::is_dropped), vec![Turn::Delete]]
                    .concat()
            }
            Work::Act(_) => [calls(false), calls(true)].concat(),
        }
    }

    fn is_due(&self, turn: Turn, work: &Work, subject: &Subject) -> bool {
        let declaration = self.declaration();
        match (turn, work) {
            (Turn::Members(index), _) => declaration
                .members
                .get(index as usize)
                .is_some_and(|members| self.has_members(members, work, subject)),
            (Turn::Call(index), _) => declaration
                .calls
                .get(index as usize)
                .is_some_and(|call| self.is_called(call, work, subject)),
            (Turn::Update, Work::Update { changed, .. }) => self.sends_update(changed),
            (Turn::Ready, Work::Update { changed, .. }) => {
                let awaits = declaration.update.as_ref().map(|update| &update.ready);
                let is_changed = |members: &Members| {
                    let is_awaited = !members.is_before_update() && !members.is_after_ready();
                    is_awaited && self.has_members(members, work, subject)
                };
                matches!(awaits, Some(Awaited::AsCreated | Awaited::With(_)))
                    && (self.sends_update(changed) || declaration.members.iter().any(is_changed))
            }
            (Turn::Ready, Work::Create) => declaration.ready.is_some(),
            (Turn::Delete, Work::Delete) => true,
            (Turn::Update | Turn::Ready | Turn::Delete, _) => false,
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
            // What others have added goes, too, where all is taken.
            Work::Delete => (is_set || members.takes_all()) && is_meant,
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
        let update = declaration.update.as_ref();
        let has_call = update.is_some_and(|update| update.parts().is_some());
        let is_sent = |name: &String| {
            let is_omitted = update.is_some_and(|update| update.omit.contains(name));
            let is_field = !body.omit.contains(name) || body.merge.contains(name);
            is_field && !is_omitted && !self.is_member(name)
        };
        // What has moved is sent to where it is now.
        let path = update.and_then(|update| Some(update.parts()?.1));
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
