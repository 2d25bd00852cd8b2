//! The metric data of a project, as long as an alarm may need them. They stand in a stream for each
//! hour; what is kept of them in memory is read from there.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::actors::services::Services;
use crate::events::alarm::{AlarmRule, DataPut, Datum, MetricEvent, hour_of};
use crate::events::log::{Head, LogError};
use crate::events::{Meta, NewEvent, Position, StreamId, StreamRevision};
use crate::model::{ProjectId, Refusal};

/// How many data of a project are kept at a time.
pub(super) const DATA_MAX: usize = 100_000;
/// How many of them may come in a minute.
pub(super) const DATA_PER_MINUTE_MAX: usize = 2_000;
/// How many metrics a project may have among them.
pub(super) const METRICS_MAX: usize = 1_000;
/// How long data are kept at least, so that they can be looked at.
const KEPT_MIN: TimeDelta = TimeDelta::hours(1);

/// A metric: its namespace, name and dimensions.
type Metric = (String, String, BTreeMap<String, String>);

struct Point {
    at: DateTime<Utc>,
    metric: Arc<Metric>,
    value: f64,
}

/// See the module.
#[derive(Default)]
pub(super) struct Data {
    is_read: bool,
    /// The hour whose stream is written, and where that ends.
    end: Option<(i64, Head)>,
    points: VecDeque<Point>,
    /// How many points each metric has.
    metrics: HashMap<Arc<Metric>, usize>,
}

impl Data {
    /// Takes data in, as of this moment.
    pub(super) async fn put(
        &mut self,
        services: &Services,
        put: DataPut,
        kept: TimeDelta,
        meta: Arc<Meta>,
    ) -> Result<Position, Refusal> {
        loop {
            let now = services.clock.now();
            self.read(services, &put.project_id, now, kept).await.map_err(unavailable)?;
            self.refuse_too_much(&put, now)?;
            let (hour, project) = (hour_of(now), &put.project_id);
            let stream = StreamId::metrics(project, hour);
            let head = match self.end {
                Some((of, head)) if of == hour => head,
                // Where it ends is all that counts.
                Some(_) | None => {
                    let end = services.log.read(&stream, StreamRevision(u64::MAX >> 1)).await;
                    end.map_err(unavailable)?.head
                }
            };
            let event = MetricEvent::DataPut(put.clone());
            let event = NewEvent::of(&event, now, Arc::clone(&meta))
                .map_err(|error| Refusal::unavailable(error.to_string()))?;
            match services.log.append(&stream, head, vec![event]).await {
                Ok(appended) => {
                    self.end = Some((hour, appended.head));
                    self.take(put, now);
                    return Ok(appended.position);
                }
                Err(LogError::Conflict { .. } | LogError::Lost { .. }) => *self = Self::default(),
                Err(error) => return Err(unavailable(error)),
            }
        }
    }

    /// What an alarm is to look at, of the periods up to a moment.
    pub(super) async fn of(
        &mut self,
        services: &Services,
        project: &ProjectId,
        (name, rule): (&str, &AlarmRule),
        now: DateTime<Utc>,
        kept: TimeDelta,
    ) -> Result<Vec<(DateTime<Utc>, f64)>, Refusal> {
        self.read(services, project, now, kept).await.map_err(unavailable)?;
        let since = now - rule.span();
        let newest = self.points.iter().rev().take_while(|point| point.at >= since);
        let seen = newest.filter(|point| {
            let (_, metric, dimensions) = point.metric.as_ref();
            rule.watches(name, metric, dimensions)
        });
        Ok(seen.map(|point| (point.at, point.value)).collect())
    }

    /// Reads back what a former process took in, and drops what nobody needs any more.
    async fn read(
        &mut self,
        services: &Services,
        project: &ProjectId,
        now: DateTime<Utc>,
        kept: TimeDelta,
    ) -> Result<(), LogError> {
        let since = now - kept.max(KEPT_MIN);
        if !self.is_read {
            for hour in hour_of(since)..=hour_of(now) {
                let stream = StreamId::metrics(project, hour);
                let slice = services.log.read(&stream, StreamRevision(0)).await?;
                for event in &slice.events {
                    let damaged = |error: crate::events::DecodeError| {
                        LogError::Damaged(format!("{stream}: {error}"))
                    };
                    let MetricEvent::DataPut(put) = event.decode().map_err(damaged)?;
                    self.take(put, event.at);
                }
                self.end = Some((hour, slice.head));
            }
            self.is_read = true;
        }
        while self.points.front().is_some_and(|point| point.at < since) {
            let Some(point) = self.points.pop_front() else { break };
            if let Some(count) = self.metrics.get_mut(&point.metric) {
                *count -= 1;
                if *count == 0 {
                    self.metrics.remove(&point.metric);
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, put: DataPut, at: DateTime<Utc>) {
        for Datum { metric, dimensions, value, .. } in put.data {
            let metric = Arc::new((put.namespace.clone(), metric, dimensions));
            let known = self.metrics.get_key_value(&metric).map(|(known, _)| Arc::clone(known));
            let metric = known.unwrap_or(metric);
            *self.metrics.entry(Arc::clone(&metric)).or_default() += 1;
            self.points.push_back(Point { at, metric, value });
        }
    }

    fn refuse_too_much(&self, put: &DataPut, now: DateTime<Utc>) -> Result<(), Refusal> {
        let minute = now - TimeDelta::minutes(1);
        let lately = self.points.iter().rev().take_while(|point| point.at > minute).count();
        if lately + put.data.len() > DATA_PER_MINUTE_MAX {
            let text = format!("A project puts up to {DATA_PER_MINUTE_MAX} data in a minute");
            return Err(limit_exceeded(&text));
        }
        if self.points.len() + put.data.len() > DATA_MAX {
            return Err(limit_exceeded(&format!("A project has up to {DATA_MAX} data at a time")));
        }
        let fresh = put
            .data
            .iter()
            .map(|it| (put.namespace.clone(), it.metric.clone(), it.dimensions.clone()));
        let fresh: std::collections::BTreeSet<Metric> =
            fresh.filter(|metric| !self.metrics.contains_key(metric)).collect();
        if self.metrics.len() + fresh.len() > METRICS_MAX {
            return Err(limit_exceeded(&format!("A project has up to {METRICS_MAX} metrics")));
        }
        Ok(())
    }
}

pub(super) fn limit_exceeded(text: &str) -> Refusal {
    Refusal::new("RequestLimitExceeded", format!("Request limit exceeded: {text}."))
}

pub(super) fn unavailable(error: LogError) -> Refusal {
    Refusal::unavailable(error.to_string())
}
