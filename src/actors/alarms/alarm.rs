//! An alarm: it is evaluated each time that a period is over, counted from when it began to watch.
//!
//! NODATA ─data within▶ NORMAL ◀─▶ ALARM; each ─none left▶ NODATA
//! any ─Suspend▶ SUSPENDED ─Resume▶ NODATA

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::actors::shell::{Aggregate, Decision};
use crate::clock::Moment;
use crate::events::AlarmEvent;
use crate::events::alarm::{
    AlarmActionsSwitched, AlarmActionsTold, AlarmDeleted, AlarmMade, AlarmResumed, AlarmRevised,
    AlarmRule, AlarmSignal, AlarmState, AlarmStateSet, AlarmSuspended, Sample, SignalTold,
};
use crate::model::{AlarmId, CommandId, Refusal};

/// A command to an alarm.
#[derive(Clone, Debug)]
pub(super) enum AlarmCommand {
    /// Make it, or bring it to the rule if it has another. A repeated command changes nothing.
    Make(Box<AlarmMade>),
    Suspend,
    Resume,
    Delete,
    /// By a client: until the next evaluation.
    SetState {
        state: AlarmState,
        reason: String,
    },
    Switch {
        tells: bool,
    },
    /// Its period was over at a moment; the data of the periods up to there.
    Evaluate {
        until: DateTime<Utc>,
        data: Vec<(DateTime<Utc>, Sample)>,
    },
    Told(Vec<SignalTold>),
}

/// An alarm's state.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    pub(super) id: AlarmId,
    /// With the rule that it has now.
    pub(super) made: Option<AlarmMade>,
    pub(super) made_at: DateTime<Utc>,
    pub(super) state: AlarmState,
    /// From when its periods are counted.
    watches_from: DateTime<Utc>,
    /// Who is still to be told of the state.
    pub(super) owed: Vec<AlarmSignal>,
    /// Who was to be told of the state, and is not there.
    missing: BTreeSet<String>,
    deleted: bool,
}

/// Up to when it was evaluated: a period that came to nothing new leaves nothing in the log, and one
/// that was over while no process looked is passed over.
#[derive(Debug, Default)]
pub(super) struct LastLook(pub(super) DateTime<Utc>);

/// Why a signal is not taken whose resource is not there, as the log says it.
pub(super) const MISSING: &str = "There is no such resource";

/// How many there are in a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// How late a period is still evaluated where a later one is over, too.
pub(super) const LATE_MAX: TimeDelta = TimeDelta::minutes(5);

impl Alarm {
    /// An alarm that nothing is known of but its id.
    pub(super) fn named(id: AlarmId) -> Self {
        Self { id, ..Self::default() }
    }

    /// What it watches, while it exists.
    pub(super) fn living(&self) -> Option<&AlarmMade> {
        self.made.as_ref().filter(|_| !self.deleted)
    }

    /// The refusal where there is none of a name, as Heat words it.
    pub(super) fn missing(name: &str) -> Refusal {
        Refusal::new("WatchRuleNotFound", format!("The Watch Rule ({name}) could not be found."))
    }

    /// When the period is over that is evaluated next; `None` while it does not watch.
    pub(super) fn due(&self, last: &LastLook, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let made = self.living().filter(|_| self.state != AlarmState::Suspended)?;
        let period = i64::from(made.rule.period.max(1));
        let over = |at: DateTime<Utc>| {
            (at.max(self.watches_from) - self.watches_from).num_seconds() / period
        };
        // The newest is, however late that is.
        let late = (over(now - LATE_MAX) + 1).min(over(now));
        let next = (over(last.0) + 1).max(late);
        let next = TimeDelta::try_seconds(next.saturating_mul(period))?;
        self.watches_from.checked_add_signed(next)
    }

    /// The state that a look comes to, with who is told of it: at each evaluation anew, as in Heat,
    /// unless those of the last one still are. Who is not there is told of a state once.
    fn set(&self, rule: &AlarmRule, set: AlarmStateSet, moment: &Moment<'_>) -> Decision<Self> {
        let actions = rule.actions.get(&set.state).filter(|_| rule.tells && self.owed.is_empty());
        let signal = |to: &String| AlarmSignal { id: CommandId(moment.fresh_id()), to: to.clone() };
        let is_repeated = set.state == self.state && !set.by_hand;
        let is_told = |to: &&String| !(is_repeated && self.missing.contains(*to));
        let tells: Vec<_> = actions.into_iter().flatten().filter(is_told).map(signal).collect();
        if tells.is_empty() && is_repeated {
            return Decision::nothing();
        }
        Decision::record(AlarmStateSet { tells, ..set })
    }
}

/// What the data of the periods up to a moment come to: the state, and the newest period's value.
/// What is of the moment itself is of the next period.
fn judged(
    rule: &AlarmRule,
    data: &[(DateTime<Utc>, Sample)],
    until: DateTime<Utc>,
) -> (AlarmState, Option<f64>) {
    // Each datum is looked at once: there may be many of both.
    let period = i64::from(rule.period.max(1)) * NANOSECONDS;
    let mut periods = vec![Vec::new(); usize::try_from(rule.periods).unwrap_or_default()];
    for (at, sample) in data {
        let ago = (until - *at).num_nanoseconds().filter(|ago| *ago > 0);
        let back = ago.and_then(|ago| usize::try_from((ago - 1) / period).ok());
        if let Some(within) = back.and_then(|back| periods.get_mut(back)) {
            within.push(*sample);
        }
    }
    let values: Vec<Option<f64>> =
        periods.into_iter().map(|within| rule.statistic.of(within)).collect();
    let is_beyond = |value: &Option<f64>| {
        value.is_some_and(|value| rule.comparison.holds(value, rule.threshold))
    };
    let newest = values.first().copied().flatten();
    let state = match newest {
        None => AlarmState::NoData,
        Some(_) if values.iter().all(is_beyond) => AlarmState::Alarm,
        Some(_) => AlarmState::Normal,
    };
    (state, newest)
}

/// Why the state is what it is.
fn reason(rule: &AlarmRule, value: Option<f64>) -> String {
    let AlarmRule { metric, period, threshold, .. } = rule;
    let statistic = rule.statistic.name();
    match value {
        None => format!("No data of {metric} came in the last {period} seconds"),
        Some(value) => format!(
            "{statistic} of {metric} in the last {period} seconds is {value}; the threshold is \
             {threshold} ({})",
            rule.comparison.name()
        ),
    }
}

impl Aggregate for Alarm {
    type Command = AlarmCommand;
    type Event = AlarmEvent;
    type Effect = ();
    type Knowledge = ();
    type Working = LastLook;

    fn apply(&mut self, event: &AlarmEvent, at: DateTime<Utc>) {
        match event {
            AlarmEvent::AlarmMade(made) => {
                self.made = Some(made.clone());
                self.made_at = at;
                self.watches_from = at;
            }
            AlarmEvent::AlarmRevised(revised) => {
                if let Some(made) = &mut self.made {
                    made.rule = revised.rule.clone();
                }
                self.watches_from = at;
                self.missing.clear();
            }
            AlarmEvent::AlarmSuspended(_) => {
                self.state = AlarmState::Suspended;
                self.owed.clear();
            }
            AlarmEvent::AlarmResumed(_) => {
                self.state = AlarmState::NoData;
                self.watches_from = at;
            }
            AlarmEvent::AlarmStateSet(set) => {
                if set.state != self.state {
                    self.missing.clear();
                }
                self.state = set.state;
                self.owed.extend(set.tells.iter().cloned());
            }
            AlarmEvent::AlarmActionsTold(told) => {
                for SignalTold { id, refused } in &told.signals {
                    let owed = self.owed.iter().position(|owed| owed.id == *id);
                    let told = owed.map(|at| self.owed.remove(at));
                    if refused.as_deref() == Some(MISSING) {
                        self.missing.extend(told.map(|signal| signal.to));
                    }
                }
            }
            AlarmEvent::AlarmActionsSwitched(switched) => {
                if let Some(made) = &mut self.made {
                    made.rule.tells = switched.tells;
                }
            }
            AlarmEvent::AlarmDeleted(_) => {
                self.deleted = true;
                self.owed.clear();
            }
        }
    }

    fn decide(
        &self,
        last: &mut LastLook,
        command: AlarmCommand,
        moment: &Moment<'_>,
        (): &(),
    ) -> Result<Decision<Self>, Refusal> {
        let living = self.living().map(|made| &made.rule);
        let (command, rule) = match (command, living) {
            (AlarmCommand::Make(made), None) => {
                made.rule.check()?;
                return Ok(Decision::record(*made));
            }
            (AlarmCommand::Make(made), Some(rule)) if made.rule == *rule => {
                return Ok(Decision::nothing());
            }
            (AlarmCommand::Make(made), Some(_)) => {
                made.rule.check()?;
                return Ok(Decision::record(AlarmRevised { rule: made.rule }));
            }
            // What is gone rests, and is gone.
            (AlarmCommand::Suspend | AlarmCommand::Delete | AlarmCommand::Told(_), None)
            | (AlarmCommand::Evaluate { .. }, None) => return Ok(Decision::nothing()),
            (_, None) => return Err(Self::missing(&self.id.to_string())),
            (command, Some(rule)) => (command, rule),
        };
        let is_suspended = self.state == AlarmState::Suspended;
        Ok(match command {
            AlarmCommand::Make(_) => Decision::nothing(),
            AlarmCommand::Suspend if is_suspended => Decision::nothing(),
            AlarmCommand::Suspend => Decision::record(AlarmSuspended {}),
            AlarmCommand::Resume if is_suspended => Decision::record(AlarmResumed {}),
            AlarmCommand::Resume => Decision::nothing(),
            AlarmCommand::Delete => Decision::record(AlarmDeleted { alarm_id: self.id }),
            AlarmCommand::SetState { .. } if is_suspended => {
                let text = "The alarm is suspended";
                return Err(Refusal::new("Invalid", text));
            }
            // As in Heat.
            AlarmCommand::SetState { state, .. } if state == self.state => Decision::nothing(),
            AlarmCommand::SetState { state, reason } => {
                let set =
                    AlarmStateSet { state, reason, value: None, by_hand: true, tells: Vec::new() };
                self.set(rule, set, moment)
            }
            AlarmCommand::Switch { tells } if tells == rule.tells => Decision::nothing(),
            AlarmCommand::Switch { tells } => Decision::record(AlarmActionsSwitched { tells }),
            AlarmCommand::Evaluate { .. } if is_suspended => Decision::nothing(),
            AlarmCommand::Evaluate { until, data } => {
                last.0 = until;
                let (state, value) = judged(rule, &data, until);
                let reason = reason(rule, value);
                let set = AlarmStateSet { state, reason, value, by_hand: false, tells: Vec::new() };
                self.set(rule, set, moment)
            }
            AlarmCommand::Told(signals) => {
                let is_owed = |it: &SignalTold| self.owed.iter().any(|owed| owed.id == it.id);
                let signals: Vec<_> = signals.into_iter().filter(is_owed).collect();
                match signals.is_empty() {
                    true => Decision::nothing(),
                    false => Decision::record(AlarmActionsTold { signals }),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
