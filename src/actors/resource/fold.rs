//! What each event makes of a resource, and which decision each command is for.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::command::{Due, Outcome, ResourceCommand, ResourceEffect, StackIdentity};
use super::decide::act::told_reason;
use super::phase::Phase;
use super::state::{Decider, HookAt, Knowledge, Resource, Working};
use crate::actors::shell::{Aggregate, Decision};
use crate::clock::Moment;
use crate::events::ResourceEvent;
use crate::events::resource::HookReached;
use crate::model::{Action, Refusal, Status};
use crate::resource_types::Attempt;

impl Aggregate for Resource {
    type Command = ResourceCommand;
    type Event = ResourceEvent;
    type Effect = ResourceEffect;
    type Knowledge = Knowledge;
    type Working = Working;

    fn apply(&mut self, event: &ResourceEvent, at: DateTime<Utc>) {
        self.phase.take(event);
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
                self.trustor = started.trustor();
                if started.action.changes() {
                    self.signals_for = self.trustor.clone();
                }
                if self.status == Status::Failed && started.action != Action::Delete {
                    self.attempted = self.target.take().or(self.attempted.take());
                }
                let goes_on = self.traversal == Some(started.traversal);
                self.hook = self.hook.filter(|at| at.traversal == started.traversal && !at.is_open);
                self.hooks = started.hooks.clone();
                self.options = started.options();
                if !started.replaces.is_empty() {
                    self.replaces = started.replaces.clone();
                }
                self.repetitions *= u32::from(goes_on);
                self.earlier = if goes_on { self.earlier.saturating_add(1) } else { 0 };
                if started.action == Action::Delete && self.action != Action::Delete {
                    self.deleted_from = (self.action, self.status);
                }
                self.rests |= started.action == Action::Update && self.is_suspended();
                self.action = started.action;
                self.marked = false;
                self.status = Status::InProgress;
                self.reason = "state changed".to_owned();
                self.traversal = Some(started.traversal);
                if started.definition.is_some() {
                    self.target = started.definition.clone().map(Box::new);
                }
                self.changed_at = at;
            }
            ResourceEvent::CallIntended(_) | ResourceEvent::CallRetried(_) => self.called_at = at,
            ResourceEvent::CallAnswered(answered) => {
                self.take_physical_id(answered.physical_id.as_ref());
                self.take_data(&answered.data);
            }
            ResourceEvent::CreateRepeated(repeated) => {
                self.repetitions = repeated.attempt;
                self.outcome = None;
            }
            ResourceEvent::ReplacementRequired(required) => {
                self.status = Status::Complete;
                self.reason = required.reason.clone();
                self.target = None;
                self.outcome = Some((required.traversal, Outcome::Replace));
                self.changed_at = at;
            }
            ResourceEvent::AttributesObserved(observed) => {
                Arc::make_mut(&mut self.attributes).extend(observed.attributes.clone());
            }
            ResourceEvent::RealityObserved(observed) => {
                self.reality = Some(Box::new(observed.clone()));
            }
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
                self.signals_due.push(Due::Sent(taken.clone()));
            }
            ResourceEvent::ResizeTaken(taken) => {
                self.know_signal(taken.signal);
                self.signals_due.push(Due::Resize(taken.clone()));
            }
            ResourceEvent::SignalHandled(handled) => {
                self.know_signal(handled.signal);
                self.signals_due.retain(|due| due.id() != handled.signal);
                self.keep_signals(&handled.metadata);
                self.take_data(&handled.data);
                Arc::make_mut(&mut self.attributes).extend(handled.attributes.clone());
                self.handled = Some((handled.signal, handled.error.clone()));
            }
            ResourceEvent::AnswersKept(_) | ResourceEvent::Remarked(_) => {}
            ResourceEvent::ActionSettled(settled) => {
                self.action = settled.action;
                self.status = settled.status;
                self.reason = settled.reason.clone();
                self.physical_id = settled.physical_id.clone();
                self.take_data(&settled.data);
                self.keep_signals(&settled.metadata);
                self.changed_at = at;
                self.reality = None;
                if self.phase == Phase::Pausing {
                    self.physical_id = None;
                    self.data.clear();
                }
                let complete = settled.status == Status::Complete;
                self.rests &=
                    !(complete && matches!(settled.action, Action::Suspend | Action::Resume));
                self.is_made |= complete
                    && matches!(settled.action, Action::Create | Action::Update | Action::Adopt);
                if settled.untouched {
                    self.target = None;
                }
                if complete && settled.action != Action::Delete {
                    self.attributes = Arc::new(settled.attributes.clone());
                    if let Some(reached) = self.target.take() {
                        self.definition = Some(*reached);
                        self.attempted = None;
                    }
                } else if self.definition.is_none() {
                    // What a failed create left behind is deleted by the definition it had.
                    self.definition = self.target.as_deref().cloned();
                }
                let outcome = match (complete, settled.action) {
                    (true, Action::Delete) => Outcome::CleanedUp,
                    (true, _) => Outcome::Converged,
                    (false, action) => {
                        Outcome::Failed { action, reason: told_reason(&self.name, &settled.reason) }
                    }
                };
                self.outcome = (!settled.again).then_some((settled.traversal, outcome));
                if matches!(settled.action, Action::Create | Action::Delete) {
                    self.unanswered = settled.unanswered;
                }
            }
        }
    }

    fn decide(
        &self,
        working: &mut Working,
        command: ResourceCommand,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Result<Decision<Self>, Refusal> {
        let mut decider = Decider { state: self, working, moment, knowledge };
        let decision = decider.decide(command)?;
        if decision.events.iter().any(tells_outcome) {
            working.concluded = None;
        }
        Ok(decision)
    }

    fn recover(
        &self,
        working: &mut Working,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        Decider { state: self, working, moment, knowledge }.resume()
    }
}

/// Whether an event says what came of a task.
fn tells_outcome(event: &ResourceEvent) -> bool {
    matches!(
        event,
        ResourceEvent::ActionSettled(_)
            | ResourceEvent::CreateRepeated(_)
            | ResourceEvent::ReplacementRequired(_)
            | ResourceEvent::UpdateRefused(_)
    )
}

impl Decider<'_> {
    fn decide(&mut self, command: ResourceCommand) -> Result<Decision<Resource>, Refusal> {
        if command.traversal().is_some_and(|newest| self.held_for() != Some(newest)) {
            self.working.held = None;
        }
        Ok(match command {
            ResourceCommand::Converge(converge) => self.converge(converge),
            ResourceCommand::CleanUp(clean_up) => self.clean_up(clean_up),
            ResourceCommand::Act(act) => self.act(act),
            ResourceCommand::Mark { healthy, reason } => self.mark(healthy, reason)?,
            ResourceCommand::Signal(signal) => return self.signal(signal),
            ResourceCommand::ObserveSignals(observed_signals) => {
                self.observe_signals(observed_signals)
            }
            ResourceCommand::Adjust(adjust) => return self.adjust(*adjust),
            ResourceCommand::Sized { id, resize } => self.sized(id, resize),
            ResourceCommand::SignalCarriedOut { signal, result } => {
                self.signal_carried_out(signal, result)
            }
            ResourceCommand::ClearHook { hook, shown } => self.clear_hook(&hook, &shown)?,
            ResourceCommand::LeaveHook => self.leave_hook(true),
            ResourceCommand::Cancel { reason } => self.cancel(reason),
            ResourceCommand::TimeOut => self.time_out(),
            ResourceCommand::Answered(answered) => self.answered(*answered),
            ResourceCommand::Proceed => self.proceed(Attempt::First),
            ResourceCommand::Due { epoch } => self.due(epoch),
            ResourceCommand::FailedSeen { epoch, replace } => self.failed_seen(epoch, replace),
            ResourceCommand::RealitySeen { epoch, reality } => self.reality_seen(epoch, reality),
            ResourceCommand::BeginNothing => self.begin_nothing(),
            ResourceCommand::ChildSeen { epoch, differs } => self.child_seen(epoch, differs),
            ResourceCommand::Observed { epoch, attributes } => self.observed(epoch, attributes),
        })
    }
}

impl Resource {
    fn take_physical_id(&mut self, id: Option<&String>) {
        if let Some(id) = id {
            self.physical_id = Some(id.clone());
        }
    }

    fn take_data(&mut self, data: &BTreeMap<String, Value>) {
        for (key, value) in data {
            if value.is_null() {
                self.data.shift_remove(key);
            } else {
                self.data.insert(key.clone(), value.clone());
            }
        }
    }
}
