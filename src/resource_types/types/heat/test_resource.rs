//! OS::Heat::TestResource: keeps a text; waits, fails and is replaced as it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::named;
use super::wait::{Wait, seconds};
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Beating, Declared};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Change, Learned, LocalOutcome, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::{At, ResourceType};

pub(crate) struct TestResource;

impl TestResource {
    /// The seconds that the work takes; below zero it never ends.
    fn wait_secs(&self, work: &Work, properties: &JsonMap) -> f64 {
        let action = match work {
            Work::Create => "create",
            Work::Update { changed, .. } if !stores_anew(changed, properties) => return 0.0,
            Work::Update { .. } => "update",
            Work::Delete => "delete",
            Work::Act(_) => return 0.0,
        };
        let of_action =
            properties.get("action_wait_secs").and_then(|by_action| by_action.get(action));
        seconds(of_action.filter(|secs| !secs.is_null()).or(properties.get("wait_secs")))
    }

    /// What the work stores, before any wait.
    fn stored(&self, work: &Work, subject: &Subject, properties: &JsonMap) -> LocalOutcome {
        let stores = match work {
            Work::Create => true,
            Work::Update { changed, .. } => stores_anew(changed, properties),
            Work::Delete | Work::Act(_) => false,
        };
        if !stores || fails(properties) {
            return LocalOutcome::default();
        }
        let value = properties.get("value").cloned().unwrap_or_default();
        let mut outcome =
            if *work == Work::Create { named(subject) } else { LocalOutcome::default() };
        outcome.learned.data = BTreeMap::from([("value".to_owned(), value.clone())]);
        outcome
    }

    /// What the work comes to when the wait is over.
    fn verdict(&self, work: &Work, subject: &Subject, properties: &JsonMap) -> Result<(), Failure> {
        match work {
            Work::Create | Work::Update { .. } if fails(properties) => {
                let name = subject.name.as_ref().map_or("", |name| name.as_str());
                Err(Failure::Invalid(format!("Test Resource failed {name}")))
            }
            Work::Act(_) if subject.physical_id.is_none() => Err(Failure::NotCreated),
            Work::Create | Work::Update { .. } | Work::Delete | Work::Act(_) => Ok(()),
        }
    }
}

fn fails(properties: &JsonMap) -> bool {
    properties.get("fail") == Some(&Value::Bool(true))
}

/// Whether an update stores a new value: an empty one counts as none.
fn stores_anew(changed: &BTreeSet<String>, properties: &JsonMap) -> bool {
    let is_empty = properties.get("value").is_none_or(|value| value == "");
    changed.contains("value") && !is_empty
}

fn output(stored: Option<&Value>) -> JsonMap {
    JsonMap::from_iter([("output".to_owned(), stored.cloned().unwrap_or_default())])
}

impl ResourceType for TestResource {
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        let properties = declared.properties(&subject.properties);
        let takes_time = self.wait_secs(work, &properties) != 0.0
            || seconds(properties.get("attr_wait_secs")) > 0.0;
        if takes_time {
            return None;
        }
        let mut outcome = self.stored(work, subject, &properties);
        outcome.attributes =
            output(outcome.learned.data.get("value").or(subject.data.get("value")));
        Some(self.verdict(work, subject, &properties).map(|()| outcome))
    }

    fn first(&self, _declared: &Declared, _work: &Work, _subject: &Subject) -> Step {
        Wait::step()
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let properties = declared.properties(&subject.properties);
        let Some(wait) = Wait::of(step) else {
            let learned = self.stored(work, subject, &properties).learned;
            // A negative number of seconds never ends.
            let length = Duration::try_from_secs_f64(self.wait_secs(work, &properties)).ok();
            return Ok(Beat::Next { learned, next: Wait::begin(cloud.now(), length) });
        };
        match wait.remaining(cloud.now()) {
            Some(after) => Ok(Beat::Wait { after: Some(after) }),
            None => self
                .verdict(work, subject, &properties)
                .map(|()| Beat::Done { learned: Learned::default() }),
        }
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        let replaces = subject.properties.get("update_replace") == Some(&Value::Bool(true));
        if changed.contains("value") && replaces {
            return declared.replaced_by_class(subject);
        }
        declared.plain_on_change(subject, changed)
    }

    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, cloud, subject, .. } = at;
        let properties = declared.properties(&subject.properties);
        let pause = Duration::try_from_secs_f64(seconds(properties.get("attr_wait_secs")));
        cloud.pause(pause.unwrap_or_default())?;
        Ok(output(subject.data.get("value")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::SimulatedClock;
    use crate::resource_types::Registry;

    fn run(work: Work, properties: Value) -> Option<Result<LocalOutcome, Failure>> {
        let Value::Object(properties) = properties else { panic!("properties are a map") };
        let subject = Subject {
            name: Some("a".into()),
            physical_name: "s-a-xyz".into(),
            properties,
            ..Subject::default()
        };
        let clock = SimulatedClock::new(1);
        let driver = Registry::built_in().unwrap().driver("OS::Heat::TestResource").unwrap();
        driver.local(&work, &subject, &Moment::of(&clock))
    }

    #[test]
    fn a_text_is_stored_without_a_call() {
        let outcome = run(Work::Create, json!({"value": "x"})).unwrap().unwrap();
        assert_eq!(outcome.learned.physical_id.as_deref(), Some("s-a-xyz"));
        assert_eq!(outcome.attributes["output"], "x");
    }

    #[test]
    fn a_failure_is_worded_as_heat_words_it() {
        let error = run(Work::Create, json!({"fail": true})).unwrap().unwrap_err();
        assert_eq!(error.told(), "ValueError: Test Resource failed a");
    }

    #[test]
    fn a_wait_needs_beats() {
        assert!(run(Work::Create, json!({"wait_secs": 1})).is_none());
        assert!(run(Work::Create, json!({"action_wait_secs": {"delete": 3}})).is_some());
        assert!(run(Work::Delete, json!({"action_wait_secs": {"delete": 3}})).is_none());
    }
}
