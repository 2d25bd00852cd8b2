//! A stack's resources while they are worked on: a fold of the log, drawn as a tree.

use std::collections::BTreeMap;

use crate::model::IndexMap;
use chrono::{DateTime, Utc};

use crate::events::resource::ActionStarted;
use crate::events::stack::{Node, TraversalStarted};
use crate::events::{RecordedEvent, ResourceEvent, StackEvent, StreamId};
use crate::model::{Action, ResourceId, ResourceName, StackId, Status};

/// How far one incarnation of a resource is.
#[derive(Clone, Debug, PartialEq)]
enum Progress {
    Waiting,
    Working { action: Action, since: DateTime<Utc>, note: Option<String> },
    Settled { action: Action, status: Status, took_secs: f64, reason: String },
}

#[derive(Clone, Debug)]
struct Entry {
    name: ResourceName,
    type_name: String,
    requires: Vec<ResourceName>,
    /// Another incarnation has taken its place in the definition.
    former: bool,
    progress: Progress,
}

/// What happened to the stack as a whole.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settled {
    pub action: Action,
    pub status: Status,
    pub reason: String,
}

/// The stack as far as its events have been read.
pub(super) struct Tree {
    stack: StackId,
    stack_stream: StreamId,
    streams: BTreeMap<StreamId, ResourceId>,
    entries: IndexMap<ResourceId, Entry>,
    action: Option<Action>,
    began: Option<DateTime<Utc>>,
    now: Option<DateTime<Utc>>,
    pub(super) settled: Option<Settled>,
}

/// One line of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// `│  └─ subnet`
    pub branch: String,
    pub type_name: String,
    pub state: String,
    /// Seconds at work; none before it began.
    pub secs: Option<f64>,
    /// Why it failed, or what it is waiting for.
    pub note: Option<String>,
    pub kind: LineKind,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Waiting,
    Working,
    Done,
    Failed,
}

impl Tree {
    /// A stack of which nothing is known yet.
    pub(super) fn of(stack: StackId) -> Tree {
        Tree {
            stack,
            stack_stream: StreamId::stack(stack),
            streams: BTreeMap::new(),
            entries: IndexMap::default(),
            action: None,
            began: None,
            now: None,
            settled: None,
        }
    }

    /// Takes in the next event of the log; the entry that it changed, as a line of its own.
    pub(super) fn apply(&mut self, event: &RecordedEvent) -> Option<Line> {
        if event.stream == self.stack_stream {
            self.now = Some(event.at);
            match event.decode().ok()? {
                StackEvent::TraversalStarted(started) => self.traversal_started(&started, event.at),
                StackEvent::ReplacementStarted(replaced) => {
                    let requires = self.entries.get_mut(&replaced.old).map(|old| {
                        old.former = true;
                        old.requires.clone()
                    });
                    self.enter(&Node {
                        name: replaced.name,
                        id: replaced.new,
                        type_name: replaced.type_name,
                        requires: requires.unwrap_or_default(),
                        description: String::new(),
                    });
                }
                StackEvent::TraversalSettled(settled) => {
                    self.settled = Some(Settled {
                        action: settled.action,
                        status: settled.status,
                        reason: settled.reason,
                    });
                }
                _ => {}
            }
            return None;
        }
        let id = self.resource_of(event)?;
        self.now = Some(event.at);
        self.resource_changed(id, event)?;
        let entry = self.entries.get(&id)?;
        Some(self.line(entry, String::new(), event.at))
    }

    fn traversal_started(&mut self, started: &TraversalStarted, at: DateTime<Utc>) {
        self.settled = None;
        self.action = Some(started.action);
        self.began.get_or_insert(at);
        for node in &started.nodes {
            self.enter(node);
        }
    }

    fn enter(&mut self, node: &Node) {
        self.streams.insert(StreamId::resource(node.id), node.id);
        let entry = self.entries.entry(node.id).or_insert_with(|| Entry {
            name: node.name.clone(),
            type_name: node.type_name.clone(),
            requires: Vec::new(),
            former: false,
            progress: Progress::Waiting,
        });
        entry.requires.clone_from(&node.requires);
    }

    /// The resource that an event belongs to, if it is one of this stack.
    fn resource_of(&mut self, event: &RecordedEvent) -> Option<ResourceId> {
        if let Some(id) = self.streams.get(&event.stream) {
            return Some(*id);
        }
        // One that the new definition leaves out is first heard of when it is taken down.
        let id = event.stream.as_str().strip_prefix("resource-")?.parse().ok().map(ResourceId)?;
        let ResourceEvent::ActionStarted(started) = event.decode().ok()? else { return None };
        if started.stack_id != self.stack {
            return None;
        }
        let ActionStarted { name, type_name, .. } = started;
        let requires = Vec::new();
        self.enter(&Node { name, id, type_name, requires, description: String::new() });
        Some(id)
    }

    fn resource_changed(&mut self, id: ResourceId, event: &RecordedEvent) -> Option<()> {
        let entry = self.entries.get_mut(&id)?;
        match event.decode().ok()? {
            ResourceEvent::ActionStarted(started) => {
                entry.progress =
                    Progress::Working { action: started.action, since: event.at, note: None };
            }
            ResourceEvent::CallRetried(retried) => {
                let Progress::Working { note, .. } = &mut entry.progress else { return None };
                *note = Some(format!("again after: {}", retried.error));
            }
            ResourceEvent::ActionSettled(settled) => {
                let since = match &entry.progress {
                    Progress::Working { since, .. } => *since,
                    Progress::Waiting | Progress::Settled { .. } => event.at,
                };
                entry.progress = Progress::Settled {
                    action: settled.action,
                    status: settled.status,
                    took_secs: seconds(since, event.at),
                    reason: settled.reason,
                };
            }
            ResourceEvent::ReplacementRequired(_) => entry.former = true,
            _ => return None,
        }
        Some(())
    }

    /// `web CREATE_IN_PROGRESS`, and how long it has been at work.
    pub(super) fn head(&self, now: DateTime<Utc>) -> (String, f64) {
        let state = match (&self.settled, self.action) {
            (Some(settled), _) => format!("{}_{}", settled.action, settled.status),
            (None, Some(action)) => format!("{action}_{}", Status::InProgress),
            (None, None) => String::new(),
        };
        let until = if self.settled.is_some() { self.now.unwrap_or(now) } else { now };
        (state, self.began.map_or(0.0, |began| seconds(began, until)))
    }

    /// Every resource below the deepest of those that it waits for.
    pub(super) fn lines(&self, now: DateTime<Utc>) -> Vec<Line> {
        let depths = self.depths();
        let mut children: BTreeMap<Option<ResourceId>, Vec<ResourceId>> = BTreeMap::new();
        for (id, entry) in &self.entries {
            let parent = entry
                .requires
                .iter()
                .filter_map(|name| self.current(name))
                .max_by_key(|parent| depths.get(parent).copied().unwrap_or(0));
            children.entry(parent.filter(|parent| parent != id)).or_default().push(*id);
        }
        let mut lines = Vec::new();
        self.draw(None, "", &children, now, &mut lines);
        lines
    }

    fn draw(
        &self,
        parent: Option<ResourceId>,
        indent: &str,
        children: &BTreeMap<Option<ResourceId>, Vec<ResourceId>>,
        now: DateTime<Utc>,
        lines: &mut Vec<Line>,
    ) {
        let below = children.get(&parent).map(Vec::as_slice).unwrap_or_default();
        for (index, id) in below.iter().enumerate() {
            let Some(entry) = self.entries.get(id) else { continue };
            let last = index + 1 == below.len();
            let (fork, bar) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            lines.push(self.line(entry, format!("{indent}{fork}"), now));
            self.draw(Some(*id), &format!("{indent}{bar}"), children, now, lines);
        }
    }

    fn line(&self, entry: &Entry, indent: String, now: DateTime<Utc>) -> Line {
        let former = if entry.former { " (former)" } else { "" };
        let branch = format!("{indent}{}{former}", entry.name);
        let type_name = entry.type_name.clone();
        match &entry.progress {
            Progress::Waiting => Line {
                branch,
                type_name,
                state: "waiting".to_owned(),
                secs: None,
                note: None,
                kind: LineKind::Waiting,
            },
            Progress::Working { action, since, note } => Line {
                branch,
                type_name,
                state: format!("{action}_{}", Status::InProgress),
                secs: Some(seconds(*since, now)),
                note: note.clone(),
                kind: LineKind::Working,
            },
            Progress::Settled { action, status, took_secs, reason } => Line {
                branch,
                type_name,
                state: format!("{action}_{status}"),
                secs: Some(*took_secs),
                note: (*status == Status::Failed).then(|| reason.clone()),
                kind: if *status == Status::Failed { LineKind::Failed } else { LineKind::Done },
            },
        }
    }

    /// How many resources stand on the longest way to each.
    fn depths(&self) -> BTreeMap<ResourceId, usize> {
        let mut depths = BTreeMap::new();
        // The graph has no cycles, so as many rounds as resources settle every depth.
        for _ in 0..self.entries.len() {
            let mut changed = false;
            for (id, entry) in &self.entries {
                let below = entry.requires.iter().filter_map(|name| self.current(name));
                let depth = below
                    .filter_map(|parent| depths.get(&parent).map(|depth| depth + 1))
                    .max()
                    .unwrap_or(0);
                changed |= depths.insert(*id, depth) != Some(depth);
            }
            if !changed {
                break;
            }
        }
        depths
    }

    fn current(&self, name: &ResourceName) -> Option<ResourceId> {
        let of_name = |entry: &&Entry| entry.name == *name && !entry.former;
        self.entries.iter().rev().find(|(_, entry)| of_name(entry)).map(|(id, _)| *id)
    }
}

fn seconds(from: DateTime<Utc>, to: DateTime<Utc>) -> f64 {
    ((to - from).num_milliseconds().max(0) as f64) / 1000.0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::TimeDelta;
    use uuid::Uuid;

    use super::*;
    use crate::events::resource::{ActionSettled, Definition};
    use crate::events::stack::TraversalSettled;
    use crate::events::{Event, Meta, Position, StreamRevision};
    use crate::model::{ProjectId, StackName, StackRevision, TraversalId};

    const STACK: StackId = StackId(Uuid::from_u128(1));
    const WALK: TraversalId = TraversalId(Uuid::from_u128(2));

    fn id(number: u128) -> ResourceId {
        ResourceId(Uuid::from_u128(number))
    }

    fn at(millis: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::milliseconds(millis)
    }

    fn recorded<E: Event>(stream: StreamId, millis: i64, event: &E) -> RecordedEvent {
        RecordedEvent {
            position: Position(1),
            stream,
            revision: StreamRevision(0),
            event_type: event.event_type().into(),
            version: event.version(),
            at: at(millis),
            meta: Arc::new(Meta::default()),
            body: event.encode().unwrap().into(),
            hash: [0; 32],
        }
    }

    fn node(number: u128, name: &str, requires: &[&str]) -> Node {
        Node {
            name: name.into(),
            id: id(number),
            type_name: "OS::Heat::TestResource".to_owned(),
            requires: requires.iter().map(|name| (*name).into()).collect(),
            description: String::new(),
        }
    }

    fn walk_started(nodes: Vec<Node>) -> RecordedEvent {
        let started = TraversalStarted {
            traversal: WALK,
            action: Action::Create,
            revision: StackRevision(1),
            nodes,
            rows: None,
            deadline: None,
            observes: false,
            revisits: false,
            retains: false,
            trustor: None,
        };
        recorded(StreamId::stack(STACK), 0, &StackEvent::from(started))
    }

    fn began(number: u128, name: &str, millis: i64) -> RecordedEvent {
        let started = ActionStarted {
            action: Action::Create,
            traversal: WALK,
            stack_id: STACK,
            stack_name: StackName::from("web"),
            project_id: ProjectId::from("p"),
            name: name.into(),
            type_name: "OS::Heat::TestResource".to_owned(),
            definition: Some(Definition::default()),
            deadline: None,
            user_id: "u".to_owned(),
            roles: None,
            hooks: Vec::new(),
            observes: false,
            replaces: Vec::new(),
            retains: false,
        };
        recorded(StreamId::resource(id(number)), millis, &ResourceEvent::from(started))
    }

    fn ended(number: u128, millis: i64, status: Status, reason: &str) -> RecordedEvent {
        let settled = ActionSettled {
            action: Action::Create,
            traversal: WALK,
            status,
            reason: reason.to_owned(),
            physical_id: None,
            data: BTreeMap::new(),
            attributes: serde_json::Map::new(),
            metadata: Default::default(),
            unanswered: false,
            again: false,
        };
        recorded(StreamId::resource(id(number)), millis, &ResourceEvent::from(settled))
    }

    fn given(events: &[RecordedEvent]) -> Tree {
        let mut tree = Tree::of(STACK);
        for event in events {
            tree.apply(event);
        }
        tree
    }

    #[test]
    fn a_resource_stands_below_the_deepest_of_those_that_it_uses() {
        let tree = given(&[walk_started(vec![
            node(11, "server", &["network", "port"]),
            node(12, "network", &[]),
            node(13, "port", &["network"]),
        ])]);
        let branches: Vec<String> = tree.lines(at(0)).into_iter().map(|line| line.branch).collect();
        assert_eq!(branches, ["└─ network", "   └─ port", "      └─ server"]);
    }

    #[test]
    fn a_line_tells_how_long_the_resource_took_and_why_it_failed() {
        let tree = given(&[
            walk_started(vec![node(11, "a", &[]), node(12, "b", &[]), node(13, "c", &[])]),
            began(11, "a", 100),
            began(12, "b", 200),
            ended(11, 1600, Status::Failed, "no room"),
        ]);
        let lines = tree.lines(at(2200));
        assert_eq!((lines[0].secs, lines[0].note.as_deref()), (Some(1.5), Some("no room")));
        assert_eq!((lines[1].secs, lines[1].kind), (Some(2.0), LineKind::Working));
        assert_eq!((lines[2].secs, lines[2].kind), (None, LineKind::Waiting));
    }

    #[test]
    fn a_resource_that_the_definition_left_out_shows_when_it_is_taken_down() {
        let tree = given(&[walk_started(Vec::new()), began(14, "old", 100)]);
        assert_eq!(tree.lines(at(100))[0].branch, "└─ old");
    }

    #[test]
    fn the_end_of_the_walk_is_the_end_of_the_stack() {
        let settled = TraversalSettled {
            traversal: WALK,
            action: Action::Create,
            status: Status::Complete,
            reason: "Stack CREATE completed successfully".to_owned(),
            outputs: Vec::new(),
            rows: None,
        };
        let end = recorded(StreamId::stack(STACK), 3000, &StackEvent::from(settled));
        let tree = given(&[walk_started(Vec::new()), end]);
        assert_eq!(tree.head(at(9000)), ("CREATE_COMPLETE".to_owned(), 3.0));
        assert_eq!(tree.settled.map(|settled| settled.status), Some(Status::Complete));
    }
}
