//! What the interpreter remembers between the beats of an action, in the state of its steps.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::plain_stage::PlainStage;
use crate::events::resource::Step;
use crate::resource_types::failure::{Failure, Recorded};
use crate::resource_types::job::{Beat, Learned};
use crate::resource_types::stage::Stages;

/// How often a call that met a conflict is made again. A create that fails is made again as a whole,
/// where all can see it: by the resource's machine.
const TRIES_AGAIN_MAX: u32 = 5;

/// The same of what is to go: with its pauses it is tried for as long as in Heat, a minute.
const TRIES_TO_GO_MAX: u32 = 7;

/// The pause before the first repetition; each further one doubles it.
const PAUSE_FIRST: Duration = Duration::from_millis(500);

/// The memory of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// How often the call was made again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) tries: u32,
    /// The first failure of an action that is made again; it is the one that is told in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Recorded>,
    /// Which of several calls of the same kind.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) index: u32,
    /// The failure that ends the action once all is put right again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ends: Option<Recorded>,
    /// The end of a pause, and the step behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pause: Option<Box<Pause>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pause {
    until: DateTime<Utc>,
    next: Step,
}

impl Pause {
    fn step(self) -> Step {
        Progress { pause: Some(Box::new(self)), ..Progress::default() }.to(PlainStage::Pause)
    }
}

/// The pause before a repetition.
fn pause(repetitions: u32) -> TimeDelta {
    let pause = PAUSE_FIRST * 2_u32.pow(repetitions.min(TRIES_TO_GO_MAX));
    TimeDelta::from_std(pause).unwrap_or_default()
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Progress {
    /// The memory of a step; of a fresh one it is empty.
    pub(crate) fn of(step: &Step) -> Self {
        serde_json::from_value(step.state.clone()).unwrap_or_default()
    }

    /// The same memory in another stage.
    pub(crate) fn to(self, stage: impl Stages) -> Step {
        stage.with(self.state())
    }

    /// The memory as a step has it.
    pub(super) fn state(self) -> serde_json::Value {
        if self == Self::default() {
            return serde_json::Value::Null;
        }
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The memory of a step that follows one of the same kind.
    pub(crate) fn at(&self, index: u32) -> Self {
        Self { index, tries: 0, ..self.clone() }
    }

    /// Begins again with `step` after a pause, or gives up with the first failure.
    pub(crate) fn again(
        self,
        now: DateTime<Utc>,
        error: Failure,
        step: impl FnOnce(Self) -> Step,
    ) -> Result<Beat, Failure> {
        self.again_within(TRIES_AGAIN_MAX, now, error, step)
    }

    /// The same for a call after which something is to be gone.
    pub(crate) fn again_to_go(
        self,
        now: DateTime<Utc>,
        error: Failure,
        step: impl FnOnce(Self) -> Step,
    ) -> Result<Beat, Failure> {
        self.again_within(TRIES_TO_GO_MAX, now, error, step)
    }

    fn again_within(
        mut self,
        tries: u32,
        now: DateTime<Utc>,
        error: Failure,
        step: impl FnOnce(Self) -> Step,
    ) -> Result<Beat, Failure> {
        let failure = self.failure.get_or_insert((&error).into()).clone();
        if self.tries >= tries {
            return Err(failure.into());
        }
        let until = now + pause(self.tries);
        self.tries += 1;
        Ok(next(Learned::default(), Pause { until, next: step(self) }.step()))
    }

    /// One look at the clock in a pause.
    pub(crate) fn paused(self, now: DateTime<Utc>) -> Beat {
        match self.pause {
            Some(pause) => match (pause.until - now).to_std() {
                Ok(left) if !left.is_zero() => Beat::Wait { after: Some(left) },
                _ => Beat::Next { learned: Learned::default(), next: pause.next },
            },
            None => Beat::Done { learned: Learned::default() },
        }
    }
}

/// The next beat is this step.
pub(crate) fn next(learned: Learned, next: Step) -> Beat {
    Beat::Next { learned, next }
}

/// The action is done and nothing was learned by it.
pub(crate) fn done() -> Beat {
    Beat::Done { learned: Learned::default() }
}
