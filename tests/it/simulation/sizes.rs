//! The size of a group by what is on record of it: what its definitions ask for, and the signals
//! that it has taken, one after the other.

use std::collections::BTreeMap;

use hearth::actors::resource::Resource;
use hearth::actors::stack::Stack;
use hearth::events::{Event, ResourceEvent, StreamId};
use hearth::model::{Action, CommandId, ResourceId, Status};
use serde_json::{Value, json};

use super::policy::adjusted;
use super::world::World;
use super::{group, instances};

/// A group's story.
#[derive(Default)]
struct Told {
    /// `None`: something failed, and nothing has said since how many there are to be.
    size: Option<i64>,
    /// The properties that the action under way leads to, and those that were reached.
    target: Value,
    reached: Value,
    /// The sizes that open signals lead to.
    taken: BTreeMap<CommandId, i64>,
    signals: Vec<CommandId>,
    wrongs: Vec<String>,
}

impl World {
    /// Groups that are of another size than their story says.
    pub(super) fn wrong_sizes(&self) -> Vec<String> {
        let scaling = [group::SCALING, instances::SCALING];
        let scales = |resource: &&Resource| {
            let definition = resource.definition.as_ref();
            definition.is_some_and(|it| scaling.contains(&it.driver_type.as_str()))
        };
        self.folds.resources.values().filter(scales).flat_map(|it| self.wrong_size(it)).collect()
    }

    fn wrong_size(&self, group: &Resource) -> Vec<String> {
        let mut told = Told::default();
        self.events_of(group.id).iter().for_each(|event| told.note(event));
        let child = group.child_stack().and_then(|id| self.folds.stacks.get(&id));
        let child = child.filter(|child| {
            let is_whole = child.status == Status::Complete && !child.is_deleted();
            is_whole && !self.asked_alone.contains(&child.id)
        });
        if let (Some(child), Some(size)) = (child, told.size)
            && child.rows.len() as i64 != size
            && !self.ever_unhealthy(child)
        {
            let name = &group.name;
            told.wrongs.push(format!("{name} has {} members, and not {size}", child.rows.len()));
        }
        told.wrongs
    }

    /// Whether a member was ever unhealthy, be it gone by now: those do not count.
    fn ever_unhealthy(&self, members: &Stack) -> bool {
        let of_stack = |it: &&Resource| it.stack.as_ref().is_some_and(|of| of.id == members.id);
        let ids = self.folds.resources.values().filter(of_stack).map(|it| it.id);
        ids.flat_map(|id| self.events_of(id)).any(|event| match event {
            ResourceEvent::ActionSettled(settled) => settled.status == Status::Failed,
            ResourceEvent::HealthMarked(_) => true,
            _ => false,
        })
    }

    fn events_of(&self, id: ResourceId) -> Vec<ResourceEvent> {
        let read = |event: &super::log::Recorded| {
            ResourceEvent::decode(event.event_type, event.version, &event.body).unwrap()
        };
        self.log.stream(StreamId::resource(id).as_str()).map(read).collect()
    }
}

impl Told {
    fn note(&mut self, event: &ResourceEvent) {
        match event {
            ResourceEvent::ActionStarted(started) => {
                if let Some(definition) = &started.definition {
                    self.target = json!(definition.properties);
                }
            }
            ResourceEvent::ActionSettled(settled) => match (settled.action, settled.status) {
                (Action::Create | Action::Adopt | Action::Update, Status::Complete) => {
                    self.size = self.asked_for(settled.action);
                    self.reached = self.target.clone();
                }
                (_, Status::Complete) => {}
                (_, Status::Failed | Status::InProgress) => self.size = None,
            },
            ResourceEvent::ResizeTaken(taken) => {
                if self.signals.contains(&taken.signal) {
                    self.wrongs.push("a signal is taken twice".to_owned());
                }
                self.signals.push(taken.signal);
                let resize = &taken.resize;
                let (from, to) = (resize.from as i64, resize.to as i64);
                let right = adjusted(from, resize.adjustment, &resize.kind, self.bounds());
                if to != right {
                    self.wrongs.push(format!("a signal leads to {to} members, and not {right}"));
                }
                self.taken.insert(taken.signal, to);
            }
            ResourceEvent::SignalHandled(handled) => {
                if let Some(size) = self.taken.remove(&handled.signal) {
                    self.size = handled.error.is_none().then_some(size);
                }
            }
            _ => {}
        }
    }

    /// A number among properties, by any of its names.
    fn number(of: &Value, names: [&str; 2]) -> Option<i64> {
        names.iter().find_map(|name| of[*name].as_f64()).map(|number| number as i64)
    }

    fn bounds(&self) -> (i64, i64) {
        let bound = |names| Self::number(&self.reached, names).unwrap_or_default();
        (bound(["min_size", "MinSize"]), bound(["max_size", "MaxSize"]))
    }

    /// The size that the target says; where it says none, there are as many as before.
    fn asked_for(&self, action: Action) -> Option<i64> {
        let number = |names| Self::number(&self.target, names);
        let desired = number(["desired_capacity", "DesiredCapacity"]).filter(|size| *size > 0);
        let (min, max) = (number(["min_size", "MinSize"])?, number(["max_size", "MaxSize"])?);
        match action {
            Action::Update => desired.or(self.size).map(|size| size.min(max).max(min)),
            _ => desired.or(Some(min)),
        }
    }
}
