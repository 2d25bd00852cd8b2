//! OS::Heat::Delay: time that passes between other resources.

use std::time::Duration;

use serde_json::Value;

use super::wait::{Wait, seconds};
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::{Action, JsonMap};
use crate::resource_types::declared::{Beating, Declared};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Change, Learned, LocalOutcome, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::{At, ResourceType};

pub(crate) struct Delay;

impl Delay {
    /// The shortest wait and the longest addition to it, when the work is one that waits.
    fn bounds(declared: &Declared, work: &Work, subject: &Subject) -> Option<(f64, f64)> {
        let action = match work {
            Work::Create => "CREATE",
            Work::Delete => "DELETE",
            Work::Act(action @ (Action::Suspend | Action::Resume)) => action.as_str(),
            Work::Update { .. } | Work::Act(_) => return None,
        };
        let properties = declared.properties(&subject.properties);
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

impl ResourceType for Delay {
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        Self::bounds(declared, work, subject).is_none().then(|| Ok(LocalOutcome::default()))
    }

    fn first(&self, _declared: &Declared, _work: &Work, _subject: &Subject) -> Step {
        Wait::step()
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let (least, jitter) = Self::bounds(declared, work, subject).unwrap_or_default();
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

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, .. } = change;
        // The schema lets properties be updated, yet the class has no way to do it.
        declared.replaced(subject)
    }

    fn attributes(&self, _at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        Ok(JsonMap::new())
    }
}
