//! What waits for a word from outside, and the user who says it: hooks, and handles' signals.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use hearth::actors::resource::{BeatCall, ResourceCommand, Signal};
use hearth::clock::Clock;
use hearth::events::resource::Step;
use hearth::model::{Action, CommandId, ResourceId, ResourceName, StackId, Status};
use hearth::resource_types::{Beat, Failure, Learned, Waiter, Work};
use serde_json::{Value, json};

use super::declared::{CONDITION, HANDLE};
use super::policy::Policy;
use super::world::World;

/// How long a condition waits.
const WAIT_SECS: i64 = 60;

/// The beat of what is signaled: it has an address of its own.
pub(super) fn address(call: &BeatCall) -> Beat {
    if call.work != Work::Create {
        return Beat::Done { learned: Learned::default() };
    }
    let token = call.subject.physical_name.clone();
    let address = Value::from(format!("http://signals/{token}"));
    let data = BTreeMap::from([("ec2_signed_url".to_owned(), address)]);
    Beat::Done { learned: Learned { physical_id: Some(token), data, ..Learned::default() } }
}

/// A beat of a condition: its handle has a signal, or its time is over.
pub(super) fn wait(call: &BeatCall, now: DateTime<Utc>) -> Result<Beat, Failure> {
    let done = Ok(Beat::Done { learned: Learned::default() });
    if call.step.name == "done" {
        return done;
    }
    let handle = call.subject.properties.get("Handle");
    let observed_signals = call
        .subject
        .observed_signals
        .iter()
        .find(|observed_signals| Some(&observed_signals.reference) == handle);
    let signals = observed_signals.and_then(|observed_signals| observed_signals.signals.as_ref());
    if signals.is_some_and(|signals| !signals.entries.is_empty()) {
        return done;
    }
    let until: Option<DateTime<Utc>> = serde_json::from_value(call.step.state.clone()).ok();
    match until {
        None if observed_signals.is_none() => Err(Failure::Invalid("no handle".to_owned())),
        None => {
            let state = json!(now + TimeDelta::seconds(WAIT_SECS));
            let next = Step { state, ..call.step.clone() };
            Ok(Beat::Next { learned: Learned::default(), next })
        }
        Some(until) => match (until - now).to_std() {
            Ok(left) if !left.is_zero() => Ok(Beat::Wait { after: Some(left) }),
            _ => Err(Failure::TooFewSignals {
                to: Waiter::WaitCondition,
                received: "0 of 1 received".to_owned(),
            }),
        },
    }
}

impl World {
    /// Says the word that somebody waits for; `false` where nobody waits.
    pub(super) fn nudge(&mut self) -> bool {
        let open = |id: &ResourceId| {
            let resource = self.folds.resources.get(id)?;
            resource.hook.filter(|at| at.is_open).map(|at| at.hook)
        };
        let hooked = self.awake().find_map(|(stack, id, name)| Some((stack, id, name, open(&id)?)));
        if let Some((stack, id, name, hook)) = hooked {
            self.tell(|| format!("hook {hook} of {name} is cleared"));
            let hook = hook.to_string();
            self.say(stack, id, &name, ResourceCommand::ClearHook { hook, shown: "{}".into() });
            return true;
        }
        let waits = |id: &ResourceId| {
            let resource = self.folds.resources.get(id);
            resource.is_some_and(|it| it.type_name == CONDITION && it.in_progress())
        };
        let is_mute = |id: &ResourceId| {
            let resource = self.folds.resources.get(id);
            resource.is_some_and(|it| {
                let is_deaf = matches!(it.action, Action::Delete | Action::Suspend);
                let hears = it.status == Status::Complete && !is_deaf;
                it.type_name == HANDLE && hears && it.signals.is_empty()
            })
        };
        if !self.awake().any(|(_, id, _)| waits(&id)) {
            return false;
        }
        let handle = self.awake().find(|(_, id, _)| is_mute(id));
        if let Some((stack, id, name)) = &handle {
            self.signal(*stack, *id, name);
        }
        handle.is_some()
    }

    /// Signals a handle that all is well.
    pub(super) fn signal(&mut self, stack: StackId, id: ResourceId, name: &ResourceName) {
        self.tell(|| format!("{name} is signaled"));
        let details = json!({ "Status": "SUCCESS", "Reason": "well", "Data": "", "UniqueId": "1" });
        let signal = Signal { id: CommandId(self.clock.fresh_id()), details, is_checked: false };
        self.say(stack, id, name, ResourceCommand::Signal(signal));
    }

    /// Signals the policy of a group anywhere, if there is one.
    pub(super) fn signal_a_policy(&mut self) {
        self.forget_plan();
        let policies = self.living().flat_map(|stack| {
            let rows = stack.rows.values().filter(|row| Policy::of(&row.type_name).is_some());
            rows.map(|row| (stack.id, row.id, row.name.clone()))
        });
        let policies: Vec<_> = policies.collect();
        if let Some((stack, id, name)) = self.chance.one_of(&policies) {
            self.wake_stack(stack);
            self.signal(stack, id, &name);
        }
    }

    fn say(&mut self, stack: StackId, id: ResourceId, name: &ResourceName, word: ResourceCommand) {
        self.node.parents.insert(id, stack);
        self.wake_resource(id, name);
        self.ask_resource(id, word);
    }

    /// The resources that stacks name, where the stack is awake.
    fn awake(&self) -> impl Iterator<Item = (StackId, ResourceId, ResourceName)> {
        self.node
            .stacks
            .values()
            .flat_map(|stack| stack.rows.values().map(|row| (stack.id, row.id, row.name.clone())))
    }
}
