//! Where a resource is in its life, and which events may follow there.

// Unbegun   ─ActionStarted▶ AtWork ─ActionSettled, ReplacementRequired▶ Settled ─ActionStarted▶ …
// AtWork    ─CallIntended, CallAnswered, CallRetried▶ AtWork
// Settled   ─HealthMarked▶ Settled;  CREATE FAILED ─CreateRepeated▶ Repeating
// Repeating ─ActionStarted DELETE▶ AtWork ─ActionSettled COMPLETE▶ Pausing ─ActionStarted CREATE▶ …

use crate::events::ResourceEvent;
use crate::events::resource::Step;
use crate::model::{Action, Status};

/// Where the action's calls stand.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// The action began; its first step is the driver's to say.
    First,
    /// The step is next.
    Due(Step),
    /// The step's call left or is about to; its answer is not known.
    Intended(Step),
}

/// The action under way.
#[derive(Clone, Debug, PartialEq)]
pub struct AtWork {
    pub action: Action,
    pub call: Call,
    /// How often the present call has failed transiently.
    pub failures: u32,
    /// Whether the action has changed the cloud, or may have.
    pub touched: bool,
    /// What a failed create made is being deleted, and the create comes again.
    pub repeats: bool,
}

/// Where a resource is in its life.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Phase {
    /// INIT: no action has begun.
    #[default]
    Unbegun,
    /// ACTION IN_PROGRESS.
    AtWork(AtWork),
    /// ACTION COMPLETE or ACTION FAILED.
    Settled(Action, Status),
    /// CREATE FAILED, and what was made is about to be deleted.
    Repeating,
    /// DELETE COMPLETE, and the create comes again.
    Pausing,
}

impl Phase {
    /// Whether an event may follow here.
    pub fn allows(&self, event: &ResourceEvent) -> bool {
        match event {
            ResourceEvent::ActionStarted(started) => self.may_start(started.action),
            ResourceEvent::CallIntended(_)
            | ResourceEvent::CallAnswered(_)
            | ResourceEvent::CallRetried(_) => matches!(self, Phase::AtWork(_)),
            ResourceEvent::ReplacementRequired(_) => {
                matches!(self, Phase::AtWork(at_work) if at_work.action == Action::Update)
            }
            ResourceEvent::ActionSettled(settled) => {
                let fits = match self {
                    Phase::AtWork(at_work) => at_work.action == settled.action,
                    // A check of a type that has none is one event, and so is the end of a failure
                    // that no update touches.
                    Phase::Unbegun => settled.action == Action::Check,
                    Phase::Settled(action, status) => {
                        settled.action == Action::Check
                            || (*action, *status) == (settled.action, Status::Failed)
                    }
                    Phase::Repeating | Phase::Pausing => false,
                };
                fits && settled.status != Status::InProgress
            }
            ResourceEvent::CreateRepeated(_) => {
                *self == Phase::Settled(Action::Create, Status::Failed)
            }
            ResourceEvent::HealthMarked(_) => match self {
                Phase::Unbegun => true,
                Phase::Settled(action, _) => *action != Action::Delete,
                Phase::AtWork(_) | Phase::Repeating | Phase::Pausing => false,
            },
            ResourceEvent::AttributesObserved(_) | ResourceEvent::RealityObserved(_) => {
                !matches!(self, Phase::AtWork(_))
            }
            ResourceEvent::AnswersKept(_)
            | ResourceEvent::HookReached(_)
            | ResourceEvent::HookCleared(_)
            | ResourceEvent::HookLeft(_)
            | ResourceEvent::UpdateRefused(_)
            | ResourceEvent::SignalTaken(_)
            | ResourceEvent::ResizeTaken(_)
            | ResourceEvent::SignalHandled(_)
            | ResourceEvent::Remarked(_) => true,
        }
    }

    fn may_start(&self, action: Action) -> bool {
        let is_deleted = *self == Phase::Settled(Action::Delete, Status::Complete);
        match action {
            Action::Create => matches!(self, Phase::Unbegun | Phase::Pausing),
            Action::Adopt => *self == Phase::Unbegun,
            Action::Delete => !matches!(self, Phase::AtWork(_)) && !is_deleted,
            Action::Update | Action::Resume | Action::Check => {
                matches!(self, Phase::Settled(..)) && !is_deleted
            }
            // What was never begun as well, as in Heat.
            Action::Suspend | Action::Snapshot => {
                matches!(self, Phase::Unbegun | Phase::Settled(..)) && !is_deleted
            }
            Action::Init | Action::Rollback | Action::Restore => false,
        }
    }

    /// The phase after an event. Total: what is on record happened.
    pub fn take(&mut self, event: &ResourceEvent) {
        match (event, &mut *self) {
            (ResourceEvent::ActionStarted(started), _) => {
                *self = Phase::AtWork(AtWork {
                    action: started.action,
                    call: Call::First,
                    failures: 0,
                    touched: false,
                    repeats: *self == Phase::Repeating && started.action == Action::Delete,
                });
            }
            (ResourceEvent::CallIntended(intended), Phase::AtWork(at_work)) => {
                at_work.call = Call::Intended(intended.step.clone());
            }
            (ResourceEvent::CallAnswered(answered), Phase::AtWork(at_work)) => {
                at_work.touched |= matches!(at_work.call, Call::Intended(_));
                at_work.call = Call::Due(answered.next.clone());
                at_work.failures = 0;
            }
            (ResourceEvent::CallRetried(retried), Phase::AtWork(at_work)) => {
                at_work.touched |= matches!(at_work.call, Call::Intended(_));
                at_work.failures = retried.attempt;
            }
            (ResourceEvent::ActionSettled(settled), _) => {
                let deleted =
                    (settled.action, settled.status) == (Action::Delete, Status::Complete);
                let pauses = deleted && self.at_work().is_some_and(|at_work| at_work.repeats);
                *self = match pauses {
                    true => Phase::Pausing,
                    false => Phase::Settled(settled.action, settled.status),
                };
            }
            (ResourceEvent::ReplacementRequired(_), _) => {
                *self = Phase::Settled(Action::Update, Status::Complete);
            }
            (ResourceEvent::CreateRepeated(_), _) => *self = Phase::Repeating,
            (ResourceEvent::HealthMarked(marked), _) => {
                let status = if marked.healthy { Status::Complete } else { Status::Failed };
                *self = Phase::Settled(Action::Check, status);
            }
            _ => {}
        }
    }

    /// The action under way.
    pub fn at_work(&self) -> Option<&AtWork> {
        match self {
            Phase::AtWork(at_work) => Some(at_work),
            Phase::Unbegun | Phase::Settled(..) | Phase::Repeating | Phase::Pausing => None,
        }
    }
}
