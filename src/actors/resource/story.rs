//! Given events, when a command, then events and effects: the stories of a resource's decisions.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{
    Act, CleanUp, Converge, Knowledge, Outcome, Resource, ResourceCommand, ResourceEffect,
    StackIdentity, Working,
};
use crate::actors::shell::Aggregate;
use crate::clock::{Clock, Moment, SimulatedClock};
use crate::events::resource::Definition;
use crate::events::{Event, ResourceEvent};
use crate::model::{Action, Hook, JsonMap, Refusal, ResourceId, TraversalId, Trustor};
use crate::resource_types::Registry;

/// A resource under test, and what its last command led to.
pub(super) struct Story {
    pub(super) resource: Resource,
    log: Vec<(ResourceEvent, DateTime<Utc>)>,
    working: Working,
    pub(super) events: Vec<ResourceEvent>,
    pub(super) effects: Vec<ResourceEffect>,
    knowledge: Knowledge,
    clock: Arc<SimulatedClock>,
}

/// A resource that nothing has happened to.
pub(super) fn given_nothing() -> Story {
    let clock = Arc::new(SimulatedClock::new(7));
    let knowledge = Knowledge {
        registry: Arc::new(Registry::built_in().unwrap()),
        action_retry_limit: 1,
        lost_call_rest: Duration::from_secs(10),
        observe_on_update: false,
    };
    let mut resource = Resource::new(ResourceId(clock.fresh_id()));
    resource.name = "a".into();
    let (log, working) = Default::default();
    Story { resource, log, working, events: Vec::new(), effects: Vec::new(), knowledge, clock }
}

impl Story {
    /// Sends a command and follows it to its end, as the shell does.
    pub(super) fn when(mut self, command: ResourceCommand) -> Self {
        self.events.clear();
        self.effects.clear();
        let mut next = Some(command);
        while let Some(command) = next.take() {
            let clock = self.clock.clone();
            let moment = Moment::of(clock.as_ref());
            let decision =
                self.resource.decide(&mut self.working, command, &moment, &self.knowledge).unwrap();
            self.take(decision.events, moment.now);
            self.effects.extend(decision.effects);
            next = decision.then;
        }
        self
    }

    /// Why a command is refused.
    pub(super) fn refuses(&mut self, command: ResourceCommand) -> Refusal {
        let moment = Moment::of(self.clock.as_ref());
        self.resource.decide(&mut self.working, command, &moment, &self.knowledge).err().unwrap()
    }

    /// Lets time pass.
    pub(super) fn after(self, seconds: i64) -> Self {
        self.clock.advance(chrono::TimeDelta::seconds(seconds));
        self
    }

    /// Forgets all but the log, and wakes up.
    pub(super) fn when_woken(mut self) -> Self {
        let (id, name) = (self.resource.id, self.resource.name.clone());
        self.resource = Resource::named(id, name);
        for (event, at) in &self.log {
            self.resource.apply(event, *at);
        }
        self.working = Working::default();
        self.events.clear();
        let clock = self.clock.clone();
        let moment = Moment::of(clock.as_ref());
        let decision = self.resource.recover(&mut self.working, &moment, &self.knowledge);
        self.take(decision.events, moment.now);
        self.effects = decision.effects;
        self
    }

    fn take(&mut self, events: Vec<ResourceEvent>, at: DateTime<Utc>) {
        for event in events {
            self.resource.apply(&event, at);
            self.log.push((event.clone(), at));
            self.events.push(event);
        }
    }

    /// What came of the newest task that is over.
    pub(super) fn outcome(&self) -> Option<(TraversalId, Outcome)> {
        self.resource.outcome_beside(&self.working).cloned()
    }

    /// The names of the events that the last command led to.
    pub(super) fn told(&self) -> Vec<&'static str> {
        self.events.iter().map(Event::event_type).collect()
    }

    /// What the stack is told.
    pub(super) fn report(&self) -> super::Report {
        self.resource.report(&self.working, &self.knowledge)
    }

    /// The number of the beat that is out.
    pub(super) fn beat(&self) -> u64 {
        self.working.epoch
    }
}

/// A traversal by its number.
pub(super) fn traversal(number: u128) -> TraversalId {
    TraversalId(uuid::Uuid::from_u128(number))
}

/// The command to bring the resource to the properties of a type.
pub(super) fn converge(
    number: u128,
    driver_type: &str,
    properties: serde_json::Value,
) -> ResourceCommand {
    let properties: JsonMap = serde_json::from_value(properties).unwrap();
    ResourceCommand::Converge(Box::new(Converge {
        traversal: traversal(number),
        since: chrono::DateTime::<chrono::Utc>::MAX_UTC,
        stack: StackIdentity { name: "web".into(), ..identity() },
        name: "a".into(),
        type_name: driver_type.to_owned(),
        definition: Ok(Definition {
            driver_type: driver_type.to_owned(),
            properties,
            deletion_policy: "Delete".to_owned(),
            ..Definition::default()
        }),
        deadline: None,
        trustor: Trustor::of("alice", Vec::new()),
        observed_signals: Vec::new(),
        stack_action: Action::Create,
        options: Default::default(),
        hooks: Default::default(),
        restricted: Default::default(),
        replaces: Vec::new(),
        adopts: None,
    }))
}

/// The command to delete what there is.
pub(super) fn clean_up(number: u128) -> ResourceCommand {
    let clean_up = CleanUp {
        traversal: traversal(number),
        stack: identity(),
        type_name: "OS::Heat::TestResource".to_owned(),
        deadline: None,
        trustor: Trustor::of("alice", Vec::new()),
        stack_action: Action::Update,
        hooks: Default::default(),
        options: Default::default(),
    };
    ResourceCommand::CleanUp(clean_up)
}

/// A test resource with a value.
pub(super) fn test_resource(number: u128, value: &str) -> ResourceCommand {
    converge(number, "OS::Heat::TestResource", json!({ "value": value }))
}

fn identity() -> StackIdentity {
    StackIdentity { id: Default::default(), name: "web".into(), project_id: "p".into() }
}

/// The same command of an environment with a hook.
pub(super) fn hooked(mut command: ResourceCommand, hook: Hook) -> ResourceCommand {
    if let ResourceCommand::Converge(converge) = &mut command {
        converge.hooks.insert(hook);
    }
    command
}

/// The command to do something with the resource as it is.
pub(super) fn act(number: u128, action: Action) -> ResourceCommand {
    ResourceCommand::Act(Box::new(Act {
        traversal: traversal(number),
        action,
        stack: StackIdentity { name: "web".into(), ..identity() },
        type_name: "OS::Heat::TestResource".to_owned(),
        driver_type: "OS::Heat::TestResource".to_owned(),
        deadline: None,
        trustor: Trustor::of("alice", Vec::new()),
        in_part: false,
    }))
}
