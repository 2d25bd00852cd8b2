//! Actions on metric data.

use std::collections::BTreeMap;

use chrono::DateTime;
use serde_json::{Value, json};

use super::alarms::{done, project};
use super::asked::{dimensions, list as asked_list, number, shown, time, wrong};
use crate::api::cfn::asked::Asked;
use crate::api::cfn::fault::{CfnFault, INVALID_COMBINATION, MISSING_PARAMETER, REQUEST_LIMIT};
use crate::api::cfn::stacks::{Outcome, Served};
use crate::api::v1;
use crate::events::alarm::{DataPut, Datum, METRIC_TEXT_MAX, Sample, Statistic};
use crate::projections::{MetricQuery, MetricRow, ValueRow};

/// How many data may come at a time.
const DATA_MAX: usize = 20;

/// How many periods are told at a time, as with Amazon.
const PERIODS_MAX: usize = 1_440;

pub(super) async fn put(served: &Served<'_>) -> Outcome {
    let asked = served.asked;
    let namespace = asked.needed("Namespace")?;
    if namespace.chars().count() > METRIC_TEXT_MAX {
        return Err(wrong("Namespace"));
    }
    let mut data = Vec::new();
    for member in 1..=DATA_MAX + 1 {
        let within = format!("MetricData.member.{member}.");
        let of = |name: &str| format!("{within}{name}");
        let mut after = asked.params.range(within.clone()..);
        let is_there = after.next().is_some_and(|(name, _)| name.starts_with(&within));
        if !is_there && member > 1 {
            break;
        }
        if member > DATA_MAX {
            return Err(CfnFault::new(
                REQUEST_LIMIT,
                format!("There are more than {DATA_MAX} data"),
            ));
        }
        let (one, listed) = (number(asked, &of("Value"))?, listed(asked, &within)?);
        let (value, several) = match (one, listed, taken_together(asked, &within)?) {
            (Some(value), None, None) => (value, None),
            (None, Some(several), None) | (None, None, Some(several)) => {
                (several.average(), Some(several))
            }
            (None, None, None) => return Err(CfnFault::new(MISSING_PARAMETER, of("Value"))),
            _ => {
                let names = ["Value", "Values", "StatisticValues"].map(of);
                return Err(CfnFault::new(INVALID_COMBINATION, names.join(", ")));
            }
        };
        data.push(Datum {
            metric: asked.needed(&of("MetricName"))?.to_owned(),
            dimensions: dimensions(asked, &within)?,
            unit: asked.param(&of("Unit")).filter(|it| !it.is_empty()).map(str::to_owned),
            value,
            several,
            at: time(asked, &of("Timestamp"))?,
        });
    }
    // A server of a stack signs as the stack's user, who is of another project.
    let (state, context, own) = (served.state, served.context, project(served).clone());
    let (who, owner, stack) = match state.views.stack_of_users(own.clone()).await? {
        Some(stack) => {
            (v1::writer_of(state, context, &stack).await?, stack.project_id, Some(stack.id))
        }
        None => (v1::writer(state, context, &own).await?, own, None),
    };
    let namespace = namespace.to_owned();
    let put = DataPut { project_id: owner.clone(), stack, namespace, data };
    let position = served.state.engine.alarms().put_data(&who, &owner, put).await?;
    done(served, position).await
}

/// What values come to that were taken together, where that is given.
fn taken_together(asked: &Asked, within: &str) -> Result<Option<Sample>, CfnFault> {
    let of = |name: &str| format!("{within}StatisticValues.{name}");
    let names = ["SampleCount", "Sum", "Minimum", "Maximum"];
    if names.iter().all(|name| asked.param(&of(name)).is_none()) {
        return Ok(None);
    }
    let needed = |name: &str| {
        number(asked, &of(name))?.ok_or_else(|| CfnFault::new(MISSING_PARAMETER, of(name)))
    };
    let [count, sum, minimum, maximum] = names.map(needed);
    Ok(Some(Sample { count: count?, sum: sum?, minimum: minimum?, maximum: maximum? }))
}

/// What values come to that are given one by one, each as often as its count says.
fn listed(asked: &Asked, within: &str) -> Result<Option<Sample>, CfnFault> {
    let of = |name: &str| -> Result<Vec<f64>, CfnFault> {
        let name = format!("{within}{name}");
        let numbers = asked_list(asked, &name)?;
        numbers.iter().map(|number| number.parse().map_err(|_| wrong(&name))).collect()
    };
    let (values, counts) = (of("Values")?, of("Counts")?);
    if !counts.is_empty() && counts.len() != values.len() {
        let text = format!("{within}Values and {within}Counts");
        return Err(CfnFault::new(INVALID_COMBINATION, text));
    }
    let Some(first) = values.first() else { return Ok(None) };
    let mut all = Sample { count: 0.0, sum: 0.0, minimum: *first, maximum: *first };
    for (value, count) in values.iter().zip(counts.iter().chain(std::iter::repeat(&1.0))) {
        if *count <= 0.0 {
            return Err(wrong(&format!("{within}Counts")));
        }
        all.count += count;
        all.sum += value * count;
        all.minimum = all.minimum.min(*value);
        all.maximum = all.maximum.max(*value);
    }
    Ok(Some(all))
}

pub(super) async fn list_all(served: &Served<'_>) -> Result<Vec<MetricRow>, CfnFault> {
    let text = |name: &str| served.asked.param(name).filter(|it| !it.is_empty()).map(str::to_owned);
    let query = MetricQuery { namespace: text("Namespace"), metric: text("MetricName") };
    Ok(served.state.views.metrics(project(served).clone(), query).await?)
}

/// The metrics that there are data of, each once.
pub(super) async fn list(served: &Served<'_>) -> Outcome {
    let wanted = dimensions(served.asked, "")?;
    let mut metrics = list_all(served).await?;
    metrics.retain(|it| wanted.iter().all(|(name, value)| it.dimensions.get(name) == Some(value)));
    let shown = metrics.iter().map(|it| {
        json!({
            "MetricName": it.metric,
            "Namespace": it.namespace,
            "Dimensions": shown(&it.dimensions),
        })
    });
    Ok(json!({ "Metrics": shown.collect::<Vec<_>>() }))
}

pub(super) async fn statistics(served: &Served<'_>) -> Outcome {
    let asked = served.asked;
    let needed = |name: &'static str| CfnFault::new(MISSING_PARAMETER, name);
    let metric = MetricRow {
        namespace: asked.needed("Namespace")?.to_owned(),
        metric: asked.needed("MetricName")?.to_owned(),
        dimensions: dimensions(asked, "")?,
    };
    let from = time(asked, "StartTime")?.ok_or_else(|| needed("StartTime"))?;
    let to = time(asked, "EndTime")?.ok_or_else(|| needed("EndTime"))?;
    let period: u32 = number(asked, "Period")?.ok_or_else(|| needed("Period"))?;
    let names = self::names(served)?;
    if period == 0 || from >= to {
        return Err(CfnFault::new(INVALID_COMBINATION, "StartTime, EndTime and Period"));
    }
    let unit = asked.param("Unit").filter(|it| !it.is_empty());
    let label = metric.metric.clone();
    let mut values =
        served.state.views.metric_values(project(served).clone(), metric, (from, to)).await?;
    values.retain(|it| unit.is_none() || it.unit.as_deref() == unit);
    let mut periods: BTreeMap<i64, Vec<&ValueRow>> = BTreeMap::new();
    for value in &values {
        let begins = value.at.timestamp().div_euclid(period.into()) * i64::from(period);
        periods.entry(begins).or_default().push(value);
    }
    if periods.len() > PERIODS_MAX {
        let text = format!("There are more than {PERIODS_MAX} periods with data");
        return Err(CfnFault::new(INVALID_COMBINATION, text));
    }
    let points = periods.into_iter().map(|(begins, within)| point(begins, &within, &names));
    Ok(json!({ "Label": label, "Datapoints": points.collect::<Vec<_>>() }))
}

fn names(served: &Served<'_>) -> Result<Vec<Statistic>, CfnFault> {
    let names = asked_list(served.asked, "Statistics")?;
    if names.is_empty() {
        return Err(CfnFault::new(MISSING_PARAMETER, "Statistics"));
    }
    let named = names.iter().map(|name| Statistic::named(name).ok_or_else(|| wrong("Statistics")));
    named.collect()
}

fn point(begins: i64, within: &[&ValueRow], statistics: &[Statistic]) -> Value {
    let unit = within.iter().find_map(|it| it.unit.clone());
    let at = DateTime::from_timestamp(begins, 0).unwrap_or_default();
    let mut point = json!({
        "Timestamp": v1::time(at),
        "Unit": unit.unwrap_or_else(|| "None".to_owned()),
    });
    for statistic in statistics {
        point[statistic.name()] = json!(statistic.of(within.iter().map(|it| it.sample)));
    }
    point
}
