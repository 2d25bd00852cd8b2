//! OS::Heat::HARestarter: a signal to it has a resource of its stack made anew.

use serde_json::Value;

use super::scaling_policy;
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Beating, Declared};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{
    Beat, Change, LocalOutcome, SignalOutcome, Signaled, Subject, UpdateKind, Work,
};
use crate::resource_types::resource_type::{At, ResourceType};

/// The property that names the resource.
const INSTANCE: &str = "InstanceId";

pub(crate) struct Restarter;

impl ResourceType for Restarter {
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        scaling_policy::local(declared, work, subject)
    }

    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        scaling_policy::first(work, subject)
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        scaling_policy::beat(beating)
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        declared.change_by_schema(subject, changed, true)
    }

    fn signal(&self, _subject: &Subject, details: &Value) -> Signaled {
        match is_alarm(details) {
            true => Signaled::Work,
            false => Signaled::Handled(SignalOutcome::default()),
        }
    }

    fn restarts(&self, _declared: &Declared, subject: &Subject) -> Option<String> {
        Some(subject.properties.get(INSTANCE)?.as_str()?.to_owned())
    }

    fn attributes(&self, at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
        scaling_policy::attributes(at, wanted)
    }
}

/// Whether a signal says that something is wrong; as in Heat, one that says no state does.
fn is_alarm(details: &Value) -> bool {
    let state = details.get("current").or_else(|| details.get("state"));
    state.is_none_or(|state| state.as_str().is_some_and(|it| it.eq_ignore_ascii_case("alarm")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_alarm_that_goes_off_asks_for_work_and_any_other_state_for_nothing() {
        for (details, is_work) in [
            (Value::Null, true),
            (json!({}), true),
            (json!({ "state": "ALARM" }), true),
            (json!({ "state": "NORMAL" }), false),
            (json!({ "current": "alarm", "previous": "ok" }), true),
            (json!({ "current": "ok", "previous": "alarm" }), false),
            (json!({ "state": 1 }), false),
        ] {
            let signaled = Restarter.signal(&Subject::default(), &details);
            assert_eq!(signaled == Signaled::Work, is_work, "{details}");
        }
    }
}
