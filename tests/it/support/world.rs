//! The engine over a log, the views and a sandbox, driven as the API drives it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, select};
use hearth::actors::{
    Accepted, Conditions, CreateStack, Engine, EngineLimits, EngineParts, ForbiddenTypes,
    RequestContext, UpdateStack,
};
use hearth::clock::{Clock, SystemClock};
use hearth::events::log::{EventLog, Filter, MemoryLog, OwnedLog};
use hearth::events::master_key::{KeyRing, MasterKey};
use hearth::events::seal::Seals;
use hearth::events::vault::{Placed, Vault};
use hearth::events::{Position, StreamId};
use hearth::model::{
    AllowedTarget, Caller, CommandId, DriftEvery, Refusal, RequestId, Scope, Secret, StackId,
    StackSettings, Status,
};
use hearth::openstack::{Cloud, CloudSettings, FetchBudget, Session, UserDomainSettings};
use hearth::outlets::{Carrier, NotificationSettings, OutletParts, Outlets};
use hearth::projections::{EventQuery, StackField, StackQuery, StackRow, Views};
use hearth::resource_types::Registry;
use hearth::sandbox::{RunningSandbox, Sandbox, SandboxConfig};
use hearth::template::StackSource;
use serde_json::{Value, json};

use super::heard::Received;
use super::kept::Kept;
use super::planned::Announced;
use super::wait::{Tells, until_within};

/// How long a test waits for what must come.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A sandbox that outlives engines, and who asks.
pub(crate) struct Ground {
    pub(crate) sandbox: RunningSandbox,
    pub(crate) log: Arc<dyn OwnedLog>,
    _kept: Kept,
    master: KeyRing,
    requester: RequestContext,
    /// The time of its engines.
    clock: Arc<dyn Clock>,
}

/// What somebody else left: a cloud, a log and its master key, and the time then.
pub(crate) struct Former<'a> {
    pub(crate) config: SandboxConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) log: MemoryLog,
    pub(crate) master: KeyRing,
    /// Who goes on asking.
    pub(crate) user: &'a str,
}

/// An engine on a ground.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) views: Views,
    pub(crate) vault: Arc<Vault>,
    /// The Keystone of its cloud.
    pub(crate) auth_url: String,
    requester: RequestContext,
    pub(crate) announced: Announced,
}

impl Ground {
    pub(crate) async fn new() -> Ground {
        Ground::with(SandboxConfig {
            listen: ([127, 0, 0, 1], 0).into(),
            ..SandboxConfig::instant()
        })
        .await
    }

    pub(crate) async fn with(config: SandboxConfig) -> Ground {
        Ground::with_clock(config, Arc::new(SystemClock)).await
    }

    /// Of another user than `demo`.
    pub(crate) async fn of_user(user: &str) -> Ground {
        Ground::with_user(SandboxConfig::instant(), Arc::new(SystemClock), user).await
    }

    pub(crate) async fn with_clock(config: SandboxConfig, clock: Arc<dyn Clock>) -> Ground {
        Ground::with_user(config, clock, "demo").await
    }

    /// Whose engines live by a clock that is moved by hand.
    pub(crate) async fn timed(clock: Arc<dyn Clock>) -> Ground {
        let ground = Ground::with_clock(SandboxConfig::instant(), Arc::clone(&clock)).await;
        Ground { clock, ..ground }
    }

    async fn with_user(config: SandboxConfig, clock: Arc<dyn Clock>, user: &str) -> Ground {
        let sandbox = Sandbox::start_with_clock(config, clock).unwrap();
        let requester = log_in(&sandbox.auth_url, user).await;
        sandbox.forget_requests();
        let master = MasterKey::fresh(&SystemClock).into();
        let (kept, clock) = (Kept::fresh(), Arc::new(SystemClock));
        Ground { sandbox, log: kept.log.clone(), _kept: kept, master, requester, clock }
    }

    /// Goes on with what somebody else left.
    pub(crate) async fn of_former(former: Former<'_>) -> Ground {
        let Former { config, clock, log, master, user } = former;
        let sandbox = Sandbox::start_with_clock(config, clock.clone()).unwrap();
        let requester = log_in(&sandbox.auth_url, user).await;
        let kept = Kept::of(log);
        Ground { sandbox, log: kept.log.clone(), _kept: kept, master, requester, clock }
    }

    /// Starts an engine on the ground's log, and lets it recover.
    pub(crate) async fn start(&self) -> World {
        self.start_on(self.log.clone()).await
    }

    /// Starts an engine with limits of its own.
    pub(crate) async fn start_within(&self, limits: EngineLimits) -> World {
        self.start_with(self.log.clone(), limits).await
    }

    /// Starts an engine that lets lost calls rest for long: what is in doubt stays so until the
    /// engine is gone.
    pub(crate) async fn start_doubting(&self) -> World {
        let limits = EngineLimits { lost_call_rest: Duration::from_secs(600), ..Self::limits() };
        self.start_within(limits).await
    }

    /// Waits until a fault has met a request.
    pub(crate) async fn wait_for_loss(&self) {
        let is_lost = async || self.sandbox.requests().iter().any(|seen| seen.status == 0);
        until_within(WAIT_MAX, &[&self.sandbox], "something is lost", is_lost).await;
    }

    /// The limits of tests: nothing rests.
    pub(crate) fn limits() -> EngineLimits {
        EngineLimits {
            lost_call_rest: Duration::ZERO,
            fetch_allow: loopback(),
            ..EngineLimits::default()
        }
    }

    /// Starts an engine on another door to the ground's log.
    pub(crate) async fn start_on(&self, log: Arc<dyn EventLog>) -> World {
        self.start_with(log, Self::limits()).await
    }

    /// Starts an engine with outlets; notifications are heard by who is handed in.
    pub(crate) async fn start_telling(
        &self,
        log: Arc<dyn EventLog>,
        observed_signals: Option<&Received>,
    ) -> (World, Outlets) {
        let carrier = observed_signals.map(|observed_signals| {
            let observed_signals = Arc::clone(observed_signals);
            Carrier::Function(Arc::new(move |told| {
                observed_signals.send_modify(|all| all.push(told.clone()));
            }))
        });
        self.start_carrying(log, carrier).await
    }

    /// Starts an engine with outlets, and whoever carries notifications.
    pub(crate) async fn start_carrying(
        &self,
        log: Arc<dyn EventLog>,
        carrier: Option<Carrier>,
    ) -> (World, Outlets) {
        let world = self.start_on(log.clone()).await;
        let notifications = carrier.map(|carrier| NotificationSettings {
            level: "INFO".to_owned(),
            publisher_id: "orchestration.test".to_owned(),
            carrier,
        });
        let outlets = Outlets::start(&OutletParts {
            engine: world.engine.clone(),
            views: world.views.clone(),
            log,
            clock: Arc::new(SystemClock),
            notifications,
            tracer: Default::default(),
            drift_every: DriftEvery::Never,
        });
        (world, outlets)
    }

    /// Starts an engine whose cloud has no domain for users of stacks.
    pub(crate) async fn start_without_users(&self) -> World {
        self.start_on_cloud(self.log.clone(), Self::limits(), self.cloud(false)).await
    }

    /// Starts an engine that lets the users of other clouds in, too: by their names and Keystones.
    pub(crate) async fn start_beside(&self, others: &[(&str, &str)]) -> World {
        let own = self.settings(None);
        let at = |(name, auth_url): &(&str, &str)| {
            ((*name).to_owned(), CloudSettings { auth_url: (*auth_url).to_owned(), ..own.clone() })
        };
        let signers = Some(others.iter().map(at).collect());
        let settings = CloudSettings { signers, ..own.clone() };
        let cloud = Cloud::new(settings, Arc::new(SystemClock)).unwrap();
        self.start_on_cloud(self.log.clone(), Self::limits(), cloud).await
    }

    /// Starts an engine that reaches what users name only where these allow it.
    pub(crate) async fn start_allowing(&self, allowed: &[String]) -> World {
        let allowed: Vec<AllowedTarget> = allowed.iter().map(|it| it.parse().unwrap()).collect();
        let settings = CloudSettings { fetch_allow: allowed.clone(), ..self.settings(None) };
        let cloud = Cloud::new(settings, Arc::new(SystemClock)).unwrap();
        let limits = EngineLimits { fetch_allow: allowed, ..Self::limits() };
        self.start_on_cloud(self.log.clone(), limits, cloud).await
    }

    /// The cloud as Hearth reaches it, with or without users of stacks.
    pub(crate) fn cloud(&self, has_users: bool) -> Cloud {
        let stack_users =
            has_users.then(|| UserDomainSettings::of_sandbox(Secret::new("secret".to_owned())));
        self.cloud_with(stack_users, self.clock.clone())
    }

    /// The same at another time.
    pub(crate) fn cloud_at(&self, clock: Arc<dyn Clock>) -> Cloud {
        let stack_users = UserDomainSettings::of_sandbox(Secret::new("secret".to_owned()));
        self.cloud_with(Some(stack_users), clock)
    }

    fn cloud_with(&self, stack_users: Option<UserDomainSettings>, clock: Arc<dyn Clock>) -> Cloud {
        Cloud::new(self.settings(stack_users), clock).unwrap()
    }

    fn settings(&self, stack_users: Option<UserDomainSettings>) -> CloudSettings {
        let password = Secret::new("secret".to_owned());
        CloudSettings {
            stack_users,
            fetch_allow: loopback(),
            ..CloudSettings::new(&self.sandbox.auth_url, "hearth", password, "service")
        }
    }

    /// The cloud as who asks sees it.
    pub(crate) fn session(&self) -> Session {
        self.session_in(&self.cloud(false))
    }

    /// The same where it has users of stacks.
    pub(crate) fn session_with_users(&self) -> Session {
        self.session_in(&self.cloud(true))
    }

    fn session_in(&self, cloud: &Cloud) -> Session {
        let RequestContext { token, caller, .. } = &self.requester;
        cloud.session_for_token(token, &caller.project_id)
    }

    /// Starts an engine on a door to the ground's log, with limits of its own.
    pub(crate) async fn start_with(&self, log: Arc<dyn EventLog>, limits: EngineLimits) -> World {
        self.start_on_cloud(log, limits, self.cloud(true)).await
    }

    async fn start_on_cloud(
        &self,
        log: Arc<dyn EventLog>,
        limits: EngineLimits,
        cloud: Cloud,
    ) -> World {
        let clock = self.clock.clone();
        // The ground's log outlives engines: what the last one gave it becomes durable, or the next
        // would not know that a stack is at work.
        self.log.settle().await.unwrap();
        let views = Views::in_memory(log.clone()).await.unwrap();
        let vault = Arc::new(Vault::new(log.clone(), self.master.clone(), clock.clone()));
        let engine = Engine::start(EngineParts {
            vault: Arc::clone(&vault),
            log: log.clone(),
            registry: Arc::new(Registry::built_in().unwrap()),
            cloud: Some(Arc::new(cloud)),
            clock,
            limits,
            goes_on: true,
            forbidden_types: forbids_nothing(),
            on_record: Arc::new(views.clone()),
            changes: views.changes(),
        });
        views.after(log.durable_position()).await.unwrap();
        engine.count(views.tally().await.unwrap());
        engine.alarms().watch(views.all_alarms().await.unwrap());
        engine.recover(views.unsettled_stacks().await.unwrap()).await;
        World {
            engine,
            views,
            vault,
            auth_url: self.sandbox.auth_url.clone(),
            requester: self.requester.clone(),
            announced: Announced::default(),
        }
    }

    /// How many events of a type the log has.
    pub(crate) async fn count(&self, event_type: &str) -> usize {
        let all = self.log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap();
        all.iter().filter(|event| event.event_type.as_ref() == event_type).count()
    }

    /// How many signals were taken that ask for work, a group's changes of size among them.
    pub(crate) async fn signals_taken(&self) -> usize {
        self.count("SignalTaken").await + self.count("ResizeTaken").await
    }

    /// Waits until the work of every signal is done.
    pub(crate) async fn signals_over(&self) {
        let is_over = async || self.signals_taken().await <= self.count("SignalHandled").await;
        until_within(WAIT_MAX, &[self], "every signal is carried out", is_over).await;
    }

    /// Waits until the views show all that the log has.
    pub(crate) async fn views_catch_up(&self, world: &World) {
        world.views.after(self.log.durable_position()).await.unwrap();
    }

    /// How many objects the cloud holds, by kind.
    pub(crate) fn counts(&self) -> Value {
        let state = self.sandbox.state();
        let mut counts = serde_json::Map::new();
        for (kind, table) in state.as_object().unwrap() {
            // A trust stays for its user's next stack, and an account with its key for the next object.
            if kind != "trusts" && kind != "accounts" {
                counts.insert(kind.clone(), table["count"].clone());
            }
        }
        Value::Object(counts)
    }
}

/// Of what comes into its log, and of requests to its cloud.
impl Tells for Ground {
    fn change(&self) -> BoxFuture<'_, ()> {
        select(self.log.change(), self.sandbox.change()).map(drop).boxed()
    }
}

/// Of what is on record.
impl Tells for World {
    fn change(&self) -> BoxFuture<'_, ()> {
        self.views.change()
    }
}

/// What is dropped works no more.
impl Drop for World {
    fn drop(&mut self) {
        self.engine.halt();
    }
}

impl World {
    /// A value of a stack's as its owner sees it.
    pub(crate) fn opened(&self, stack: StackId, placed: &Placed) -> Value {
        self.vault.open(StreamId::stack(stack).as_str(), placed).unwrap()
    }

    /// What opens the sealed parts of a stream's events.
    pub(crate) fn seals(&self, stream: StreamId) -> Seals {
        Seals::of(Arc::clone(&self.vault), stream)
    }

    pub(crate) fn requester(&self) -> RequestContext {
        RequestContext {
            command_id: CommandId(SystemClock.fresh_id()),
            fetches: FetchBudget::default(),
            ..self.requester.clone()
        }
    }

    pub(crate) async fn create(&self, name: &str, template: Value) -> Result<Accepted, Refusal> {
        self.create_with(name, template, true).await
    }

    pub(crate) async fn create_with(
        &self,
        name: &str,
        template: Value,
        disable_rollback: bool,
    ) -> Result<Accepted, Refusal> {
        let ask = CreateStack {
            name: name.into(),
            source: StackSource { template, ..StackSource::default() },
            settings: StackSettings { disable_rollback, ..StackSettings::default() },
        };
        self.engine.create_stack(&self.requester(), ask).await
    }

    /// Creates a stack of a whole source.
    pub(crate) async fn create_of(
        &self,
        name: &str,
        source: StackSource,
    ) -> Result<Accepted, Refusal> {
        let ask = CreateStack { name: name.into(), source, settings: Default::default() };
        self.engine.create_stack(&self.requester(), ask).await
    }

    /// Creates a stack in which a template stands behind a type.
    pub(crate) async fn create_mapped(
        &self,
        name: &str,
        template: Value,
        type_name: &str,
        behind: &Value,
    ) -> Accepted {
        let environment = json!({ "resource_registry": { type_name: "behind.yaml" } });
        let ask = CreateStack {
            name: name.into(),
            source: StackSource {
                template,
                environment: environment.as_object().unwrap().clone(),
                files: BTreeMap::from([("behind.yaml".to_owned(), behind.to_string())]),
                ..StackSource::default()
            },
            settings: Default::default(),
        };
        self.engine.create_stack(&self.requester(), ask).await.unwrap()
    }

    pub(crate) async fn update(
        &self,
        stack: StackId,
        template: Value,
    ) -> Result<Accepted, Refusal> {
        let ask = UpdateStack { template: Some(template), ..UpdateStack::default() };
        self.update_as(stack, ask).await
    }

    pub(crate) async fn delete(&self, stack: StackId) -> Result<Accepted, Refusal> {
        self.forget_plan(stack);
        self.engine.delete_stack(&self.requester(), stack).await
    }

    /// The living stack of a name.
    pub(crate) async fn stack_named(&self, name: &str) -> Option<StackRow> {
        let filters = vec![(StackField::Name, vec![name.to_owned()])];
        let query = StackQuery { filters, ..StackQuery::default() };
        self.views.stacks(query).await.unwrap().pop()
    }

    /// Waits until neither the stack nor a resource of it is at work, and gives its state.
    pub(crate) async fn settled(&self, accepted: &Accepted) -> String {
        self.views.after(accepted.position).await.unwrap();
        self.at_rest(accepted.stack).await
    }

    pub(crate) async fn at_rest(&self, id: StackId) -> String {
        let resting = async || {
            let stack = self.views.stack(id).await.unwrap().unwrap();
            let resources = self.views.resources(id).await.unwrap();
            let busy = stack.status == Status::InProgress
                || resources.iter().any(|resource| resource.status == Status::InProgress);
            if !busy {
                return Ok(stack);
            }
            let at_work: Vec<String> = resources
                .iter()
                .map(|r| format!("{} {}_{} {}", r.name, r.action, r.status, r.reason))
                .collect();
            Err(format!(
                "{} is stuck in {}_{}: {at_work:?}\n{:#?}",
                stack.name,
                stack.action,
                stack.status,
                self.events(id).await,
            ))
        };
        let stack = until_within(WAIT_MAX, &[self], "it is at rest", resting).await;
        self.hold_to_plan(&stack).await;
        format!("{}_{}", stack.action, stack.status)
    }

    /// Waits until the views show something of a stack.
    pub(crate) async fn shows(&self, what: &str, holds: impl AsyncFnMut() -> bool) {
        until_within(WAIT_MAX, &[self], what, holds).await;
    }

    /// Waits until a resource is at work.
    pub(crate) async fn at_work(&self, accepted: &Accepted, name: &str) {
        let (id, wanted) = (accepted.stack, format!("{name} "));
        let is_at_work = |row: &String| row.starts_with(&wanted) && row.ends_with("_IN_PROGRESS");
        let begun = async || match self.resources(id).await.iter().any(is_at_work) {
            true => Ok(()),
            false => {
                let reason = self.views.stack(id).await.unwrap().map(|stack| stack.reason);
                Err(format!("{reason:?} {:#?}", self.events(id).await))
            }
        };
        until_within(WAIT_MAX, &[self], format!("{name} is at work"), begun).await;
    }

    pub(crate) async fn reason(&self, id: StackId) -> String {
        self.views.stack(id).await.unwrap().unwrap().reason
    }

    /// The event list, oldest first: `NAME ACTION_STATUS`.
    pub(crate) async fn events(&self, id: StackId) -> Vec<String> {
        let query = EventQuery { descending: Some(false), ..EventQuery::default() };
        let events = self.views.events(id, query).await.unwrap();
        events
            .iter()
            .map(|event| format!("{} {}_{}", event.name, event.action, event.status))
            .collect()
    }

    /// The resources that the stack lists: `NAME ACTION_STATUS`.
    pub(crate) async fn resources(&self, id: StackId) -> Vec<String> {
        let mut listed: Vec<String> = self
            .views
            .resources(id)
            .await
            .unwrap()
            .iter()
            .map(|resource| format!("{} {}_{}", resource.name, resource.action, resource.status))
            .collect();
        listed.sort();
        listed
    }

    pub(crate) async fn physical_id(&self, id: StackId, name: &str) -> Option<String> {
        let resources = self.views.resources(id).await.unwrap();
        let found = resources.into_iter().find(|resource| resource.name.as_str() == name);
        found.and_then(|resource| resource.physical_id)
    }
}

/// Everybody may make everything.
pub(crate) fn forbids_nothing() -> ForbiddenTypes {
    Arc::new(|_, _| async { BTreeSet::new() }.boxed())
}

/// What the servers of tests need to be reached where users name them.
pub(crate) fn loopback() -> Vec<AllowedTarget> {
    vec!["127.0.0.0/8".parse().unwrap()]
}

/// A HOT template of the given resources.
pub(crate) fn hot(resources: Value) -> Value {
    json!({ "heat_template_version": "2021-04-16", "resources": resources })
}

/// A test resource with properties.
pub(crate) fn test_resource(properties: Value) -> Value {
    json!({ "type": "OS::Heat::TestResource", "properties": properties })
}

/// A token of a user in the project of the same name, from the sandbox's Keystone.
pub(crate) async fn log_in(auth_url: &str, user: &str) -> RequestContext {
    let body = json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": {
            "name": user, "domain": { "name": "Default" }, "password": "secret" } } },
        "scope": { "project": { "name": user, "domain": { "name": "Default" } } },
    } });
    let url = format!("{auth_url}/auth/tokens");
    let reply = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    let token = reply.headers()["x-subject-token"].to_str().unwrap().to_owned();
    // Neutron makes a project's default security group when it is first asked for.
    let base = auth_url.trim_end_matches("/v3");
    let groups = reqwest::Client::new().get(format!("{base}/network/v2.0/security-groups"));
    assert!(groups.header("x-auth-token", &token).send().await.unwrap().status().is_success());
    let token_body: Value = reply.json().await.unwrap();
    let told = &token_body["token"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let caller = Caller {
        user_id: text(&told["user"]["id"]),
        user_name: text(&told["user"]["name"]),
        project_id: text(&told["project"]["id"]).into(),
        project_name: text(&told["project"]["name"]),
        roles: told["roles"].as_array().unwrap().iter().map(|role| text(&role["name"])).collect(),
        scope: Scope::default(),
        admin: false,
    };
    RequestContext {
        caller: Arc::new(caller),
        token: Secret::new(token),
        login: None,
        request_id: RequestId::from("req-test"),
        command_id: CommandId::default(),
        fetches: FetchBudget::default(),
        conditions: Conditions::default(),
    }
}
