//! Actions on alarms.

use serde_json::{Value, json};

use super::asked::{PAGE_MAX, dimensions, list, number, page, shown, time, wrong};
use crate::api::cfn::asked::Asked;
use crate::api::cfn::fault::{CfnFault, MISSING_PARAMETER};
use crate::api::cfn::stacks::{Outcome, Served};
use crate::api::v1;
use crate::events::Position;
use crate::events::alarm::{AlarmRule, AlarmState, Comparison, METRIC_TEXT_MAX, Statistic};
use crate::model::{ProjectId, Refusal, signaled};
use crate::projections::{AlarmRow, HistoryQuery};

/// The dimension that each alarm of a stack has besides its own.
const STACK_ID: &str = "StackId";

/// What Amazon's alarms have and those here do not, each with the one value that asks for what they
/// do anyway.
const UNSUPPORTED: [(&str, Option<&str>); 8] = [
    ("EvaluateLowSampleCountPercentile", Some("evaluate")),
    ("EvaluationCriteria", None),
    ("EvaluationInterval", None),
    ("ExtendedStatistic", None),
    ("Metrics", None),
    ("Tags", None),
    ("ThresholdMetricId", None),
    (TREAT_MISSING_DATA, Some("missing")),
];

const TREAT_MISSING_DATA: &str = "TreatMissingData";

/// How long a client's reason for a state may be, as with Amazon.
const STATE_REASON_MAX: usize = 1_023;

/// The project whose alarms the caller sees.
pub(super) fn project<'a>(served: &Served<'a>) -> &'a ProjectId {
    &served.context.caller.project_id
}

pub(super) async fn describe(served: &Served<'_>) -> Outcome {
    let asked = served.asked;
    let name = asked.param("AlarmName").filter(|name| !name.is_empty());
    let rows = served.state.views.alarms(project(served).clone(), name.map(str::to_owned)).await?;
    if let Some(name) = name.filter(|_| rows.is_empty()) {
        return Err(missing(name));
    }
    let names = list(asked, "AlarmNames")?;
    let prefix = asked.param("AlarmNamePrefix").unwrap_or_default();
    let action = asked.param("ActionPrefix").unwrap_or_default();
    let state = asked.param("StateValue").filter(|state| !state.is_empty());
    let after = asked.param("NextToken").unwrap_or_default();
    let is_asked_for = |row: &&AlarmRow| {
        let made = &row.made;
        let mut actions = made.rule.actions.values().flatten();
        (names.is_empty() || names.contains(&made.name))
            && made.name.starts_with(prefix)
            && (action.is_empty() || actions.any(|told| told.starts_with(action)))
            && state.is_none_or(|state| is_state(row.state, state))
            && made.name.as_str() > after
    };
    let found: Vec<&AlarmRow> = rows.iter().filter(is_asked_for).collect();
    let limit = page(asked, usize::MAX)?;
    let next = found.get(limit.saturating_sub(1)).filter(|_| found.len() > limit);
    Ok(json!({
        "MetricAlarms": found.iter().take(limit).map(|row| of(row)).collect::<Vec<_>>(),
        "NextToken": next.map(|row| &row.made.name),
    }))
}

pub(super) async fn describe_for_metric(served: &Served<'_>) -> Outcome {
    let asked = served.asked;
    // Data of every namespace are watched.
    let (metric, _) = (asked.needed("MetricName")?, asked.needed("Namespace")?);
    let dimensions = dimensions(asked, "")?;
    let period: Option<u32> = number(asked, "Period")?;
    let statistic = asked.param("Statistic");
    let rows = served.state.views.alarms(project(served).clone(), None).await?;
    let is_asked_for = |row: &&AlarmRow| {
        let rule = &row.made.rule;
        rule.metric == metric
            && rule.dimensions == dimensions
            && period.is_none_or(|period| period == rule.period)
            && statistic.is_none_or(|statistic| statistic == rule.statistic.name())
    };
    let found = rows.iter().filter(is_asked_for).map(of);
    Ok(json!({ "MetricAlarms": found.collect::<Vec<_>>() }))
}

pub(super) async fn set_state(served: &Served<'_>) -> Outcome {
    let asked = served.asked;
    let name = asked.needed("AlarmName")?;
    let state = asked.needed("StateValue")?;
    let state = AlarmState::of_amazon(state).ok_or_else(|| wrong("StateValue"))?;
    let reason = asked.param("StateReason").unwrap_or_default();
    if reason.chars().count() > STATE_REASON_MAX {
        return Err(wrong("StateReason"));
    }
    let (state_of, alarms) = (served.state, served.state.engine.alarms());
    let who = v1::writer(state_of, served.context, project(served)).await?;
    let set = alarms.set_state(&who, project(served), name, (state, reason.to_owned())).await?;
    done(served, set).await
}

pub(super) async fn switch(served: &Served<'_>, tells: bool) -> Outcome {
    let names = names(served.asked)?;
    let who = v1::writer(served.state, served.context, project(served)).await?;
    let alarms = served.state.engine.alarms();
    let mut last = Position(0);
    for name in &names {
        last = last.max(alarms.switch(&who, project(served), name, tells).await?);
    }
    done(served, last).await
}

pub(super) async fn delete(served: &Served<'_>) -> Outcome {
    let names = names(served.asked)?;
    let who = v1::requester(served.state, served.context);
    let deleted = served.state.engine.alarms().delete(&who, project(served), &names).await?;
    done(served, deleted).await
}

/// The alarms that something is done to.
fn names(asked: &Asked) -> Result<Vec<String>, CfnFault> {
    let names = list(asked, "AlarmNames")?;
    match names.is_empty() {
        true => Err(CfnFault::new(MISSING_PARAMETER, "AlarmNames")),
        false => Ok(names),
    }
}

pub(super) async fn put(served: &Served<'_>) -> Outcome {
    let asked = served.asked;
    let name = asked.needed("AlarmName")?;
    if name.chars().count() > METRIC_TEXT_MAX {
        return Err(wrong("AlarmName"));
    }
    refuse_unsupported(asked)?;
    let rule = rule(asked)?;
    rule.check()?;
    let who = v1::writer(served.state, served.context, project(served)).await?;
    let made = served.state.engine.alarms().put_alarm(&who, project(served), name, rule).await?;
    done(served, made).await
}

/// Refuses what would make another alarm than the one that is asked for.
fn refuse_unsupported(asked: &Asked) -> Result<(), CfnFault> {
    for (name, supported) in UNSUPPORTED {
        let is_supported = supported.is_some() && asked.param(name) == supported;
        if is_given(asked, name) && !is_supported {
            return Err(unsupported(name, supported));
        }
    }
    Ok(())
}

/// Whether a parameter has a value, or something within it has.
fn is_given(asked: &Asked, name: &str) -> bool {
    let within = format!("{name}.");
    asked.param(name).is_some_and(|value| !value.is_empty())
        || asked.params.keys().any(|given| given.starts_with(&within))
}

fn unsupported(name: &str, but: Option<&str>) -> CfnFault {
    match but {
        Some(but) => wrong(&format!("{name}: only {but} is supported")),
        None => wrong(&format!("{name} is not supported")),
    }
}

fn rule(asked: &Asked) -> Result<AlarmRule, CfnFault> {
    let text = |name: &str| asked.param(name).filter(|it| !it.is_empty()).map(str::to_owned);
    let needed = |name: &'static str| CfnFault::new(MISSING_PARAMETER, name);
    // What is signed in an address is a secret, and an alarm is shown as it is.
    let told = |name| -> Result<Vec<String>, CfnFault> {
        Ok(list(asked, name)?.iter().map(|it| signaled(it)).collect())
    };
    let actions = [
        (AlarmState::Alarm, told("AlarmActions")?),
        (AlarmState::Normal, told("OKActions")?),
        (AlarmState::NoData, told("InsufficientDataActions")?),
    ];
    Ok(AlarmRule {
        description: text("AlarmDescription"),
        namespace: Some(asked.needed("Namespace")?.to_owned()),
        metric: asked.needed("MetricName")?.to_owned(),
        dimensions: dimensions(asked, "")?,
        unit: text("Unit"),
        statistic: statistic(asked)?,
        comparison: Comparison::named(asked.needed("ComparisonOperator")?)
            .ok_or_else(|| wrong("ComparisonOperator"))?,
        threshold: number(asked, "Threshold")?.ok_or_else(|| needed("Threshold"))?,
        period: number(asked, "Period")?.ok_or_else(|| needed("Period"))?,
        periods: periods(asked)?,
        actions: actions.into_iter().filter(|(_, told)| !told.is_empty()).collect(),
        tells: asked.param("ActionsEnabled").is_none_or(|it| !it.eq_ignore_ascii_case("false")),
    })
}

/// What each period's data come to. Those of no data may be 0, as in Heat, and are then not missing.
fn statistic(asked: &Asked) -> Result<Statistic, CfnFault> {
    let named = Statistic::named(asked.needed("Statistic")?).ok_or_else(|| wrong("Statistic"))?;
    let is_ever_missing = named.of(std::iter::empty()).is_none();
    if is_given(asked, TREAT_MISSING_DATA) && !is_ever_missing {
        let name = named.name();
        return Err(wrong(&format!("{TREAT_MISSING_DATA}: the {name} of no data is always 0")));
    }
    Ok(named)
}

/// How many periods are looked at, all of which have to be beyond the threshold.
fn periods(asked: &Asked) -> Result<u32, CfnFault> {
    let name = "EvaluationPeriods";
    let missing = || CfnFault::new(MISSING_PARAMETER, name);
    let all: u32 = number(asked, name)?.ok_or_else(missing)?;
    match number::<u32>(asked, "DatapointsToAlarm")? {
        Some(some) if some != all => {
            Err(unsupported("DatapointsToAlarm", Some("the number of EvaluationPeriods")))
        }
        Some(_) | None => Ok(all),
    }
}

pub(super) async fn history(served: &Served<'_>) -> Outcome {
    let asked = served.asked;
    let text = |name: &str| asked.param(name).filter(|it| !it.is_empty()).map(str::to_owned);
    let limit = page(asked, PAGE_MAX)?;
    let query = HistoryQuery {
        name: text("AlarmName"),
        kind: text("HistoryItemType"),
        from: time(asked, "StartDate")?,
        to: time(asked, "EndDate")?,
        before: number(asked, "NextToken")?.map(Position),
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
    };
    let found = served.state.views.alarm_history(project(served).clone(), query).await?;
    let next = found.last().filter(|_| found.len() == limit);
    let next = next.map(|last| last.position.to_string());
    let items = found.iter().map(|change| {
        json!({
            "AlarmName": change.alarm,
            "Timestamp": v1::time(change.at),
            "HistoryItemType": change.kind,
            "HistorySummary": change.summary,
            "HistoryData": change.data.to_string(),
        })
    });
    Ok(json!({ "AlarmHistoryItems": items.collect::<Vec<_>>(), "NextToken": next }))
}

/// The answer to a command, once what it wrote is on disk and can be read.
pub(super) async fn done(served: &Served<'_>, at: Position) -> Outcome {
    v1::seen_at(served.state, at).await?;
    Ok(json!({}))
}

fn missing(name: &str) -> CfnFault {
    Refusal::new("WatchRuleNotFound", format!("The Watch Rule ({name}) could not be found.")).into()
}

/// Whether a state is the one of a word, Heat's or Amazon's.
fn is_state(state: AlarmState, word: &str) -> bool {
    state.word() == word || AlarmState::of_amazon(word) == Some(state)
}

/// An alarm as Heat shows it: the state by Heat's words, and the stack's id among the dimensions.
fn of(row: &AlarmRow) -> Value {
    let (made, rule) = (&row.made, &row.made.rule);
    let told = |state: AlarmState| rule.actions.get(&state).cloned().unwrap_or_default();
    let mut dimensions = shown(&rule.dimensions);
    if let Some(owner) = &made.owner {
        dimensions.push(json!({ "Name": STACK_ID, "Value": owner.stack }));
    }
    json!({
        // Amazon's clients know a boolean by small letters.
        "ActionsEnabled": if rule.tells { "true" } else { "false" },
        "AlarmActions": told(AlarmState::Alarm),
        "AlarmConfigurationUpdatedTimestamp": v1::time(row.changed_at),
        "AlarmDescription": rule.description,
        "AlarmName": made.name,
        "ComparisonOperator": rule.comparison.name(),
        "Dimensions": dimensions,
        "EvaluationPeriods": rule.periods,
        "InsufficientDataActions": told(AlarmState::NoData),
        "MetricName": rule.metric,
        "Namespace": rule.namespace,
        "OKActions": told(AlarmState::Normal),
        "Period": rule.period,
        "StateReason": row.reason,
        "StateUpdatedTimestamp": v1::time(row.state_at.unwrap_or(row.changed_at)),
        "StateValue": row.state.word(),
        "Statistic": rule.statistic.name(),
        "Threshold": rule.threshold,
        "Unit": rule.unit,
    })
}
