//! OS::Heat::Delay: time that passes between other resources.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::wait::{Wait, seconds};
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::{Action, JsonMap};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::Declared;
use crate::resource_types::driver::{
    Attempt, Beat, Driver, DriverError, Learned, LocalOutcome, Subject, UpdateKind, Work,
};

pub(crate) struct Delay(pub(crate) Arc<Declared>);

impl Delay {
    /// The shortest wait and the longest addition to it, when the work is one that waits.
    fn bounds(&self, work: &Work, subject: &Subject) -> Option<(f64, f64)> {
        let action = match work {
            Work::Create => "CREATE",
            Work::Delete => "DELETE",
            Work::Act(action @ (Action::Suspend | Action::Resume)) => action.as_str(),
            Work::Update { .. } | Work::Act(_) => return None,
        };
        let properties = self.0.properties(&subject.properties);
        let actions = properties.get("actions").and_then(Value::as_array)?;
        if !actions.iter().any(|waits| waits.as_str() == Some(action)) {
            return None;
        }
        let number = |name| seconds(properties.get(name));
        let (least, jitter) =
            (number("min_wait"), number("max_jitter") * number("jitter_multiplier"));
        (least + jitter > 0.0).then_some((least, jitter))
    }
}

impl Driver for Delay {
    fn local(
        &self,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, DriverError>> {
        self.bounds(work, subject).is_none().then(|| Ok(LocalOutcome::default()))
    }

    fn acts(&self, action: Action) -> bool {
        self.0.acts(action)
    }

    fn first(&self, _work: &Work, _subject: &Subject) -> Step {
        Wait::step()
    }

    fn beat(
        &self,
        cloud: &Asks<'_>,
        work: &Work,
        subject: &Subject,
        step: &Step,
        _attempt: Attempt,
    ) -> Result<Beat, DriverError> {
        let (least, jitter) = self.bounds(work, subject).unwrap_or_default();
        Ok(match Wait::of(step) {
            None => {
                let chance = f64::from(cloud.now().timestamp_subsec_micros()) / 1e6;
                let length = Duration::try_from_secs_f64(least + jitter * chance).ok();
                Beat::Next { learned: Learned::default(), next: Wait::begin(cloud.now(), length) }
            }
            Some(wait) => match wait.remaining(cloud.now()) {
                Some(after) => Beat::Wait { after: Some(after) },
                None => Beat::Done { learned: Learned::default() },
            },
        })
    }

    fn on_change(
        &self,
        subject: &Subject,
        _before: &JsonMap,
        _changed: &BTreeSet<String>,
    ) -> UpdateKind {
        // The schema lets properties be updated, yet the class has no way to do it.
        self.0.replaced(subject)
    }

    fn attributes(
        &self,
        _cloud: &Asks<'_>,
        _subject: &Subject,
        _wanted: &[String],
    ) -> Result<JsonMap, DriverError> {
        Ok(JsonMap::new())
    }
}
