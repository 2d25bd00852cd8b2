//! Resources that wait until they were signaled often enough: by way of a handle, which is another
//! resource of the stack, or at an object in Swift. The end of the wait is on record, so it holds
//! over restarts.

mod handle;
mod object;
#[cfg(test)]
mod transcripts;

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{Beating, Declared, PlainStage, done};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::failure::{Failure, Waiter};
use crate::resource_types::job::{Beat, Learned, ObservedSignals, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::Stages;
use crate::resource_types::types::heat::wait::Wait;

use handle::verdict;

/// What is waited for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waits {
    /// The property that has the handle.
    pub(super) handle: String,
    /// The one that says how many seconds at most.
    pub(super) timeout: String,
    /// The one that says how many signals there are to be.
    pub(super) count: String,
    /// The attribute that has the data of the signals by their ids, as JSON text.
    pub(super) data: String,
    #[serde(default)]
    by: By,
    /// What is said of another resource that is no handle, and of what is no resource; `{handle}`
    /// is its name, or the value.
    #[serde(default)]
    no_handle: String,
    #[serde(default)]
    unknown: String,
}

/// The way of the signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    /// The handle is another resource of the stack.
    #[default]
    Handle,
    /// The handle is the address of an object that they are put to.
    Object,
}

/// The program of a type that waits.
pub(super) struct Waiting(pub(super) Waits);

/// What a resource waits for.
struct Wanted {
    handle: Value,
    timeout: Duration,
    count: usize,
}

impl Waiting {
    fn wanted(&self, declared: &Declared, properties: &JsonMap) -> Wanted {
        let properties = declared.properties(properties);
        let number = |name: &String| properties.get(name).and_then(Value::as_f64).unwrap_or(1.0);
        Wanted {
            handle: properties.get(&self.0.handle).cloned().unwrap_or_default(),
            timeout: Duration::try_from_secs_f64(number(&self.0.timeout)).unwrap_or_default(),
            count: number(&self.0.count) as usize,
        }
    }

    fn shown(&self, data: Value) -> JsonMap {
        JsonMap::from_iter([(self.0.data.clone(), data)])
    }
}

/// Too few signals came, which told these reasons.
fn too_few(to: Waiter, reasons: &[String], count: usize) -> Failure {
    let text = format!("{} of {count} received", reasons.len());
    let received =
        if reasons.is_empty() { text } else { format!("{text} - {}", reasons.join(";")) };
    Failure::TooFewSignals { to, received }
}

impl ResourceType for Waiting {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Delete | Work::Act(_) => PlainStage::Done.step(),
            Work::Create | Work::Update { .. } => Wait::step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        if PlainStage::of(step) == Some(PlainStage::Done) {
            return Ok(done());
        }
        let wanted = self.wanted(declared, &subject.properties);
        let Some(wait) = Wait::of(step) else {
            match self.0.by {
                By::Handle => drop(self.signals(&subject.observed_signals, &wanted)?),
                By::Object => drop(object::named(&wanted, subject)?),
            }
            let next = Wait::begin(cloud.now(), Some(wanted.timeout));
            return Ok(Beat::Next { learned: Learned::default(), next });
        };
        match self.0.by {
            By::Handle => self.look(beating, &wanted, &wait),
            By::Object => object::look(beating, &wanted, &wait),
        }
    }

    fn observes_signals(&self) -> bool {
        self.0.by == By::Handle
    }

    fn waits_on(
        &self,
        declared: &Declared,
        properties: &JsonMap,
        observed_signals: &[ObservedSignals],
    ) -> bool {
        let wanted = self.wanted(declared, properties);
        let signals = self.signals(observed_signals, &wanted).ok().filter(|it| it.are_told());
        signals.is_some_and(|signals| matches!(verdict(signals, &wanted), Ok(false)))
    }

    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, cloud, subject } = at;
        let wanted = self.wanted(declared, &subject.properties);
        let data = match self.0.by {
            By::Handle => self.heard_data(subject, &wanted),
            By::Object => object::data(cloud, subject, &wanted)?,
        };
        Ok(self.shown(data))
    }

    fn unmade(&self, declared: &Declared, subject: &Subject) -> JsonMap {
        match self.0.by {
            By::Handle => {
                let wanted = self.wanted(declared, &subject.properties);
                self.shown(self.heard_data(subject, &wanted))
            }
            By::Object => JsonMap::new(),
        }
    }
}
