//! Given events, when a command, then events and effects: the stories of a resource's decisions.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{
    Act, Answered, BeatCall, CleanUp, Converge, Knowledge, Outcome, Resource, ResourceCommand,
    ResourceEffect, StackIdentity, Working,
};
use crate::actors::shell::Aggregate;
use crate::actors::stack::story::registry;
use crate::clock::{Clock, Moment, SimulatedClock};
use crate::events::resource::{ActionSettled, Definition, Step};
use crate::events::{Event, ResourceEvent};
use crate::model::{Action, Hook, JsonMap, Refusal, ResourceId, TraversalId, Trustor};
use crate::openstack::CloudError;
use crate::resource_types::{Beat, Failure, Learned};

/// More commands than any that a test sends leads to.
const TURNS_MAX: usize = 100;

/// A resource under test, and what its last command led to.
pub(in crate::actors) struct Story {
    pub(in crate::actors) resource: Resource,
    log: Vec<(ResourceEvent, DateTime<Utc>)>,
    pub(in crate::actors) working: Working,
    pub(in crate::actors) events: Vec<ResourceEvent>,
    pub(in crate::actors) effects: Vec<ResourceEffect>,
    knowledge: Knowledge,
    clock: Arc<SimulatedClock>,
}

/// A resource that nothing has happened to.
pub(in crate::actors) fn given_nothing() -> Story {
    let clock = Arc::new(SimulatedClock::new(7));
    let knowledge = Knowledge {
        registry: registry(),
        action_retry_limit: 1,
        lost_call_rest: Duration::from_secs(10),
        observe_on_update: false,
    };
    let mut resource = Resource::new(ResourceId(clock.fresh_id()));
    resource.name = "a".into();
    let (log, working) = Default::default();
    Story { resource, log, working, events: Vec::new(), effects: Vec::new(), knowledge, clock }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "one kind is looked for")]
impl Story {
    /// Sends a command and follows it to its end, as the shell does.
    pub(in crate::actors) fn when(mut self, command: ResourceCommand) -> Self {
        self.events.clear();
        self.effects.clear();
        let mut next = Some(command);
        let mut turns = 0;
        while let Some(command) = next.take() {
            turns += 1;
            assert!(turns < TURNS_MAX, "a command follows itself");
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

    /// The beat that is out comes back.
    pub(in crate::actors) fn when_answered(self, result: Result<Beat, Failure>) -> Self {
        let answered = Answered {
            epoch: self.beat(),
            result,
            kept: None,
            attributes: JsonMap::new(),
            reality: None,
        };
        self.when(ResourceCommand::Answered(Box::new(answered)))
    }

    /// Why a command is refused.
    pub(in crate::actors) fn refuses(&mut self, command: ResourceCommand) -> Refusal {
        let moment = Moment::of(self.clock.as_ref());
        self.resource.decide(&mut self.working, command, &moment, &self.knowledge).err().unwrap()
    }

    /// Lets time pass.
    pub(in crate::actors) fn after(self, seconds: i64) -> Self {
        self.clock.advance(chrono::TimeDelta::seconds(seconds));
        self
    }

    /// Forgets all but the log, and wakes up.
    pub(in crate::actors) fn when_woken(mut self) -> Self {
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

    /// Puts events on record.
    pub(in crate::actors) fn take(&mut self, events: Vec<ResourceEvent>, at: DateTime<Utc>) {
        for event in events {
            self.resource.apply(&event, at);
            self.log.push((event.clone(), at));
            self.events.push(event);
        }
    }

    /// What came of the newest task that is over.
    pub(in crate::actors) fn outcome(&self) -> Option<(TraversalId, Outcome)> {
        self.resource.outcome_beside(&self.working).cloned()
    }

    /// The beat that the last command has made.
    pub(in crate::actors) fn call(&self) -> Option<&BeatCall> {
        self.effects.iter().find_map(|effect| match effect {
            ResourceEffect::Call(call) => Some(call.as_ref()),
            _ => None,
        })
    }

    /// How the action ended with the last command.
    pub(in crate::actors) fn settled(&self) -> &ActionSettled {
        let settled = self.events.iter().find_map(|event| match event {
            ResourceEvent::ActionSettled(settled) => Some(settled),
            _ => None,
        });
        settled.unwrap_or_else(|| panic!("nothing ends with {:?}", self.told()))
    }

    /// The names of the events that the last command led to.
    pub(in crate::actors) fn told(&self) -> Vec<&'static str> {
        self.events.iter().map(Event::event_type).collect()
    }

    /// What the stack is told.
    pub(in crate::actors) fn report(&self) -> super::Report {
        self.resource.report(&self.working, &self.knowledge)
    }

    /// The number of the beat that is out.
    pub(in crate::actors) fn beat(&self) -> u64 {
        self.working.epoch
    }
}

/// A traversal by its number.
pub(in crate::actors) fn traversal(number: u128) -> TraversalId {
    TraversalId(uuid::Uuid::from_u128(number))
}

/// The command to bring the resource to the properties of a type.
pub(in crate::actors) fn converge(
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
pub(in crate::actors) fn clean_up(number: u128) -> ResourceCommand {
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
pub(in crate::actors) fn test_resource(number: u128, value: &str) -> ResourceCommand {
    converge(number, "OS::Heat::TestResource", json!({ "value": value }))
}

fn identity() -> StackIdentity {
    StackIdentity { id: Default::default(), name: "web".into(), project_id: "p".into() }
}

/// The same command with something else in it.
pub(in crate::actors) fn with(
    mut command: ResourceCommand,
    change: impl FnOnce(&mut Converge),
) -> ResourceCommand {
    if let ResourceCommand::Converge(converge) = &mut command {
        change(converge);
    }
    command
}

/// The same command of an environment with a hook.
pub(in crate::actors) fn hooked(command: ResourceCommand, hook: Hook) -> ResourceCommand {
    with(command, |converge| {
        converge.hooks.insert(hook);
    })
}

/// The command to give the action up.
pub(in crate::actors) fn cancel() -> ResourceCommand {
    ResourceCommand::Cancel { reason: "user triggered cancel".to_owned() }
}

/// The answer that an object has this id, and what comes next: a call that changes it, or a look.
pub(in crate::actors) fn learned(id: &str, next: &str, mutates: bool) -> Result<Beat, Failure> {
    let learned = Learned { physical_id: Some(id.to_owned()), ..Learned::default() };
    Ok(Beat::Next { learned, next: Step { name: next.to_owned(), mutates, ..Step::default() } })
}

/// The answer that all is done.
pub(in crate::actors) fn done() -> Result<Beat, Failure> {
    Ok(Beat::Done { learned: Learned::default() })
}

/// The answer of a cloud that refuses a request.
pub(in crate::actors) fn refused(class: &'static str, message: &str) -> Failure {
    let (class, message) = (class.into(), message.to_owned());
    CloudError::Answered { status: 400, class, message, retry_after: None }.into()
}

/// No answer: the connection broke off.
pub(in crate::actors) fn lost() -> Failure {
    let (url, reason) = ("http://cloud".to_owned(), "connection closed".to_owned());
    CloudError::Unanswered { url, reason }.into()
}

/// The command to do something with the resource as it is.
pub(in crate::actors) fn act(number: u128, action: Action) -> ResourceCommand {
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
