//! A wait that outlives the process: its end is kept in the step.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::resource::Step;
use crate::resource_types::stage::{Stages, stages};

/// How soon a wait without end is looked at again.
const ENDLESS_LOOK: Duration = Duration::from_secs(3600);

/// When a wait is over; never, without a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::resource_types) struct Wait {
    until: Option<DateTime<Utc>>,
}

stages! {
    /// What waits goes through one stage.
    enum Stage {
        Wait = "wait" Looks,
    }
}

impl Wait {
    /// The step before the wait has begun.
    pub(in crate::resource_types) fn step() -> Step {
        Stage::Wait.step()
    }

    /// The step of a wait that begins now. No length: it never ends.
    pub(in crate::resource_types) fn begin(now: DateTime<Utc>, length: Option<Duration>) -> Step {
        let length = length.and_then(|length| TimeDelta::from_std(length).ok());
        let until = length.and_then(|length| now.checked_add_signed(length));
        Stage::Wait.with(serde_json::json!({ "until": until }))
    }

    /// The wait of a step, when it has begun.
    pub(in crate::resource_types) fn of(step: &Step) -> Option<Self> {
        serde_json::from_value(step.state.clone()).ok()
    }

    /// What is left of it.
    pub(in crate::resource_types) fn remaining(&self, now: DateTime<Utc>) -> Option<Duration> {
        match self.until {
            None => Some(ENDLESS_LOOK),
            Some(until) => (until - now).to_std().ok().filter(|left| !left.is_zero()),
        }
    }
}

/// A property as a number of seconds.
pub(in crate::resource_types) fn seconds(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).unwrap_or(0.0)
}
