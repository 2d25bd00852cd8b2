//! A beat of a resource whose work is a child stack, as decisions: what the child is to be told,
//! and what the beat comes to by its answer and its end. Pure; `beats` carries it out.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::sight::{Around, Seen, Sight};
use super::{child_id, command_of, make};
use crate::actors::resource::Nesting;
use crate::actors::stack::{ChildEnd, Create, Knowledge, Revise, StackCommand};
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::events::stack::Owner;
use crate::model::taint;
use crate::model::{Action, CommandId, JsonMap, Refusal, StackId, Status, TraversalOptions};
use crate::resource_types::child::{
    ChildAsk, ChildPlan, ChildStep, ChildWanted, Nested, REFERENCE,
};
use crate::resource_types::declared::nesting::ChildStage;
use crate::resource_types::stage::Stages;
use crate::resource_types::{Beat, Declared, Failure, Learned, Subject, Work, cooldown};
use crate::template::StackDefinition;

/// A beat, and what it is decided with. Each decision is handed its own moment: between two of them
/// the child is awaited.
#[derive(Clone, Copy)]
pub struct ChildBeat<'a> {
    pub knowledge: &'a Knowledge,
    pub driver: &'a Declared,
    pub nested: &'a dyn Nested,
    pub work: &'a Work,
    pub subject: &'a Subject,
    pub step: &'a Step,
    pub nesting: &'a Nesting,
}

/// What a beat does.
pub enum Turn {
    /// Look around, and define the child by that: [`ChildBeat::defined`].
    Define,
    /// Tell the child: [`ChildBeat::told`].
    Tell(Telling),
    /// Await the end of what the child is at: [`ChildBeat::ended`].
    Await,
    /// It is at its end.
    Answer(Result<Beat, Failure>),
}

/// A command to the child. Told again under its id, it is answered with the first receipt.
pub struct Telling {
    pub id: CommandId,
    pub command: StackCommand,
    /// What the beat comes to once the child has taken it.
    pub then: Beat,
}

/// What a look around leads to.
pub enum Defined {
    /// Nothing is to be told.
    Beat(Box<Beat>),
    Child(Box<ChildDefined>),
}

/// The definition that the child is told next.
pub struct ChildDefined {
    pub definition: StackDefinition,
    pub timeout_mins: Option<u32>,
    /// The name of the step among those of its traversal.
    pub step: String,
    pub options: TraversalOptions,
    /// What the beat comes to once the child has taken it.
    pub then: Beat,
}

impl<'a> ChildBeat<'a> {
    pub fn child(&self) -> StackId {
        child_id(self.subject, self.nesting)
    }

    /// The id of what is told to the child in a step.
    pub(super) fn command_id(&self, step: &str) -> CommandId {
        command_of(self.subject.resource_id.unwrap_or_default(), self.nesting, step)
    }

    /// How many definitions were sent before.
    fn round(&self) -> u64 {
        self.step.state["round"].as_u64().unwrap_or(0)
    }

    pub fn turn(&self, moment: &Moment<'_>) -> Turn {
        let trustor = Some(self.nesting.trustor.clone());
        match (ChildStage::of(self.step), self.work) {
            (Some(ChildStage::Define), _) => Turn::Define,
            (Some(ChildStage::Delete), _) if self.subject.abandons => {
                self.tells(&self.deletion(), StackCommand::Abandon)
            }
            (Some(ChildStage::Delete), _) => {
                self.tells(&self.deletion(), StackCommand::Delete { trustor })
            }
            (Some(ChildStage::Act), Work::Act(action)) if self.subject.physical_id.is_none() => {
                Turn::Answer(Err(not_created(*action, self.subject)))
            }
            (Some(ChildStage::Act), Work::Act(action)) => {
                self.tells("act", StackCommand::Act { action: *action, trustor })
            }
            (Some(ChildStage::Pause), _) => Turn::Answer(Ok(self.pause(moment))),
            (Some(ChildStage::Act | ChildStage::Settle) | None, _) => Turn::Await,
        }
    }

    /// The name of the step in which the child is told to go.
    fn deletion(&self) -> String {
        match self.round() {
            0 => "delete".to_owned(),
            again => format!("delete {again}"),
        }
    }

    fn tells(&self, step: &str, command: StackCommand) -> Turn {
        let next = ChildStage::Settle.with(self.step.state.clone());
        let then = Beat::Next { learned: Learned::default(), next };
        Turn::Tell(Telling { id: self.command_id(step), command, then })
    }

    /// The next definition on the child's way, by what there is around it.
    pub fn defined(&self, sight: &Sight, moment: &Moment<'_>) -> Result<Defined, Failure> {
        if let Some(reason) = self.is_gone(sight) {
            return Ok(Defined::Beat(Box::new(Beat::Replace { reason })));
        }
        let subject = self.filled();
        let chance = |bytes: &mut [u8]| moment.fill(bytes);
        let around = self.around(sight);
        let ask = self.ask(&subject, around, self.work, moment.now, &chance);
        if self.step.state.is_null()
            && let Some(ChildPlan { memory, data }) = self.nested.plan(&ask)
        {
            let state = json!({ "memory": memory });
            return Ok(Defined::Beat(Box::new(Beat::Next {
                learned: Learned { data, ..Learned::default() },
                next: Step { state, ..self.step.clone() },
            })));
        }
        let next = self.nested.next(&ask, &self.step.state["memory"])?;
        let Some(ChildStep { wanted, memory, pause_secs, revisits }) = next else {
            return Ok(Defined::Beat(Box::new(Beat::Done { learned: Learned::default() })));
        };
        let state = json!({
            "round": self.round() + 1, "memory": memory, "pause_secs": pause_secs,
        });
        let physical_id = Some(self.child().to_string());
        let then = Beat::Next {
            learned: Learned { physical_id, ..Learned::default() },
            next: ChildStage::Settle.with(state),
        };
        let definition = self.define(&wanted, around).map_err(refused)?;
        Ok(Defined::Child(Box::new(ChildDefined {
            timeout_mins: wanted.timeout_mins.or(sight.parent.revision.settings.timeout_mins),
            step: format!("define {}", self.round()),
            definition,
            options: TraversalOptions { revisits, ..self.nesting.options },
            then,
        })))
    }

    /// A child that somebody has deleted, or is about to, is not made again: its resource is
    /// replaced.
    fn is_gone(&self, sight: &Sight) -> Option<String> {
        let updates = matches!(self.work, Work::Update { .. });
        let was_made = self.subject.physical_id.is_some();
        let stays = |seen: &Seen| seen.child.action != Action::Delete;
        let name = self.subject.name.clone().unwrap_or_default();
        (updates && was_made && !sight.seen.as_ref().is_some_and(stays))
            .then(|| format!("The Resource {name} requires replacement."))
    }

    /// The definition of a group that has another size.
    pub fn resized(
        &self,
        sight: &Sight,
        size: usize,
        moment: &Moment<'_>,
    ) -> Result<Option<ChildDefined>, Failure> {
        if !self.nested.scales() {
            return Ok(None);
        }
        let subject = self.filled();
        let chance = |bytes: &mut [u8]| moment.fill(bytes);
        let work = Work::Update { before: JsonMap::new(), changed: Default::default() };
        let around = self.around(sight);
        let wanted =
            self.nested.resized(&self.ask(&subject, around, &work, moment.now, &chance), size)?;
        let definition = self.define(&wanted, around).map_err(Failure::from)?;
        Ok(Some(ChildDefined {
            timeout_mins: sight.parent.revision.settings.timeout_mins,
            step: "resize".to_owned(),
            definition,
            options: self.nesting.options,
            then: Beat::Done { learned: Learned::default() },
        }))
    }

    /// Whether the child is what it should be in the end.
    pub fn is_same(&self, sight: &Sight, moment: &Moment<'_>) -> Result<bool, Failure> {
        let wanted = self.wanted(self.around(sight), moment)?;
        let known = sight.seen.as_ref().and_then(|seen| seen.known.as_ref());
        Ok(known.is_some_and(|known| known.definition.is_same_as(&wanted)))
    }

    /// The definition that the child should have in the end.
    pub fn wanted(
        &self,
        around: Around<'_>,
        moment: &Moment<'_>,
    ) -> Result<StackDefinition, Failure> {
        let subject = self.filled();
        let chance = |bytes: &mut [u8]| moment.fill(bytes);
        let work = Work::Update { before: JsonMap::new(), changed: Default::default() };
        let wanted = self.nested.wanted(&self.ask(&subject, around, &work, moment.now, &chance))?;
        self.define(&wanted, around).map_err(Failure::from)
    }

    /// Whether the way there leads over several definitions: which members are made anew on it is
    /// only known once each of them is reached.
    pub fn is_in_batches(&self, around: Around<'_>, moment: &Moment<'_>) -> bool {
        let subject = self.filled();
        let chance = |bytes: &mut [u8]| moment.fill(bytes);
        let ask = self.ask(&subject, around, self.work, moment.now, &chance);
        let memory = self.nested.plan(&ask).map(|plan| plan.memory).unwrap_or_default();
        let next = self.nested.next(&ask, &memory);
        next.is_ok_and(|step| step.is_some_and(|step| !step.memory.is_null()))
    }

    fn around<'b>(&self, sight: &'b Sight) -> Around<'b> {
        sight.around(self.knowledge.stack_action_timeout)
    }

    fn define(&self, wanted: &ChildWanted, around: Around<'_>) -> Result<StackDefinition, Refusal> {
        let of = (self.subject, self.nesting);
        let types = (self.knowledge.registry.as_ref(), self.knowledge.bounds);
        make::define(types, of, self.nested, wanted, around)
    }

    fn ask<'b>(
        &'b self,
        subject: &'b Subject,
        around: Around<'b>,
        work: &'b Work,
        now: DateTime<Utc>,
        chance: &'b dyn Fn(&mut [u8]),
    ) -> ChildAsk<'b> {
        ChildAsk {
            work,
            subject,
            definition: &around.known.definition,
            child: around.seen.map(|seen| &seen.child),
            used: around.used,
            templates: self.knowledge.registry.operator_templates(),
            room: self.knowledge.bounds.room(),
            timeout: around.timeout,
            now,
            chance,
        }
    }

    /// What `get_resource` gives for the resource that the child is made with, if there is one.
    pub fn uses(&self) -> Option<String> {
        self.nested.uses(&self.filled())
    }

    /// How a definition is told to the child, once it was checked and written down.
    pub fn telling(
        &self,
        sight: &Sight,
        (step, then): (&str, Beat),
        revise: Revise,
        user_name: &str,
    ) -> Result<Telling, Failure> {
        let (parent, beside) = (&sight.parent, self.nested.stands_beside());
        let command = match &sight.seen {
            Some(_) => {
                let from_rest = parent.from_rest;
                StackCommand::Update(Box::new(Revise { from_rest, ..revise }))
            }
            None => StackCommand::Create(Box::new(Create {
                id: self.child(),
                name: self.subject.physical_name.clone().into(),
                project_id: parent.identity.project_id.clone(),
                owner_user_name: user_name.to_owned(),
                owner: (!beside).then(|| Owner {
                    stack: parent.identity.id,
                    resource: self.subject.resource_id.unwrap_or_default(),
                    name: self.subject.name.clone().unwrap_or_default(),
                    root: parent.root(),
                    depth: revise.known.definition.depth(),
                }),
                revise,
                adopts: self.adopts(sight),
            })),
        };
        Ok(Telling { id: self.command_id(step), command, then })
    }

    /// What the data that the parent is adopted from say of the child's resources.
    fn adopts(&self, sight: &Sight) -> Option<Value> {
        let data = taint::plain(sight.parent.revision.adopts.clone()?);
        let name = self.subject.name.clone().unwrap_or_default();
        let of_child = data[name.as_str()]["resources"].as_object().cloned().unwrap_or_default();
        Some(taint::taint(Value::Object(of_child)))
    }

    /// What the beat comes to by the child's answer.
    pub fn told(&self, then: Beat, answer: Result<(), Refusal>) -> Result<Beat, Failure> {
        match answer {
            Ok(()) => Ok(then),
            Err(refusal) if self.never_was(&refusal) => {
                Ok(Beat::Done { learned: Learned::default() })
            }
            Err(refusal) => Err(refused(refusal)),
        }
    }

    /// Whether there is no child to be deleted: it never came to be, or is gone.
    fn never_was(&self, refusal: &Refusal) -> bool {
        *self.work == Work::Delete && refusal.class == "EntityNotFound"
    }

    /// Whether the child's answer to a telling has the name given back that was taken for it: a
    /// stack that stands by itself has one, and never came to be.
    pub fn gives_name_back<T>(&self, answer: &Result<T, Refusal>) -> bool {
        self.nested.stands_beside() && matches!(answer, Err(refusal) if self.never_was(refusal))
    }

    /// Whether the load balancers of the group are told of its members once the child has ended and
    /// the beat comes to `ended`: they have changed, and no more definitions follow.
    pub(super) fn balances(&self, ended: &Beat) -> bool {
        self.makes() && matches!(ended, Beat::Done { .. })
    }

    /// Whether the child is brought to a definition.
    fn makes(&self) -> bool {
        matches!(self.work, Work::Create | Work::Update { .. })
    }

    /// The subject with the defaults of its properties. What goes into the child's template as it
    /// is bears its marks, so that it is as secret there.
    pub(super) fn filled(&self) -> Subject {
        let mut properties = self.driver.properties(&self.subject.properties);
        for path in self.nested.payload() {
            taint::mark_entries_at(&mut properties, &self.nesting.properties, path);
        }
        Subject { properties, ..self.subject.clone() }
    }

    /// What the beat comes to by the child's end; `seen` is the child then, where it is a group
    /// that scales.
    pub fn ended(
        &self,
        end: &ChildEnd,
        seen: Option<&Seen>,
        moment: &Moment<'_>,
    ) -> Result<Beat, Failure> {
        let mut learned = Learned::default();
        let makes = self.makes();
        if makes && (end.reference.is_some() || self.subject.data.contains_key(REFERENCE)) {
            let own = end.reference.clone().unwrap_or_default();
            learned.data.insert(REFERENCE.to_owned(), own);
        }
        if end.deleted && *self.work != Work::Delete {
            return Err(Refusal::not_found("Stack", self.child()).into());
        }
        if !end.deleted && end.status == Status::Failed {
            return Err(match self.nested.stands_beside() {
                true => Failure::in_error(format!("{}_FAILED", end.action), &end.reason),
                false => failure(end),
            });
        }
        if *self.work == Work::Delete && !end.deleted {
            // Its deletion ended early, and somebody has had it do something else since.
            let next = ChildStage::Delete.with(json!({ "round": self.round() + 1 }));
            return Ok(Beat::Next { learned, next });
        }
        if makes && !self.step.state["memory"].is_null() {
            return Ok(self.next_round(moment));
        }
        if makes {
            learned.metadata = self.rested(seen, moment);
        }
        Ok(Beat::Done { learned })
    }

    /// The definition after this one, at once or after a pause.
    fn next_round(&self, moment: &Moment<'_>) -> Beat {
        let pause = self.step.state["pause_secs"].as_f64().unwrap_or(0.0);
        let mut state = self.step.state.clone();
        let mut stage = ChildStage::Define;
        if pause > 0.0 {
            let pause = TimeDelta::milliseconds((pause * 1000.0) as i64);
            state["until"] = json!(moment.now + pause);
            stage = ChildStage::Pause;
        }
        Beat::Next { learned: Learned::default(), next: stage.with(state) }
    }

    /// The rest between two definitions, by the clock: a restart does not prolong it.
    fn pause(&self, moment: &Moment<'_>) -> Beat {
        let until = serde_json::from_value::<DateTime<Utc>>(self.step.state["until"].clone());
        let left = until.ok().map(|until| until - moment.now);
        match left.and_then(|left| left.to_std().ok()).filter(|left: &Duration| !left.is_zero()) {
            Some(left) => Beat::Wait { after: Some(left) },
            None => Beat::Next {
                learned: Learned::default(),
                next: ChildStage::Define.with(self.step.state.clone()),
            },
        }
    }

    /// What a create or an update adds to the metadata of a group that scales: it rests after it.
    fn rested(&self, seen: Option<&Seen>, moment: &Moment<'_>) -> JsonMap {
        if !self.nested.scales() {
            return JsonMap::new();
        }
        let healthy = |seen: &Seen| {
            seen.child.members.iter().filter(|member| member.status != Status::Failed).count()
        };
        let why = format!("ExactCapacity : {}", seen.map_or(0, healthy));
        self.rests(self.nested.cooldown_secs(&self.filled()), &why, moment)
    }

    /// The rest that begins now.
    pub(super) fn rests(
        &self,
        cooldown_secs: Option<i64>,
        why: &str,
        moment: &Moment<'_>,
    ) -> JsonMap {
        let mut former = self.subject.metadata.clone();
        former.extend(self.subject.signals.clone());
        cooldown::changed(&former, cooldown_secs, why, moment.now)
    }
}

fn not_created(action: Action, subject: &Subject) -> Failure {
    let word = action.as_str().to_lowercase();
    let name = subject.name.clone().unwrap_or_default();
    Failure::Failed(format!("Cannot {word} {name}, stack not created"))
}

/// What the child itself refuses has no class at its resource.
pub(super) fn refused(refusal: Refusal) -> Failure {
    Failure::Child(refusal.message)
}

/// Why a child failed, in Heat's words: a failure of the child's resource in the same action is
/// taken apart, and anything else stands as it is.
fn failure(end: &ChildEnd) -> Failure {
    let headline = format!("Resource {} failed: ", end.action);
    let parts: Vec<&str> = end.reason.split(':').map(str::trim).collect();
    match parts[..] {
        [_, class, place, ref message @ ..]
            if !message.is_empty() && end.reason.contains(&headline) =>
        {
            let (class, place) = (class.to_owned(), format!(".{place}"));
            Failure::BelowChild { class, place, words: message.join(": ") }
        }
        _ => Failure::Child(end.reason.clone()),
    }
}

#[cfg(test)]
mod tests;
