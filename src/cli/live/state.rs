//! Stacks and their resources as far as a client knows them: first as the API lists them, then as
//! the event feed changes them.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use uuid::Uuid;

use super::super::columns::width;
use super::feed::Told;
use super::status::{LiveStatus, Progress};
use crate::events::resource::ActionStarted;
use crate::events::stack::{Node, ReplacementStarted, TraversalStarted};
use crate::events::{Event, ResourceEvent, StackEvent};
use crate::model::{
    IndexMap, PHYSICAL_NAME_MAX_CHARS, ResourceId, ResourceName, StackId, StackName, physical_name,
};

/// How long a stack that was deleted stays in sight, where all stacks are.
const GONE_IN_SIGHT: TimeDelta = TimeDelta::seconds(10);

/// A resource, or one that another has taken the place of.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Member {
    /// With what is said beside the name, and how wide that is.
    pub(in crate::cli) shown: String,
    pub(in crate::cli) width: usize,
    pub(in crate::cli) name: String,
    pub(in crate::cli) type_name: String,
    pub(in crate::cli) is_former: bool,
    pub(in crate::cli) status: LiveStatus,
    /// What goes wrong while it works.
    pub(in crate::cli) remark: Option<String>,
    /// The stack that it stands for.
    pub(in crate::cli) child: Option<StackId>,
}

/// A stack with its resources, in the order in which they can be made.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct StackState {
    pub(in crate::cli) name: String,
    pub(in crate::cli) status: LiveStatus,
    /// The stack that it stands within, and as which resource.
    pub(in crate::cli) within: Option<(StackId, String)>,
    pub(in crate::cli) members: Vec<Member>,
    /// The members that are no former ones, by name.
    current: HashMap<String, usize>,
}

/// What an event has changed, for those who are told line by line.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) struct Change {
    pub(in crate::cli) stack: StackId,
    /// `group/0`; empty for the stack itself.
    pub(in crate::cli) path: String,
    pub(in crate::cli) status: LiveStatus,
    pub(in crate::cli) at: DateTime<Utc>,
}

/// All that is known.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct State {
    pub(in crate::cli) stacks: IndexMap<StackId, StackState>,
    streams: HashMap<ResourceId, (StackId, usize)>,
    /// What is said below: the feed was lost, or what Ctrl-C does.
    pub(in crate::cli) notice: Vec<String>,
}

impl Member {
    fn new(name: &str, type_name: &str) -> Member {
        let mut member =
            Member { name: name.to_owned(), type_name: type_name.to_owned(), ..Member::default() };
        member.show();
        member
    }

    /// What the stack is called that an incarnation of it stands for.
    fn physical_name(&self, stack: &str, id: ResourceId) -> String {
        let (stack, name) = (StackName(stack.to_owned()), ResourceName(self.name.clone()));
        physical_name(&stack, &name, id, PHYSICAL_NAME_MAX_CHARS)
    }

    fn show(&mut self) {
        let former = if self.is_former { " (former)" } else { "" };
        self.shown = format!("{}{former}", self.name);
        self.width = width(&self.shown);
    }
}

impl State {
    /// Takes in a stack as the API shows it, or lists it.
    pub(in crate::cli) fn take_stack(&mut self, shown: &Value) -> Option<StackId> {
        let text = |key: &str| shown[key].as_str().unwrap_or_default();
        let id = StackId(Uuid::try_parse(text("id")).ok()?);
        let stack = self.stacks.entry(id).or_default();
        stack.name = text("stack_name").to_owned();
        let status = LiveStatus::of(text("stack_status"), text("stack_status_reason"));
        let since = time(text("updated_time")).or_else(|| time(text("creation_time")));
        stack.status.follow(status, since);
        Some(id)
    }

    /// Takes in the resources of a stack and of those within it, as the API lists them.
    pub(in crate::cli) fn take_resources(&mut self, listed: &Value) {
        for row in listed.as_array().into_iter().flatten() {
            let text = |key: &str| row[key].as_str().unwrap_or_default();
            let Some((stack_name, stack)) = linked(row, "stack") else { continue };
            let child = linked(row, "nested");
            let of = self.stacks.entry(stack).or_default();
            if of.name.is_empty() {
                of.name = stack_name;
            }
            let member = of.enter(text("resource_name"), text("resource_type"));
            let status = LiveStatus::of(text("resource_status"), text("resource_status_reason"));
            member.status.follow(status, time(text("updated_time")));
            if let Some((name, id)) = child {
                member.child = Some(id);
                let child = self.stacks.entry(id).or_default();
                child.name = name;
                child.within = Some((stack, text("resource_name").to_owned()));
                let status =
                    LiveStatus::of(text("resource_status"), text("resource_status_reason"));
                child.status = status;
            }
        }
    }

    /// Takes in an event; says what it changed.
    pub(super) fn apply(&mut self, told: &Told) -> Option<Change> {
        let (kind, id) = told.stream.split_once('-')?;
        let id = Uuid::try_parse(id).ok()?;
        let body = told.body.to_string();
        match kind {
            "stack" => {
                let event = StackEvent::decode(&told.event_type, told.version, &body).ok()?;
                self.stack_changed(StackId(id), event, told.at)
            }
            "resource" => {
                let event = ResourceEvent::decode(&told.event_type, told.version, &body).ok()?;
                let (stack, index) = self.resource_changed(ResourceId(id), event, told.at)?;
                let member = self.stacks.get(&stack)?.members.get(index)?;
                let path = self.path(stack, &member.shown);
                let mut status = member.status.clone();
                if let Some(remark) = &member.remark {
                    status.reason.clone_from(remark);
                }
                Some(Change { stack: self.root(stack), path, status, at: told.at })
            }
            _ => None,
        }
    }

    fn stack_changed(
        &mut self,
        id: StackId,
        event: StackEvent,
        at: DateTime<Utc>,
    ) -> Option<Change> {
        match event {
            StackEvent::StackCreated(created) => {
                let stack = self.stacks.entry(id).or_default();
                stack.name = created.name.0;
                let owner = created.owner?;
                stack.within = Some((owner.stack, owner.name.0.clone()));
                let parent = self.stacks.get_mut(&owner.stack)?;
                let index = *parent.current.get(&owner.name.0)?;
                parent.members.get_mut(index)?.child = Some(id);
                return None;
            }
            StackEvent::TraversalStarted(started) => self.started(id, started, at),
            StackEvent::ReplacementStarted(replaced) => {
                self.replaced(id, &replaced);
                return None;
            }
            StackEvent::TraversalSettled(settled) => {
                let stack = self.stacks.entry(id).or_default();
                stack.status.settle(settled.action, settled.status, settled.reason);
                stack.status.until = Some(at);
            }
            _ => return None,
        }
        let stack = self.stacks.get(&id)?;
        // The resource that a nested stack stands for tells of it. Of one that nobody has listed there
        // is no name.
        let is_outermost = stack.within.is_none() && !stack.name.is_empty();
        let status = stack.status.clone();
        is_outermost.then(|| Change { stack: id, path: String::new(), status, at })
    }

    fn started(&mut self, id: StackId, started: TraversalStarted, at: DateTime<Utc>) {
        let stack = self.stacks.entry(id).or_default();
        stack.status = LiveStatus::begun(started.action, at);
        for node in in_order(&started.nodes) {
            stack.enter(&node.name.0, &node.type_name);
            let Some(index) = stack.current.get(&node.name.0) else { continue };
            self.streams.insert(node.id, (id, *index));
        }
        stack.arrange(&started.nodes, id, &mut self.streams);
    }

    /// The resource stays in sight as a former one, and another takes its name.
    fn replaced(&mut self, id: StackId, replaced: &ReplacementStarted) {
        let stack = self.stacks.entry(id).or_default();
        if let Some(index) = stack.current.remove(&replaced.name.0)
            && let Some(old) = stack.members.get_mut(index)
        {
            old.is_former = true;
            old.show();
            self.streams.insert(replaced.old, (id, index));
        }
        stack.enter(&replaced.name.0, &replaced.type_name);
        if let Some(index) = stack.current.get(&replaced.name.0) {
            self.streams.insert(replaced.new, (id, *index));
        }
    }

    fn resource_changed(
        &mut self,
        id: ResourceId,
        event: ResourceEvent,
        at: DateTime<Utc>,
    ) -> Option<(StackId, usize)> {
        let place = match (self.streams.get(&id), &event) {
            (Some(place), _) => *place,
            // One that the new definition leaves out is first heard of when it is taken down.
            (None, ResourceEvent::ActionStarted(started)) => self.met(id, started)?,
            (None, _) => return None,
        };
        let member = self.stacks.get_mut(&place.0)?.members.get_mut(place.1)?;
        match event {
            ResourceEvent::ActionStarted(started) => {
                member.status = LiveStatus::begun(started.action, at);
                member.remark = None;
            }
            ResourceEvent::CallRetried(retried) => {
                member.remark = Some(format!("again after: {}", retried.error));
            }
            ResourceEvent::ActionSettled(settled) => {
                member.status.settle(settled.action, settled.status, settled.reason);
                member.status.until = Some(at);
                member.remark = None;
            }
            ResourceEvent::ReplacementRequired(required) => {
                member.status.settle("UPDATE", "COMPLETE", required.reason);
                member.status.until = Some(at);
            }
            ResourceEvent::HealthMarked(marked) => {
                let status = if marked.healthy { "COMPLETE" } else { "FAILED" };
                member.status.settle("CHECK", status, marked.reason);
            }
            _ => return None,
        }
        Some(place)
    }

    fn met(&mut self, id: ResourceId, started: &ActionStarted) -> Option<(StackId, usize)> {
        let stack = self.stacks.entry(started.stack_id).or_default();
        if stack.name.is_empty() {
            stack.name.clone_from(&started.stack_name.0);
        }
        stack.enter(&started.name.0, &started.type_name);
        let place = (started.stack_id, *stack.current.get(&started.name.0)?);
        self.streams.insert(id, place);
        self.find_owner(started.stack_id);
        Some(place)
    }

    /// A nested stack that was gone before anybody listed it has the name that the resource gave it
    /// which it stands for.
    fn find_owner(&mut self, id: StackId) {
        let nameless = self.stacks.get(&id).filter(|stack| stack.within.is_none());
        let Some(name) = nameless.map(|stack| stack.name.clone()) else { return };
        let owner = self.streams.iter().find_map(|(resource, (of, index))| {
            let stack = self.stacks.get(of)?;
            let member = stack.members.get(*index)?;
            let is_it =
                name.contains(&member.name) && name == member.physical_name(&stack.name, *resource);
            is_it.then(|| (*of, *index, member.name.clone()))
        });
        let Some((of, index, member)) = owner else { return };
        if let Some(stack) = self.stacks.get_mut(&id) {
            stack.within = Some((of, member));
        }
        if let Some(member) = self.stacks.get_mut(&of).and_then(|it| it.members.get_mut(index)) {
            member.child = Some(id);
        }
    }

    /// `group/0`: from the outermost stack down.
    fn path(&self, mut stack: StackId, name: &str) -> String {
        let mut path = name.to_owned();
        while let Some((parent, resource)) =
            self.stacks.get(&stack).and_then(|stack| stack.within.as_ref())
        {
            path = format!("{resource}/{path}");
            stack = *parent;
        }
        path
    }

    /// The outermost stack.
    fn root(&self, mut stack: StackId) -> StackId {
        while let Some((parent, _)) =
            self.stacks.get(&stack).and_then(|stack| stack.within.as_ref())
        {
            stack = *parent;
        }
        stack
    }

    /// Lets go of stacks that were deleted a while ago.
    pub(in crate::cli) fn forget(&mut self, now: DateTime<Utc>) {
        let is_gone = |status: &LiveStatus| {
            status.action == "DELETE"
                && status.progress == Progress::Done
                && status.until.is_none_or(|until| now - until > GONE_IN_SIGHT)
        };
        let before = self.stacks.len();
        self.stacks.retain(|_, stack| !is_gone(&stack.status));
        if self.stacks.len() < before {
            let stacks = &self.stacks;
            self.streams.retain(|_, (stack, _)| stacks.contains_key(stack));
        }
    }
}

impl StackState {
    /// The resource of that name; a new one waits.
    fn enter(&mut self, name: &str, type_name: &str) -> &mut Member {
        let next = self.members.len();
        let index = *self.current.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.members.push(Member::new(name, type_name));
        }
        &mut self.members[index]
    }

    /// Brings the members into the order of what they require; others stay where they were, below.
    fn arrange(
        &mut self,
        nodes: &[Node],
        id: StackId,
        streams: &mut HashMap<ResourceId, (StackId, usize)>,
    ) {
        if nodes.is_empty() {
            return;
        }
        let mut order: Vec<usize> = in_order(nodes)
            .into_iter()
            .filter_map(|node| self.current.get(&node.name.0).copied())
            .collect();
        let mut moved = vec![None; self.members.len()];
        for (to, from) in order.iter().enumerate() {
            moved[*from] = Some(to);
        }
        for (from, to) in moved.iter_mut().enumerate() {
            if to.is_none() {
                *to = Some(order.len());
                order.push(from);
            }
        }
        let mut members: Vec<Option<Member>> =
            std::mem::take(&mut self.members).into_iter().map(Some).collect();
        self.members = order.iter().filter_map(|from| members.get_mut(*from)?.take()).collect();
        let place = |from: usize| moved.get(from).copied().flatten().unwrap_or(from);
        self.current.values_mut().for_each(|index| *index = place(*index));
        for (stack, index) in streams.values_mut() {
            if *stack == id {
                *index = place(*index);
            }
        }
    }

    /// How many resources are done, at work and failed, and how many there are. In a stack that is
    /// deleted only what is gone is done.
    pub(in crate::cli) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let deletes = self.status.action == "DELETE";
        for member in &self.members {
            counts.all += usize::from(!member.is_former);
            match member.status.progress {
                Progress::Waiting => {}
                Progress::Working => counts.working += 1,
                Progress::Done if deletes && member.status.action != "DELETE" => {}
                Progress::Done => counts.done += usize::from(!member.is_former),
                Progress::Failed => counts.failed += 1,
            }
        }
        counts
    }
}

/// How many resources are how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Counts {
    pub(in crate::cli) done: usize,
    pub(in crate::cli) working: usize,
    pub(in crate::cli) failed: usize,
    pub(in crate::cli) all: usize,
}

/// Each node below all that it requires, and otherwise as they stand.
fn in_order(nodes: &[Node]) -> Vec<&Node> {
    let index: HashMap<&str, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut missing = vec![0_usize; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        for required in &node.requires {
            if let Some(required) = index.get(required.as_str()) {
                users[*required].push(at);
                missing[at] += 1;
            }
        }
    }
    let mut ready: std::collections::BTreeSet<usize> =
        (0..nodes.len()).filter(|at| missing[*at] == 0).collect();
    let mut order = Vec::new();
    while let Some(at) = ready.pop_first() {
        order.push(&nodes[at]);
        for user in &users[at] {
            missing[*user] -= 1;
            if missing[*user] == 0 {
                ready.insert(*user);
            }
        }
    }
    order
}

/// The name and the id of the stack that a link leads to: `…/stacks/{name}/{id}`.
fn linked(row: &Value, rel: &str) -> Option<(String, StackId)> {
    let links = row["links"].as_array()?;
    let href = links.iter().find(|link| link["rel"] == rel)?["href"].as_str()?;
    let mut parts = href.rsplit('/');
    let id = Uuid::try_parse(parts.next()?).ok()?;
    Some((parts.next()?.to_owned(), StackId(id)))
}

fn time(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc())
}
