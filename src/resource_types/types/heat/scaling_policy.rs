//! OS::Heat::ScalingPolicy, AWS::AutoScaling::ScalingPolicy: a signal to it changes the size of a
//! group.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::named;
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::Declared;
use crate::resource_types::driver::{
    Attempt, Beat, Driver, DriverError, Learned, LocalOutcome, Signaled, Subject, UpdateKind, Work,
};
use crate::resource_types::groups::{Adjustment, CapacityKind};
use crate::resource_types::stack_user;
use crate::template::ALL_ATTRIBUTES;

/// The attribute that says where the policy is signaled with a token.
const SIGNAL_URL: &str = "signal_url";

/// The names of a policy's properties and of one value.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PolicyNames {
    group: String,
    adjustment: String,
    pub(crate) kind: String,
    /// The kind whose adjustments are percentages.
    pub(crate) percent: String,
    pub(crate) min_step: String,
    cooldown: String,
}

pub(crate) struct ScalingPolicy(pub(crate) Arc<Declared>, pub(crate) PolicyNames);

impl Driver for ScalingPolicy {
    fn local(
        &self,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, DriverError>> {
        // Where it is signaled, the catalog says.
        if subject.reads.iter().any(|name| name == SIGNAL_URL || name == ALL_ATTRIBUTES)
            && matches!(work, Work::Create | Work::Update { .. })
        {
            return None;
        }
        Some(Ok(match work {
            Work::Create => named(subject),
            Work::Update { .. } | Work::Delete | Work::Act(_) => LocalOutcome::default(),
        }))
    }

    fn beat(
        &self,
        _cloud: &Asks<'_>,
        work: &Work,
        subject: &Subject,
        _step: &Step,
        _attempt: Attempt,
    ) -> Result<Beat, DriverError> {
        let learned = match work {
            Work::Create => named(subject).learned,
            Work::Update { .. } | Work::Delete | Work::Act(_) => Learned::default(),
        };
        Ok(Beat::Done { learned })
    }

    fn on_change(
        &self,
        subject: &Subject,
        _before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> UpdateKind {
        self.0.change_by_schema(subject, changed, true)
    }

    fn signal(&self, _subject: &Subject, _details: &Value, _moment: &Moment<'_>) -> Signaled {
        // Whatever state an alarm tells: which signals come here, its author decides.
        Signaled::Work
    }

    fn adjustment(&self, subject: &Subject) -> Option<Adjustment> {
        let properties = self.0.properties(&subject.properties);
        let PolicyNames { group, adjustment, kind, min_step, cooldown, .. } = &self.1;
        let text = |name: &String| properties.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &String| properties.get(name).and_then(Value::as_f64);
        Some(Adjustment {
            group: text(group).to_owned(),
            by: number(adjustment).unwrap_or(0.0),
            kind: CapacityKind::named(text(kind)),
            kind_name: text(kind).to_owned(),
            step_min: number(min_step).map(|step| step as i64),
            cooldown_secs: number(cooldown).map(|seconds| seconds as i64),
        })
    }

    fn attributes(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        wanted: &[String],
    ) -> Result<JsonMap, DriverError> {
        let known = self.0.declaration().attributes.contains_key(SIGNAL_URL);
        let is_wanted = wanted.is_empty() || wanted.iter().any(|name| name == SIGNAL_URL);
        if !known || !is_wanted {
            return Ok(JsonMap::new());
        }
        let project = subject.project_id.clone().unwrap_or_default();
        let url = stack_user::signal_url(cloud, subject, project.as_str())?;
        Ok([(SIGNAL_URL.to_owned(), url.into())].into_iter().collect())
    }
}
