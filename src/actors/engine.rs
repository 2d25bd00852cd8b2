//! The engine: the one handle that others hold. It finds the actors and passes on what is asked
//! of them; what it is asked for stands with its noun (`accept`, `resources`, `preview`,
//! `snapshots`, `export`, `history`).

use std::sync::{Arc, Mutex, Weak};

use actix::prelude::{Handler, Message};
use futures::{StreamExt, future, stream};
use tokio::sync::watch;
use tracing::{error, info, warn};

use super::alarms::{AlarmKeeper, Alarms};
use super::asks::{RequestContext, StackHead, StackSummary};
use super::claims::Claims;
use super::credentials::check_home;
use super::directory::Directory;
use super::extensions::Extensions;
use super::look::AskSummary;
use super::measures::Measures;
use super::pool::{Pool, TemplateLoad};
use super::services::{EngineLimits, ForbiddenTypes, Services};
use super::sessions::Credentials;
use super::shell::{Expected, Receipt, Shell};
use super::software::SoftwareKeeper;
use super::stack::{SeenNow, Stack, StackCommand};
use super::stack_actor::{AskHead, Drop, OutputsNow, ReadLive};
use super::tallies::Tallies;
use super::turns::Turns;
use super::{definition, exposure};
use crate::clock::Clock;
use crate::events::Position;
use crate::events::log::EventLog;
use crate::events::stack::OutputResolved;
use crate::events::vault::Vault;
use crate::metrics::{Measured, Page};
use crate::model::{Changes, OnRecord, PlanId, ProjectId, Refusal, StackId, Tally, Trustor, taint};
use crate::openstack::{Cloud, Fetcher, Poster, Session};
use crate::resource_types::child::Nested;
use crate::resource_types::{Registry, TreeBounds};
use crate::template::StackSource;

/// How many resources are looked at in the cloud at once for the outputs of a stack.
const LOOKS_AT_ONCE_MAX: usize = 8;

/// What the engine is made of.
pub struct EngineParts {
    pub log: Arc<dyn EventLog>,
    pub vault: Arc<Vault>,
    pub registry: Arc<Registry>,
    /// Without one only types that call no cloud can be created.
    pub cloud: Option<Arc<Cloud>>,
    pub clock: Arc<dyn Clock>,
    pub limits: EngineLimits,
    /// Whether whoever is woken goes on with work that a former process left, which is never so where
    /// the log is read alone. Without it, what is asked about a stack at work leaves that where it is.
    pub goes_on: bool,
    pub forbidden_types: ForbiddenTypes,
    pub on_record: Arc<dyn OnRecord>,
    /// Where a change of a stack is noted that can be read at its actor.
    pub changes: Changes,
}

/// The handle.
#[derive(Clone)]
pub struct Engine {
    pub(super) services: Arc<Services>,
}

impl Engine {
    /// Starts the engine. Needs a running actix system, whose arbiters carry the actors.
    pub fn start(parts: EngineParts) -> Engine {
        let directory = Arc::new(Directory::new());
        let EngineLimits { max_template_size, template_fetch_timeout, fetch_allow, .. } =
            &parts.limits;
        let fetcher = Fetcher::new(*max_template_size, *template_fetch_timeout, fetch_allow);
        let poster = Poster::new(fetch_allow);
        let services = Arc::new(Services {
            log: parts.log,
            vault: parts.vault,
            registry: parts.registry,
            cloud: parts.cloud,
            clock: parts.clock.clone(),
            limits: parts.limits,
            goes_on: parts.goes_on,
            forbidden_types: parts.forbidden_types,
            on_record: parts.on_record,
            changes: parts.changes,
            claims: Claims::default(),
            directory: directory.clone(),
            credentials: Credentials::default(),
            naming: Turns::default(),
            placing: Turns::default(),
            ghosts_looked_for: Mutex::default(),
            tallies: Tallies::default(),
            told: watch::Sender::new(None),
            alarms: Alarms::default(),
            fetcher,
            poster,
            measures: Measures::default(),
            extensions: Extensions::default(),
            pool: Pool::start(parts.clock),
        });
        directory.open(services.clone());
        // What is lost before it is looked for counts, too.
        let generation = services.log.generation();
        actix::spawn(drop_what_was_lost(Arc::downgrade(&services), generation));
        Engine { services }
    }

    /// Counts what there is of what is limited, before anything is added to it.
    pub fn count(&self, tally: Tally) {
        self.services.tallies.begin(tally);
    }

    /// Wakes the stacks that have work left; it goes on with nobody asking.
    pub async fn recover(&self, unsettled: Vec<StackId>) {
        if !unsettled.is_empty() {
            info!(stacks = unsettled.len(), "unsettled stacks are woken");
        }
        for id in unsettled {
            self.services.directory.stack(id);
        }
    }

    /// Others were told of everything up to a position. Once this was said, trusts are kept until
    /// others were told of what they were for.
    pub fn told(&self, at: Position) {
        self.services.told.send_replace(Some(at));
    }

    /// Returns when others were told of everything up to a position.
    pub async fn everybody_told(&self, at: Position) {
        self.services.everybody_told(at).await;
    }

    /// A session in a user's name in a project.
    pub async fn session_of(
        &self,
        project: &ProjectId,
        trustor: &Trustor,
    ) -> Result<Session, Refusal> {
        let session = self.services.credentials.session(&self.services, project, trustor).await;
        session.map_err(|error| Refusal::new(error.class().to_owned(), error.to_string()))
    }

    /// The keeper of software configurations and deployments.
    pub fn software(&self) -> SoftwareKeeper {
        SoftwareKeeper::of(self.services.clone())
    }

    /// The keeper of alarms and of the metric data that they watch.
    pub fn alarms(&self) -> AlarmKeeper {
        AlarmKeeper::of(self.services.clone())
    }

    /// The source of the stack's newest revision, with marks on secrets.
    pub async fn source_of(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<StackSource, Refusal> {
        let summary = self.summary(who, stack).await?;
        self.source(&summary).await
    }

    /// Lets stacks stop between two commands. What was decided becomes durable when the log is closed.
    pub fn shutdown(&self) {
        for stack in self.services.directory.close() {
            stack.do_send(Drop);
        }
        self.halt();
    }

    /// Stops in the middle of everything, as a process that is killed.
    pub fn halt(&self) {
        self.services.alarms.stop();
        self.services.pool.close();
        self.services.directory.stop();
    }

    /// Whether what runs resources under a name is a group whose size policies may change.
    pub fn scales(&self, driver_type: &str) -> bool {
        let driver = self.services.registry.driver(driver_type);
        driver.is_some_and(|driver| driver.nests().is_some_and(Nested::scales))
    }

    /// What a tree of stacks is bounded by.
    pub fn bounds(&self) -> TreeBounds {
        self.services.limits.tree()
    }

    /// Whether every update compares with what there is in the cloud.
    pub fn observes_on_update(&self) -> bool {
        self.services.limits.observe_on_update
    }

    /// Works on templates for a request of a project's, on the threads that are there for it.
    pub async fn work<T: Send + 'static>(
        &self,
        project: &ProjectId,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.services.pool.run(project, job).await
    }

    /// What is being done on those threads.
    pub fn template_load(&self) -> TemplateLoad {
        self.services.pool.load()
    }

    /// The outputs of a stack as they resolve now, for its own owner alone; none for a stack that
    /// goes or has gone. What cannot be looked up is as it is on record.
    pub async fn outputs_now(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<Vec<OutputResolved>, Refusal> {
        let looks = self.ask_of(stack, || ReadLive).await?.into_iter();
        let looks = looks.map(async |(name, wanted)| {
            let seen = self.inspect_resource(who, stack, &name, &wanted).await.ok()?;
            Some((name, seen))
        });
        let seen = stream::iter(looks).buffer_unordered(LOOKS_AT_ONCE_MAX);
        let seen: Arc<SeenNow> = Arc::new(seen.filter_map(future::ready).collect().await);
        let mut outputs = self.ask_of(stack, || OutputsNow(Arc::clone(&seen))).await?;
        outputs.iter_mut().for_each(|output| output.value = taint::plain(output.value.take()));
        Ok(outputs)
    }

    /// The summary of a stack, for who may see it.
    pub(super) async fn summary(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<StackSummary, Refusal> {
        let missing = || Refusal::not_found("Stack", stack);
        let summary = self.summary_of(stack).await?.ok_or_else(missing)?;
        self.may_see(who, &summary)?;
        Ok(summary)
    }

    /// The same of what each request for something of a stack needs, whatever its size.
    pub(super) async fn head(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<StackHead, Refusal> {
        let head = self.ask_of(stack, || AskHead).await?;
        let head = head.ok_or_else(|| Refusal::not_found("Stack", stack))?;
        self.may_see(who, &head)?;
        Ok(head)
    }

    /// Refuses who may not see a stack, and what is deleted.
    pub(super) fn may_see(&self, who: &RequestContext, head: &StackHead) -> Result<(), Refusal> {
        // Another project's stack is not found, so that its existence stays unknown.
        let own = &who.caller.project_id;
        let is_own = head.project_id == *own || head.user_project.as_ref() == Some(own);
        if !is_own && !who.caller.is_admin() {
            return Err(Refusal::not_found("Stack", head.id));
        }
        match head.deleted {
            true => Err(Refusal::not_found("Stack", &head.name)),
            false => Ok(()),
        }
    }

    /// Sees to it that work on a stack may go on once the request is over. As in Heat it goes on in
    /// its owner's name where an administrator of another project asks: his token delegates
    /// nothing there.
    pub(super) async fn ensure(
        &self,
        who: &RequestContext,
        summary: &StackSummary,
    ) -> Result<Trustor, Refusal> {
        check_home(&self.services, &summary.project_id, &who.token).await?;
        if summary.project_id == who.caller.project_id || !who.caller.is_admin() {
            return self.services.credentials.ensure(&self.services, who).await;
        }
        self.session_of(&summary.project_id, &summary.trustor).await?;
        Ok(summary.trustor.clone())
    }

    /// Refuses who may not use the types of a stack.
    pub(super) async fn allow(
        &self,
        who: &RequestContext,
        summary: &StackSummary,
    ) -> Result<(), Refusal> {
        let Some(known) = &summary.known else { return Ok(()) };
        let types = exposure::types(&known.definition);
        exposure::check_allowed(&self.services, &who.caller, types).await
    }

    pub(super) fn silent() -> Refusal {
        Refusal::unavailable("The engine does not answer at present.")
    }

    pub(super) async fn summary_of(&self, stack: StackId) -> Result<Option<StackSummary>, Refusal> {
        self.ask_of(stack, || AskSummary).await
    }

    /// Asks a stack's actor; one that went to rest meanwhile is woken and asked again.
    pub(super) async fn ask_of<M>(
        &self,
        stack: StackId,
        message: impl Fn() -> M,
    ) -> Result<M::Result, Refusal>
    where
        M: Message<Result: Send> + Send + 'static,
        Shell<Stack>: Handler<M>,
    {
        self.services.ask_of(stack, message).await.ok_or_else(Self::silent)
    }

    /// Sends a command, which may be sent again: it is answered once.
    pub(super) async fn ask_stack(
        &self,
        stack: StackId,
        who: &RequestContext,
        command: impl Fn() -> StackCommand,
    ) -> Result<Receipt, Refusal> {
        self.ask_planned(stack, who, None, command).await
    }

    /// The same, of a change that a plan foretold, which saw the stack at a position.
    pub(super) async fn ask_planned(
        &self,
        stack: StackId,
        who: &RequestContext,
        planned: Option<Position>,
        command: impl Fn() -> StackCommand,
    ) -> Result<Receipt, Refusal> {
        let measures = &self.services.measures;
        let planned = planned.map(|at| Expected { last: vec![at], otherwise: not_as_planned() });
        let expected: Vec<Expected> = matched(who).into_iter().chain(planned).collect();
        let ask = || measures.ask(command(), who.meta()).expecting(expected.clone());
        self.ask_of(stack, ask).await?
    }

    pub(super) async fn source(&self, summary: &StackSummary) -> Result<StackSource, Refusal> {
        definition::open(&self.services, summary.id, summary.sourced.as_ref()).await
    }
}

impl Measured for Engine {
    fn measure(&self, page: &mut Page) {
        self.services.measures.show(page);
        let load = self.template_load();
        let help = "Work on templates under way for requests.";
        page.gauge("hearth_engine_template_jobs", help, load.at_work);
        let help = "Work on templates that ended because nobody waited for it.";
        page.counter("hearth_engine_template_jobs_given_up_total", help, load.given_up);
    }
}

/// The state of the stack that `If-Match` names.
pub(super) fn matched(who: &RequestContext) -> Option<Expected> {
    let last = who.conditions.at.clone()?;
    let text = "The stack is no longer as the If-Match header says: it was changed meanwhile.";
    Some(Expected { last, otherwise: Refusal::new("HTTPPreconditionFailed", text) })
}

/// The stack has changed in the moment after its plan was found to hold.
pub(super) fn not_as_planned() -> Refusal {
    PlanId::outdated("The stack has been changed just now.")
}

/// Drops every actor that went ahead of a log that failed, and wakes it from what is durable.
async fn drop_what_was_lost(services: Weak<Services>, mut generation: watch::Receiver<u64>) {
    while generation.changed().await.is_ok() {
        let Some(services) = services.upgrade() else { return };
        // What was read at actors that have gone to rest may be of what is lost; those that are awake
        // note it as they are dropped.
        services.changes.note_all();
        services.directory.forget_projects();
        if services.log.is_read_only() {
            // Others have written: whoever is asked for next is read anew.
            for id in services.directory.awake() {
                if let Some(address) = services.directory.stack(id) {
                    address.do_send(Drop);
                }
            }
            services.alarms.read_back().await;
            continue;
        }
        warn!("the log lost events that were not durable; actors are read back");
        for id in services.directory.awake() {
            if let Some(address) = services.directory.stack(id) {
                address.do_send(Drop);
            }
            services.directory.rewake(id);
        }
        // Whoever went to rest before their last events were durable may owe work again.
        match services.on_record.unsettled().await {
            Ok(unsettled) => unsettled.into_iter().for_each(|id| {
                services.directory.stack(id);
            }),
            Err(problem) => error!(%problem, "stacks that lost events may not be woken"),
        }
        services.alarms.read_back().await;
    }
}
