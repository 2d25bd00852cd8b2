//! The metric data of a project, as long as an alarm may need them. They stand in a stream for each
//! hour; what is kept of them in memory is read from there.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::actors::shell::Ground;
use crate::events::alarm::{AHEAD_MAX, AlarmMade, DataPut, MetricEvent, Sample, hour_of};
use crate::events::log::{EventLog, Head, LogError};
use crate::events::{Meta, NewEvent, Position, StreamId, StreamRevision};
use crate::model::{ProjectId, Refusal, StackId};

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
    metric: Arc<Metric>,
    /// Whose user has sent it.
    sender: Option<StackId>,
    sample: Sample,
}

/// Its own time, and a number that tells it from others of that time.
type PointId = (DateTime<Utc>, u64);

/// See the module.
#[derive(Default)]
pub(super) struct Data {
    is_read: bool,
    /// The hour whose stream is written, and where that ends.
    end: Option<(i64, Head)>,
    points: BTreeMap<PointId, Point>,
    /// How many were taken in so far.
    taken: u64,
    /// From when each is kept as long as data are: the later of its own time and when it came.
    kept_from: BTreeSet<(DateTime<Utc>, PointId)>,
    /// When those of the last minute came.
    lately: VecDeque<DateTime<Utc>>,
    /// How many points each metric has.
    metrics: HashMap<Arc<Metric>, usize>,
}

impl Data {
    /// Takes data in, as of this moment.
    pub(super) async fn put(
        &mut self,
        ground: &impl Ground,
        put: DataPut,
        kept: TimeDelta,
        meta: Arc<Meta>,
    ) -> Result<Position, Refusal> {
        loop {
            let now = ground.clock().now();
            let log = ground.log().as_ref();
            self.read(log, &put.project_id, now, kept).await.map_err(unavailable)?;
            self.refuse_too_much(&put)?;
            let (hour, project) = (hour_of(now), &put.project_id);
            let stream = StreamId::metrics(project, hour);
            let head = match self.end {
                Some((of, head)) if of == hour => head,
                Some(_) | None => log.head(&stream).await.map_err(unavailable)?,
            };
            let event = MetricEvent::DataPut(put.clone());
            let event = NewEvent::of(&event, now, Arc::clone(&meta))
                .map_err(|error| Refusal::unavailable(error.to_string()))?;
            match log.append(&stream, head, vec![event]).await {
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

    /// What an alarm is to look at, of the periods up to a moment; that itself is of the next.
    pub(super) async fn of(
        &mut self,
        ground: &impl Ground,
        alarm: &AlarmMade,
        until: DateTime<Utc>,
        kept: TimeDelta,
    ) -> Result<Vec<(DateTime<Utc>, Sample)>, Refusal> {
        let now = ground.clock().now();
        let log = ground.log().as_ref();
        self.read(log, &alarm.project_id, now, kept).await.map_err(unavailable)?;
        let within = self.points.range((until - alarm.rule.span(), 0)..(until, 0));
        let seen = within.filter(|(_, point)| {
            let (_, metric, dimensions) = point.metric.as_ref();
            alarm.watches(metric, dimensions, point.sender)
        });
        Ok(seen.map(|((at, _), point)| (*at, point.sample)).collect())
    }

    /// Reads back what a former process took in, and drops what nobody needs any more.
    async fn read(
        &mut self,
        log: &dyn EventLog,
        project: &ProjectId,
        now: DateTime<Utc>,
        kept: TimeDelta,
    ) -> Result<(), LogError> {
        let since = now - kept.max(KEPT_MIN);
        if !self.is_read {
            // What a read has found that fails, or that nobody waits for any more, must not be
            // counted again by the next.
            let mut fresh = Self { is_read: true, ..Self::default() };
            for hour in hour_of(since - AHEAD_MAX)..=hour_of(now) {
                let stream = StreamId::metrics(project, hour);
                let slice = log.read(&stream, StreamRevision(0)).await?;
                for event in &slice.events {
                    let damaged = |error: crate::events::DecodeError| {
                        LogError::Damaged(format!("{stream}: {error}"))
                    };
                    let MetricEvent::DataPut(put) = event.decode().map_err(damaged)?;
                    fresh.take(put, event.at);
                }
                fresh.end = Some((hour, slice.head));
            }
            *self = fresh;
        }
        let minute = now - TimeDelta::minutes(1);
        while self.lately.front().is_some_and(|came| *came <= minute) {
            self.lately.pop_front();
        }
        while self.kept_from.first().is_some_and(|(from, _)| *from < since) {
            let Some((_, id)) = self.kept_from.pop_first() else { break };
            let Some(point) = self.points.remove(&id) else { continue };
            if let Some(count) = self.metrics.get_mut(&point.metric) {
                *count -= 1;
                if *count == 0 {
                    self.metrics.remove(&point.metric);
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, put: DataPut, came: DateTime<Utc>) {
        for datum in put.data {
            let (sample, at) = (datum.sample(), datum.at.unwrap_or(came));
            let metric = Arc::new((put.namespace.clone(), datum.metric, datum.dimensions));
            let known = self.metrics.get_key_value(&metric).map(|(known, _)| Arc::clone(known));
            let metric = known.unwrap_or(metric);
            *self.metrics.entry(Arc::clone(&metric)).or_default() += 1;
            let id = (at, self.taken);
            self.taken += 1;
            self.points.insert(id, Point { metric, sender: put.stack, sample });
            self.kept_from.insert((at.max(came), id));
            self.lately.push_back(came);
        }
    }

    fn refuse_too_much(&self, put: &DataPut) -> Result<(), Refusal> {
        if self.lately.len() + put.data.len() > DATA_PER_MINUTE_MAX {
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
        let fresh: BTreeSet<Metric> =
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::alarm::Datum;
    use crate::events::log::MemoryLog;

    #[tokio::test]
    async fn a_read_that_fails_midway_leaves_nothing_that_the_next_would_count_again() {
        let (log, project) = (MemoryLog::new(), ProjectId::from("p"));
        let now = DateTime::from_timestamp(1_000_000, 0).unwrap();
        let datum = Datum {
            metric: "cpu".to_owned(),
            dimensions: BTreeMap::new(),
            unit: None,
            value: 95.0,
            several: None,
            at: None,
        };
        let (namespace, data) = ("system/linux".to_owned(), vec![datum]);
        let put = DataPut { project_id: project.clone(), stack: None, namespace, data };
        let whole = NewEvent::of(&MetricEvent::DataPut(put), now, Arc::default()).unwrap();
        let damaged = NewEvent { body: "null".to_owned(), ..whole.clone() };
        for (hour, event) in [(hour_of(now) - 1, whole), (hour_of(now), damaged)] {
            let stream = StreamId::metrics(&project, hour);
            log.append(&stream, Head::default(), vec![event]).await.unwrap();
        }
        let mut data = Data::default();
        for _ in 0..2 {
            let read = data.read(&log, &project, now, KEPT_MIN).await;
            assert!(matches!(read, Err(LogError::Damaged(_))));
            assert!(data.points.is_empty());
        }
    }
}
