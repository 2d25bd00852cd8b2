//! A resource as the fold of its events, and its working memory.

// Call:  None ─ActionStarted▶ First ─CallIntended▶ Intended ─CallAnswered▶ Due ─CallIntended▶ …
//        any ─ActionSettled▶ None

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::command::{Converge, Outcome, Report, ResourceCommand, ResourceEffect, StackIdentity};
use super::decide::hook::HookAt;
use crate::actors::nested::child_of;
use crate::actors::shell::{Aggregate, Decision};
use crate::clock::Moment;
use crate::events::ResourceEvent;
use crate::events::resource::{
    ActionSettled, Definition, HookReached, RealityObserved, SignalTaken, Step,
};
use crate::events::stack::ResourceKept;
use crate::events::vault::Vault;
use crate::model::{
    Action, CommandId, Hook, JsonMap, ProjectId, Refusal, ResourceId, ResourceName, Secret,
    StackId, Status, TraversalId, physical_name,
};
use crate::resource_types::software::SoftwareDoor;
use crate::resource_types::stack_user;
use crate::resource_types::{Attempt, Driver, Heard, Registry, Signals, Subject};

/// What a resource decides with.
#[derive(Clone)]
pub struct Knowledge {
    pub registry: Arc<Registry>,
    pub vault: Arc<Vault>,
    /// How often a create that meets a conflict or an object in error is made again.
    pub action_retry_limit: u32,
    /// How long a call whose answer was lost may still be carried out.
    pub lost_call_rest: Duration,
    /// Whether every update compares with what there is in the cloud.
    pub observe_on_update: bool,
    /// The way to software configurations, for the drivers of types that keep some.
    pub software: SoftwareDoor,
}

/// How many children a resource may have had: one with each repetition of its create.
const CHILDREN_MAX: u32 = 32;

/// Where the action's calls stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Call {
    /// No action is under way.
    #[default]
    None,
    /// The action began; its first step is the driver's to say.
    First,
    /// The step is next.
    Due(Step),
    /// The step's call left or is about to; its answer is not known.
    Intended(Step),
}

/// A resource's state.
#[derive(Debug, Default)]
pub struct Resource {
    pub id: ResourceId,
    pub stack: Option<StackIdentity>,
    pub name: ResourceName,
    pub type_name: String,
    pub user_id: String,
    pub action: Action,
    pub status: Status,
    pub reason: String,
    pub traversal: Option<TraversalId>,
    /// The definition that was reached last.
    pub definition: Option<Definition>,
    /// The definition that the action under way leads to, or that a failed one led to.
    pub target: Option<Definition>,
    /// How often the create was repeated in this traversal.
    pub repetitions: u32,
    /// What a failed create made is being deleted, and the create comes again.
    pub repeating: bool,
    /// The definition of a failed update before the one under way: some of it may be in place.
    pub attempted: Option<Definition>,
    pub physical_id: Option<String>,
    pub data: BTreeMap<String, Value>,
    pub attributes: JsonMap,
    pub call: Call,
    /// A create or a delete was given up without the answer to its call.
    pub is_open: bool,
    /// When the call that is open was last made.
    pub called_at: DateTime<Utc>,
    /// How often the present call has failed in passing.
    pub failures: u32,
    pub outcome: Option<(TraversalId, Outcome)>,
    /// Whether somebody said that it is not well, and nothing was done about it since.
    pub marked: bool,
    /// When its first action began.
    pub created_at: DateTime<Utc>,
    pub changed_at: DateTime<Utc>,
    /// It was created once, or updated since.
    pub is_made: bool,
    /// What signals have added to the metadata.
    pub signals: JsonMap,
    /// The newest signals, so that none is taken twice.
    pub(super) signals_known: VecDeque<CommandId>,
    /// Signals whose calls are not made yet.
    pub(super) signals_open: Vec<SignalTaken>,
    /// The signal whose calls were made last, and why they failed.
    pub(super) handled: Option<(CommandId, Option<String>)>,
    /// How it stood before its deletion began.
    pub deleted_from: (Action, Status),
    /// What is deleted stays in the cloud.
    pub retains: bool,
    /// Whether the action under way is of a traversal that compares with what there is.
    pub observes: bool,
    /// What there was in the cloud when somebody looked last.
    pub reality: Option<RealityObserved>,
    /// What the incarnations are in the cloud that this one replaces.
    pub replaces: Vec<String>,
    /// The hooks behind the action under way.
    pub hooks: Vec<Hook>,
    /// The hook that the resource came to last.
    pub hook: Option<HookAt>,
    pub(super) working: Working,
}

/// What is not in the log, because `recover` finds it again.
#[derive(Debug, Default)]
pub(super) struct Working {
    /// The number of the newest beat.
    pub(super) epoch: u64,
    /// Whether a call that changes the cloud is out.
    pub(super) changing: bool,
    /// How often the present step has been polled.
    pub(super) polls: u32,
    /// Why the action is to end as soon as the call that is out comes back.
    pub(super) cancel: Option<String>,
    /// What the stack wants next, once the action under way is over.
    pub(super) queued: Option<ResourceCommand>,
    /// The traversal of what was queued and given up.
    pub(super) dropped: Option<TraversalId>,
    /// What waits at a hook.
    pub(super) held: Option<ResourceCommand>,
    /// The traversal in which the live object was seen, be it as it is on record.
    pub(super) observed: Option<TraversalId>,
    /// What waits for the driver's look at the live object.
    pub(super) looking: Option<Box<Converge>>,
    /// What others were signaled, as far as the type waits for it; still sealed.
    pub(super) heard: Vec<Heard>,
    /// The adjustment of a group whose new size is being looked up.
    pub(super) adjusting: Option<CommandId>,
    /// Whether the call may have been carried out before the beat that comes next.
    pub(super) unanswered: bool,
    /// Whether the beat that is out looks for what an earlier call may have done.
    pub(super) searching: bool,
}

impl Resource {
    /// A resource that nothing has happened to yet.
    pub fn new(id: ResourceId) -> Self {
        Self { id, ..Self::default() }
    }

    /// A resource that has the name that its stack gave it.
    pub fn named(id: ResourceId, name: ResourceName) -> Self {
        Self { id, name, ..Self::default() }
    }

    /// Whether an action is under way, or the pause before a create is repeated.
    pub fn in_progress(&self) -> bool {
        self.status == Status::InProgress || self.is_pausing()
    }

    /// Whether what a failed create made is deleted, and the create is about to be repeated.
    pub(super) fn is_pausing(&self) -> bool {
        self.repeating && (self.action, self.status) == (Action::Delete, Status::Complete)
    }

    /// The driver of a definition's type.
    pub(super) fn driver(
        knowledge: &Knowledge,
        definition: &Definition,
    ) -> Result<Arc<dyn Driver>, String> {
        knowledge.registry.driver(&definition.driver_type).ok_or_else(|| {
            format!("NotFound: The Resource Type ({}) could not be found.", definition.driver_type)
        })
    }

    /// The scope under which the stack's secrets are sealed.
    pub(super) fn scope(&self) -> String {
        self.stack.as_ref().map(|stack| format!("stack-{}", stack.id)).unwrap_or_default()
    }

    /// What a driver is told, with the properties of the given definition, unsealed.
    pub(in crate::actors) fn subject(
        &self,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Subject {
        let limit = knowledge
            .registry
            .driver(&definition.driver_type)
            .map_or(255, |driver| driver.physical_name_limit());
        let stack_name = self.stack.as_ref().map(|stack| stack.name.clone());
        let data = self.data.iter().map(|(key, value)| (key.clone(), self.open(value, knowledge)));
        Subject {
            stack_id: self.stack.as_ref().map(|stack| stack.id),
            project_id: self.stack.as_ref().map(|stack| stack.project_id.clone()),
            resource_id: Some(self.id),
            name: Some(self.name.clone()),
            physical_name: stack_name
                .as_ref()
                .map(|stack| physical_name(stack, &self.name, self.id, limit))
                .unwrap_or_default(),
            stack_name,
            properties: self.open_map(&definition.properties, knowledge),
            metadata: self.open_map(&definition.metadata, knowledge),
            update_policy: definition.update_policy.clone(),
            deletion_policy: definition.deletion_policy.clone(),
            reads: definition.attributes.clone(),
            physical_id: self.physical_id.clone(),
            data: data.collect(),
            signals: self.open_map(&self.signals, knowledge),
            software: knowledge.software.clone(),
            traversal: self.traversal,
            replaces: self.replaces.clone(),
            abandons: self.action == Action::Delete && self.retains,
            kept_first: self.action == Action::Delete
                && self.deleted_from.1 != Status::Failed
                && definition.deletion_policy == "Snapshot",
            heard: self.working.heard.iter().map(|it| self.open_heard(it, knowledge)).collect(),
            ..Subject::default()
        }
    }

    fn open_heard(&self, heard: &Heard, knowledge: &Knowledge) -> Heard {
        Heard {
            name: heard.name.clone(),
            reference: self.open(&heard.reference, knowledge),
            signals: heard.signals.as_ref().map(|signals| Signals {
                entries: self.open_map(&signals.entries, knowledge),
                unneeded: signals.unneeded,
            }),
        }
    }

    /// A value with its sealed leaves open; a leaf that cannot be opened is null.
    pub(super) fn open(&self, value: &Value, knowledge: &Knowledge) -> Value {
        knowledge.vault.open(&self.scope(), value).unwrap_or_else(|error| {
            tracing::warn!(resource.id = %self.id, %error, "a sealed value cannot be opened");
            Value::Null
        })
    }

    pub(in crate::actors) fn open_map(&self, map: &JsonMap, knowledge: &Knowledge) -> JsonMap {
        let opened = self.open(&Value::Object(map.clone()), knowledge);
        if let Value::Object(map) = opened { map } else { JsonMap::new() }
    }

    /// Hands over what the resource hears of others, for a look at it.
    pub fn know_heard(&mut self, heard: Vec<Heard>) {
        self.working.heard = heard;
    }

    /// The driver and what it is told, for a look at the live object; `None` before a create.
    pub fn inspected(&self, knowledge: &Knowledge) -> Option<(Arc<dyn Driver>, Subject)> {
        let definition = self.definition.as_ref()?;
        let driver = knowledge.registry.driver(&definition.driver_type)?;
        Some((driver, self.subject(definition, knowledge)))
    }

    /// How the resource stands, as its stack is told.
    pub fn report(&self, knowledge: &Knowledge) -> Report {
        let definition = self.definition.as_ref();
        let told = definition.and_then(|definition| {
            let driver = knowledge.registry.driver(&definition.driver_type)?;
            let subject = self.subject(definition, knowledge);
            let secrets = self.secrets(definition, knowledge);
            let plain = driver.reference(&subject);
            let reference = knowledge.vault.seal_leaves(&self.scope(), plain, &secrets).ok();
            // What signals brought is kept sealed where it is secret.
            let signals = driver.signals(&subject);
            let signals = signals.map(|it| Signals { entries: self.signals.clone(), ..it });
            Some((reference, signals))
        });
        let (reference, signals) = told.unwrap_or_default();
        Report {
            id: self.id,
            name: self.name.clone(),
            action: self.action,
            status: if self.is_pausing() { Status::InProgress } else { self.status },
            traversal: self.traversal,
            outcome: self.outcome.clone().filter(|(of, _)| !self.waits_in(*of)),
            waits: self.waits(),
            dropped: self.working.dropped,
            physical_id: self.physical_id.clone(),
            reference,
            attributes: self.attributes.clone(),
            created_at: self.created_at,
            changed_at: self.changed_at,
            signals,
            owes_signal: !self.signals_open.is_empty(),
            user_project: self
                .data
                .get(stack_user::PROJECT)
                .and_then(Value::as_str)
                .map(|id| ProjectId(id.to_owned())),
            kept: (self.action == Action::Snapshot).then(|| Box::new(self.kept())),
        }
    }

    /// The child stack that stands for it in the cloud's place, where it has one.
    pub fn child_stack(&self) -> Option<StackId> {
        let id = self.physical_id.as_ref()?;
        let mut children = (0..CHILDREN_MAX).map(|repetition| child_of(self.id, repetition));
        children.find(|child| child.to_string() == *id)
    }

    /// The resource as a snapshot or an export has it.
    pub fn kept(&self) -> ResourceKept {
        let definition = self.definition.as_ref();
        ResourceKept {
            name: self.name.clone(),
            type_name: self.type_name.clone(),
            driver_type: definition.map(|it| it.driver_type.clone()).unwrap_or_default(),
            physical_id: self.physical_id.clone(),
            action: self.action,
            status: self.status,
            metadata: definition.map(|it| it.metadata.clone()).unwrap_or_default(),
            data: self.data.clone(),
        }
    }

    /// The texts that are sealed in what the resource is made of.
    pub(in crate::actors) fn secrets(
        &self,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Vec<Secret<String>> {
        let made_of = definition.properties.values().chain(self.data.values());
        let sealed = made_of.chain(self.attributes.values()).flat_map(Vault::sealed_leaves);
        let texts = sealed.map(|leaf| self.open(leaf, knowledge));
        texts.filter_map(|leaf| leaf.as_str().map(|text| Secret::new(text.to_owned()))).collect()
    }

    /// A repetition ends with its create, or where what was made cannot be deleted.
    fn settle_repetition(&mut self, settled: &ActionSettled) {
        let deleted = settled.action == Action::Delete && settled.status == Status::Complete;
        if self.repeating && deleted {
            self.physical_id = None;
            self.data.clear();
        } else {
            self.repeating = false;
        }
    }

    fn take_physical_id(&mut self, id: Option<&String>) {
        if let Some(id) = id {
            self.physical_id = Some(id.clone());
        }
    }

    fn take_data(&mut self, data: &BTreeMap<String, Value>) {
        for (key, value) in data {
            if value.is_null() {
                self.data.remove(key);
            } else {
                self.data.insert(key.clone(), value.clone());
            }
        }
    }
}

impl Aggregate for Resource {
    type Command = ResourceCommand;
    type Event = ResourceEvent;
    type Effect = ResourceEffect;
    type Knowledge = Knowledge;

    fn apply(&mut self, event: &ResourceEvent, at: DateTime<Utc>) {
        match event {
            ResourceEvent::ActionStarted(started) => {
                self.stack = Some(StackIdentity {
                    id: started.stack_id,
                    name: started.stack_name.clone(),
                    project_id: started.project_id.clone(),
                });
                if self.action == Action::Init {
                    self.created_at = at;
                }
                self.name = started.name.clone();
                self.type_name = started.type_name.clone();
                self.user_id = started.user_id.clone();
                if self.status == Status::Failed && started.action != Action::Delete {
                    self.attempted = self.target.take().or(self.attempted.take());
                }
                let goes_on = self.traversal == Some(started.traversal);
                self.hook = self.hook.filter(|at| at.traversal == started.traversal && !at.is_open);
                self.hooks = started.hooks.clone();
                self.retains = started.retains;
                self.observes = started.observes;
                if !started.replaces.is_empty() {
                    self.replaces = started.replaces.clone();
                }
                self.repetitions *= u32::from(goes_on);
                self.repeating &= goes_on && started.action == Action::Delete;
                if started.action == Action::Delete && self.action != Action::Delete {
                    self.deleted_from = (self.action, self.status);
                }
                self.action = started.action;
                self.marked = false;
                self.status = Status::InProgress;
                self.reason = "state changed".to_owned();
                self.traversal = Some(started.traversal);
                if started.definition.is_some() {
                    self.target = started.definition.clone();
                }
                self.failures = 0;
                self.call = Call::First;
                self.changed_at = at;
            }
            ResourceEvent::CallIntended(intended) => {
                self.call = Call::Intended(intended.step.clone());
                self.called_at = at;
            }
            ResourceEvent::CallAnswered(answered) => {
                self.take_physical_id(answered.physical_id.as_ref());
                self.take_data(&answered.data);
                self.call = Call::Due(answered.next.clone());
                self.failures = 0;
            }
            ResourceEvent::CallRetried(retried) => {
                self.failures = retried.attempt;
                self.called_at = at;
            }
            ResourceEvent::CreateRepeated(repeated) => {
                self.repetitions = repeated.attempt;
                self.repeating = true;
                self.outcome = None;
            }
            ResourceEvent::ReplacementRequired(required) => {
                self.status = Status::Complete;
                self.reason = required.reason.clone();
                self.target = None;
                self.call = Call::None;
                self.outcome = Some((required.traversal, Outcome::Replace));
                self.changed_at = at;
            }
            ResourceEvent::AttributesObserved(observed) => {
                self.attributes.extend(observed.attributes.clone());
            }
            ResourceEvent::RealityObserved(observed) => self.reality = Some(observed.clone()),
            ResourceEvent::HealthMarked(marked) => {
                self.action = Action::Check;
                self.marked = !marked.healthy;
                self.status = if marked.healthy { Status::Complete } else { Status::Failed };
                self.reason = marked.reason.clone();
                self.changed_at = at;
            }
            ResourceEvent::HookReached(reached) => {
                let HookReached { traversal, hook } = *reached;
                self.hook = Some(HookAt { traversal, hook, is_open: true });
            }
            ResourceEvent::HookCleared(_) => {
                if let Some(at) = &mut self.hook {
                    at.is_open = false;
                }
            }
            ResourceEvent::HookLeft(_) => self.hook = None,
            ResourceEvent::UpdateRefused(refused) => {
                let reason = format!(
                    "ResourceActionRestricted: resources.{}: {}",
                    self.name, refused.reason
                );
                let failed = Outcome::Failed { action: Action::Update, reason };
                self.outcome = Some((refused.traversal, failed));
            }
            ResourceEvent::SignalTaken(taken) => {
                self.know_signal(taken.signal);
                self.signals_open.push(taken.clone());
            }
            ResourceEvent::SignalHandled(handled) => {
                self.know_signal(handled.signal);
                self.signals_open.retain(|taken| taken.signal != handled.signal);
                self.signals.extend(handled.metadata.clone());
                self.take_data(&handled.data);
                self.attributes.extend(handled.attributes.clone());
                self.handled = Some((handled.signal, handled.error.clone()));
            }
            ResourceEvent::Remarked(_) => {}
            ResourceEvent::ActionSettled(settled) => {
                self.action = settled.action;
                self.status = settled.status;
                self.reason = settled.reason.clone();
                self.physical_id = settled.physical_id.clone();
                self.take_data(&settled.data);
                self.signals.extend(settled.metadata.clone());
                self.changed_at = at;
                self.reality = None;
                self.settle_repetition(settled);
                let complete = settled.status == Status::Complete;
                self.is_made |= complete
                    && matches!(settled.action, Action::Create | Action::Update | Action::Adopt);
                if complete && settled.action != Action::Delete {
                    self.attributes = settled.attributes.clone();
                    if let Some(reached) = self.target.take() {
                        self.definition = Some(reached);
                        self.attempted = None;
                    }
                } else if self.definition.is_none() {
                    // What a failed create left behind is deleted by the definition it had.
                    self.definition = self.target.clone();
                }
                let outcome = match (complete, settled.action) {
                    (true, Action::Delete) => Outcome::CleanedUp,
                    (true, _) => Outcome::Converged,
                    (false, action) => Outcome::Failed { action, reason: settled.reason.clone() },
                };
                self.outcome = (!settled.again).then_some((settled.traversal, outcome));
                self.call = Call::None;
                if matches!(settled.action, Action::Create | Action::Delete) {
                    self.is_open = settled.unanswered;
                }
            }
        }
    }

    fn decide(
        &mut self,
        command: ResourceCommand,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Result<Decision<Self>, Refusal> {
        if command.traversal().is_some_and(|newest| self.held_for() != Some(newest)) {
            self.working.held = None;
        }
        Ok(match command {
            ResourceCommand::Converge(converge) => self.converge(converge, moment, knowledge),
            ResourceCommand::CleanUp(clean_up) => self.clean_up(clean_up, moment, knowledge),
            ResourceCommand::Act(act) => self.act(act, knowledge),
            ResourceCommand::Mark { healthy, reason } => self.mark(healthy, reason)?,
            ResourceCommand::Signal(signal) => return self.signal(signal, moment, knowledge),
            ResourceCommand::Hear(heard) => self.hear(heard, moment, knowledge),
            ResourceCommand::Adjust(adjust) => return self.adjust(*adjust, moment, knowledge),
            ResourceCommand::Sized { id, resize } => self.sized(id, resize, knowledge),
            ResourceCommand::SignalCarriedOut { signal, result } => {
                self.signal_carried_out(signal, result, knowledge)
            }
            ResourceCommand::ClearHook { hook, shown } => self.clear_hook(&hook, &shown)?,
            ResourceCommand::LeaveHook => self.leave_hook(),
            ResourceCommand::Cancel { reason } => self.cancel(reason, knowledge),
            ResourceCommand::TimeOut => self.time_out(knowledge),
            ResourceCommand::Answered(answered) => self.answered(*answered, moment, knowledge),
            ResourceCommand::Proceed => self.proceed(Attempt::First, moment, knowledge),
            ResourceCommand::Due { epoch } => self.due(epoch, moment, knowledge),
            ResourceCommand::FailedSeen { epoch, replace } => {
                self.failed_seen(epoch, replace, moment, knowledge)
            }
            ResourceCommand::RealitySeen { epoch, reality } => {
                self.reality_seen(epoch, reality, knowledge)
            }
            ResourceCommand::HaltChild => self.halt_child(None, knowledge),
            ResourceCommand::ChildSeen { epoch, differs } => {
                self.child_seen(epoch, differs, knowledge)
            }
            ResourceCommand::Observed { epoch, attributes, secrets } => {
                self.observed(epoch, attributes, &secrets, knowledge)
            }
        })
    }

    fn recover(&mut self, moment: &Moment<'_>, knowledge: &Knowledge) -> Decision<Self> {
        self.resume(moment, knowledge)
    }
}
