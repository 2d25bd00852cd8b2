//! OS::Heat::ScalingPolicy, AWS::AutoScaling::ScalingPolicy: a signal to it changes the size of a
//! group.

use serde::Deserialize;
use serde_json::Value;

use super::named;
use crate::clock::Moment;
use crate::model::JsonMap;
use crate::resource_types::declared::{Beating, Declared};
use crate::resource_types::failure::Failure;
use crate::resource_types::groups::{Adjustment, CapacityKind};
use crate::resource_types::job::{
    Beat, Change, Learned, LocalOutcome, Signaled, Subject, UpdateKind, Work,
};
use crate::resource_types::resource_type::{At, ResourceType};
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

pub(crate) struct ScalingPolicy(pub(crate) PolicyNames);

impl ResourceType for ScalingPolicy {
    fn local(
        &self,
        _declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
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

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { work, subject, .. } = *beating;
        let learned = match work {
            Work::Create => named(subject).learned,
            Work::Update { .. } | Work::Delete | Work::Act(_) => Learned::default(),
        };
        Ok(Beat::Done { learned })
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        declared.change_by_schema(subject, changed, true)
    }

    fn signal(&self, _subject: &Subject, _details: &Value) -> Signaled {
        // Whatever state an alarm tells: which signals come here, its author decides.
        Signaled::Work
    }

    fn adjustment(&self, declared: &Declared, subject: &Subject) -> Option<Adjustment> {
        let properties = declared.properties(&subject.properties);
        let PolicyNames { group, adjustment, kind, min_step, cooldown, .. } = &self.0;
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

    fn attributes(&self, at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, cloud, subject, .. } = at;
        let known = declared.declaration().attributes.contains_key(SIGNAL_URL);
        let is_wanted = wanted.is_empty() || wanted.iter().any(|name| name == SIGNAL_URL);
        if !known || !is_wanted {
            return Ok(JsonMap::new());
        }
        let project = subject.project_id.clone().unwrap_or_default();
        let url = stack_user::signal_url(cloud, subject, project.as_str())?;
        Ok([(SIGNAL_URL.to_owned(), url.into())].into_iter().collect())
    }
}
