//! Writes histories into a log by hand, as the actors would.

use std::sync::Arc;

use chrono::TimeDelta;
use hearth::clock::{Clock, SimulatedClock};
use hearth::events::log::{Appended, EventLog, MemoryLog};
use hearth::events::resource::{ActionSettled, ActionStarted, Definition, ReplacementRequired};
use hearth::events::stack::{
    Node, OutputDeclared, OutputResolved, ReplacementStarted, RevisionAccepted, StackCreated,
    TraversalSettled, TraversalStarted,
};
use hearth::events::{Event, Meta, NewEvent, ResourceEvent, StackEvent, StreamId, StreamRevision};
use hearth::model::{
    Action, Caller, JsonMap, ProjectId, RequestId, ResourceId, ResourceName, Scope, StackId,
    StackName, StackRevision, StackSettings, Status, TraversalId,
};
use serde_json::json;

/// A log and a clock that moves a second with each event.
pub(crate) struct Story {
    pub(crate) log: Arc<dyn EventLog>,
    clock: SimulatedClock,
    pub(crate) project: ProjectId,
}

/// A stack of the story.
#[derive(Clone)]
pub(crate) struct Stack {
    pub(crate) id: StackId,
    pub(crate) name: StackName,
    pub(crate) traversal: TraversalId,
}

impl Story {
    pub(crate) fn new() -> Self {
        Self::of(Arc::new(MemoryLog::new()), "p1", 7)
    }

    /// A story in a log, of a project, with ids of its own.
    pub(crate) fn of(log: Arc<dyn EventLog>, project: &str, seed: u64) -> Self {
        Self { log, clock: SimulatedClock::new(seed), project: ProjectId::from(project) }
    }

    /// Appends one event to its stream.
    pub(crate) async fn write<E: Event>(&self, stream: StreamId, event: E) -> Appended {
        self.clock.advance(TimeDelta::seconds(1));
        let caller = Caller {
            user_id: "u1".into(),
            user_name: "alice".into(),
            project_id: self.project.clone(),
            project_name: "demo".into(),
            roles: vec!["member".into()],
            scope: Scope::default(),
            admin: false,
        };
        let meta = Meta {
            caller: Some(Arc::new(caller)),
            request_id: Some(RequestId::from("req-1")),
            ..Meta::default()
        };
        let event = NewEvent::of(&event, self.clock.now(), Arc::new(meta)).unwrap();
        let head = self.log.read(&stream, StreamRevision(0)).await.unwrap().head;
        self.log.append(&stream, head, vec![event]).await.unwrap()
    }

    async fn stack_event(&self, stack: StackId, event: impl Into<StackEvent>) -> Appended {
        self.write(StreamId::stack(stack), event.into()).await
    }

    async fn resource_event(&self, id: ResourceId, event: impl Into<ResourceEvent>) -> Appended {
        self.write(StreamId::resource(id), event.into()).await
    }

    pub(crate) fn fresh_resource(&self) -> ResourceId {
        ResourceId(self.clock.fresh_id())
    }

    /// A stack is created and its first revision accepted; no walk yet.
    pub(crate) async fn stack(&self, name: &str) -> Stack {
        let stack = Stack {
            id: StackId(self.clock.fresh_id()),
            name: StackName::from(name),
            traversal: TraversalId(self.clock.fresh_id()),
        };
        let created = StackCreated {
            stack_id: stack.id,
            name: stack.name.clone(),
            project_id: self.project.clone(),
            owner_user_id: "u1".into(),
            owner_user_name: "alice".into(),
            owner: None,
        };
        self.stack_event(stack.id, created).await;
        self.revision(&stack, 1, &["blue"]).await;
        // What is sealed in the story was never open.
        self.log.destroy_key(StreamId::stack(stack.id).as_str()).await.unwrap();
        stack
    }

    pub(crate) async fn revision(&self, stack: &Stack, revision: u32, tags: &[&str]) {
        let template = json!({
            "template": { "heat_template_version": "2021-04-16", "resources": {} },
            "files": { "file:///a": "content" },
        });
        let accepted = RevisionAccepted {
            adopts: None,
            back_to: None,
            revision: StackRevision(revision),
            action: if revision == 1 { Action::Create } else { Action::Update },
            origin: StackRevision(revision),
            source: Some(self.log.put_blob(template.to_string().as_bytes()).await.unwrap()),
            source_bytes: 2,
            parameters: map(
                json!({ "key": "k", "password": { "sealed": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" } }),
            ),
            shown_parameters: map(json!({ "key": "k", "password": "******" })),
            description: "A web".into(),
            outputs: vec![OutputDeclared {
                key: "url".into(),
                description: String::new(),
                live: false,
            }],
            settings: StackSettings {
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
                timeout_mins: Some(30),
                disable_rollback: true,
            },
            user_id: None,
            roles: None,
            facade: serde_json::Value::Null,
            event_sinks: Vec::new(),
            claim: None,
            restart: None,
        };
        self.stack_event(stack.id, accepted).await;
    }

    /// A walk begins over resources, each needing the one before.
    pub(crate) async fn walk(
        &self,
        stack: &mut Stack,
        action: Action,
        nodes: &[(&str, ResourceId)],
    ) -> Appended {
        stack.traversal = TraversalId(self.clock.fresh_id());
        let mut before = None;
        let nodes = nodes.iter().map(|(name, id)| {
            let requires = before.replace(ResourceName::from(*name)).into_iter().collect();
            Node {
                name: ResourceName::from(*name),
                id: *id,
                type_name: "OS::Heat::TestResource".into(),
                requires,
                description: String::new(),
            }
        });
        let started = TraversalStarted {
            traversal: stack.traversal,
            action,
            revision: StackRevision(1),
            nodes: nodes.collect(),
            rows: None,
            deadline: None,
            options: Default::default(),
            trustor: None,
        };
        self.stack_event(stack.id, started).await
    }

    /// A walk ends, with a value for the output.
    pub(crate) async fn walked(&self, stack: &Stack, action: Action, status: Status) -> Appended {
        let settled = TraversalSettled {
            traversal: stack.traversal,
            action,
            status,
            reason: format!("Stack {action} completed successfully"),
            outputs: vec![OutputResolved {
                key: "url".into(),
                description: String::new(),
                value: "http://web".into(),
                error: None,
            }],
            rows: None,
        };
        self.stack_event(stack.id, settled).await
    }

    pub(crate) async fn start(&self, stack: &Stack, name: &str, id: ResourceId, action: Action) {
        let definition = Definition {
            driver_type: "OS::Heat::TestResource".into(),
            properties: map(
                json!({ "value": "v", "secret": { "sealed": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" } }),
            ),
            metadata: map(json!({ "role": "web" })),
            ..Definition::default()
        };
        let started = ActionStarted {
            action,
            traversal: stack.traversal,
            stack_id: stack.id,
            stack_name: stack.name.clone(),
            project_id: self.project.clone(),
            name: ResourceName::from(name),
            type_name: "OS::Heat::TestResource".into(),
            definition: (action != Action::Delete).then_some(definition),
            deadline: None,
            user_id: "u1".into(),
            roles: None,
            hooks: Vec::new(),
            observes: false,
            replaces: Vec::new(),
            retains: false,
        };
        self.resource_event(id, started).await;
    }

    pub(crate) async fn settle(
        &self,
        stack: &Stack,
        id: ResourceId,
        action: Action,
        status: Status,
    ) -> Appended {
        let settled = ActionSettled {
            action,
            traversal: stack.traversal,
            status,
            reason: "state changed".into(),
            physical_id: (action != Action::Delete).then(|| format!("phys-{id}")),
            data: Default::default(),
            attributes: JsonMap::new(),
            metadata: JsonMap::new(),
            unanswered: false,
            again: false,
            untouched: false,
        };
        self.resource_event(id, settled).await
    }

    /// A resource goes through an action from start to end.
    pub(crate) async fn act(&self, stack: &Stack, name: &str, id: ResourceId, action: Action) {
        self.start(stack, name, id, action).await;
        self.settle(stack, id, action, Status::Complete).await;
    }

    /// A resource is to be replaced, and its new incarnation appears.
    pub(crate) async fn replace(&self, stack: &Stack, name: &str, old: ResourceId) -> ResourceId {
        let required = ReplacementRequired {
            traversal: stack.traversal,
            reason: format!("The Resource {name} requires replacement."),
        };
        self.resource_event(old, required).await;
        let new = self.fresh_resource();
        let started = ReplacementStarted {
            traversal: stack.traversal,
            name: ResourceName::from(name),
            old,
            new,
            type_name: "OS::Heat::TestResource".into(),
        };
        self.stack_event(stack.id, started).await;
        new
    }

    /// A stack of resources, created from start to end.
    pub(crate) async fn created(&self, name: &str, resources: &[&str]) -> (Stack, Vec<ResourceId>) {
        let mut stack = self.stack(name).await;
        let ids: Vec<ResourceId> = resources.iter().map(|_| self.fresh_resource()).collect();
        let nodes: Vec<(&str, ResourceId)> =
            resources.iter().copied().zip(ids.iter().copied()).collect();
        self.walk(&mut stack, Action::Create, &nodes).await;
        for (name, id) in nodes {
            self.act(&stack, name, id, Action::Create).await;
        }
        self.walked(&stack, Action::Create, Status::Complete).await;
        (stack, ids)
    }
}

pub(crate) fn map(value: serde_json::Value) -> JsonMap {
    match value {
        serde_json::Value::Object(map) => map,
        other => panic!("{other} is no map"),
    }
}
