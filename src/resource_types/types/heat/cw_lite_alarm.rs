//! OS::Heat::CWLiteAlarm: an alarm on metric data that come by CloudWatch's API. It is kept by
//! Hearth; its id there is that of the resource, so that making it twice makes one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::clock::Moment;
use crate::events::alarm::{AlarmMade, AlarmOwner, AlarmRule, AlarmState, Comparison, Statistic};
use crate::events::resource::Step;
use crate::model::{Action, AlarmId, Arn, JsonMap, signaled};
use crate::resource_types::asks::AlarmAsk;
use crate::resource_types::declared::{Beating, Declared};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Change, Learned, LocalOutcome, Subject, UpdateKind, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct CloudWatchAlarm;

stages! {
    /// One command to the keeper of alarms.
    enum Stage {
        Make = "make" Commands,
        Suspend = "suspend" Commands,
        Resume = "resume" Commands,
        Delete = "delete" Commands,
    }
}

impl ResourceType for CloudWatchAlarm {
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        _subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        let is_idle = matches!(work, Work::Act(action) if !declared.acts(*action));
        is_idle.then(|| Ok(LocalOutcome::default()))
    }

    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create | Work::Update { .. } => Stage::Make.step(),
            Work::Delete => Stage::Delete.step(),
            Work::Act(Action::Suspend) => Stage::Suspend.step(),
            Work::Act(_) => Stage::Resume.step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let id = AlarmId(subject.resource_id.unwrap_or_default().0);
        let ask = match Stage::of(step) {
            Some(Stage::Suspend) => AlarmAsk::Suspend(id),
            Some(Stage::Resume) => AlarmAsk::Resume(id),
            Some(Stage::Delete) => AlarmAsk::Delete(id),
            Some(Stage::Make) | None => AlarmAsk::Make(Box::new(AlarmMade {
                alarm_id: id,
                project_id: subject.project(),
                name: name(subject),
                owner: Some(AlarmOwner {
                    stack: subject.stack_id.unwrap_or_default(),
                    resource: subject.name.clone().unwrap_or_default(),
                }),
                rule: rule(&declared.properties(&subject.properties), &subject.hidden)?,
            })),
        };
        cloud.tell_alarm(&subject.project(), ask)?;
        let physical_id = (*work == Work::Create).then(|| id.to_string());
        Ok(Beat::Done { learned: Learned { physical_id, ..Learned::default() } })
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        declared.change_by_schema(subject, changed, true)
    }

    /// The name by which data are put for the alarm.
    fn reference(&self, _declared: &Declared, subject: &Subject) -> Value {
        name(subject).into()
    }
}

/// As Heat's watch rules are called.
fn name(subject: &Subject) -> String {
    let stack = subject.stack_name.as_ref().map(ToString::to_string).unwrap_or_default();
    let resource = subject.name.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{stack}-{resource}")
}

/// What the properties say. An alarm is shown as it is, so that nothing in it may be a secret; of
/// addresses, which are, what is not is kept.
fn rule(properties: &JsonMap, hidden: &BTreeSet<String>) -> Result<AlarmRule, Failure> {
    let value = |name: &str| properties.get(name).filter(|value| !value.is_null());
    let text = |name: &str| value(name).map(python::text);
    let wrong = |name: &str| Failure::Invalid(format!("{name} is not what an alarm can have"));
    let needed = |name: &str| text(name).ok_or_else(|| wrong(name));
    let lists = [
        (AlarmState::Alarm, "AlarmActions"),
        (AlarmState::Normal, "OKActions"),
        (AlarmState::NoData, "InsufficientDataActions"),
    ];
    let told = |name: &str| -> Vec<String> {
        let given = value(name).and_then(Value::as_array).into_iter().flatten();
        given.filter(|it| !it.is_null()).map(|it| signaled(&python::text(it))).collect()
    };
    if let Some(name) = hidden.iter().find(|name| lists.iter().all(|(_, list)| list != name)) {
        return Err(Failure::Invalid(format!("{name} of an alarm may hold nothing secret")));
    }
    let mut actions = BTreeMap::new();
    for (state, name) in lists {
        let told = told(name);
        if hidden.contains(name) && told.iter().any(|it| Arn::read(it).is_none()) {
            return Err(wrong(name));
        }
        if !told.is_empty() {
            actions.insert(state, told);
        }
    }
    let rule = AlarmRule {
        description: text("AlarmDescription"),
        namespace: text("Namespace"),
        metric: needed("MetricName")?,
        dimensions: dimensions(value("Dimensions")).ok_or_else(|| wrong("Dimensions"))?,
        unit: text("Units"),
        statistic: Statistic::named(&needed("Statistic")?).ok_or_else(|| wrong("Statistic"))?,
        comparison: Comparison::named(&needed("ComparisonOperator")?)
            .ok_or_else(|| wrong("ComparisonOperator"))?,
        threshold: needed("Threshold")?.trim().parse().map_err(|_| wrong("Threshold"))?,
        period: needed("Period")?.trim().parse().map_err(|_| wrong("Period"))?,
        periods: match text("EvaluationPeriods") {
            Some(periods) => periods.trim().parse().map_err(|_| wrong("EvaluationPeriods"))?,
            None => 1,
        },
        actions,
        tells: true,
    };
    rule.check()?;
    Ok(rule)
}

/// Names and their values, as Amazon writes them.
fn dimensions(given: Option<&Value>) -> Option<BTreeMap<String, String>> {
    let given = given.map(|given| given.as_array()).unwrap_or(Some(const { &Vec::new() }))?;
    let pair = |it: &Value| {
        let it = it.as_object()?;
        Some((python::text(it.get("Name")?), python::text(it.get("Value")?)))
    };
    given.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn properties() -> Value {
        json!({
            "MetricName": "cpu", "Statistic": "Average", "Period": "60", "Threshold": "1e2",
            "ComparisonOperator": "GreaterThanThreshold",
            "Dimensions": [{ "Name": "Group", "Value": "web" }, { "Name": "n", "Value": 1 }],
            "AlarmActions": ["up", null], "OKActions": [],
        })
    }

    fn read(properties: &Value) -> Result<AlarmRule, Failure> {
        rule(properties.as_object().unwrap(), &BTreeSet::new())
    }

    #[test]
    fn a_rule_is_what_the_properties_say() {
        let rule = read(&properties()).unwrap();
        assert_eq!((rule.period, rule.periods, rule.threshold), (60, 1, 100.0));
        assert_eq!(rule.dimensions["Group"], "web");
        assert_eq!(rule.dimensions["n"], "1");
        assert_eq!(rule.actions, [(AlarmState::Alarm, vec!["up".to_owned()])].into());
    }

    #[test]
    fn what_is_no_number_or_too_much_is_no_rule() {
        for (name, value) in [
            ("Period", json!("often")),
            ("Period", json!("-1")),
            ("Period", json!("86401")),
            ("Threshold", json!("nan")),
            ("EvaluationPeriods", json!("0")),
            ("Dimensions", json!(["a"])),
            ("AlarmActions", json!(["a", "b", "c", "d", "e", "f"])),
            ("MetricName", json!("x".repeat(256))),
        ] {
            let mut properties = properties();
            properties[name] = value;
            assert!(read(&properties).is_err(), "{properties}");
        }
    }

    #[test]
    fn nothing_secret_is_kept_but_the_names_of_those_who_are_signaled() {
        let with = |told: &str, hidden: &str| {
            let mut properties = properties();
            properties["AlarmActions"] = json!([told]);
            rule(properties.as_object().unwrap(), &[hidden.to_owned()].into())
        };
        let address = "http://h/v1/signal/arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/web/1?Signature=x";
        assert!(with(address, "AlarmActions").is_ok());
        assert!(with("https://h/hook?token=secret", "AlarmActions").is_err());
        assert!(with("secret", "AlarmActions").is_err());
        assert!(with(address, "MetricName").is_err());
    }
}
