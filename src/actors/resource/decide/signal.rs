//! Take a signal: word from outside, as the type understands it. What it changes of the resource
//! itself is decided at once; calls that it asks for are made once it is on record.

use serde_json::Value;

use crate::actors::resource::command::{Due, Nesting, ResourceEffect, Signal};
use crate::actors::resource::phase::Call;
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{Definition, Remarked, ResizeTaken, SignalHandled, SignalTaken};
use crate::model::sizes::{SIGNALS, json_bytes};
use crate::model::taint::{plain, plain_map, taint};
use crate::model::{Action, CommandId, JsonMap, Refusal, TraversalId};
use crate::resource_types::{Attempt, Failure, Learned, Said, SignalOutcome, Signaled, python};

/// How many signals are remembered, so that none is taken twice.
const SIGNALS_KNOWN_MAX: usize = 64;

/// How many signals of a resource may ask for calls that are not made yet.
const SIGNALS_DUE_MAX: usize = 64;

impl Decider<'_> {
    pub(in crate::actors::resource) fn signal(
        &mut self,
        signal: Signal,
    ) -> Result<Decision<Resource>, Refusal> {
        if self.knows_signal(signal.id) {
            return Ok(Decision::nothing());
        }
        if let Some(refused) = self.no_signal() {
            return Ok(refused);
        }
        let Some(definition) = self.signaled_definition() else {
            return Err(Refusal::new(
                "ResourceNotAvailable",
                format!("The Resource ({}) is not available.", self.name),
            ));
        };
        let Some(driver) = self.knowledge.registry.driver(&definition.driver_type) else {
            return Err(unsupported());
        };
        let subject = self.state.subject_beside_signals(&definition, self.knowledge);
        match driver.program().signal(&subject, &signal.details) {
            Signaled::Unsupported => Err(unsupported()),
            Signaled::Unread { why, .. } if signal.is_checked => {
                let text = format!("The signal to the Resource ({}) is none: {why}", self.name);
                Err(Refusal::new("Invalid", text))
            }
            Signaled::Handled(outcome) | Signaled::Unread { outcome, .. } => {
                self.refuse_too_much(&outcome.metadata)?;
                Ok(self.signal_handled(signal.id, outcome, &signal.details))
            }
            Signaled::Work => {
                if self.signals_due.len() >= SIGNALS_DUE_MAX {
                    return Err(limit_exceeded(format!(
                        "The Resource ({}) has {SIGNALS_DUE_MAX} signals to work on.",
                        self.name
                    )));
                }
                // Whatever a signal brings may be a secret.
                let taken = SignalTaken { signal: signal.id, details: taint(signal.details) };
                let carry_out =
                    self.carry_out(Due::Sent(taken.clone()), Attempt::First, definition);
                Ok(Decision::record(taken).and_do(carry_out).and_do(ResourceEffect::Report))
            }
        }
    }

    /// What signals leave is kept as long as the resource: it is bounded.
    fn refuse_too_much(&self, added: &JsonMap) -> Result<(), Refusal> {
        let replaced = added.keys().filter_map(|id| Some((id, self.signals.get(id)?)));
        let replaced: usize = replaced.map(entry_bytes).sum();
        let bytes = added.iter().map(entry_bytes).sum::<usize>() + self.signals_bytes - replaced;
        if added.is_empty() || bytes <= SIGNALS.max {
            return Ok(());
        }
        Err(limit_exceeded(format!(
            "Signals to the Resource ({}) ({bytes} bytes) exceed maximum allowed size \
             ({} bytes).",
            self.name, SIGNALS.max
        )))
    }

    /// A resource that is suspended or on its way out takes none, and says so in its event list.
    fn no_signal(&self) -> Option<Decision<Resource>> {
        let action = Some(self.action)
            .filter(|action| matches!(action, Action::Suspend | Action::Delete))?;
        let remark = Remarked { reason: format!("Cannot signal resource during {action}") };
        let text = format!("Signal resource during {action} is not supported.");
        Some(Decision::record(remark).and_refuse(Refusal::new("NotSupported", text)))
    }

    pub(in crate::actors::resource) fn signal_carried_out(
        &mut self,
        signal: CommandId,
        result: Result<SignalOutcome, Failure>,
    ) -> Decision<Resource> {
        let Some(due) = self.signals_due.iter().find(|due| due.id() == signal) else {
            return Decision::nothing();
        };
        match result {
            Ok(outcome) => {
                let details = match due {
                    Due::Sent(taken) => plain(taken.details.clone()),
                    Due::Resize(_) => Value::Null,
                };
                self.signal_handled(signal, outcome, &details)
            }
            Err(error) => {
                let is_going = self.action == Action::Delete;
                let again = error.is_transient() && !is_going;
                if let Some(definition) = self.signaled_definition().filter(|_| again) {
                    let carry_out = self.carry_out(due.clone(), Attempt::Unanswered, definition);
                    return Decision::nothing().and_do(carry_out);
                }
                let error = self.without_secrets(&error.told());
                let driver = self.signaled_definition().map(|it| self.driver(&it));
                let nests = driver.is_some_and(|it| it.is_ok_and(|it| it.nests().is_some()));
                Decision::record(SignalHandled {
                    signal,
                    // A group that cannot have its new size says why; Heat's log alone does.
                    reason: nests.then(|| error.clone()),
                    error: Some(error),
                    metadata: JsonMap::new(),
                    data: Default::default(),
                    attributes: JsonMap::new(),
                })
                .and_do(ResourceEffect::Report)
            }
        }
    }

    fn signal_handled(
        &self,
        signal: CommandId,
        outcome: SignalOutcome,
        details: &Value,
    ) -> Decision<Resource> {
        let reason = match outcome.said {
            Said::Nothing => None,
            Said::Details => Some(sentence(details)),
            Said::Result(result) => Some(format!("Signal: {result}")),
        };
        let learned = Learned { data: outcome.data, ..Learned::default() };
        let in_child = outcome.in_child.map(|it| *it).unwrap_or_default();
        let reason = in_child.error.clone().or(reason);
        let decision = Decision::record(SignalHandled {
            signal,
            reason: reason.map(|reason| self.without_own_secrets(&reason)),
            error: in_child.error.map(|error| self.without_secrets(&error)),
            metadata: outcome.metadata.into_iter().map(|(id, it)| (id, kept(it))).collect(),
            data: self.taint_learned(learned).data,
            attributes: self.taint_attributes(in_child.attributes),
        })
        .and_do(ResourceEffect::Report);
        // What is awaited may be this signal.
        let waits = matches!(self.call(), Some(Call::Due(step)) if !step.mutates);
        if waits && self.in_progress() { Self::and_proceed(decision) } else { decision }
    }

    /// What is due of signals that a former process took and did not see through.
    pub(in crate::actors::resource) fn signals_owed(&self) -> Decision<Resource> {
        let mut decision = Decision::nothing();
        let Some(definition) = self.signaled_definition() else { return decision };
        for due in &self.signals_due {
            let definition = definition.clone();
            let effect = self.carry_out(due.clone(), Attempt::Unanswered, definition);
            decision.effects.push(effect);
        }
        decision
    }

    pub(super) fn carry_out(
        &self,
        due: Due,
        attempt: Attempt,
        definition: Definition,
    ) -> ResourceEffect {
        let nesting = Nesting {
            trustor: self.signals_for.clone(),
            ..self.nesting(&definition, TraversalId(due.id().0))
        };
        let former = match &due {
            Due::Sent(taken) if self.scales(&definition) => ResizeTaken::formerly(taken),
            Due::Sent(_) | Due::Resize(_) => None,
        };
        ResourceEffect::CarryOutSignal {
            due: former.map_or(due, Due::Resize),
            nesting: Box::new(nesting),
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            attempt,
            trustor: self.signals_for.clone(),
        }
    }
}

impl Resource {
    /// What the resource is now, or is becoming.
    fn signaled_definition(&self) -> Option<Definition> {
        self.working_definition().or_else(|| self.definition.clone())
    }

    /// Whether a signal was taken before.
    pub(super) fn knows_signal(&self, signal: CommandId) -> bool {
        self.signals_known.contains(&signal)
    }

    /// The signal whose calls are being made.
    pub(super) fn signal_under_way(&self) -> Option<CommandId> {
        self.signals_due.first().map(Due::id)
    }

    /// Remembers a signal, and forgets the oldest.
    pub(in crate::actors::resource) fn know_signal(&mut self, signal: CommandId) {
        if self.knows_signal(signal) {
            return;
        }
        if self.signals_known.len() == SIGNALS_KNOWN_MAX {
            self.signals_known.pop_front();
        }
        self.signals_known.push_back(signal);
    }

    /// Takes what a signal or an action adds to the metadata.
    pub(in crate::actors::resource) fn keep_signals(&mut self, added: &JsonMap) {
        for (id, entry) in added {
            self.signals_bytes += entry_bytes((id, entry));
            if let Some(former) = self.signals.insert(id.clone(), entry.clone()) {
                self.signals_bytes -= entry_bytes((id, &former));
            }
        }
    }

    /// The metadata as it is now: the definition's, and what signals have added.
    pub fn metadata(&self) -> JsonMap {
        let of_definition = self.definition.as_ref().or(self.target.as_deref());
        let metadata = of_definition.map(|it| it.metadata.clone()).unwrap_or_default();
        self.metadata_upon(plain_map(metadata))
    }

    /// What signals have added, upon what the template makes of the metadata.
    pub fn metadata_upon(&self, mut metadata: JsonMap) -> JsonMap {
        metadata.extend(self.signals.plain());
        metadata
    }
}

fn entry_bytes((id, entry): (&String, &Value)) -> usize {
    id.len() + json_bytes(entry)
}

/// What stays of a signal. How it went and why is told in the event list, as in Heat; whatever else
/// it brings may be a secret.
fn kept(signal: Value) -> Value {
    let Value::Object(entries) = signal else { return taint(signal) };
    let is_told =
        |key: &str| ["status", "reason"].iter().any(|told| key.eq_ignore_ascii_case(told));
    let kept = |(key, value): (String, Value)| {
        if is_told(&key) { (key, value) } else { (key, taint(value)) }
    };
    Value::Object(entries.into_iter().map(kept).collect())
}

fn limit_exceeded(text: String) -> Refusal {
    Refusal::new("RequestLimitExceeded", format!("Request limit exceeded: {text}"))
}

fn unsupported() -> Refusal {
    Refusal::new("ResourceActionNotSupported", "signal is not supported for resource.")
}

/// The details of a signal in Heat's words: those of an alarm are told, of others nothing is known.
fn sentence(details: &Value) -> String {
    if details.is_null() {
        return "No signal details provided".to_owned();
    }
    match (details.get("previous"), details.get("current"), details.get("reason")) {
        (Some(previous), Some(current), Some(reason)) => format!(
            "alarm state changed from {} to {} ({})",
            python::text(previous),
            python::text(current),
            python::text(reason)
        ),
        _ => "Unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::ResourceCommand;
    use crate::actors::resource::story::{converge, given_nothing};

    #[test]
    fn signals_that_ask_for_calls_do_not_heap_up() {
        let mut story =
            given_nothing().when(converge(1, "OS::Heat::SoftwareDeployment", json!({})));
        let signal = |number: usize| {
            let id = CommandId(uuid::Uuid::from_u128(number as u128));
            ResourceCommand::Signal(Signal { id, details: Value::Null, is_checked: false })
        };
        for number in 0..SIGNALS_DUE_MAX {
            story = story.when(signal(number));
            assert_eq!(story.told(), ["SignalTaken"]);
        }
        let refusal = story.refuses(signal(SIGNALS_DUE_MAX));
        assert_eq!(
            (refusal.class.as_ref(), refusal.message.as_str()),
            (
                "RequestLimitExceeded",
                "Request limit exceeded: The Resource (a) has 64 signals to work on."
            )
        );
        assert!(story.when(signal(0)).told().is_empty(), "one that is known is answered again");
    }

    #[test]
    fn a_signal_that_is_not_answered_now_is_carried_out_again_and_one_that_fails_is_handled() {
        let deployment = converge(1, "OS::Heat::SoftwareDeployment", json!({}));
        let id = CommandId(uuid::Uuid::from_u128(1));
        let signal = Signal { id, details: Value::Null, is_checked: false };
        let carried_out = |failure| {
            let result = Err(failure);
            ResourceCommand::SignalCarriedOut { signal: id, result }
        };
        let story = given_nothing().when(deployment).when(ResourceCommand::Signal(signal));
        let story = story.when(carried_out(Failure::Silent("silence".to_owned())));
        assert!(story.told().is_empty(), "{:?}", story.told());
        let [ResourceEffect::CarryOutSignal { due, attempt, .. }] = &story.effects[..] else {
            panic!("{:?}", story.effects)
        };
        assert_eq!((due.id(), *attempt), (id, Attempt::Unanswered));
        let story = story.when(carried_out(Failure::Failed("no".to_owned())));
        assert_eq!(story.told(), ["SignalHandled"]);
    }

    #[test]
    fn an_alarm_is_told_and_other_details_are_not() {
        let alarm = json!({ "previous": "ok", "current": "alarm", "reason": "cpu > 80" });
        assert_eq!(sentence(&alarm), "alarm state changed from ok to alarm (cpu > 80)");
        assert_eq!(sentence(&json!({ "current": "alarm" })), "Unknown");
        assert_eq!(sentence(&Value::Null), "No signal details provided");
    }
}
