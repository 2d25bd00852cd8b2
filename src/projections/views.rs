//! The handle on the views: what the other rooms ask, each answer of one moment.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::Connection;
use tokio::sync::watch;
use uuid::Uuid;

use super::error::ViewError;
use super::owners::Owners;
use super::past::{self, Pasts};
use super::runner::{self, Runner, Told};
use super::stack_query::{self, StackQuery};
use super::store::{Place, Readers};
use super::{
    AlarmChange, AlarmRow, ConfigQuery, ConfigRow, DeploymentRow, EventDue, EventQuery, EventRow,
    HistoryQuery, MetricQuery, MetricRow, ResourceRow, RevisionRow, Search, SnapshotRow, StackRow,
    StackShown, StackThen, ValueRow, WebhookRow, alarms, event_list, landmarks, metrics, resources,
    revisions, snapshots, software, stacks, tally, told, webhooks, written,
};
use crate::events::log::EventLog;
use crate::events::{Position, StreamId};
use crate::metrics::{Measured, Page};
use crate::model::{
    AlarmId, Changes, ConfigId, DeploymentId, Holder, OnRecord, ProjectId, ResourceId,
    ResourceName, StackId, Tally, TraversalId,
};

/// How long an answer waits for the views.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// How many blocks are looked up at a time.
const BLOCKS_MAX: usize = 256;

/// The read models of a log. Cheap to clone; the runner ends with the last clone.
#[derive(Clone)]
pub struct Views {
    inner: Arc<Inner>,
}

struct Inner {
    readers: Arc<Readers>,
    log: Arc<dyn EventLog>,
    passed: watch::Receiver<Position>,
    changes: Changes,
    source: Source,
    pasts: Pasts<Views>,
    owners: Owners,
}

/// Where what the views say comes from.
enum Source {
    /// The log, as it grows.
    Followed(Runner),
    /// What a tree of stacks was once. The connection keeps the database in memory.
    Past { _kept: Mutex<Connection> },
}

impl Views {
    /// Opens the views of a log in a file, and starts to follow the log from where they stand.
    pub async fn open(path: &Path, log: Arc<dyn EventLog>) -> Result<Views, ViewError> {
        Self::start(Place::File(path.to_owned()), log).await
    }

    /// Views that live in memory.
    pub async fn in_memory(log: Arc<dyn EventLog>) -> Result<Views, ViewError> {
        Self::start(Place::memory(), log).await
    }

    async fn start(place: Place, log: Arc<dyn EventLog>) -> Result<Views, ViewError> {
        let (sender, passed) = watch::channel(Position(0));
        let (readers, changes) = (Arc::new(Readers::new(place)), Changes::default());
        let told = Told { passed: sender, changes: changes.clone() };
        let runner = runner::start(Arc::clone(&readers), Arc::clone(&log), told).await?;
        Ok(Self::of(readers, log, (passed, changes), Source::Followed(runner)))
    }

    /// Views that stand at a position for ever, in a database in memory.
    fn past(place: Place, db: Connection, log: Arc<dyn EventLog>, at: Position) -> Views {
        let (_, passed) = watch::channel(at);
        let known = (passed, Changes::default());
        Self::of(Arc::new(Readers::new(place)), log, known, Source::Past { _kept: db.into() })
    }

    fn of(
        readers: Arc<Readers>,
        log: Arc<dyn EventLog>,
        (passed, changes): (watch::Receiver<Position>, Changes),
        source: Source,
    ) -> Views {
        let (pasts, owners) = (Pasts::default(), Owners::default());
        Views { inner: Arc::new(Inner { readers, log, passed, changes, source, pasts, owners }) }
    }

    /// Whose the streams are that were met so far.
    pub(super) fn owners(&self) -> &Owners {
        &self.inner.owners
    }

    /// What has changed, noted when it can be read. Others who change what is read beside the views
    /// note it here, too.
    pub fn changes(&self) -> Changes {
        self.inner.changes.clone()
    }

    /// The views of a stack, and of all in its tree, as they were at a position.
    pub async fn at(&self, stack: &StackRow, at: Position) -> Result<Views, ViewError> {
        self.soon_after(at).await?;
        let root = stack.within.as_ref().map_or(stack.id, |within| within.root);
        let log = &self.inner.log;
        let streams = |max| {
            // By then the views have every stream; later ones may come.
            let end = self.position();
            Ok((self.streams_of(root, max)?, end))
        };
        let made = |place, db| Self::past(place, db, Arc::clone(log), at);
        self.inner.pasts.of(log, (root, at), streams, made).await
    }

    /// The streams of a tree.
    fn streams_of(&self, root: StackId, max: usize) -> Result<Vec<StreamId>, ViewError> {
        let streams = self.read(|db| past::streams(db, root, max))?;
        if streams.len() > max { Err(ViewError::TooMuch) } else { Ok(streams) }
    }

    /// Returns when the views contain everything up to the position.
    pub async fn after(&self, position: Position) -> Result<(), ViewError> {
        let mut passed = self.inner.passed.clone();
        match passed.wait_for(|passed| *passed >= position).await {
            Ok(_) => Ok(()),
            Err(_) => Err(ViewError::Stopped),
        }
    }

    /// The same, for as long as somebody waits for an answer.
    pub async fn soon_after(&self, position: Position) -> Result<(), ViewError> {
        let passed = tokio::time::timeout(WAIT_MAX, self.after(position)).await;
        passed.unwrap_or(Err(ViewError::Behind))
    }

    /// How far the views have come.
    pub fn position(&self) -> Position {
        *self.inner.passed.borrow()
    }

    /// Whether the views still follow the log.
    pub fn is_following(&self) -> bool {
        match &self.inner.source {
            Source::Followed(runner) => runner.is_at_work(),
            Source::Past { .. } => false,
        }
    }

    /// Stops following the log and closes the file. Other clones read what is there.
    pub async fn close(&self) {
        let inner = Arc::clone(&self.inner);
        let closed = tokio::task::spawn_blocking(move || {
            if let Source::Followed(runner) = &inner.source {
                runner.end();
            }
            inner.readers.forget();
        });
        if closed.await.is_err() {
            tracing::error!("the views were not closed cleanly");
        }
    }

    /// Reads at once, on the thread that asks: a page of a small file that is in memory costs less
    /// than a change of threads, which on a busy machine waits for its turn.
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ViewError> {
        self.inner.readers.read(read)
    }

    /// Stacks in the middle of an action, by all that is in the log now: views that a crash left
    /// behind catch up first, so that no stack is missed.
    pub async fn unsettled_stacks(&self) -> Result<Vec<StackId>, ViewError> {
        self.after(self.inner.log.durable_position()).await?;
        self.read(stacks::unsettled)
    }

    /// How much there is of what is limited, by all that is in the log now.
    pub async fn tally(&self) -> Result<Tally, ViewError> {
        self.after(self.inner.log.durable_position()).await?;
        self.read(tally::of_all)
    }

    /// What a project has written into the log in the day before a moment, in bytes.
    pub async fn written(&self, project: &ProjectId, now: DateTime<Utc>) -> Result<u64, ViewError> {
        self.read(|db| written::in_day_before(db, project, now))
    }

    /// The stacks whose schedule, or a default, says that they are to be compared with the cloud by
    /// now, the longest due first.
    pub async fn drift_due(
        &self,
        default: Option<TimeDelta>,
        now: DateTime<Utc>,
    ) -> Result<Vec<StackId>, ViewError> {
        self.inner.readers.read(|db| stacks::drift_due(db, default, now))
    }

    /// The webhooks of a project, or of all, oldest first.
    pub async fn webhooks(
        &self,
        project: Option<&ProjectId>,
    ) -> Result<Vec<WebhookRow>, ViewError> {
        self.read(|db| webhooks::of(db, project))
    }

    /// A page of stacks.
    pub async fn stacks(&self, query: StackQuery) -> Result<Vec<StackRow>, ViewError> {
        self.read(move |db| stack_query::page(db, &query))
    }

    /// How many stacks a query matches, whatever its page.
    pub async fn count_stacks(&self, query: StackQuery) -> Result<u64, ViewError> {
        self.read(move |db| stack_query::count(db, &query))
    }

    /// A stack, deleted or not.
    pub async fn stack(&self, id: StackId) -> Result<Option<StackRow>, ViewError> {
        self.read(move |db| stacks::by_id(db, id))
    }

    /// A stack with its newest definition and its outputs.
    pub async fn stack_shown(&self, id: StackId) -> Result<Option<StackShown>, ViewError> {
        self.read(move |db| stacks::shown(db, id))
    }

    /// A project's stack by its id (deleted ones too) or its name (living ones).
    pub async fn find(
        &self,
        project: ProjectId,
        name_or_id: String,
    ) -> Result<Option<StackRow>, ViewError> {
        self.read(move |db| {
            if let Ok(id) = Uuid::try_parse(&name_or_id)
                && let Some(stack) = stacks::by_id(db, StackId(id))?
                && stack.is_seen_from(&project)
            {
                return Ok(Some(stack));
            }
            match stacks::by_name(db, &project, &name_or_id)? {
                Some(stack) => Ok(Some(stack)),
                None => stacks::by_name_among_users(db, &project, &name_or_id),
            }
        })
    }

    /// The newest of a project's stacks that ever had a name.
    pub async fn once_named(
        &self,
        project: ProjectId,
        name: String,
    ) -> Result<Option<StackRow>, ViewError> {
        self.read(move |db| stacks::once_named(db, &project, &name))
    }

    /// A project's living stacks that list a resource with a physical id.
    pub async fn stacks_with(
        &self,
        project: ProjectId,
        physical_id: String,
    ) -> Result<Vec<StackRow>, ViewError> {
        self.read(move |db| stacks::with_resource(db, &project, &physical_id))
    }

    /// The living stacks that stand in a stack itself, oldest first.
    pub async fn children(&self, stack: StackRow) -> Result<Vec<StackRow>, ViewError> {
        self.read(move |db| stacks::children(db, &stack))
    }

    /// Every stack of a tree, deleted ones too, by the outermost.
    pub async fn tree(&self, root: StackId) -> Result<Vec<StackId>, ViewError> {
        self.read(move |db| stacks::of_root(db, root))
    }

    /// The resources that a stack lists.
    pub async fn resources(&self, stack: StackId) -> Result<Vec<ResourceRow>, ViewError> {
        self.read(move |db| resources::of_stack(db, stack))
    }

    /// The resource of a name that a stack lists. Who requires it is left out: that takes a look at
    /// all of them.
    pub async fn resource(
        &self,
        stack: StackId,
        name: &str,
    ) -> Result<Option<ResourceRow>, ViewError> {
        self.read(|db| resources::of_name(db, stack, name))
    }

    /// The stack that an incarnation of a resource belongs or belonged to, and its name there.
    pub async fn owner_of(
        &self,
        resource: ResourceId,
    ) -> Result<Option<(StackId, ResourceName)>, ViewError> {
        self.read(move |db| resources::owner(db, resource))
    }

    /// The resources of a project's stacks that stand for an object of the cloud.
    pub async fn with_physical_id(
        &self,
        project: ProjectId,
        physical_id: String,
    ) -> Result<Vec<(StackId, ResourceName)>, ViewError> {
        self.read(move |db| resources::with_physical_id(db, &project, &physical_id))
    }

    /// Events of a stack.
    pub async fn events(
        &self,
        stack: StackId,
        query: EventQuery,
    ) -> Result<Vec<EventRow>, ViewError> {
        self.read(move |db| event_list::of_stack(db, stack, &query))
    }

    /// One event of a stack.
    pub async fn event(&self, stack: StackId, id: Uuid) -> Result<Option<EventRow>, ViewError> {
        self.read(move |db| event_list::by_id(db, stack, id))
    }

    /// Where the log stood before what a stack is at, or did last.
    pub async fn before_action(&self, stack: StackId) -> Result<Position, ViewError> {
        self.read(move |db| event_list::before_action(db, stack))
    }

    /// The next blocks of positions, some of them, in which there is something to be found.
    pub async fn blocks(
        &self,
        search: &Search,
        after: Position,
    ) -> Result<Vec<RangeInclusive<u64>>, ViewError> {
        let width = landmarks::width(self.inner.log.as_ref());
        self.read(|db| landmarks::blocks(db, width, search, after, BLOCKS_MAX))
    }

    /// Events after a position and up to another that are to be sent to sinks, of a project or of all,
    /// oldest first.
    pub async fn events_due(
        &self,
        project: Option<ProjectId>,
        (after, to): (Position, Position),
        limit: usize,
    ) -> Result<Vec<EventDue>, ViewError> {
        self.read(move |db| told::due(db, project.as_ref(), (after, to), limit))
    }

    /// A stack as it stood at a position.
    pub async fn stack_then(
        &self,
        id: StackId,
        at: Position,
    ) -> Result<Option<StackThen>, ViewError> {
        self.after(at).await?;
        self.read(move |db| told::stack_then(db, id, at))
    }

    /// Every accepted definition of a stack, oldest first.
    pub async fn revisions(&self, stack: StackId) -> Result<Vec<RevisionRow>, ViewError> {
        self.read(move |db| revisions::of_stack(db, stack))
    }

    /// The snapshots of a stack, oldest first.
    pub async fn snapshots(&self, stack: StackId) -> Result<Vec<SnapshotRow>, ViewError> {
        self.read(move |db| snapshots::of_stack(db, stack))
    }

    /// One snapshot, of whichever stack.
    pub async fn snapshot(&self, id: TraversalId) -> Result<Option<SnapshotRow>, ViewError> {
        self.read(move |db| snapshots::by_id(db, id))
    }

    /// The newest accepted definition of a stack.
    pub async fn newest_revision(&self, stack: StackId) -> Result<Option<RevisionRow>, ViewError> {
        self.read(move |db| revisions::newest(db, stack))
    }

    /// A configuration of a project, or of any.
    pub async fn config(
        &self,
        project: Option<ProjectId>,
        id: ConfigId,
    ) -> Result<Option<ConfigRow>, ViewError> {
        self.read(move |db| software::config(db, project.as_ref(), id))
    }

    /// A page of configurations.
    pub async fn configs(&self, query: ConfigQuery) -> Result<Vec<ConfigRow>, ViewError> {
        self.read(move |db| software::configs(db, &query))
    }

    /// Whether a deployment has the configuration, by all that is in the log now.
    pub async fn is_deployed(&self, id: ConfigId) -> Result<bool, ViewError> {
        self.after(self.inner.log.durable_position()).await?;
        self.read(move |db| software::is_deployed(db, id))
    }

    /// A deployment that a project sees, or of any.
    pub async fn deployment(
        &self,
        project: Option<ProjectId>,
        id: DeploymentId,
    ) -> Result<Option<DeploymentRow>, ViewError> {
        self.read(move |db| software::deployment_of(db, project.as_ref(), id))
    }

    /// The deployments that a project sees, oldest first; of one server, where one is named.
    pub async fn deployments(
        &self,
        project: Option<ProjectId>,
        server: Option<String>,
    ) -> Result<Vec<DeploymentRow>, ViewError> {
        let rows =
            self.read(move |db| software::deployments(db, project.as_ref(), server.as_deref()))?;
        rows.ok_or(ViewError::TooMuch)
    }

    /// The living stack that has its users in a project.
    pub async fn stack_of_users(&self, users: ProjectId) -> Result<Option<StackRow>, ViewError> {
        self.read(move |db| stacks::of_users(db, &users))
    }

    /// Every alarm, with whose it is.
    pub async fn all_alarms(&self) -> Result<Vec<(ProjectId, AlarmId)>, ViewError> {
        self.read(alarms::all)
    }

    /// A project's alarms by their names; those of one name, where one is given.
    pub async fn alarms(
        &self,
        project: ProjectId,
        name: Option<String>,
    ) -> Result<Vec<AlarmRow>, ViewError> {
        self.read(move |db| alarms::of_project(db, &project, name.as_deref()))
    }

    /// What happened to a project's alarms, the newest first.
    pub async fn alarm_history(
        &self,
        project: ProjectId,
        query: HistoryQuery,
    ) -> Result<Vec<AlarmChange>, ViewError> {
        self.read(move |db| alarms::history(db, &project, &query))
    }

    /// The metrics that a project has data of.
    pub async fn metrics(
        &self,
        project: ProjectId,
        query: MetricQuery,
    ) -> Result<Vec<MetricRow>, ViewError> {
        self.read(move |db| metrics::of_project(db, &project, &query))
    }

    /// The values of a metric in a time.
    pub async fn metric_values(
        &self,
        project: ProjectId,
        metric: MetricRow,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Result<Vec<ValueRow>, ViewError> {
        self.read(move |db| metrics::values(db, &project, &metric, (from, to)))
    }

    /// The configurations that are deployed to a server, by their names.
    pub async fn configs_of_server(
        &self,
        project: Option<ProjectId>,
        server: &str,
    ) -> Result<Vec<ConfigRow>, ViewError> {
        let server = server.to_owned();
        let rows =
            self.read(move |db| software::configs_of_server(db, project.as_ref(), &server))?;
        rows.ok_or(ViewError::TooMuch)
    }
}

#[async_trait]
impl OnRecord for Views {
    async fn holders(&self, physical_id: &str) -> Result<Vec<Holder>, String> {
        let text = |error: ViewError| error.to_string();
        self.after(self.inner.log.durable_position()).await.map_err(text)?;
        self.read(|db| resources::holders(db, physical_id)).map_err(text)
    }

    async fn unsettled(&self) -> Result<Vec<StackId>, String> {
        self.unsettled_stacks().await.map_err(|error| error.to_string())
    }
}

impl Measured for Views {
    fn measure(&self, page: &mut Page) {
        let position = self.position().0;
        let behind = self.inner.log.durable_position().0.saturating_sub(position);
        page.gauge("hearth_views_position", "How far the views have come.", position);
        let help = "Durable events that the views do not have yet, about.";
        page.gauge("hearth_views_lag_events", help, behind.div_ceil(self.inner.log.spacing()));
        let help = "Whether the views follow the log.";
        page.gauge("hearth_views_following", help, u8::from(self.is_following()));
    }
}
