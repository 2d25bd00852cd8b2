//! Metric data, for as long as an alarm of the project may need them, and an hour at least.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, params};

use super::columns::{json, micros, text, time};
use crate::events::alarm::Sample;
use crate::events::{MetricEvent, RecordedEvent};
use crate::model::ProjectId;

/// How long data are kept at least, so that they can be looked at.
const KEPT_MIN: TimeDelta = TimeDelta::hours(1);

/// How many metrics are listed at most: more than a project may have.
const METRICS_MAX: u32 = 1_000;

/// A metric that there are data of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricRow {
    pub namespace: String,
    pub metric: String,
    pub dimensions: BTreeMap<String, String>,
}

/// Which metrics are meant.
#[derive(Clone, Debug, Default)]
pub struct MetricQuery {
    pub namespace: Option<String>,
    pub metric: Option<String>,
}

/// A value of a metric, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueRow {
    pub at: DateTime<Utc>,
    pub sample: Sample,
    pub unit: Option<String>,
}

pub(super) fn apply(
    db: &Connection,
    event: &RecordedEvent,
    body: &MetricEvent,
) -> rusqlite::Result<()> {
    let MetricEvent::DataPut(put) = body;
    let mut insert = db.prepare_cached(
        "INSERT INTO metric_data (project, namespace, metric, dimensions, unit, count, sum, \
         minimum, maximum, at, kept_from) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for datum in &put.data {
        let Sample { count, sum, minimum, maximum } = datum.sample();
        let at = datum.at.unwrap_or(event.at);
        insert.execute(params![
            put.project_id.as_str(),
            put.namespace,
            datum.metric,
            text(&datum.dimensions)?,
            datum.unit,
            count,
            sum,
            minimum,
            maximum,
            micros(at),
            micros(at.max(event.at)),
        ])?;
    }
    db.prepare_cached(
        "DELETE FROM metric_data WHERE project = ?1 AND kept_from < ?2 - max(?3, \
         coalesce((SELECT max(span) FROM alarms WHERE project = ?1), 0))",
    )?
    .execute(params![
        put.project_id.as_str(),
        micros(event.at),
        KEPT_MIN.num_microseconds()
    ])?;
    Ok(())
}

/// Forgets the data of a metric that no alarm of the project watches any more.
pub(super) fn forget(db: &Connection, project: &ProjectId, metric: &str) -> rusqlite::Result<()> {
    db.prepare_cached(
        "DELETE FROM metric_data WHERE project = ?1 AND metric = ?2 AND NOT EXISTS \
         (SELECT 1 FROM alarms WHERE project = ?1 AND metric = ?2)",
    )?
    .execute(params![project.as_str(), metric])?;
    Ok(())
}

pub(super) fn of_project(
    db: &Connection,
    project: &ProjectId,
    query: &MetricQuery,
) -> rusqlite::Result<Vec<MetricRow>> {
    db.prepare_cached(
        "SELECT DISTINCT namespace, metric, dimensions FROM metric_data WHERE project = ?1 \
         AND (?2 IS NULL OR namespace = ?2) AND (?3 IS NULL OR metric = ?3) \
         ORDER BY namespace, metric, dimensions LIMIT ?4",
    )?
    .query_map(params![project.as_str(), query.namespace, query.metric, METRICS_MAX], |row| {
        Ok(MetricRow { namespace: row.get(0)?, metric: row.get(1)?, dimensions: json(row, 2)? })
    })?
    .collect()
}

pub(super) fn values(
    db: &Connection,
    project: &ProjectId,
    metric: &MetricRow,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
) -> rusqlite::Result<Vec<ValueRow>> {
    let dimensions = text(&metric.dimensions)?;
    db.prepare_cached(
        "SELECT at, unit, count, sum, minimum, maximum FROM metric_data WHERE project = ?1 AND metric = ?2 \
         AND at >= ?3 AND at < ?4 AND namespace = ?5 AND dimensions = ?6 ORDER BY at",
    )?
    .query_map(
        params![
            project.as_str(),
            metric.metric,
            micros(from),
            micros(to),
            metric.namespace,
            dimensions
        ],
        |row| {
            let sample = Sample {
                count: row.get(2)?,
                sum: row.get(3)?,
                minimum: row.get(4)?,
                maximum: row.get(5)?,
            };
            Ok(ValueRow { at: time(row, 0)?, unit: row.get(1)?, sample })
        },
    )?
    .collect()
}
