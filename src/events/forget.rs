//! Forgetting: what was deleted long ago is taken away, and the log can be proved still.
//!
//! A purge is on record before anything goes. A crash between leaves streams that are still there;
//! the next purge finds them again, and purges of what is gone already find nothing.

use std::collections::{BTreeSet, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::alarm::{AHEAD_MAX, PERIODS_MAX_SECS};
use super::log::chain::hex;
use super::log::{BlobId, EventLog, Filter, LogError};
use super::purge::{PurgedStream, StreamsPurged};
use super::vault::{Vault, VaultError};
use super::{
    AlarmEvent, ConfigEvent, DeploymentEvent, Meta, MetricEvent, NewEvent, Position, PurgeEvent,
    RecordedEvent, StackEvent, StreamId, StreamRevision,
};
use crate::clock::Clock;
use crate::model::{Action, CommandId, ProjectId, StackId, Status};

/// How many streams are listed at a time.
const PAGE_STREAMS: usize = 256;
/// How many events are read at a time.
const PAGE_EVENTS: usize = 1_000;
/// How many streams go in one step at most, unless a single stack has more.
const STEP_STREAMS: usize = 64;
/// How many damaged streams are told.
const DAMAGED_TOLD_MAX: usize = 50;
/// For how long an alarm may look at data.
const METRICS_NEEDED: TimeDelta =
    TimeDelta::seconds(PERIODS_MAX_SECS as i64 + AHEAD_MAX.num_seconds());

/// What a purge takes: what was deleted longer ago than this, of one project or of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Older {
    pub seconds: u64,
    #[serde(default)]
    pub project: Option<ProjectId>,
}

impl Older {
    /// The moment before which something was deleted that is taken.
    pub fn before(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let age = i64::try_from(self.seconds).ok().and_then(TimeDelta::try_seconds);
        age.and_then(|age| now.checked_sub_signed(age)).unwrap_or(DateTime::<Utc>::MIN_UTC)
    }
}

/// An age as an operator writes it: `30d`, `12h`, `5m`, `90s`, or a number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    number: u64,
    /// Seconds.
    unit: Option<u64>,
}

impl Age {
    /// The age in seconds; a number alone is of the unit given, in seconds.
    pub fn seconds(&self, unit: u64) -> u64 {
        self.number.saturating_mul(self.unit.unwrap_or(unit))
    }
}

impl FromStr for Age {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = match unit {
            "" => None,
            "d" => Some(86_400),
            "h" => Some(3_600),
            "m" => Some(60),
            "s" => Some(1),
            _ => return Err("an age is a whole number, or one with d, h, m or s behind it"),
        };
        let number = number.parse().map_err(|_| "an age is a whole number that is not negative")?;
        Ok(Self { number, unit })
    }
}

/// How much a purge took away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    pub stacks: usize,
    pub configs: usize,
    pub deployments: usize,
    #[serde(default)]
    pub alarms: usize,
    pub blobs: usize,
    pub events: u64,
    /// What stays because it cannot be read, each with the reason; the first few of them.
    #[serde(default)]
    pub damaged: Vec<String>,
}

impl Forgotten {
    /// What came of one thing that was looked at; `None` where it is damaged, which is no reason
    /// to keep the others.
    fn unless_damaged<T>(
        &mut self,
        stream: &StreamId,
        looked: Result<T, LogError>,
    ) -> Result<Option<T>, LogError> {
        match looked {
            Ok(found) => Ok(Some(found)),
            Err(LogError::Damaged(reason)) => {
                tracing::error!(%stream, reason, "what is damaged is not purged");
                if self.damaged.len() < DAMAGED_TOLD_MAX {
                    self.damaged.push(format!("{stream}: {reason}"));
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// A stack, configuration, deployment or alarm that is deleted, or metric data that are over.
struct Ended {
    at: DateTime<Utc>,
    project: ProjectId,
    /// The outermost stack, of a nested one.
    root: Option<StackId>,
    /// Its own stream, and those of its resources.
    streams: Vec<StreamId>,
}

/// Takes away the streams of what was deleted before a moment, the keys of such stacks and the
/// bodies that nothing refers to any more; then gives the space back.
pub async fn purge(
    log: &dyn EventLog,
    vault: &Vault,
    clock: &dyn Clock,
    before: DateTime<Utc>,
    older: &Older,
) -> Result<Forgotten, LogError> {
    let mut forgotten = Forgotten::default();
    let goes = |ended: &Ended| {
        ended.at <= before && older.project.as_ref().is_none_or(|only| *only == ended.project)
    };
    let begun = log.durable_position();
    // What a damaged stack refers to is unknown: then no body may go.
    if let Some(bodies) = purge_stacks((log, vault), clock, &goes, &mut forgotten).await? {
        forgotten.blobs = drop_idle_blobs(log, Referred { bodies, to: begun }).await?;
    }
    purge_software(log, clock, &goes, &mut forgotten).await?;
    log.compact(true).await?;
    Ok(forgotten)
}

/// The bodies that stacks refer to.
struct Referred {
    bodies: HashSet<BlobId>,
    /// Up to where it is known what was written to stacks.
    to: Position,
}

impl Referred {
    /// Takes in what was written meanwhile: a look at many stacks takes long.
    async fn catch_up(&mut self, log: &dyn EventLog) -> Result<(), LogError> {
        let stacks = Filter { kinds: vec!["stack"] };
        loop {
            let page = log.read_all(self.to, &stacks, PAGE_EVENTS).await?;
            let Some(last) = page.last() else { return Ok(()) };
            self.to = last.position;
            self.bodies.extend(read_stack(&page)?.sources);
        }
    }
}

async fn drop_idle_blobs(log: &dyn EventLog, mut referred: Referred) -> Result<usize, LogError> {
    let (mut after, mut dropped) = (String::new(), 0);
    loop {
        let page = log.blobs(&after, PAGE_STREAMS)?;
        let Some(last) = page.last() else { return Ok(dropped) };
        after.clone_from(&last.0);
        referred.catch_up(log).await?;
        let idle: Vec<_> = page.into_iter().filter(|id| !referred.bodies.contains(id)).collect();
        if !idle.is_empty() {
            dropped += log.drop_blobs(idle).await?;
        }
    }
}

/// Purges configurations, deployments and alarms that were deleted before a moment, and metric data
/// that were over: what they held was theirs alone, and nothing needs it.
pub async fn purge_deleted_software(
    log: &dyn EventLog,
    clock: &dyn Clock,
    before: DateTime<Utc>,
) -> Result<Forgotten, LogError> {
    let mut forgotten = Forgotten::default();
    purge_software(log, clock, &|ended| ended.at <= before, &mut forgotten).await?;
    if forgotten.events > 0 {
        log.compact(false).await?;
    }
    Ok(forgotten)
}

/// Purges streams that nobody writes to any more.
pub async fn purge_streams(
    log: &dyn EventLog,
    clock: &dyn Clock,
    streams: &[StreamId],
) -> Result<(), LogError> {
    for step in ends_of(log, streams).await?.chunks(STEP_STREAMS) {
        take(log, clock, step).await?;
    }
    Ok(())
}

/// Destroys the key of a stack that is deleted for good, and of a nested one whose outermost stack
/// is, too: nothing can need it any more. Whether it did.
pub async fn destroy_if_ended(
    log: &dyn EventLog,
    vault: &Vault,
    scope: &str,
) -> Result<bool, VaultError> {
    let slice = log.read(&StreamId(scope.into()), StreamRevision(0)).await?;
    match read_stack(&slice.events)?.ended {
        Some(ended) if root_ended(log, ended.root).await? => {
            vault.destroy(scope).await?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Purges stacks, and gives the bodies that those which stay refer to; `None` where that cannot be
/// known.
async fn purge_stacks(
    (log, vault): (&dyn EventLog, &Vault),
    clock: &dyn Clock,
    goes: &(dyn Fn(&Ended) -> bool + Sync),
    forgotten: &mut Forgotten,
) -> Result<Option<HashSet<BlobId>>, LogError> {
    let (mut after, mut referred) = (String::new(), HashSet::new());
    let mut all_known = true;
    loop {
        let page = log.streams("stack", &after, PAGE_STREAMS)?;
        let Some(last) = page.last() else { return Ok(all_known.then_some(referred)) };
        after = last.as_str().to_owned();
        for stream in page {
            let looked = look_at_stack(log, &stream, goes).await;
            match forgotten.unless_damaged(&stream, looked)? {
                Some(Look::Stays(sources)) => referred.extend(sources),
                Some(Look::Goes(streams)) => {
                    vault.destroy(stream.as_str()).await?;
                    forgotten.stacks += 1;
                    // The stack's own stream, which names the others, goes last.
                    for step in streams.rchunks(STEP_STREAMS) {
                        forgotten.events += take(log, clock, step).await?;
                    }
                }
                None => all_known = false,
            }
        }
    }
}

/// What is to become of a stack.
enum Look {
    /// It goes with all these.
    Goes(Vec<PurgedStream>),
    /// It stays, and refers to these bodies.
    Stays(Vec<BlobId>),
}

/// Reads all that would go before anything does: a stack with a damaged resource stays whole.
async fn look_at_stack(
    log: &dyn EventLog,
    stream: &StreamId,
    goes: &(dyn Fn(&Ended) -> bool + Sync),
) -> Result<Look, LogError> {
    let slice = log.read(stream, StreamRevision(0)).await?;
    let stack = read_stack(&slice.events)?;
    match stack.ended.filter(|ended| goes(ended)) {
        Some(ended) if root_ended(log, ended.root).await? => {
            Ok(Look::Goes(ends_of(log, &ended.streams).await?))
        }
        _ => Ok(Look::Stays(stack.sources)),
    }
}

/// Whether the outermost stack is gone, too: until then it may make a nested one again.
async fn root_ended(log: &dyn EventLog, root: Option<StackId>) -> Result<bool, LogError> {
    let Some(root) = root else { return Ok(true) };
    let slice = log.read(&StreamId::stack(root), StreamRevision(0)).await?;
    Ok(slice.events.is_empty() || read_stack(&slice.events)?.ended.is_some())
}

async fn purge_software(
    log: &dyn EventLog,
    clock: &dyn Clock,
    goes: &(dyn Fn(&Ended) -> bool + Sync),
    forgotten: &mut Forgotten,
) -> Result<(), LogError> {
    for kind in ["config", "deployment", "alarm", "metrics"] {
        let mut after = String::new();
        loop {
            let page = log.streams(kind, &after, PAGE_STREAMS)?;
            let Some(last) = page.last() else { break };
            after = last.as_str().to_owned();
            let mut step = Vec::new();
            for stream in page {
                let looked = look_at_software(log, &stream, goes).await;
                step.extend(forgotten.unless_damaged(&stream, looked)?.flatten());
            }
            for step in step.chunks(STEP_STREAMS) {
                forgotten.events += take(log, clock, step).await?;
            }
            match kind {
                "config" => forgotten.configs += step.len(),
                "deployment" => forgotten.deployments += step.len(),
                "alarm" => forgotten.alarms += step.len(),
                // Of metric data the events are counted.
                _ => {}
            }
        }
    }
    Ok(())
}

/// How a configuration, a deployment, an alarm or an hour of metric data ended, if it goes.
async fn look_at_software(
    log: &dyn EventLog,
    stream: &StreamId,
    goes: &(dyn Fn(&Ended) -> bool + Sync),
) -> Result<Option<PurgedStream>, LogError> {
    let slice = log.read(stream, StreamRevision(0)).await?;
    let is_to_go = read_software(stream, &slice.events)?.is_some_and(|ended| goes(&ended));
    Ok(slice.events.last().filter(|_| is_to_go).map(|last| end_at(last)))
}

/// How the streams end that are still there.
async fn ends_of(log: &dyn EventLog, streams: &[StreamId]) -> Result<Vec<PurgedStream>, LogError> {
    let mut ends = Vec::with_capacity(streams.len());
    for stream in streams {
        let slice = log.read(stream, StreamRevision(0)).await?;
        ends.extend(slice.events.last().map(|last| end_at(last)));
    }
    Ok(ends)
}

fn end_at(last: &RecordedEvent) -> PurgedStream {
    let (stream, events) = (last.stream.clone(), last.revision.0 + 1);
    PurgedStream { stream, events, hash: hex(&last.hash) }
}

/// Puts on record that the streams go, and takes them away; how many events they had.
async fn take(
    log: &dyn EventLog,
    clock: &dyn Clock,
    streams: &[PurgedStream],
) -> Result<u64, LogError> {
    let gone: Vec<StreamId> = streams.iter().map(|it| it.stream.clone()).collect();
    let event = PurgeEvent::from(StreamsPurged { streams: streams.to_vec() });
    let meta = Meta::of_command(CommandId(clock.fresh_id()));
    let event = NewEvent::of(&event, clock.now(), Arc::new(meta))
        .map_err(|error| LogError::Unavailable(error.to_string()))?;
    let own = StreamId::purges();
    loop {
        let head = log.head(&own).await?;
        match log.append(&own, head, vec![event.clone()]).await {
            Ok(appended) => {
                log.durable(appended.position).await?;
                log.purge(gone).await?;
                return Ok(streams.iter().map(|it| it.events).sum());
            }
            Err(LogError::Conflict { .. } | LogError::Lost { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// What counts of a stack's history.
#[derive(Default)]
struct StackRead {
    sources: Vec<BlobId>,
    ended: Option<Ended>,
}

fn read_stack(events: &[Arc<RecordedEvent>]) -> Result<StackRead, LogError> {
    let mut read = StackRead::default();
    let (mut project, mut root, mut at) = (None, None, None);
    let mut resources = BTreeSet::new();
    for event in events {
        match decoded::<StackEvent>(event)? {
            StackEvent::StackCreated(body) => {
                root = body.owner.map(|owner| owner.root);
                project = Some(body.project_id);
            }
            StackEvent::RevisionAccepted(body) => read.sources.extend(body.source),
            StackEvent::TraversalStarted(body) => {
                resources.extend(body.nodes.into_iter().map(|node| node.id));
                resources.extend(body.rows.into_iter().flatten().map(|row| row.id));
                at = None;
            }
            StackEvent::ReplacementStarted(body) => {
                resources.extend([body.old, body.new]);
            }
            StackEvent::TraversalSettled(body) => {
                let is_end = body.action == Action::Delete && body.status == Status::Complete;
                at = is_end.then_some(event.at);
                resources.extend(body.rows.into_iter().flatten().map(|row| row.id));
            }
            StackEvent::ActionDeferred(_)
            | StackEvent::SnapshotStarted(_)
            | StackEvent::SnapshotSettled(_)
            | StackEvent::SnapshotDeletionStarted(_)
            | StackEvent::SnapshotDeletionSettled(_)
            | StackEvent::OutputsChanged(_)
            | StackEvent::UserProjectMade(_)
            | StackEvent::DriftLooked(_)
            | StackEvent::UserProjectDeleted(_) => {}
        }
    }
    if let (Some(first), Some(project), Some(at)) = (events.first(), project, at) {
        let own = std::iter::once(first.stream.clone());
        let streams = own.chain(resources.into_iter().map(StreamId::resource)).collect();
        read.ended = Some(Ended { at, project, root, streams });
    }
    Ok(read)
}

fn read_software(
    stream: &StreamId,
    events: &[Arc<RecordedEvent>],
) -> Result<Option<Ended>, LogError> {
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok(None) };
    let project = match stream.kind() {
        "config" => match (decoded(first)?, decoded(last)?) {
            (ConfigEvent::ConfigCreated(body), ConfigEvent::ConfigDeleted(_)) => body.project_id,
            _ => return Ok(None),
        },
        "alarm" => match (decoded(first)?, decoded(last)?) {
            (AlarmEvent::AlarmMade(body), AlarmEvent::AlarmDeleted(_)) => body.project_id,
            _ => return Ok(None),
        },
        "metrics" => {
            // They are over once no alarm can look at them any more.
            let MetricEvent::DataPut(body) = decoded(first)?;
            let at = last.at + METRICS_NEEDED;
            let streams = vec![stream.clone()];
            return Ok(Some(Ended { at, project: body.project_id, root: None, streams }));
        }
        _ => match (decoded(first)?, decoded(last)?) {
            (DeploymentEvent::DeploymentCreated(body), DeploymentEvent::DeploymentDeleted(_)) => {
                body.project_id
            }
            _ => return Ok(None),
        },
    };
    let streams = vec![stream.clone()];
    Ok(Some(Ended { at: last.at, project, root: None, streams }))
}

fn decoded<E: super::Event>(event: &RecordedEvent) -> Result<E, LogError> {
    event.decode().map_err(|error| {
        LogError::Damaged(format!("position {} of {}: {error}", event.position, event.stream))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_as_operators_write_them() {
        let read = |text: &str| text.parse::<Age>().map(|age| age.seconds(86_400));
        assert_eq!(read("30d"), Ok(30 * 86_400));
        assert_eq!((read("90"), read("12h")), (Ok(90 * 86_400), Ok(43_200)));
        assert_eq!((read("5m"), read("0s")), (Ok(300), Ok(0)));
        for wrong in ["", "d", "-1d", "1w", "1.5d", "99999999999999999999"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_age_beyond_all_time_takes_nothing() {
        let older = Older { seconds: u64::MAX, project: None };
        assert_eq!(older.before(DateTime::UNIX_EPOCH), DateTime::<Utc>::MIN_UTC);
    }
}
