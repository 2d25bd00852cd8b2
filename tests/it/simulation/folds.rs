//! The machines as the log alone makes them, beside those that live.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use hearth::actors::claims::Claimant;
use hearth::actors::resource::{self, Resource};
use hearth::actors::shell::Aggregate;
use hearth::actors::stack::Stack;
use hearth::events::resource::Definition;
use hearth::events::{ResourceEvent, StackEvent, StreamId};
use hearth::model::{Action, Holder, ResourceId, ResourceName, StackId, Status, physical_name};

use super::declared::Deletion;
use super::log::{Log, Recorded};

#[derive(Default)]
pub(super) struct Folds {
    pub(super) stacks: BTreeMap<StackId, Stack>,
    pub(super) resources: BTreeMap<ResourceId, Resource>,
}

impl Folds {
    pub(super) fn stack(
        &mut self,
        id: StackId,
        events: &[StackEvent],
        at: DateTime<Utc>,
    ) -> &Stack {
        let stack = self.stacks.entry(id).or_insert_with(|| Stack::named(id));
        events.iter().for_each(|event| stack.apply(event, at));
        stack
    }

    pub(super) fn resource(
        &mut self,
        (id, name): (ResourceId, &ResourceName),
        events: &[ResourceEvent],
        at: DateTime<Utc>,
    ) -> &Resource {
        // The stack knows the name of what has not begun.
        let blank = || Resource::named(id, name.clone());
        let resource = self.resources.entry(id).or_insert_with(blank);
        events.iter().for_each(|event| resource.apply(event, at));
        resource
    }

    /// Takes in the next event of the log, as whoever follows it.
    pub(super) fn take(&mut self, event: &Recorded) {
        match event.stream.split_once('-') {
            Some(("stack", id)) => {
                self.stack(StackId(id.parse().unwrap()), &[event.decode()], event.at);
            }
            Some(("resource", id)) => {
                let id = ResourceId(id.parse().unwrap());
                let mut rows = self.stacks.values().filter_map(|stack| stack.rows.get(&id));
                let name = rows.next().map(|row| row.name.clone()).unwrap_or_default();
                self.resource((id, &name), &[event.decode()], event.at);
            }
            _ => {}
        }
    }

    /// Everything anew from the log, which has become shorter.
    pub(super) fn read_back(&mut self, log: &Log) {
        self.stacks.retain(|id, _| log.has(StreamId::stack(*id).as_str()));
        self.resources.retain(|id, _| log.has(StreamId::resource(*id).as_str()));
        for (id, stack) in &mut self.stacks {
            *stack = log.fold(StreamId::stack(*id).as_str(), Stack::named(*id));
        }
        for (id, resource) in &mut self.resources {
            let blank = Resource::named(*id, resource.name.clone());
            *resource = log.fold(StreamId::resource(*id).as_str(), blank);
        }
    }

    /// Who has an object of the cloud or has left it there, as the views know it.
    pub(super) fn holders(&self, physical_id: &str) -> Vec<Holder> {
        let known = self.resources.values().filter(|it| {
            it.physical_id.as_deref() == Some(physical_id) && (!is_gone(it) || leaves(it))
        });
        let holders = known.map(|it| {
            let Claimant { resource, stack, project, type_name } = Claimant::of(it);
            Holder { resource, stack, project, type_name, is_gone: is_gone(it) }
        });
        holders.collect()
    }

    /// What deletions have left to itself, and what is somebody's all the same.
    pub(super) fn left(&self) -> Left {
        let mut left = Left::default();
        for resource in self.resources.values().filter(|it| leaves(it) && is_gone(it)) {
            self.leave(resource, &mut left);
        }
        let claimed = self.resources.values().filter(|it| {
            let is_left = it.stack.as_ref().is_some_and(|stack| left.stacks.contains(&stack.id));
            !is_gone(it) && !is_left
        });
        left.claimed = claimed.filter_map(|it| it.physical_id.clone()).collect();
        left
    }

    /// What a deletion leaves of a resource: its object, or its stack with all that is in it.
    fn leave(&self, resource: &Resource, left: &mut Left) {
        left.tokens.insert(token(resource));
        left.ids.extend(resource.physical_id.clone());
        let child = resource.child_stack().and_then(|id| self.stacks.get(&id));
        let Some(child) = child.filter(|child| !child.is_deleted()) else { return };
        left.stacks.insert(child.id);
        for within in child.rows.keys().filter_map(|id| self.resources.get(id)) {
            self.leave(within, left);
        }
    }

    /// The stacks that the views name after a restart: at work, or with a resource at work.
    pub(super) fn unsettled(&self, knowledge: &resource::Knowledge) -> Vec<StackId> {
        let at_work = |id: StackId| {
            let mut own = self
                .resources
                .values()
                .filter(|resource| resource.stack.as_ref().is_some_and(|stack| stack.id == id));
            own.any(Resource::in_progress)
        };
        let owes =
            |resource: &&Resource| resource.report(&Default::default(), knowledge).owes_signal;
        let owing = self.resources.values().filter(owes);
        let owing: Vec<StackId> =
            owing.filter_map(|it| it.stack.as_ref().map(|stack| stack.id)).collect();
        let stacks = self.stacks.values().filter(|stack| match stack.status {
            Status::InProgress => true,
            Status::Failed | Status::Complete => at_work(stack.id) || owing.contains(&stack.id),
        });
        stacks.map(|stack| stack.id).collect()
    }
}

/// What deletions have left to itself.
#[derive(Default)]
pub(super) struct Left {
    pub(super) tokens: BTreeSet<String>,
    ids: BTreeSet<String>,
    /// The objects that a resource has all the same: those of an adopted stack.
    claimed: BTreeSet<String>,
    pub(super) stacks: BTreeSet<StackId>,
}

impl Left {
    pub(super) fn has(&self, id: &str, token: &str) -> bool {
        (self.tokens.contains(token) || self.ids.contains(id)) && !self.claimed.contains(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }
}

/// Whether a resource was deleted, and is not about to be made again.
pub(super) fn is_gone(resource: &Resource) -> bool {
    let is_deleted = (resource.action, resource.status) == (Action::Delete, Status::Complete);
    is_deleted && !resource.in_progress()
}

/// Whether a deletion leaves the object there.
pub(super) fn leaves(resource: &Resource) -> bool {
    let policy = |it: &Definition| it.deletion_policy == Deletion::Retain.word();
    resource.options.retains || resource.definition.as_ref().is_some_and(policy)
}

/// What the cloud keeps of an incarnation's calls.
pub(super) fn token(resource: &Resource) -> String {
    let stack = resource.stack.as_ref().map(|stack| stack.name.clone()).unwrap_or_default();
    physical_name(&stack, &resource.name, resource.id, 255)
}

/// What differs between a stack that lives and its fold.
pub(super) fn stacks_differ(live: &Stack, fold: &Stack) -> Option<String> {
    let same = (live.action, live.status, &live.reason, &live.name, &live.project_id)
        == (fold.action, fold.status, &fold.reason, &fold.name, &fold.project_id)
        && live.traversal == fold.traversal
        && live.rows == fold.rows
        && live.revisions == fold.revisions
        && live.deferred == fold.deferred
        && live.snapshots == fold.snapshots
        && live.owner == fold.owner
        && (live.created_at, live.updated_at, &live.trustor)
            == (fold.created_at, fold.updated_at, &fold.trustor);
    (!same).then(|| format!("the stack is not what its log says: {}_{}", live.action, live.status))
}

/// What differs between a resource that lives and its fold.
pub(super) fn resources_differ(live: &Resource, fold: &Resource) -> Option<String> {
    let same = (live.action, live.status, &live.reason, &live.type_name)
        == (fold.action, fold.status, &fold.reason, &fold.type_name)
        && (&live.name, &live.outcome) == (&fold.name, &fold.outcome)
        && (&live.physical_id, &live.data, &live.attributes, &live.phase)
            == (&fold.physical_id, &fold.data, &fold.attributes, &fold.phase)
        && (&live.definition, &live.target, &live.attempted)
            == (&fold.definition, &fold.target, &fold.attempted)
        && (live.repetitions, live.traversal) == (fold.repetitions, fold.traversal)
        && (&live.signals, &live.hooks, live.hook, &live.replaces, &live.reality)
            == (&fold.signals, &fold.hooks, fold.hook, &fold.replaces, &fold.reality)
        && (live.unanswered, live.is_made, live.marked, live.options, live.deleted_from)
            == (fold.unanswered, fold.is_made, fold.marked, fold.options, fold.deleted_from);
    (!same).then(|| format!("{} is not what its log says", live.name))
}
