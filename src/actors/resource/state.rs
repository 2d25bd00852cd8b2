//! What a resource is: the fold of its events, and its working memory.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::command::{Act, Converge, Due, Outcome, ResourceCommand, StackIdentity};
use super::phase::{Call, Phase};
use crate::actors::shell::Deciding;
use crate::events::resource::{Definition, RealityObserved};
use crate::model::{
    Action, CommandId, Hook, JsonMap, ResourceId, ResourceName, Status, TraversalId,
    TraversalOptions, Trustor,
};
use crate::resource_types::{ObservedSignals, Registry, SignalEntries};

/// What a resource decides with.
#[derive(Clone)]
pub struct Knowledge {
    pub registry: Arc<Registry>,
    /// How often a create that meets a conflict or an object in error is made again.
    pub action_retry_limit: u32,
    /// How long a call whose answer was lost may still be carried out.
    pub lost_call_rest: Duration,
    /// Whether every update compares with what there is in the cloud.
    pub observe_on_update: bool,
}

impl Knowledge {
    /// Whether a traversal compares with what there is in the cloud.
    pub(super) fn observes(&self, options: TraversalOptions) -> bool {
        options.observes || self.observe_on_update
    }
}

/// A resource's state.
#[derive(Debug, Default)]
pub struct Resource {
    pub id: ResourceId,
    pub stack: Option<StackIdentity>,
    pub name: ResourceName,
    pub type_name: String,
    /// In whose name the action under way is done.
    pub trustor: Trustor,
    /// In whose name signals are carried out and attributes looked up: whoever last made or
    /// changed the resource. Who only checked or suspended it lends it nothing for later.
    pub signals_for: Trustor,
    pub phase: Phase,
    /// The newest action and how it stands, as users see it.
    pub action: Action,
    pub status: Status,
    pub reason: String,
    pub traversal: Option<TraversalId>,
    /// The definition that was reached last.
    pub definition: Option<Definition>,
    /// The definition that the action under way leads to, or that a failed one led to.
    pub target: Option<Box<Definition>>,
    /// How often the create was repeated in this traversal.
    pub repetitions: u32,
    /// How many actions it began in this traversal before the newest one.
    pub earlier: u32,
    /// The definition of a failed update before the one under way: some of it may be in place.
    pub attempted: Option<Box<Definition>>,
    pub physical_id: Option<String>,
    /// Few entries: a map that is a tree takes a kilobyte for the first.
    pub data: JsonMap,
    /// Shared with what its stack knows of it.
    pub attributes: Arc<JsonMap>,
    /// A create or a delete was given up without the answer to its call.
    pub unanswered: bool,
    /// When the unanswered call was last made.
    pub called_at: DateTime<Utc>,
    /// What came of the newest task that made an event.
    pub outcome: Option<(TraversalId, Outcome)>,
    /// It was updated while it was suspended, and has not been resumed since.
    pub rests: bool,
    /// Whether somebody said that it is not healthy, and nothing was done about it since.
    pub marked: bool,
    /// When its first action began.
    pub created_at: DateTime<Utc>,
    pub changed_at: DateTime<Utc>,
    /// It was created once, or updated since.
    pub is_made: bool,
    /// What signals have added to the metadata.
    pub signals: SignalEntries,
    /// How large that is.
    pub(super) signals_bytes: usize,
    /// The newest signals, so that none is taken twice.
    pub(super) signals_known: VecDeque<CommandId>,
    /// Signals of which something is not done yet.
    pub(super) signals_due: Vec<Due>,
    /// The signal whose calls were made last, and why they failed.
    pub(super) handled: Option<(CommandId, Option<String>)>,
    /// How it stood before its deletion began.
    pub deleted_from: (Action, Status),
    /// Of the traversal of its newest action.
    pub options: TraversalOptions,
    /// What there was in the cloud when somebody looked last.
    pub reality: Option<Box<RealityObserved>>,
    /// What the incarnations are in the cloud that this one replaces.
    pub replaces: Vec<String>,
    /// The hooks behind the action under way.
    pub hooks: Vec<Hook>,
    /// The hook that the resource came to last.
    pub hook: Option<HookAt>,
}

/// A hook that the resource has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HookAt {
    pub traversal: TraversalId,
    pub hook: Hook,
    /// Nobody has cleared it yet.
    pub is_open: bool,
}

/// What is not in the log, because `recover` finds it again.
#[derive(Debug, Default)]
pub struct Working {
    /// What came of a task that made no event, until an event says what came of a newer one.
    pub(super) concluded: Option<(TraversalId, Outcome)>,
    /// The number of the newest beat.
    pub(super) epoch: u64,
    /// Whether a call that changes the cloud is out.
    pub(super) changing: bool,
    /// How often the present step has been polled.
    pub(super) polls: u32,
    /// Why the action is to end as soon as the call that is out comes back.
    pub(super) cancel: Option<String>,
    /// What the stack wants next, once the action under way is over.
    pub(super) queued: Option<Box<ResourceCommand>>,
    /// Another definition of the same traversal, which starts over after a restart and comes to others
    /// than before it: what is begun ends first.
    pub(super) another: Option<Box<Converge>>,
    /// The traversal of what was queued and given up.
    pub(super) dropped: Option<TraversalId>,
    /// What waits at a hook.
    pub(super) held: Option<Box<ResourceCommand>>,
    /// The traversal in which the live object was seen, be it as it is on record.
    pub(super) observed: Option<TraversalId>,
    /// What waits for the driver's look at the live object.
    pub(super) looking: Option<Box<Converge>>,
    /// The check that waits for the same, of a type that has none of its own.
    pub(super) checking: Option<Box<Act>>,
    /// What others were signaled, as far as the type waits for it; still sealed.
    pub(super) observed_signals: Vec<ObservedSignals>,
    /// The number of the look that is taken of what others' signals come to, or whose pause runs.
    pub(super) observing: Option<u64>,
    /// Whether others were signaled since it began.
    pub(super) more_signaled: bool,
    /// The adjustment of a group whose new size is being looked up.
    pub(super) adjusting: Option<CommandId>,
    /// Whether the call may have been carried out before the beat that comes next.
    pub(super) unanswered: bool,
    /// Whether the beat that is out looks for what an earlier call may have done.
    pub(super) searching: bool,
}

impl Working {
    /// Hands over what others were signaled, before the resource goes on.
    pub fn observing(observed_signals: Vec<ObservedSignals>) -> Self {
        Self { observed_signals, ..Self::default() }
    }

    /// Whether nothing waits in it.
    fn is_empty(&self) -> bool {
        let waits = self.queued.is_some() || self.held.is_some() || self.checking.is_some();
        let looks = self.looking.is_some() || self.observing.is_some() || self.adjusting.is_some();
        !waits && !looks && !self.changing && self.cancel.is_none()
    }
}

/// A decision of a resource.
pub(super) type Decider<'a> = Deciding<'a, Resource>;

impl Decider<'_> {
    /// What came of the newest task that is over.
    pub(super) fn outcome(&self) -> Option<&(TraversalId, Outcome)> {
        self.state.outcome_beside(self.working)
    }
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

    /// Whether its actor has nothing to wait for: what comes next, its stack tells it.
    pub(in crate::actors) fn may_rest(&self, working: &Working) -> bool {
        !self.in_progress() && !self.waits() && self.signals_due.is_empty() && working.is_empty()
    }

    /// Whether an action is under way, or the pause before a create is repeated.
    pub fn in_progress(&self) -> bool {
        matches!(self.phase, Phase::AtWork(_) | Phase::Repeating | Phase::Pausing)
    }

    /// What came of the newest task that is over.
    pub(super) fn outcome_beside<'a>(
        &'a self,
        working: &'a Working,
    ) -> Option<&'a (TraversalId, Outcome)> {
        working.concluded.as_ref().or(self.outcome.as_ref())
    }

    /// Where the calls of the action under way stand.
    pub(super) fn call(&self) -> Option<&Call> {
        self.phase.at_work().map(|at_work| &at_work.call)
    }

    /// The step that is next, or whose call has left, and whether it has.
    pub fn step(&self) -> Option<(&str, bool)> {
        match self.call()? {
            Call::First => None,
            Call::Due(step) => Some((&step.name, false)),
            Call::Intended(step) => Some((&step.name, true)),
        }
    }

    /// Whether a call has left whose answer is not known.
    pub(super) fn awaits_answer(&self) -> bool {
        matches!(self.call(), Some(Call::Intended(_)))
    }

    /// Whether what is deleted was made by a failed create, which comes again.
    pub(super) fn repeats_create(&self) -> bool {
        self.phase.at_work().is_some_and(|at_work| at_work.repeats)
    }

    /// Whether what a failed create made is deleted, and the create is about to be repeated.
    pub(super) fn is_pausing(&self) -> bool {
        self.phase == Phase::Pausing
    }
}
