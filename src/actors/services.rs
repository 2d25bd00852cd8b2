//! What actors work with: the other rooms, and the limits that an operator sets.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::{Actor, Addr, ArbiterHandle, Handler, Message};
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::alarms::Alarms;
use super::claims::Claims;
use super::directory::{Directory, Wakes};
use super::extensions::Extensions;
use super::measures::Measures;
use super::pool::Pool;
use super::project::Project;
use super::resource::Resource;
use super::sessions::Credentials;
use super::shell::{Ground, Shell, fold};
use super::source::Sealing;
use super::stack::Stack;
use super::tallies::Tallies;
use super::turns::Turns;
use crate::clock::Clock;
use crate::events::log::{EventLog, LogError};
use crate::events::seal::Seals;
use crate::events::vault::Vault;
use crate::events::{Position, ResourceEvent, StreamId, StreamRevision};
use crate::model::{
    AllowedTarget, Caller, Changes, DeferredAuth, OnRecord, ProjectId, Refusal, ResourceId,
    StackId, StackName,
};
use crate::openstack::{Cloud, Fetcher, Poster};
use crate::resource_types::{Registry, TreeBounds};
use crate::template::NESTED_DEPTH_MAX;

/// Limits that an operator sets, under Heat's names.
#[derive(Clone, Debug)]
pub struct EngineLimits {
    /// The time a stack's action has when the stack names none.
    pub stack_action_timeout: Duration,
    /// Of a stack with all that are nested in it. `None` is no limit.
    pub max_resources_per_stack: Option<usize>,
    /// How many stacks one may stand within.
    pub max_nested_stack_depth: u32,
    /// `None` is no limit; administrators have none.
    pub max_stacks_per_tenant: Option<usize>,
    /// `None` is no limit; administrators have none.
    pub max_software_configs_per_tenant: Option<usize>,
    /// `None` is no limit; administrators have none.
    pub max_software_deployments_per_tenant: Option<usize>,
    /// `None` is no limit; administrators have none.
    pub max_snapshots_per_stack: Option<usize>,
    /// Whether stacks may be exported and abandoned.
    pub enable_stack_abandon: bool,
    /// Whether stacks may be adopted.
    pub enable_stack_adopt: bool,
    /// How often a create that meets a conflict or an object in error is made again.
    pub action_retry_limit: u32,
    /// Whether every update compares with what there is in the cloud.
    pub observe_on_update: bool,
    /// How long after a call whose answer was lost its object may still appear.
    pub lost_call_rest: Duration,
    /// Of what one signal brings, in bytes.
    pub max_signal_size: usize,
    /// Of a template that is fetched, in bytes.
    pub max_template_size: usize,
    /// How long it may take to fetch all that one request asks for.
    pub template_fetch_timeout: Duration,
    /// Where they may be fetched from beside the internet.
    pub fetch_allow: Vec<AllowedTarget>,
    /// By what work goes on when the token of who asked for it is gone.
    pub deferred_auth: DeferredAuth,
    /// The only roles that a trust delegates, of those that a token has; empty is all.
    pub trusts_delegated_roles: Vec<String>,
}

impl EngineLimits {
    /// What a tree of stacks is bounded by.
    pub(super) fn tree(&self) -> TreeBounds {
        TreeBounds { resources: self.max_resources_per_stack, depth: self.max_nested_stack_depth }
    }
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            stack_action_timeout: Duration::from_secs(3600),
            max_resources_per_stack: Some(1000),
            max_nested_stack_depth: NESTED_DEPTH_MAX,
            max_stacks_per_tenant: Some(512),
            max_software_configs_per_tenant: Some(4096),
            max_software_deployments_per_tenant: Some(4096),
            max_snapshots_per_stack: Some(32),
            enable_stack_abandon: false,
            enable_stack_adopt: false,
            action_retry_limit: 5,
            observe_on_update: false,
            lost_call_rest: Duration::from_secs(10),
            max_signal_size: 262_144,
            max_template_size: 524_288,
            template_fetch_timeout: Duration::from_secs(60),
            fetch_allow: Vec::new(),
            deferred_auth: DeferredAuth::default(),
            trusts_delegated_roles: Vec::new(),
        }
    }
}

/// How often a command is sent to an actor that keeps going to rest.
pub(super) const SENDS_MAX: usize = 5;

/// Of these types, those that a caller may not make resources of.
pub type ForbiddenTypes = Arc<
    dyn Fn(Arc<Caller>, BTreeSet<String>) -> BoxFuture<'static, BTreeSet<String>> + Send + Sync,
>;

/// What actors work with.
pub struct Services {
    pub log: Arc<dyn EventLog>,
    pub vault: Arc<Vault>,
    pub registry: Arc<Registry>,
    pub cloud: Option<Arc<Cloud>>,
    pub clock: Arc<dyn Clock>,
    pub limits: EngineLimits,
    pub(super) goes_on: bool,
    pub directory: Arc<Directory>,
    pub credentials: Credentials,
    pub(super) forbidden_types: ForbiddenTypes,
    pub(super) on_record: Arc<dyn OnRecord>,
    /// What has changed of each project, by the views and by actors.
    pub(super) changes: Changes,
    /// What resources without a mark have, as far as it may not be on record.
    pub(super) claims: Claims,
    /// Held by who makes a stack of a name.
    pub(super) naming: Turns<(ProjectId, StackName)>,
    /// Held by who works on a server whose agent is told things at a place, or fills that.
    pub(super) placing: Turns<ResourceId>,
    /// Projects in which this process has looked for names that one before it left.
    pub(super) ghosts_looked_for: Mutex<HashSet<ProjectId>>,
    /// How much there is of what is limited.
    pub(super) tallies: Tallies,
    /// How far others were told of what happened; `None` where nobody is told.
    pub(super) told: watch::Sender<Option<Position>>,
    /// The alarms that there are.
    pub(super) alarms: Alarms,
    pub fetcher: Fetcher,
    pub poster: Poster,
    pub(super) measures: Measures,
    /// The extensions that the cloud's services have.
    pub(super) extensions: Extensions,
    /// Where templates are worked on for requests.
    pub(super) pool: Pool,
}

impl Services {
    /// Asks a stack's actor; one that went to rest meanwhile is woken and asked again. `None` where
    /// the engine does not answer.
    pub(super) async fn ask_of<M>(
        &self,
        stack: StackId,
        message: impl Fn() -> M,
    ) -> Option<M::Result>
    where
        M: Message<Result: Send> + Send + 'static,
        Shell<Stack>: Handler<M>,
    {
        for _ in 0..SENDS_MAX {
            let address = self.directory.stack(stack)?;
            if let Ok(answer) = address.send(message()).await {
                return Some(answer);
            }
        }
        None
    }

    /// Returns when others were told of everything up to a position.
    pub(super) async fn everybody_told(&self, at: Position) {
        let mut told = self.told.subscribe();
        // Who tells them is there as long as the services are.
        let _ = told.wait_for(|told| told.is_none_or(|told| told >= at)).await;
    }

    /// What a stack's source is sealed with.
    pub(super) fn sealing<'a>(&'a self, scope: &'a str) -> Sealing<'a> {
        let Self { registry, vault, clock, .. } = self;
        Sealing { registry, vault, clock: clock.as_ref(), scope }
    }

    /// A resource as its stream says.
    pub(super) async fn resource(&self, id: ResourceId) -> Result<Resource, Refusal> {
        let unavailable = |error: LogError| Refusal::unavailable(error.to_string());
        let slice = self.log.read(&StreamId::resource(id), StreamRevision(0)).await;
        let slice = slice.map_err(unavailable)?;
        let mut seals = Seals::of(self.vault.clone(), StreamId::resource(id));
        seals.warm::<ResourceEvent>(&slice.events).await.map_err(unavailable)?;
        fold(Resource::new(id), &slice.events, &mut seals).map_err(unavailable)
    }
}

impl Ground for Services {
    fn log(&self) -> &Arc<dyn EventLog> {
        &self.log
    }

    fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn goes_on(&self) -> bool {
        self.goes_on && !self.log.is_read_only()
    }
}

impl Wakes for Services {
    fn stack(self: Arc<Self>, arbiter: &ArbiterHandle, id: StackId) -> Addr<Shell<Stack>> {
        Shell::start_in_arbiter(arbiter, move |_| {
            Shell::asleep(self, StreamId::stack(id), Stack::named(id), Default::default())
        })
    }

    fn project(self: Arc<Self>, arbiter: &ArbiterHandle, id: &ProjectId) -> Addr<Shell<Project>> {
        let stream = StreamId::project(id);
        Shell::start_in_arbiter(arbiter, move |_| {
            Shell::asleep(self, stream, Project::default(), ())
        })
    }
}
